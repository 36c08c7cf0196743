//! From what a caller names to an open forge

mod choose;
#[cfg(test)]
mod clone_tests;
mod error;
mod here;
mod known;
mod memo;
mod reads_only;
mod reconcile;
mod survey;
#[cfg(test)]
mod tests;
mod trust;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use choose::Web;
pub use error::OpenError;
pub use reads_only::ReadsOnly;
pub use survey::{Survey, TokenFound};
use trust::HostSource;
use url::Url;

use super::{
    Endpoint, Forge, ForgeType,
    allow::Allow,
    detect::{DetectedType, Detection, detect_host},
    git_url::GitUrl,
    model::{Host, RepoId},
    token::{HostEntry, HostsFile, TokenSource, Vars},
};
use blue_base::{
    clock::Clock,
    git::Git,
    http::{Credential, Http, HttpConfig},
};

/// What opening a forge depends on
#[derive(Debug, Clone)]
pub struct Settings {
    /// `$BLUE_HOME`: where `hosts.yaml` is
    pub home: PathBuf,
    pub vars: Vars,
    pub http: HttpConfig,
    /// Keep what was found in `.blue/config.yaml`
    pub cache: bool,
    /// Ask git's credential helpers for a token
    pub git_credentials: bool,
    /// Ask ssh which host an alias in a remote stands for
    pub ssh_aliases: bool,
    /// The owners and repositories that may be touched
    pub allow: Allow,
}

/// Finds and opens forges, as seen from one working directory
#[derive(Debug)]
pub struct Forges {
    http: Arc<Http>,
    settings: Settings,
    cwd: PathBuf,
    clock: Arc<dyn Clock>,
    git: Git,
    hosts: HostsFile,
    /// Clients for hosts with a certificate or a plain address of their own
    special: Mutex<HashMap<Host, Arc<Http>>>,
    memo: memo::Memo,
    /// A person names the host; otherwise it may be the word of a model, or of who talked it into that
    typed: bool,
}

/// What a caller names; the rest is found
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Ask {
    pub host: Option<Host>,
    pub owner: Option<String>,
    pub name: Option<String>,
    /// Where the pages of `host` begin, where a URL was given: `http` stays `http`
    pub base: Option<Url>,
    /// Remote of the working directory
    pub remote: Option<String>,
}

/// A forge with all that is needed to reach it
#[derive(Debug)]
pub struct Located {
    pub family: ForgeType,
    pub endpoint: Endpoint,
    pub repo: RepoId,
    pub found: Detection,
    pub http: Arc<Http>,
    pub credential: Option<Credential>,
    pub token: Option<TokenSource>,
    /// The owners and repositories that may be touched
    pub allow: Allow,
    /// The default branch, where the clone says what it was
    pub default_branch: Option<String>,
    /// Why it may only be read, where that is so
    pub reads_only: Option<ReadsOnly>,
    /// To be said once, in this order
    pub notices: Vec<String>,
    /// To be said with every call, while it is so
    pub standing: Vec<String>,
}

/// A forge that is ready to be asked
#[derive(Debug, Clone)]
pub struct Opened {
    pub forge: Arc<dyn Forge>,
    pub repo: RepoId,
    pub found: Detection,
    pub token: Option<TokenSource>,
    /// Why it may only be read, where that is so
    pub reads_only: Option<ReadsOnly>,
    /// To be said with this call, in this order
    pub notices: Vec<String>,
}

/// A find, and how its host came to be named
#[derive(Debug, Clone)]
pub(super) struct Find {
    found: Detection,
    /// Where the pages of the forge begin
    base: Url,
    username: Option<String>,
    source: HostSource,
    reads_only: Option<ReadsOnly>,
    /// The default branch of the very repository that was found, as the clone remembers it
    default_branch: Option<String>,
    notices: Vec<String>,
    /// To be said with every call, while it is so
    standing: Vec<String>,
}

/// What the working directory says
#[derive(Debug, Clone)]
pub struct Here {
    pub found: Detection,
    /// The remote it was read from
    pub remote: Option<String>,
    pub notices: Vec<String>,
}

impl Forges {
    pub fn new(settings: Settings, cwd: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        let hosts = HostsFile::new(&settings.home, settings.vars.get("HOME"));
        Self {
            http: Arc::new(Http::new(settings.http.clone())),
            cwd: cwd.into(),
            clock,
            git: Git::default(),
            hosts,
            special: Mutex::default(),
            memo: memo::Memo::default(),
            typed: false,
            settings,
        }
    }

    /// Take a host that is named for a person's word, typed on the command line
    ///
    /// Only then can it become the first host of a token.
    #[must_use]
    pub fn typed(mut self) -> Self {
        self.typed = true;
        self
    }

    /// Call git and ssh in another way
    #[must_use]
    pub fn with_git(mut self, git: Git) -> Self {
        self.git = git;
        self
    }

    /// Find the forge of the working directory; a folder without one is [`DetectedType::None`]
    pub async fn detect_here(&self, remote: Option<&str>) -> Result<Here, OpenError> {
        let none = |remote| Here {
            found: Detection::none(),
            remote,
            notices: Vec::new(),
        };
        let here = match self.here(remote).await {
            Ok(Some(here)) => here,
            Ok(None) => return Ok(none(None)),
            Err(OpenError::Local { remote }) => return Ok(none(Some(remote))),
            Err(e) => return Err(e),
        };
        Ok(Here {
            notices: here.find.all_notices(),
            found: here.find.found,
            remote: here.remote,
        })
    }

    /// Find the forge of any git URL; nothing is kept
    pub async fn detect_url(&self, text: &str) -> Result<Detection, OpenError> {
        match GitUrl::parse(text).map_err(|source| OpenError::Url {
            remote: None,
            source,
        })? {
            GitUrl::Local => Ok(Detection::none()),
            GitUrl::Hosted(url) => {
                let known = self.known()?;
                let url = self.real_host(url).await;
                Ok(self.find_url(&known, &url).await.found)
            }
        }
    }

    /// Open the forge of what a caller names
    ///
    /// Asked again, and nothing changed, this costs neither a request nor a child process.
    pub async fn open(&self, ask: &Ask) -> Result<Opened, OpenError> {
        let now = self.clock.now();
        if let Some(opened) = self.memo.get(ask, now) {
            return Ok(opened);
        }
        let before = self.memo.read(self.decisive_files().into_iter());
        let located = self.locate(ask).await?;
        let forge = self.memo.forge(&located);
        if let Some(name) = &located.default_branch {
            forge.heard_default(&located.repo, name);
        }
        let opened = Opened {
            forge,
            repo: located.repo,
            found: located.found,
            token: located.token,
            reads_only: located.reads_only,
            notices: [located.notices, located.standing.clone()].concat(),
        };
        self.memo.keep(ask, &opened, located.standing, &before, now);
        Ok(opened)
    }

    /// The files that decide which forge is opened, and with which token
    fn decisive_files(&self) -> Vec<PathBuf> {
        let mut files = memo::of_folder(&self.cwd);
        files.push(self.hosts.path().to_owned());
        if let Some(home) = self.settings.vars.get("HOME") {
            let home = PathBuf::from(home);
            files.extend([".gitconfig", ".config/git/config", ".ssh/config"].map(|f| home.join(f)));
        }
        files
    }

    /// Find the forge and the token for what a caller names
    pub async fn locate(&self, ask: &Ask) -> Result<Located, OpenError> {
        let known = self.known()?;
        let find = self.choose(&known, ask).await?;
        let notices = find.all_notices();
        let located = self.locate_find(&known, ask, find).await;
        located.map_err(|error| error.noticed(notices))
    }

    async fn locate_find(
        &self,
        known: &known::Known,
        ask: &Ask,
        mut find: Find,
    ) -> Result<Located, OpenError> {
        let repo = self.repository(ask, &find)?;
        if let Some(host) = &find.found.host {
            self.settings.allow.check_repo(host, &repo)?;
        }
        let is_found = find.found.owner.as_deref() == Some(repo.owner())
            && find.found.repo.as_deref() == Some(repo.name());
        let default_branch = find.default_branch.take().filter(|_| is_found);
        find.found.owner = Some(repo.owner().to_owned());
        find.found.repo = Some(repo.name().to_owned());
        let reads_only = find.reads_only.take().filter(|why| !why.is_lifted_by(ask));
        let standing = std::mem::take(&mut find.standing);
        let survey = self.look(known, find).await?;
        let token = survey.token?;
        Ok(Located {
            family: survey.family,
            http: survey.http,
            endpoint: survey.endpoint,
            repo,
            found: survey.found,
            credential: token.credential,
            token: token.source,
            allow: self.settings.allow.clone(),
            default_branch,
            reads_only,
            notices: survey.notices,
            standing,
        })
    }

    /// What `hosts.yaml` says of each host
    pub fn hosts(&self) -> Result<Vec<HostEntry>, OpenError> {
        Ok(self.hosts.load()?.entries)
    }

    /// Let tokens from variables go to a host; false if they might already
    pub async fn trust(&self, host: &Host) -> Result<bool, OpenError> {
        let known = self.known()?;
        let found = self.find_host(&known, host, HostSource::Typed).await.found;
        // Without a type it is trusted with the tokens of both families.
        let kind = (!found.guess).then_some(found.kind);
        let (file, host, now) = (self.hosts.clone(), host.clone(), self.clock.now());
        // The lock on the file may have to wait.
        tokio::task::spawn_blocking(move || file.trust(&host, kind, now))
            .await
            .expect("the closure does not panic")
            .map_err(OpenError::from)
    }

    fn repository(&self, ask: &Ask, find: &Find) -> Result<RepoId, OpenError> {
        let owner = ask.owner.as_ref().or(find.found.owner.as_ref());
        let name = ask.name.as_ref().or(find.found.repo.as_ref());
        match (owner, name) {
            (Some(owner), Some(name)) => Ok(RepoId::parse(owner, name)?),
            _ => Err(OpenError::NoRepository {
                cwd: self.cwd.clone(),
            }),
        }
    }

    async fn detect(&self, known: &known::Known, host: &Host, web: &Web) -> super::detect::Kind {
        let http = self.http_for(known, host);
        detect_host(&http, host, &web.base, web.scheme_known).await
    }

    fn http_for(&self, known: &known::Known, host: &Host) -> Arc<Http> {
        let Some(config) = known.http_config(host, &self.settings.http) else {
            return self.http.clone();
        };
        self.special
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(host.clone())
            .or_insert_with(|| Arc::new(Http::new(config)))
            .clone()
    }

    fn known(&self) -> Result<known::Known, OpenError> {
        Ok(known::Known {
            servers: self.settings.vars.servers()?,
            hosts: self.hosts.load()?,
        })
    }
}

impl Find {
    fn new(found: Detection, base: Url, source: HostSource) -> Self {
        Self {
            found,
            base,
            username: None,
            source,
            reads_only: None,
            default_branch: None,
            notices: Vec::new(),
            standing: Vec::new(),
        }
    }

    fn all_notices(&self) -> Vec<String> {
        [self.notices.as_slice(), &self.standing].concat()
    }

    fn is_none(&self) -> bool {
        self.found.kind == DetectedType::None
    }
}

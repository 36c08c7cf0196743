use super::{
    Find, Forges, HostSource, OpenError, ReadsOnly,
    choose::{Web, default_base},
    known::Known,
};
use crate::{
    detect::{DetectedType, Detection, FoundBy, known_host},
    git_url::{GitUrl, HostedUrl, Scheme},
    project::{Exclude, ForgeConfig, Project},
};
use blue_base::{git::Place, host::Host};

/// A find in the working directory
pub(super) struct HereFind {
    pub(super) find: Find,
    pub(super) remote: Option<String>,
}

/// A remote that was chosen
pub(super) struct Remote {
    pub(super) name: String,
    pub(super) url: HostedUrl,
    notice: Option<String>,
}

/// A work tree, and where its `.blue/config.yaml` is kept out of `git status`
pub(super) struct WorkTree {
    pub(super) project: Project,
    pub(super) exclude: Exclude,
}

impl Forges {
    /// What the working directory says; none outside of repositories and without remotes
    ///
    /// The remote names host, owner and repository. `.blue/config.yaml` gives the type of that
    /// host; where there is no remote to use it names the repository, for reading only.
    pub(super) async fn here(&self, remote: Option<&str>) -> Result<Option<HereFind>, OpenError> {
        let tree = match self.git.place(&self.cwd).await? {
            Place::Outside => return Ok(None),
            Place::Bare => None,
            Place::WorkTree { top, exclude } => Some(WorkTree {
                project: Project::at(top),
                exclude: Exclude::at(exclude),
            }),
        };
        let known = self.known()?;
        let config = match &tree {
            Some(tree) => tree.project.forge()?,
            None => None,
        };
        // A remote that is named is meant, whatever the file says.
        let file = config.as_ref().filter(|_| remote.is_none());
        if file.is_some_and(|f| f.kind == Some(DetectedType::None)) {
            let base = default_base(&local());
            return Ok(Some(HereFind {
                find: Find::new(Detection::none(), base, HostSource::File),
                remote: None,
            }));
        }
        let chosen = match (self.remote(remote).await, file) {
            (Err(OpenError::Remotes { remotes }), Some(file)) if file.is_whole() => {
                self.remote_of_file(&known, &remotes, file).await
            }
            (Err(OpenError::Local { .. } | OpenError::Url { .. }), Some(file))
                if file.is_whole() =>
            {
                None
            }
            (chosen, _) => chosen?,
        };
        let Some(chosen) = chosen else {
            let Some(file) = file.filter(|f| f.is_whole()) else {
                return Ok(None);
            };
            let find = self.by_file(&known, file).await;
            return Ok(find.map(|find| HereFind { find, remote: None }));
        };
        let mut find = self.by_remote(&known, &chosen, file).await;
        if let (Some(tree), None) = (&tree, remote) {
            let file = config.as_ref();
            self.reconcile(tree, &mut find, &chosen, file).await;
        }
        // Only GitHub has to be asked for its rules by the name of the branch.
        if find.found.kind == DetectedType::GitHub {
            find.default_branch = self.git.remote_head(&self.cwd, &chosen.name).await?;
        }
        Ok(Some(HereFind {
            find,
            remote: Some(chosen.name),
        }))
    }

    /// The forge of a remote; the file may tell the type of its host
    async fn by_remote(&self, known: &Known, chosen: &Remote, file: Option<&ForgeConfig>) -> Find {
        let host = known.web_host(&chosen.url);
        let file = file.filter(|f| f.host.as_ref().is_none_or(|named| *named == host));
        let sub_path = file.and_then(|f| f.sub_path.as_deref());
        let told = file.and_then(|f| f.kind);
        let mut find = self.find_url_as(known, &chosen.url, told, sub_path).await;
        find.notices.extend(chosen.notice.clone());
        if find.found.guess && !is_web(&chosen.url) {
            find.standing.push(format!(
                "no forge was found at {host}; if its pages are on another host, {}",
                self.ssh_host_advice(&host, None)
            ));
        }
        find
    }

    /// The forge that only the file names
    async fn by_file(&self, known: &Known, file: &ForgeConfig) -> Option<Find> {
        let host = file.host.clone()?;
        let web = Web::of_host(known, &host, file.sub_path.as_deref());
        let mut kind = match file.kind {
            Some(kind) => self.told_kind(known, &host, kind, &web).await,
            None => self.kind_of(known, &host, &web).await,
        };
        if let Some(api) = known.api(&host) {
            kind.api = api;
        }
        let base = kind.web_base(&web.base);
        let mut find = Find::new(kind.detection(&host, None), base, HostSource::File);
        if kind.found_by != FoundBy::Fallback {
            find.found.found_by = Some(FoundBy::Config);
        }
        find.found.owner.clone_from(&file.owner);
        find.found.repo.clone_from(&file.repo);
        find.notices.extend(unknown_keys(file));
        let names = file.names();
        find.standing.push(format!(
            "no remote here names a repository: {names} comes from `.blue/config.yaml`, for reading \
             only"
        ));
        find.reads_only = Some(ReadsOnly::FileAlone { file: names });
        Some(find)
    }

    /// `origin`, else the only one, else the one that the branch follows
    async fn remote(&self, asked: Option<&str>) -> Result<Option<Remote>, OpenError> {
        let remotes = self.git.remotes(&self.cwd).await?;
        let (name, notice) = match asked {
            Some(name) if remotes.iter().any(|r| r == name) => (name.to_owned(), None),
            Some(name) => {
                return Err(OpenError::NoSuchRemote {
                    name: name.to_owned(),
                    remotes,
                });
            }
            None => match self.usual_remote(remotes).await? {
                Some(usual) => usual,
                None => return Ok(None),
            },
        };
        let text = self.git.remote_url(&self.cwd, &name).await?;
        match GitUrl::parse(&text) {
            Ok(GitUrl::Hosted(url)) => Ok(Some(Remote {
                url: self.real_host(url).await,
                name,
                notice,
            })),
            Ok(GitUrl::Local) => Err(OpenError::Local { remote: name }),
            Err(source) => Err(OpenError::Url {
                remote: Some(name),
                source,
            }),
        }
    }

    async fn usual_remote(
        &self,
        remotes: Vec<String>,
    ) -> Result<Option<(String, Option<String>)>, OpenError> {
        if let Some(origin) = remotes.iter().find(|r| *r == "origin") {
            return Ok(Some((origin.clone(), None)));
        }
        if remotes.len() < 2 {
            return Ok(remotes.into_iter().next().map(|only| (only, None)));
        }
        let branch = self.git.current_branch(&self.cwd).await?;
        if let Some(branch) = branch
            && let Some(upstream) = self.git.upstream_remote(&self.cwd, &branch).await?
            && remotes.contains(&upstream)
        {
            let notice = format!(
                "of the remotes {} it is `{upstream}`, which the branch `{branch}` follows",
                remotes.join(", ")
            );
            return Ok(Some((upstream, Some(notice))));
        }
        Err(OpenError::Remotes { remotes })
    }

    /// The one of several remotes that is the repository of the file
    async fn remote_of_file(
        &self,
        known: &Known,
        remotes: &[String],
        file: &ForgeConfig,
    ) -> Option<Remote> {
        for name in remotes {
            let text = self.git.remote_url(&self.cwd, name).await.ok()?;
            let Ok(GitUrl::Hosted(url)) = GitUrl::parse(&text) else {
                continue;
            };
            let url = self.real_host(url).await;
            if file.agrees_with(&known.web_host(&url), url.repo_id()) {
                return Some(Remote {
                    name: name.clone(),
                    url,
                    notice: None,
                });
            }
        }
        None
    }

    /// The host behind an ssh alias, where the settings ask for that
    pub(super) async fn real_host(&self, url: HostedUrl) -> HostedUrl {
        let named = known_host(&url.host()).is_some();
        if named || !self.settings.ssh_aliases || url.scheme() != Scheme::Ssh {
            return url;
        }
        // Without ssh there are no aliases.
        url.clone().resolve_alias(&self.git).await.unwrap_or(url)
    }

    /// How to say that remotes on `ssh` belong to a forge whose pages are on another host
    pub(super) fn ssh_host_advice(&self, ssh: &Host, web: Option<&Host>) -> String {
        let below = web.map_or_else(|| "that host".to_owned(), |web| format!("`{web}:`"));
        format!(
            "write `ssh_host: {ssh}` below {below} in `{}`",
            self.hosts.path().display()
        )
    }
}

impl ForgeConfig {
    fn is_whole(&self) -> bool {
        self.host.is_some() && self.owner.is_some() && self.repo.is_some()
    }
}

pub(super) fn is_web(url: &HostedUrl) -> bool {
    matches!(url.scheme(), Scheme::Https | Scheme::Http)
}

pub(super) fn unknown_keys(file: &ForgeConfig) -> impl Iterator<Item = String> {
    file.unknown
        .iter()
        .map(|key| format!("`.blue/config.yaml` has `{key}` under `forge:`, which means nothing"))
}

fn local() -> Host {
    Host::parse("localhost").expect("a valid host name")
}

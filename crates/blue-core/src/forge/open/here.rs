use super::{Find, Forges, OpenError, choose::default_base, known::Known};
use crate::{
    forge::{
        detect::{DetectedType, Detection, FoundBy, known_host},
        git_url::{GitUrl, HostedUrl, Scheme},
        model::Host,
    },
    git::Place,
    project::{Cached, ForgeConfig, Project},
};

/// A find in the working directory
pub(super) struct HereFind {
    pub(super) find: Find,
    pub(super) remote: Option<String>,
}

/// A remote that was chosen
struct Remote {
    name: String,
    url: HostedUrl,
    notice: Option<String>,
}

impl Forges {
    /// What the working directory says; none outside of repositories and without remotes
    pub(super) async fn here(&self, remote: Option<&str>) -> Result<Option<HereFind>, OpenError> {
        let project = match self.git.place(&self.cwd).await? {
            Place::Outside => return Ok(None),
            Place::Bare => None,
            Place::WorkTree(top) => Some(Project::at(top)),
        };
        let known = self.known()?;
        let config = match &project {
            Some(project) => project.forge()?,
            None => None,
        };
        // Who names a remote means that one, whatever the file says.
        let file = config.as_ref().filter(|_| remote.is_none());
        if file.is_some_and(|f| f.kind == Some(DetectedType::None)) {
            return Ok(Some(HereFind {
                find: Find::new(Detection::none(), default_base(&local())),
                remote: None,
            }));
        }
        let chosen = match (self.remote(remote).await, file) {
            // The file says all that the remotes leave open.
            (Err(_), Some(file)) if file.is_whole() => None,
            (chosen, _) => chosen?,
        };
        let name = chosen.as_ref().map(|r| r.name.clone());
        let mut find = match (file, chosen) {
            (Some(file), chosen) if !file.is_empty() => self.by_file(&known, file, chosen).await,
            (_, None) => return Ok(None),
            (_, Some(chosen)) => {
                let mut find = self.find_url(&known, &chosen.url).await;
                find.notices.extend(chosen.notice);
                // The `forge:` of a person is never rewritten, an empty one neither.
                if let (Some(project), None, None) = (&project, &config, remote) {
                    self.keep(project, &mut find, &chosen.url);
                }
                Some(find)
            }
        };
        // Only GitHub has to be asked for its rules by the name of the branch.
        if let (Some(find), Some(remote)) = (&mut find, &name)
            && find.found.kind == DetectedType::GitHub
        {
            find.default_branch = self.git.remote_head(&self.cwd, remote).await?;
        }
        Ok(find.map(|find| HereFind { find, remote: name }))
    }

    async fn by_file(
        &self,
        known: &Known,
        file: &ForgeConfig,
        chosen: Option<Remote>,
    ) -> Option<Find> {
        let url = chosen.as_ref().map(|r| &r.url);
        let cloned_from = url.map(|u| known.web_host(u));
        let host = file.host.clone().or_else(|| cloned_from.clone())?;
        // Only the remote is the user's own word about the host.
        let confirmed = cloned_from.as_ref() == Some(&host);
        let same = url.filter(|_| confirmed);
        let base = known.base(&host).unwrap_or_else(|| {
            let mut base = match same {
                Some(url) if url.host() == host => url.base_url(),
                _ => default_base(&host),
            };
            if let Some(sub) = &file.sub_path {
                base.set_path(&format!("/{sub}/"));
            }
            base
        });
        let mut kind = match file.kind {
            Some(kind) => self.told_kind(known, &host, kind, &base, same).await,
            None => self.find_host_at(known, &host, &base).await,
        };
        if let Some(api) = known.api(&host) {
            kind.api = api;
        }
        let mut find = Find::new(kind.detection(&host, None), kind.web_base(&base));
        find.found.found_by = Some(match kind.found_by {
            FoundBy::Fallback => FoundBy::Fallback,
            _ => FoundBy::Config,
        });
        find.found.owner = file
            .owner
            .clone()
            .or_else(|| url.map(|u| u.owner().to_owned()));
        find.found.repo = file
            .repo
            .clone()
            .or_else(|| url.map(|u| u.repo().to_owned()));
        // With a type that only the file tells, a token for github.com could be lured anywhere.
        let lure = file.kind == Some(DetectedType::GitHub)
            && known_host(&host) != Some(DetectedType::GitHub)
            && known.kind(&host) != Some(DetectedType::GitHub);
        find.confirmed = confirmed && !lure;
        find.username = same
            .filter(|u| matches!(u.scheme(), Scheme::Https | Scheme::Http))
            .and_then(|u| u.user().map(str::to_owned));
        for key in &file.unknown {
            find.notices.push(format!(
                "`.blue/config.yaml` has `{key}` under `forge:`, which means nothing"
            ));
        }
        if let Some(remote) = chosen {
            find.notices.extend(disagreement(&find.found, &remote));
        }
        Some(find)
    }

    async fn find_host_at(
        &self,
        known: &Known,
        host: &Host,
        base: &url::Url,
    ) -> crate::forge::detect::Kind {
        match known.kind(host).filter(|_| known_host(host).is_none()) {
            Some(kind) => self.told_kind(known, host, kind, base, None).await,
            None => self.detect(known, host, base).await,
        }
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

    /// The host behind an ssh alias, where the settings ask for that
    pub(super) async fn real_host(&self, url: HostedUrl) -> HostedUrl {
        let named = known_host(&url.host()).is_some();
        if named || !self.settings.ssh_aliases || url.scheme() != Scheme::Ssh {
            return url;
        }
        // Without ssh there are no aliases.
        url.clone().resolve_alias(&self.git).await.unwrap_or(url)
    }

    fn keep(&self, project: &Project, find: &mut Find, url: &HostedUrl) {
        if !self.settings.cache || find.found.guess {
            return;
        }
        let config = ForgeConfig {
            kind: Some(find.found.kind),
            host: find.found.host.clone(),
            sub_path: url.sub_path().map(str::to_owned),
            owner: find.found.owner.clone(),
            repo: find.found.repo.clone(),
            unknown: Vec::new(),
        };
        if let Cached::Left { why } = project.cache_forge(&config) {
            find.notices.push(format!(
                "the forge was not saved to `.blue/config.yaml`: {why}"
            ));
        }
    }
}

impl ForgeConfig {
    fn is_whole(&self) -> bool {
        self.host.is_some() && self.owner.is_some() && self.repo.is_some()
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What is to be said when the file and the remote name different repositories
fn disagreement(found: &Detection, remote: &Remote) -> Option<String> {
    let url = &remote.url;
    let same = |a: Option<&String>, b: &str| a.is_some_and(|a| a.eq_ignore_ascii_case(b));
    let host = found.host.as_ref();
    // The web port of an ssh remote is not known.
    let same_host = host.is_some_and(|h| match url.scheme() {
        Scheme::Https | Scheme::Http => *h == url.host(),
        Scheme::Ssh | Scheme::Git => h.name() == url.host().name(),
    });
    if same_host && same(found.owner.as_ref(), url.owner()) && same(found.repo.as_ref(), url.repo())
    {
        return None;
    }
    Some(format!(
        "`.blue/config.yaml` names {} {}/{}, while the remote `{}` is {} {}; the file wins",
        host.map_or("", Host::as_str),
        found.owner.as_deref().unwrap_or_default(),
        found.repo.as_deref().unwrap_or_default(),
        remote.name,
        url.host(),
        url.repo_id(),
    ))
}

fn local() -> Host {
    Host::parse("localhost").expect("a valid host name")
}

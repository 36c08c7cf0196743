use url::Url;

use super::{Ask, Find, Forges, HostSource, OpenError, known::Known};
use crate::{
    ForgeType,
    detect::{DetectedType, Detection, FoundBy, Kind, ask_host, known_host},
    git_url::{GitUrl, HostedUrl, Scheme},
};
use blue_base::host::Host;

impl Forges {
    /// Which forge is meant: the first of these that says anything
    pub(super) async fn choose(&self, known: &Known, ask: &Ask) -> Result<Find, OpenError> {
        if let Some(host) = &ask.host {
            return self.named_host(known, host, ask).await;
        }
        let named = ask.owner.is_some() && ask.name.is_some();
        match self.here(ask.remote.as_deref()).await {
            Ok(Some(here)) if !here.find.is_none() => {
                // Of a file that came with a clone, the host is the last to be believed.
                let only_file = here.find.source == HostSource::File;
                let Some(host) = self.only_host(known).ok().filter(|_| named && only_file) else {
                    return Ok(here.find);
                };
                return Ok(self.find_host(known, &host, HostSource::Settings).await);
            }
            // What cannot be read here is no hindrance when the repository is named.
            Err(OpenError::Local { .. } | OpenError::Git(_)) if named && ask.remote.is_none() => {}
            // Only the host is wanted, and all remotes may have the same.
            Err(OpenError::Remotes { remotes }) if named => {
                return match self.common_host(&remotes).await {
                    Some(url) => Ok(self.find_url(known, &url).await),
                    None => Err(OpenError::Remotes { remotes }),
                };
            }
            Err(e) => return Err(e),
            Ok(_) => {}
        }
        let host = self.only_host(known)?;
        Ok(self.find_host(known, &host, HostSource::Settings).await)
    }

    async fn named_host(&self, known: &Known, host: &Host, ask: &Ask) -> Result<Find, OpenError> {
        let whole = ask.owner.is_some() && ask.name.is_some();
        let mut find = match self.here(ask.remote.as_deref()).await {
            Ok(Some(here)) if here.find.found.host.as_ref() == Some(host) => here.find,
            Err(e) if !whole || ask.remote.is_some() => return Err(e),
            _ => {
                let written = ask.base.as_ref();
                self.find_host_at(known, host, written, HostSource::Call)
                    .await
            }
        };
        // The arguments of a call are a model's words, and perhaps those of a text that it read: they
        // say where to look, and never where a token may go for the first time.
        if self.typed || host.as_str() == "github.com" {
            find.source = HostSource::Typed;
        }
        Ok(find)
    }

    async fn common_host(&self, remotes: &[String]) -> Option<HostedUrl> {
        let mut found: Option<HostedUrl> = None;
        for remote in remotes {
            let text = self.git.remote_url(&self.cwd, remote).await.ok()?;
            let GitUrl::Hosted(url) = GitUrl::parse(&text).ok()? else {
                return None;
            };
            let url = self.real_host(url).await;
            if found
                .as_ref()
                .is_some_and(|f| f.base_url() != url.base_url())
            {
                return None;
            }
            found = Some(url);
        }
        found
    }

    /// The one host that variables or `hosts.yaml` name
    fn only_host(&self, known: &Known) -> Result<Host, OpenError> {
        let servers = known.servers.iter().map(|s| s.host.clone()).collect();
        if let Some(host) = only(servers)? {
            return Ok(host);
        }
        let entries = known.hosts.entries.iter().map(|e| e.host.clone()).collect();
        if let Some(host) = only(entries)? {
            return Ok(host);
        }
        if self.settings.vars.has_token(ForgeType::GitHub) {
            return Host::parse("github.com").map_err(OpenError::from);
        }
        Err(OpenError::NoForge)
    }

    /// The forge of a host alone
    pub(super) async fn find_host(&self, known: &Known, host: &Host, source: HostSource) -> Find {
        self.find_host_at(known, host, None, source).await
    }

    /// The forge of a host whose pages begin at `written`, unless variables or `hosts.yaml` say otherwise
    ///
    /// A token still goes over plain HTTP only where those allow it, or on loopback.
    async fn find_host_at(
        &self,
        known: &Known,
        host: &Host,
        written: Option<&Url>,
        source: HostSource,
    ) -> Find {
        let mut web = Web::of_host(known, host, None);
        if let (Some(written), false) = (written, web.scheme_known) {
            web = Web {
                base: written.clone(),
                scheme_known: true,
            };
        }
        let kind = self.kind_of(known, host, &web).await;
        let base = kind.web_base(&web.base);
        Find::new(kind.detection(host, None), base, source)
    }

    /// The forge of a git URL, of the type that its server reports
    pub(super) async fn find_url(&self, known: &Known, url: &HostedUrl) -> Find {
        self.find_url_as(known, url, None, None).await
    }

    /// The forge of a git URL, of the type and below the folder that a file tells, if it does
    pub(super) async fn find_url_as(
        &self,
        known: &Known,
        url: &HostedUrl,
        told: Option<DetectedType>,
        sub_path: Option<&str>,
    ) -> Find {
        let host = known.web_host(url);
        let web = Web::of_url(known, &host, url, sub_path);
        let mut kind = if let Some(kind) = told {
            self.told_kind(known, &host, kind, &web).await
        } else {
            let kind = self.kind_of(known, &host, &web).await;
            self.reported(known, &host, &web, kind).await
        };
        if let Some(api) = known.api(&host) {
            kind.api = api;
        }
        let base = kind.web_base(&web.base);
        let detection = kind.detection(&host, Some(url));
        let mut find = Find::new(detection, base, HostSource::Remote);
        if matches!(url.scheme(), Scheme::Https | Scheme::Http) {
            find.username = url.user().map(str::to_owned);
        }
        find
    }

    pub(super) async fn kind_of(&self, known: &Known, host: &Host, web: &Web) -> Kind {
        let said = known.told(host).filter(|_| known_host(host).is_none());
        let mut kind = match said {
            Some(told) => Kind {
                family_only: told.family_only,
                ..self.told_kind(known, host, told.kind, web).await
            },
            None => self.detect(known, host, web).await,
        };
        if let Some(api) = known.api(host) {
            kind.api = api;
        }
        kind
    }

    /// Asks the server which of Gitea and Forgejo it is, where settings or its name told the kind
    ///
    /// What it does not answer stays as it was told, with the reason.
    async fn reported(&self, known: &Known, host: &Host, web: &Web, told: Kind) -> Kind {
        let family = told.forge.forge_type() == Some(ForgeType::Forgejo);
        if !family || !matches!(told.found_by, FoundBy::Name | FoundBy::Config) {
            return told;
        }
        let http = self.http_for(known, host);
        match ask_host(&http, host, &web.base, web.scheme_known).await {
            Ok(seen) if seen.forge.forge_type() == told.forge.forge_type() => Kind {
                found_by: told.found_by,
                ..seen
            },
            Ok(_) => told,
            Err(failure) => Kind {
                family_only: true,
                failure: Some(failure),
                ..told
            },
        }
    }

    /// A forge whose type was told; only the scheme of this very machine is still looked for
    pub(super) async fn told_kind(
        &self,
        known: &Known,
        host: &Host,
        kind: DetectedType,
        web: &Web,
    ) -> Kind {
        let told = Kind::new(kind, FoundBy::Config, &web.base);
        if !host.is_loopback() || web.scheme_known {
            return told;
        }
        let seen = self.detect(known, host, web).await;
        if seen.found_by == FoundBy::Probe && seen.forge.forge_type() == kind.forge_type() {
            return Kind {
                api: seen.api,
                ..told
            };
        }
        told
    }
}

/// Where the pages of a host are believed to begin
#[derive(Debug, Clone)]
pub(super) struct Web {
    pub(super) base: Url,
    /// The user wrote the scheme: in a variable, in `hosts.yaml` or in the URL
    pub(super) scheme_known: bool,
}

impl Web {
    pub(super) fn of_host(known: &Known, host: &Host, sub_path: Option<&str>) -> Self {
        match known.base(host) {
            Some(base) => Self {
                base,
                scheme_known: true,
            },
            None => Self {
                base: below(default_base(host), sub_path),
                scheme_known: false,
            },
        }
    }

    fn of_url(known: &Known, host: &Host, url: &HostedUrl, sub_path: Option<&str>) -> Self {
        // The user's port of an ssh host: the URL's own address lacks it.
        if known.base(host).is_some() || *host != url.host() {
            return Self::of_host(known, host, sub_path);
        }
        Self {
            base: below(url.base_url(), sub_path),
            scheme_known: matches!(url.scheme(), Scheme::Https | Scheme::Http),
        }
    }
}

fn below(mut base: Url, sub_path: Option<&str>) -> Url {
    if let Some(sub) = sub_path {
        base.set_path(&format!("/{sub}/"));
    }
    base
}

impl Kind {
    pub(super) fn detection(&self, host: &Host, url: Option<&HostedUrl>) -> Detection {
        Detection {
            kind: self.forge,
            host: Some(host.clone()),
            owner: url.map(|u| u.owner().to_owned()),
            repo: url.map(|u| u.repo().to_owned()),
            api_url: Some(self.api.clone()),
            found_by: Some(self.found_by),
            guess: self.found_by == FoundBy::Fallback,
            family_only: self.family_only,
            failure: self.failure.clone(),
        }
    }

    /// Where the pages begin, by the scheme at which the API was found
    pub(super) fn web_base(&self, believed: &Url) -> Url {
        let mut base = believed.clone();
        if Host::of_url(&self.api) == Host::of_url(believed) {
            // Both are web schemes, between which a URL can always change.
            let _ = base.set_scheme(self.api.scheme());
        }
        base
    }
}

pub(super) fn default_base(host: &Host) -> Url {
    Url::parse(&format!("https://{host}/")).expect("a host that was parsed fits in a URL")
}

fn only(mut hosts: Vec<Host>) -> Result<Option<Host>, OpenError> {
    hosts.sort();
    hosts.dedup();
    if hosts.len() > 1 {
        return Err(OpenError::Ambiguous { candidates: hosts });
    }
    Ok(hosts.pop())
}

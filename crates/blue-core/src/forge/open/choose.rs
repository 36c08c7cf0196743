use url::Url;

use super::{Ask, Find, Forges, OpenError, known::Known};
use crate::forge::{
    ForgeType,
    detect::{DetectedType, Detection, FoundBy, Kind, known_host},
    git_url::{GitUrl, HostedUrl, Scheme},
    model::Host,
};

impl Forges {
    /// Which forge is meant: the first of these that says anything
    pub(super) async fn choose(&self, known: &Known, ask: &Ask) -> Result<Find, OpenError> {
        if let Some(host) = &ask.host {
            return self.named_host(known, host, ask).await;
        }
        let named = ask.owner.is_some() && ask.name.is_some();
        match self.here(ask.remote.as_deref()).await {
            Ok(Some(here)) if !here.find.is_none() => return Ok(here.find),
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
        Ok(self.find_host(known, &host).await)
    }

    async fn named_host(&self, known: &Known, host: &Host, ask: &Ask) -> Result<Find, OpenError> {
        let whole = ask.owner.is_some() && ask.name.is_some();
        let mut find = match self.here(ask.remote.as_deref()).await {
            Ok(Some(here)) if here.find.found.host.as_ref() == Some(host) => here.find,
            Err(e) if !whole || ask.remote.is_some() => return Err(e),
            _ => Find {
                confirmed: false,
                hearsay: true,
                ..self.find_host(known, host).await
            },
        };
        // The arguments of a call are a model's words, and perhaps those of a text that it read: they
        // say where to look, and never where a token may go for the first time.
        find.confirmed |= self.typed || host.as_str() == "github.com";
        find.hearsay &= !find.confirmed && !known.names(host);
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
    pub(super) async fn find_host(&self, known: &Known, host: &Host) -> Find {
        let base = known.base(host).unwrap_or_else(|| default_base(host));
        let kind = self.kind_of(known, host, &base, None).await;
        let base = kind.web_base(&base);
        Find::new(kind.detection(host, None), base)
    }

    /// The forge of a git URL
    pub(super) async fn find_url(&self, known: &Known, url: &HostedUrl) -> Find {
        let host = known.web_host(url);
        let base = match known.base(&host) {
            Some(base) => base,
            // The user's port of an ssh host: the URL's own address lacks it.
            None if host != url.host() => default_base(&host),
            None => url.base_url(),
        };
        let kind = self.kind_of(known, &host, &base, Some(url)).await;
        let base = kind.web_base(&base);
        let mut find = Find::new(kind.detection(&host, Some(url)), base);
        if matches!(url.scheme(), Scheme::Https | Scheme::Http) {
            find.username = url.user().map(str::to_owned);
        }
        find
    }

    async fn kind_of(
        &self,
        known: &Known,
        host: &Host,
        base: &Url,
        url: Option<&HostedUrl>,
    ) -> Kind {
        let said = known.kind(host).filter(|_| known_host(host).is_none());
        let mut kind = match said {
            Some(kind) => self.told_kind(known, host, kind, base, url).await,
            None => self.detect(known, host, base).await,
        };
        if let Some(api) = known.api(host) {
            kind.api = api;
        }
        kind
    }

    /// A forge whose type was told; only the scheme of this very machine is still looked for
    pub(super) async fn told_kind(
        &self,
        known: &Known,
        host: &Host,
        kind: DetectedType,
        base: &Url,
        url: Option<&HostedUrl>,
    ) -> Kind {
        let told = Kind::new(kind, FoundBy::Config, base);
        let scheme_known = known.base(host).is_some()
            || url.is_some_and(|u| matches!(u.scheme(), Scheme::Https | Scheme::Http));
        if !host.is_loopback() || scheme_known {
            return told;
        }
        let seen = self.detect(known, host, base).await;
        if seen.found_by == FoundBy::Probe && seen.forge.forge_type() == kind.forge_type() {
            return Kind {
                api: seen.api,
                ..told
            };
        }
        told
    }
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

use url::Url;

use crate::{
    ForgeType,
    detect::DetectedType,
    git_url::{HostedUrl, Scheme},
    token::{Hosts, ServerUrl},
};
use blue_base::{host::Host, http::HttpConfig};

/// What the user said about hosts, in variables and in `hosts.yaml`
#[derive(Debug)]
pub(super) struct Known {
    pub(super) servers: Vec<ServerUrl>,
    pub(super) hosts: Hosts,
}

/// Which forge the user says that a host is
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) kind: DetectedType,
    /// A variable names Gitea and Forgejo alike: which of them it is, only the server knows
    pub(super) family_only: bool,
}

impl Known {
    fn server(&self, host: &Host) -> Option<&ServerUrl> {
        self.servers.iter().find(|s| s.host == *host)
    }

    /// Which forge the user says it is
    pub(super) fn told(&self, host: &Host) -> Option<Told> {
        let entry = self.hosts.get(host).and_then(|e| e.kind).map(|kind| Told {
            kind,
            family_only: false,
        });
        entry.or_else(|| {
            let server = self.server(host)?;
            let kind = match (server.family, server.variable) {
                (ForgeType::GitHub, _) => DetectedType::GitHub,
                (ForgeType::Forgejo, "GITEA_URL") => DetectedType::Gitea,
                (ForgeType::Forgejo, _) => DetectedType::Forgejo,
            };
            Some(Told {
                kind,
                family_only: kind != DetectedType::GitHub,
            })
        })
    }

    /// Where the user says its pages begin
    pub(super) fn base(&self, host: &Host) -> Option<Url> {
        if let Some(server) = self.server(host) {
            return Some(server.base.clone());
        }
        let api = self.hosts.get(host)?.api_url.as_ref()?;
        if Host::of_url(api).as_ref() != Some(host) {
            return None;
        }
        let mut base = api.clone();
        let path = ["/api/v1/", "/api/v3/"]
            .iter()
            .find_map(|end| api.path().strip_suffix(end))?;
        base.set_path(&format!("{path}/"));
        Some(base)
    }

    /// Where the user says its API begins
    pub(super) fn api(&self, host: &Host) -> Option<Url> {
        let entry = self.hosts.get(host).and_then(|e| e.api_url.clone());
        entry.or_else(|| self.server(host).and_then(|s| s.api.clone()))
    }

    /// The host of the pages: an ssh or git URL tells neither its port nor whether it is another
    /// one, but the user may have
    pub(super) fn web_host(&self, url: &HostedUrl) -> Host {
        let host = url.host();
        if matches!(url.scheme(), Scheme::Https | Scheme::Http) {
            return host;
        }
        let is_mapped = |ssh: &Host| {
            ssh.name() == host.name() && ssh.port().is_none_or(|port| Some(port) == url.port())
        };
        let mut mapped = self.hosts.entries.iter();
        if let Some(entry) = mapped.find(|e| e.ssh_host.as_ref().is_some_and(is_mapped)) {
            return entry.host.clone();
        }
        if self.names(&host) {
            return host;
        }
        let mut same = self.all().filter(|h| h.name() == host.name());
        match (same.next(), same.next()) {
            (Some(only), None) => only.clone(),
            _ => host,
        }
    }

    pub(super) fn names(&self, host: &Host) -> bool {
        self.all().any(|h| h == host)
    }

    fn all(&self) -> impl Iterator<Item = &Host> {
        let more = self
            .hosts
            .entries
            .iter()
            .map(|e| &e.host)
            .filter(|h| self.server(h).is_none());
        self.servers.iter().map(|s| &s.host).chain(more)
    }

    /// The settings of a client for one host, where they are not everyone's
    pub(super) fn http_config(&self, host: &Host, usual: &HttpConfig) -> Option<HttpConfig> {
        let ca_file = self.hosts.get(host).and_then(|e| e.ca_file.clone());
        // The user wrote `http://`, so a token may go there in the clear.
        let plain = [self.base(host), self.api(host)]
            .into_iter()
            .flatten()
            .find(|u| u.scheme() == "http")
            .and_then(|u| Host::of_url(&u));
        if ca_file.is_none() && plain.is_none() {
            return None;
        }
        let mut config = usual.clone();
        config.ca_file = ca_file.or(config.ca_file);
        config.plain_http_hosts.extend(plain);
        Some(config)
    }
}

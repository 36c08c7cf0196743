//! Which forge a git URL belongs to

mod probe;
#[cfg(test)]
mod tests;

pub use probe::ProbeFailure;
use serde::{Deserialize, Serialize, Serializer};
use url::Url;

use super::{
    Endpoint, Flavor, ForgeType,
    git_url::HostedUrl,
    github,
    model::{Host, RepoId},
};
use blue_base::http::Http;

/// What was found, in the shape that `blue forge detect --json` prints
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detection {
    #[serde(rename = "type")]
    pub kind: DetectedType,
    pub host: Option<Host>,
    pub owner: Option<String>,
    pub repo: Option<String>,
    #[serde(serialize_with = "without_slash")]
    pub api_url: Option<Url>,
    pub found_by: Option<FoundBy>,
    /// Nothing told which forge it is; GitHub is the likeliest
    pub guess: bool,
    /// Gitea and Forgejo alike: which of them it is, the server was not asked
    #[serde(skip)]
    pub family_only: bool,
    /// Why it is a guess
    #[serde(skip)]
    pub failure: Option<ProbeFailure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DetectedType {
    GitHub,
    Gitea,
    Forgejo,
    /// No forge: a local path, or a repository without remotes
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    KnownHost,
    Name,
    Probe,
    /// `.blue/config.yaml`, `hosts.yaml` or a variable such as `FORGEJO_URL`
    Config,
    Fallback,
}

impl DetectedType {
    /// Which API it speaks
    pub fn forge_type(self) -> Option<ForgeType> {
        match self {
            Self::GitHub => Some(ForgeType::GitHub),
            Self::Gitea | Self::Forgejo => Some(ForgeType::Forgejo),
            Self::None => None,
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "github" => Some(Self::GitHub),
            "gitea" => Some(Self::Gitea),
            "forgejo" => Some(Self::Forgejo),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::Gitea => "gitea",
            Self::Forgejo => "forgejo",
            Self::None => "none",
        }
    }

    /// Where its API begins, given where its pages begin
    pub(crate) fn api_url(self, base: &Url) -> Option<Url> {
        match self {
            Self::GitHub => Some(github_api(base)),
            Self::Gitea | Self::Forgejo => base.join("api/v1/").ok(),
            Self::None => None,
        }
    }
}

impl From<Flavor> for DetectedType {
    fn from(flavor: Flavor) -> Self {
        match flavor {
            Flavor::GitHub => Self::GitHub,
            Flavor::Gitea => Self::Gitea,
            Flavor::Forgejo => Self::Forgejo,
        }
    }
}

impl Detection {
    pub fn none() -> Self {
        Self {
            kind: DetectedType::None,
            host: None,
            owner: None,
            repo: None,
            api_url: None,
            found_by: None,
            guess: false,
            family_only: false,
            failure: None,
        }
    }

    pub fn repo_id(&self) -> Option<RepoId> {
        RepoId::parse(self.owner.as_deref()?, self.repo.as_deref()?).ok()
    }

    pub fn endpoint(&self) -> Option<Endpoint> {
        Some(Endpoint {
            host: self.host.clone()?,
            api: self.api_url.clone()?,
        })
    }
}

/// What a host turned out to be
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) forge: DetectedType,
    pub(crate) found_by: FoundBy,
    pub(crate) api: Url,
    /// Gitea and Forgejo alike: which of them it is, the server was not asked
    pub(crate) family_only: bool,
    /// Why it is only a guess
    pub(crate) failure: Option<ProbeFailure>,
}

/// Find the forge of a git URL: known hosts, names, a probe without token, and GitHub as a guess
pub async fn detect(http: &Http, url: &HostedUrl) -> Detection {
    let found = detect_host(http, &url.host(), &url.base_url(), true).await;
    Detection {
        kind: found.forge,
        host: Some(url.host()),
        owner: Some(url.owner().to_owned()),
        repo: Some(url.repo().to_owned()),
        api_url: Some(found.api),
        found_by: Some(found.found_by),
        guess: found.found_by == FoundBy::Fallback,
        family_only: found.family_only,
        failure: found.failure,
    }
}

/// Find the forge of a host alone; `base` is where its pages are believed to begin
pub(crate) async fn detect_host(http: &Http, host: &Host, base: &Url, scheme_known: bool) -> Kind {
    if let Some(kind) = known_host(host) {
        return Kind::new(kind, FoundBy::KnownHost, base);
    }
    if let Some(kind) = by_name(host) {
        return Kind {
            family_only: true,
            ..Kind::new(kind, FoundBy::Name, base)
        };
    }
    match ask_host(http, host, base, scheme_known).await {
        Ok(kind) => kind,
        Err(failure) => Kind {
            failure: Some(failure),
            ..Kind::new(DetectedType::GitHub, FoundBy::Fallback, base)
        },
    }
}

/// Ask a host which forge it is, whatever its name says
pub(crate) async fn ask_host(
    http: &Http,
    host: &Host,
    base: &Url,
    scheme_known: bool,
) -> Result<Kind, ProbeFailure> {
    let bases = probe::bases(host, base, scheme_known);
    let (kind, base) = probe::probe(http, host, &bases).await?;
    Ok(Kind::new(kind, FoundBy::Probe, &base))
}

impl Kind {
    pub(crate) fn new(kind: DetectedType, found_by: FoundBy, base: &Url) -> Self {
        Self {
            forge: kind,
            found_by,
            api: kind.api_url(base).unwrap_or_else(|| base.clone()),
            family_only: false,
            failure: None,
        }
    }
}

pub(crate) fn known_host(host: &Host) -> Option<DetectedType> {
    match host.as_str() {
        "github.com" => Some(DetectedType::GitHub),
        "codeberg.org" => Some(DetectedType::Forgejo),
        name if name.ends_with(".ghe.com") => Some(DetectedType::GitHub),
        _ => None,
    }
}

fn by_name(host: &Host) -> Option<DetectedType> {
    let name = host.name();
    if name.contains("forgejo") {
        return Some(DetectedType::Forgejo);
    }
    name.contains("gitea").then_some(DetectedType::Gitea)
}

fn github_api(base: &Url) -> Url {
    let Some(host) = Host::of_url(base) else {
        return base.clone();
    };
    let mut api = github::api_url(&host);
    if Host::of_url(&api) == Some(host) {
        // Both are web schemes, between which a URL can always change.
        let _ = api.set_scheme(base.scheme());
    }
    api
}

#[expect(clippy::ref_option, reason = "serde gives it so")]
fn without_slash<S: Serializer>(url: &Option<Url>, to: S) -> Result<S::Ok, S::Error> {
    url.as_ref()
        .map(|u| u.as_str().trim_end_matches('/'))
        .serialize(to)
}

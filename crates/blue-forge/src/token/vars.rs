use std::{collections::BTreeMap, fmt};

use url::Url;

use super::TokenError;
use crate::ForgeType;
use blue_base::{host::Host, secret::Secret};

/// The variables of the process, as values; an empty one counts as absent
#[derive(Clone, Default)]
pub struct Vars(BTreeMap<String, Secret>);

/// A forge that a variable names
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    pub variable: &'static str,
    pub family: ForgeType,
    pub host: Host,
    /// Where its pages begin, with a slash at the end
    pub base: Url,
    /// Where its API begins, if a variable says that too
    pub api: Option<Url>,
}

impl Vars {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(Secret::expose)
            .filter(|v| !v.is_empty())
    }

    /// Variables that hold a token of a family, in the order they are looked at
    pub(crate) fn token_names(family: ForgeType) -> [&'static str; 2] {
        match family {
            ForgeType::GitHub => ["GITHUB_TOKEN", "GH_TOKEN"],
            ForgeType::Forgejo => ["FORGEJO_TOKEN", "GITEA_TOKEN"],
        }
    }

    pub fn has_token(&self, family: ForgeType) -> bool {
        Self::token_names(family)
            .iter()
            .any(|n| self.get(n).is_some() || self.get(&format!("{n}_FILE")).is_some())
    }

    /// The variable whose token belongs to a forge that a variable names
    pub fn token_for(&self, server: &ServerUrl) -> Option<String> {
        Self::token_names(server.family)
            .into_iter()
            .flat_map(|name| [name.to_owned(), format!("{name}_FILE")])
            .filter(|name| self.get(name).is_some())
            .find(|name| {
                let bound = self.server_of(name.trim_end_matches("_FILE"));
                bound.ok().flatten().is_some_and(|s| s.host == server.host)
            })
    }

    /// The forges that variables name
    pub fn servers(&self) -> Result<Vec<ServerUrl>, TokenError> {
        let mut found = Vec::new();
        for variable in ["FORGEJO_URL", "GITEA_URL"] {
            found.extend(self.server(variable, ForgeType::Forgejo)?);
        }
        let api = self.url("GITHUB_API_URL")?;
        match self.server("GITHUB_SERVER_URL", ForgeType::GitHub)? {
            Some(server) => found.push(ServerUrl { api, ..server }),
            None => found.extend(api.and_then(server_of_api)),
        }
        Ok(found)
    }

    /// The one that the token in `variable` belongs to
    pub(crate) fn server_of(&self, variable: &str) -> Result<Option<ServerUrl>, TokenError> {
        let order: &[&str] = match variable {
            "FORGEJO_TOKEN" => &["FORGEJO_URL", "GITEA_URL"],
            "GITEA_TOKEN" => &["GITEA_URL", "FORGEJO_URL"],
            _ => &["GITHUB_SERVER_URL", "GITHUB_API_URL"],
        };
        let mut servers = self.servers()?;
        Ok(order
            .iter()
            .find_map(|name| servers.iter().position(|s| s.variable == *name))
            .map(|at| servers.swap_remove(at)))
    }

    fn server(
        &self,
        variable: &'static str,
        family: ForgeType,
    ) -> Result<Option<ServerUrl>, TokenError> {
        let Some(mut base) = self.url(variable)? else {
            return Ok(None);
        };
        // Many people give where the API begins.
        let path = base.path().trim_end_matches('/').to_owned();
        let path = path.strip_suffix("/api/v1").unwrap_or(&path);
        base.set_path(&format!("{path}/"));
        let host = Host::of_url(&base).ok_or_else(|| bad(variable))?;
        Ok(Some(ServerUrl {
            variable,
            family,
            host,
            base,
            api: None,
        }))
    }

    fn url(&self, variable: &'static str) -> Result<Option<Url>, TokenError> {
        self.get(variable)
            .map(|text| web_url(text).ok_or_else(|| bad(variable)))
            .transpose()
    }
}

fn server_of_api(api: Url) -> Option<ServerUrl> {
    let mut base = api.clone();
    base.set_path("/");
    let name = api.host_str().unwrap_or_default();
    if let Some(name) = name.strip_prefix("api.")
        && (name == "github.com" || name.ends_with(".ghe.com"))
    {
        base.set_host(Some(name)).ok()?;
    }
    Some(ServerUrl {
        variable: "GITHUB_API_URL",
        family: ForgeType::GitHub,
        host: Host::of_url(&base)?,
        base,
        api: Some(api),
    })
}

/// A web address without user, query or fragment, its path ending in a slash
pub(super) fn web_url(text: &str) -> Option<Url> {
    // Some parsers take a backslash for a slash, so that they find another host in the text.
    if text.contains('\\') {
        return None;
    }
    let mut url = Url::parse(text).ok()?;
    let web = matches!(url.scheme(), "https" | "http") && url.has_host();
    if !web || !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    if url.query().is_some() || url.fragment().is_some() {
        return None;
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Some(url)
}

fn bad(variable: &str) -> TokenError {
    TokenError::BadUrl {
        variable: variable.to_owned(),
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Vars {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(k, v)| (k.into(), Secret::new(v)))
                .collect(),
        )
    }
}

impl fmt::Debug for Vars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

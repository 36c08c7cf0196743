//! Clients that an admin wrote down

use std::path::{Path, PathBuf};

use blue_core::secret::Secret;
use serde::Deserialize;

use super::{layers::read_secret, values::word};

/// A table of `[[clients]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClient {
    id: String,
    name: String,
    redirect_uris: Vec<String>,
    secret_file: Option<PathBuf>,
}

/// A client that an admin wrote down
#[derive(Debug, Clone)]
pub struct StaticClient {
    pub id: String,
    pub name: String,
    pub redirect_uris: Vec<String>,
    /// None for a public client
    pub secret: Option<Secret>,
}

impl StaticClient {
    pub(super) fn read(
        raw: RawClient,
        base: &Path,
        good: impl Fn(&str) -> Result<(), String>,
    ) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if raw.id.is_empty() || !raw.id.chars().all(plain) {
            return Err("`id` must be letters, digits, `.`, `_` and `-`".to_owned());
        }
        if raw.redirect_uris.is_empty() {
            return Err(format!("`{}` has no redirect URI", raw.id));
        }
        for uri in &raw.redirect_uris {
            good(uri).map_err(|why| format!("the redirect URI `{uri}` {why}"))?;
        }
        word(&raw.name).map_err(|why| format!("`name` {why}"))?;
        let secret = match raw.secret_file {
            Some(file) => Some(read_secret(&base.join(file))?),
            None => None,
        };
        Ok(Self {
            id: raw.id,
            name: raw.name,
            redirect_uris: raw.redirect_uris,
            secret,
        })
    }
}

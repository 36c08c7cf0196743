//! Clients that an admin configured

use std::path::{Path, PathBuf};

use blue_base::secret::Secret;
use serde::Deserialize;

use super::{layers::read_secret, values::word};

/// A table of `[[clients]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClient {
    id: String,
    name: String,
    redirect_uris: Vec<String>,
    pub(super) secret_file: Option<PathBuf>,
}

/// A client that an admin configured
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
    ) -> Result<Self, Vec<String>> {
        let mut faults = Vec::new();
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if raw.id.is_empty() || !raw.id.chars().all(plain) {
            faults.push("`id` must be letters, digits, `.`, `_` and `-`".to_owned());
        }
        if raw.redirect_uris.is_empty() {
            faults.push("there is no redirect URI".to_owned());
        }
        for uri in &raw.redirect_uris {
            if let Err(why) = good(uri) {
                faults.push(format!("the redirect URI `{uri}` {why}"));
            }
        }
        if let Err(why) = word(&raw.name) {
            faults.push(format!("`name` {why}"));
        }
        let secret = raw.secret_file.map(|file| read_secret(&base.join(file)));
        let secret = secret.transpose().unwrap_or_else(|why| {
            faults.push(why);
            None
        });
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self {
            id: raw.id,
            name: raw.name,
            redirect_uris: raw.redirect_uris,
            secret,
        })
    }
}

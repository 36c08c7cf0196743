use std::{fs, io};

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::{ConfigError, Project};
use crate::{detect::DetectedType, model::RepoId};
use blue_base::{host::Host, text::clean_line, yaml};

/// The `forge:` block of `.blue/config.yaml`; what is absent is found as without it
///
/// It comes with a clone, so it may choose where to look but never where a token goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgeConfig {
    pub kind: Option<DetectedType>,
    pub host: Option<Host>,
    /// `git` of `https://host/git/owner/repo`
    pub sub_path: Option<String>,
    pub owner: Option<String>,
    pub repo: Option<String>,
    /// Keys that mean nothing, most likely misspelt
    pub unknown: Vec<String>,
}

/// What became of a find that should be kept
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cached {
    Written,
    /// There is a `forge:` already, and it is a person's
    Present,
    /// The file could not be added to without risk; nothing was changed
    Left {
        why: String,
    },
}

#[derive(Deserialize)]
struct Raw {
    forge: Option<RawForge>,
}

#[derive(Deserialize)]
struct RawForge {
    #[serde(rename = "type")]
    kind: Option<Spanned<String>>,
    host: Option<Spanned<String>>,
    sub_path: Option<Spanned<String>>,
    owner: Option<Spanned<String>>,
    repo: Option<Spanned<String>>,
}

const KEYS: &[&str] = &["type", "host", "sub_path", "owner", "repo"];

impl Project {
    /// What `.blue/config.yaml` says about the forge
    pub fn forge(&self) -> Result<Option<ForgeConfig>, ConfigError> {
        let Some(text) = self.config_text()? else {
            return Ok(None);
        };
        let fault = |f: yaml::Fault| self.invalid(f.line, f.message);
        let whole: Option<Value> = yaml::parse(&text).map_err(fault)?;
        let block = match &whole {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Object(map)) => map.get("forge"),
            Some(_) => return Err(self.invalid(Some(1), "not a list of `key: value` lines")),
        };
        let Some(block) = block else {
            return Ok(None);
        };
        let raw: Raw = yaml::parse(&text).map_err(fault)?;
        let Some(raw) = raw.forge else {
            return Ok(Some(ForgeConfig::default()));
        };
        let unknown = block
            .as_object()
            .into_iter()
            .flat_map(serde_json::Map::keys)
            .filter(|key| !KEYS.contains(&key.as_str()))
            .map(|key| clean_line(key))
            .collect();
        Ok(Some(ForgeConfig {
            kind: self.value(raw.kind, |t| {
                DetectedType::parse(t)
                    .ok_or_else(|| "is none of `github`, `gitea`, `forgejo`, `none`".to_owned())
            })?,
            host: self.value(raw.host, |t| {
                Host::parse(t).map_err(|_| "is not a host name".to_owned())
            })?,
            sub_path: self.value(raw.sub_path, name)?,
            owner: self.value(raw.owner, name)?,
            repo: self.value(raw.repo, name)?,
            unknown,
        }))
    }

    /// Keep what was found, unless there is a `forge:` already
    pub fn cache_forge(&self, found: &ForgeConfig) -> Cached {
        self.cache_with(found, false)
    }

    /// Keep what was found in the place of the `forge:` that is there
    pub fn replace_forge(&self, found: &ForgeConfig) -> Cached {
        self.cache_with(found, true)
    }

    fn cache_with(&self, found: &ForgeConfig, replace: bool) -> Cached {
        match self.try_cache(found, replace) {
            Ok(cached) => cached,
            Err(e) => Cached::Left { why: e.to_string() },
        }
    }

    fn try_cache(&self, found: &ForgeConfig, replace: bool) -> io::Result<Cached> {
        let left = |why: &str| {
            Ok(Cached::Left {
                why: why.to_owned(),
            })
        };
        let path = self.config_path();
        let folder = self.root().join(".blue");
        if [&folder, &path].iter().any(|p| p.is_symlink()) {
            return left("it is a link");
        }
        let text = match self.config_text() {
            Ok(text) => text.unwrap_or_default(),
            Err(e) => return left(&e.to_string()),
        };
        match yaml::parse::<Option<Value>>(&text) {
            Ok(Some(Value::Object(map))) if map.contains_key("forge") && !replace => {
                return Ok(Cached::Present);
            }
            _ => {}
        }
        let children = found.children();
        let new = if replace {
            yaml::replace_block(&text, "forge", &children)
        } else {
            yaml::append_block(&text, "forge", &children)
        };
        let Some(new) = new else {
            return left("its text cannot be changed without changing the rest");
        };
        if !folder.is_dir() {
            fs::create_dir(&folder)?;
        }
        // Another process may have written the file since it was read.
        if self.config_text().ok().flatten().unwrap_or_default() != text {
            return left("it was changed in the meantime");
        }
        yaml::replace(&path, &new, false)?;
        Ok(Cached::Written)
    }

    fn value<T>(
        &self,
        raw: Option<Spanned<String>>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(raw) = raw else {
            return Ok(None);
        };
        let line = raw.referenced.line();
        parse(&raw.value).map(Some).map_err(|why| {
            let shown: String = clean_line(&raw.value).chars().take(100).collect();
            self.invalid(Some(line), format!("`{shown}` {why}"))
        })
    }
}

impl ForgeConfig {
    /// Where it is, from the top folder of the work tree
    pub const PATH: &'static str = ".blue/config.yaml";

    /// Whether nothing in it names another repository
    pub fn agrees_with(&self, host: &Host, repo: &RepoId) -> bool {
        let same = |named: Option<&String>, real: &str| {
            named.is_none_or(|named| named.eq_ignore_ascii_case(real))
        };
        self.host.as_ref().is_none_or(|named| named == host)
            && same(self.owner.as_ref(), repo.owner())
            && same(self.repo.as_ref(), repo.name())
    }

    /// What it names, for a message: `git.example.org alice/demo`
    pub fn names(&self) -> String {
        let owner = self.owner.as_deref().unwrap_or("*");
        let repo = self.repo.as_deref().unwrap_or("*");
        let repo = match (owner, repo) {
            ("*", "*") => None,
            _ => Some(format!("{owner}/{repo}")),
        };
        let host = self.host.as_ref().map(ToString::to_string);
        let parts: Vec<String> = host.into_iter().chain(repo).collect();
        parts.join(" ")
    }

    fn children(&self) -> Vec<(&'static str, String)> {
        let values = [
            self.kind.map(|k| k.as_str().to_owned()),
            self.host.as_ref().map(ToString::to_string),
            self.sub_path.clone(),
            self.owner.clone(),
            self.repo.clone(),
        ];
        KEYS.iter()
            .zip(values)
            .filter_map(|(key, value)| Some((*key, value?)))
            .collect()
    }
}

fn name(text: &str) -> Result<String, String> {
    RepoId::parse(text, "x")
        .map(|id| id.owner().to_owned())
        .ok()
        .filter(|n| !n.starts_with('-') && !n.contains('@'))
        .ok_or_else(|| "is not the name of an owner or repository".to_owned())
}

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::Deserialize;
use url::Url;

use super::{hosts_file::HostsError, vars::web_url};
use crate::{ForgeType, detect::DetectedType};
use blue_base::{host::Host, yaml};

/// What `hosts.yaml` says of one host
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    pub host: Host,
    pub kind: Option<DetectedType>,
    pub api_url: Option<Url>,
    pub token: Option<TokenRef>,
    pub ca_file: Option<PathBuf>,
    /// The host in the ssh remotes of this forge, where it is another than that of its pages
    pub ssh_host: Option<Host>,
    /// Since when tokens from variables may go there
    pub trusted: Option<Timestamp>,
}

/// How to get a token
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenRef {
    Variable(String),
    File(PathBuf),
    /// Program and arguments, or one line for the shell
    Command(Vec<String>),
}

/// The whole file
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts {
    pub(crate) entries: Vec<HostEntry>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Raw {
    r#type: Option<String>,
    api_url: Option<String>,
    token_env: Option<String>,
    token_file: Option<String>,
    token_command: Option<RawCommand>,
    ca_file: Option<String>,
    ssh_host: Option<String>,
    trusted: Option<String>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`token_command` is neither a line of text nor a list of words"
)]
enum RawCommand {
    Line(String),
    Words(Vec<String>),
}

impl Hosts {
    pub(super) fn parse(path: &Path, text: &str, home: Option<&str>) -> Result<Self, HostsError> {
        let raw: Option<BTreeMap<String, Option<Raw>>> =
            yaml::parse(text).map_err(|fault| HostsError::Invalid {
                path: path.to_owned(),
                line: fault.line,
                message: fault.message,
            })?;
        let place = Place { path, home };
        let entries = raw
            .unwrap_or_default()
            .into_iter()
            .map(|(key, raw)| place.entry(&key, raw.unwrap_or_default()))
            .collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }

    pub(crate) fn get(&self, host: &Host) -> Option<&HostEntry> {
        self.entries.iter().find(|e| e.host == *host)
    }

    /// Hosts that tokens of a family may go to
    pub(super) fn trusted(&self, family: ForgeType) -> impl Iterator<Item = &Host> {
        self.entries
            .iter()
            .filter(move |e| {
                e.trusted.is_some()
                    && e.kind
                        .is_none_or(|k| k.forge_type().is_none_or(|f| f == family))
            })
            .map(|e| &e.host)
    }
}

struct Place<'a> {
    path: &'a Path,
    home: Option<&'a str>,
}

impl Place<'_> {
    fn entry(&self, key: &str, raw: Raw) -> Result<HostEntry, HostsError> {
        let host = Host::parse(key).map_err(|e| self.invalid(e.to_string()))?;
        let wrong = |name: &str, value: &str| {
            let value = blue_base::text::clean_line(value);
            self.invalid(format!("`{value}` is not a valid `{name}` for {host}"))
        };
        let kind = raw
            .r#type
            .map(|t| DetectedType::parse(&t).ok_or_else(|| wrong("type", &t)))
            .transpose()?;
        let api_url = raw
            .api_url
            .map(|u| {
                web_url(&u).ok_or_else(|| {
                    self.invalid(format!("the `api_url` for {host} is not a web address"))
                })
            })
            .transpose()?;
        let ssh_host = raw
            .ssh_host
            .map(|h| Host::parse(&h).map_err(|_| wrong("ssh_host", &h)))
            .transpose()?;
        let trusted = raw
            .trusted
            .map(|t| t.parse().map_err(|_| wrong("trusted", &t)))
            .transpose()?;
        let mut tokens = [
            raw.token_env.map(TokenRef::Variable),
            raw.token_file.map(|f| TokenRef::File(self.file(&f))),
            raw.token_command.map(|c| TokenRef::Command(c.words())),
        ]
        .into_iter()
        .flatten();
        let token = tokens.next();
        if tokens.next().is_some() {
            return Err(self.invalid(format!(
                "{host} has more than one of `token_env`, `token_file` and `token_command`"
            )));
        }
        if token == Some(TokenRef::Command(Vec::new())) {
            return Err(self.invalid(format!("the `token_command` for {host} is empty")));
        }
        Ok(HostEntry {
            kind,
            api_url,
            token,
            ca_file: raw.ca_file.map(|f| self.file(&f)),
            ssh_host,
            trusted,
            host,
        })
    }

    /// Relative to the folder of `hosts.yaml`
    fn file(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => Path::new(home).join(rest),
            _ => self.path.parent().unwrap_or(Path::new("")).join(text),
        }
    }

    fn invalid(&self, message: String) -> HostsError {
        HostsError::Invalid {
            path: self.path.to_owned(),
            line: None,
            message,
        }
    }
}

impl RawCommand {
    fn words(self) -> Vec<String> {
        match self {
            Self::Line(line) if line.trim().is_empty() => Vec::new(),
            Self::Line(line) => vec!["sh".to_owned(), "-c".to_owned(), line],
            Self::Words(words) => words,
        }
    }
}

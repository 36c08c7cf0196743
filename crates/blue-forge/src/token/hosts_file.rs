use std::{
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::hosts::Hosts;
use crate::{ForgeType, detect::DetectedType};
use blue_base::{
    host::Host,
    yaml::{self, ReadError},
};

/// `hosts.yaml` in Blue's own folder: what the user says of each host
#[derive(Debug, Clone)]
pub struct HostsFile {
    path: PathBuf,
    /// What `~` stands for in it
    user_home: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    #[error("could not read `{path}`")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not write `{path}`")]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A person has to correct it
    #[error("`{path}`{}: {message}", .line.map(|l| format!(" line {l}")).unwrap_or_default())]
    Invalid {
        path: PathBuf,
        line: Option<u64>,
        message: String,
    },
    /// Its text cannot be added to without changing the rest
    #[error("`{path}` cannot be edited safely: it lacks `trusted: {since}` for `{host}`")]
    Uneditable {
        path: PathBuf,
        host: Host,
        since: String,
    },
}

/// What a token without an address of its own may do with a host
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Grant {
    Trusted,
    /// This was its first host, which is now recorded
    First,
    /// It belongs to these
    Refused(Vec<Host>),
}

impl HostsFile {
    /// The file in `home`, which is `$BLUE_HOME`
    pub fn new(home: &Path, user_home: Option<&str>) -> Self {
        Self {
            path: home.join("hosts.yaml"),
            user_home: user_home.map(str::to_owned),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn load(&self) -> Result<Hosts, HostsError> {
        let text = self.text()?;
        Hosts::parse(&self.path, &text, self.user_home.as_deref())
    }

    /// Let tokens from variables go to a host; false if they might already
    pub fn trust(
        &self,
        host: &Host,
        kind: Option<DetectedType>,
        now: Timestamp,
    ) -> Result<bool, HostsError> {
        let _lock = self.lock()?;
        let hosts = self.load()?;
        if hosts.get(host).is_some_and(|e| e.trusted.is_some()) {
            return Ok(false);
        }
        self.record(&hosts, host, kind, now)?;
        Ok(true)
    }

    /// Decide about a host, and record it if it is the first of its family and `may_be_first`
    pub(super) fn grant(
        &self,
        host: &Host,
        kind: DetectedType,
        family: ForgeType,
        may_be_first: bool,
        now: Timestamp,
    ) -> Result<Grant, HostsError> {
        let decide = |hosts: &Hosts| {
            let trusted: Vec<Host> = hosts.trusted(family).cloned().collect();
            if trusted.contains(host) {
                return Some(Grant::Trusted);
            }
            (!trusted.is_empty() || !may_be_first).then_some(Grant::Refused(trusted))
        };
        if let Some(grant) = decide(&self.load()?) {
            return Ok(grant);
        }
        // Read again behind the lock: another process may have been first.
        let _lock = self.lock()?;
        let hosts = self.load()?;
        if let Some(grant) = decide(&hosts) {
            return Ok(grant);
        }
        self.record(&hosts, host, Some(kind), now)?;
        Ok(Grant::First)
    }

    fn record(
        &self,
        hosts: &Hosts,
        host: &Host,
        kind: Option<DetectedType>,
        now: Timestamp,
    ) -> Result<(), HostsError> {
        let text = self.text()?;
        let since = now.round(jiff::Unit::Second).unwrap_or(now).to_string();
        let new = if hosts.get(host).is_some() {
            // The key may be written in another case or with a port of its own.
            yaml::add_child(&text, host.as_str(), "trusted", &since)
        } else {
            let kind = kind.map(|k| ("type", k.as_str().to_owned()));
            let children: Vec<_> = kind
                .into_iter()
                .chain([("trusted", since.clone())])
                .collect();
            yaml::append_block(&text, host.as_str(), &children)
        };
        let new = new.ok_or_else(|| HostsError::Uneditable {
            path: self.path.clone(),
            host: host.clone(),
            since,
        })?;
        // People keep such files elsewhere and link to them.
        let real = self
            .path
            .canonicalize()
            .unwrap_or_else(|_| self.path.clone());
        yaml::replace(&real, &new, true).map_err(|e| self.write_error(e))
    }

    fn text(&self) -> Result<String, HostsError> {
        match yaml::read_small(&self.path) {
            Ok(text) => Ok(text.unwrap_or_default()),
            Err(ReadError::Io(source)) => Err(HostsError::Read {
                path: self.path.clone(),
                source,
            }),
            Err(e) => Err(HostsError::Invalid {
                path: self.path.clone(),
                line: None,
                message: e.to_string(),
            }),
        }
    }

    /// One writer at a time, on the whole machine; let go when dropped
    fn lock(&self) -> Result<fs::File, HostsError> {
        let open = || {
            if let Some(folder) = self.path.parent() {
                create_private(folder)?;
            }
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(self.path.with_extension("yaml.lock"))?;
            file.lock()?;
            Ok(file)
        };
        open().map_err(|e| self.write_error(e))
    }

    fn write_error(&self, source: io::Error) -> HostsError {
        HostsError::Write {
            path: self.path.clone(),
            source,
        }
    }
}

fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

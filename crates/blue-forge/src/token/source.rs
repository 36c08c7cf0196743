use std::{fmt, path::PathBuf};

use serde::{Serialize, Serializer};

/// Where a token came from; never the token
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    Variable(String),
    /// A file that a variable such as `GITHUB_TOKEN_FILE` names
    VariableFile {
        variable: String,
        path: PathBuf,
    },
    /// `hosts.yaml` names a variable
    HostsVariable(String),
    HostsFile(PathBuf),
    HostsCommand,
    GitCredential,
}

impl fmt::Display for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "`{name}`"),
            Self::VariableFile { variable, path } => {
                write!(f, "the file `{}` of `{variable}`", path.display())
            }
            Self::HostsVariable(name) => write!(f, "`{name}`, by `hosts.yaml`"),
            Self::HostsFile(path) => write!(f, "the file `{}`, by `hosts.yaml`", path.display()),
            Self::HostsCommand => f.write_str("a command, by `hosts.yaml`"),
            Self::GitCredential => f.write_str("git's credential helper"),
        }
    }
}

impl Serialize for TokenSource {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

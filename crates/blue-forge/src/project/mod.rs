//! The `.blue` folder of a repository

mod exclude;
mod forge;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use exclude::Exclude;
pub use forge::{Cached, ForgeConfig};

use blue_base::yaml::{self, ReadError};

/// A work tree with a `.blue` folder, or the place for one
#[derive(Debug, Clone)]
pub struct Project {
    root: PathBuf,
}

/// What is wrong with `.blue/config.yaml`
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("could not read `{path}`")]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("`{path}` is {message}")]
    Unusable { path: PathBuf, message: String },
    /// A person has to correct it; the line counts from 1
    #[error("`{path}`{}: {message}", .line.map(|l| format!(" line {l}")).unwrap_or_default())]
    Invalid {
        path: PathBuf,
        line: Option<u64>,
        message: String,
    },
}

impl Project {
    /// `root` is the top folder of a work tree
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn config_path(&self) -> PathBuf {
        self.root.join(ForgeConfig::PATH)
    }

    /// The text of `.blue/config.yaml`; none where there is no such file
    fn config_text(&self) -> Result<Option<String>, ConfigError> {
        let path = self.config_path();
        if self.leads_outside() {
            return Err(ConfigError::Unusable {
                path,
                message: "a link that leads out of the repository".to_owned(),
            });
        }
        yaml::read_small(&path).map_err(|e| match e {
            ReadError::Io(source) => ConfigError::Read { path, source },
            e => ConfigError::Unusable {
                path,
                message: e.to_string(),
            },
        })
    }

    /// A cloned repository may hold links to anywhere
    fn leads_outside(&self) -> bool {
        let Ok(root) = self.root.canonicalize() else {
            return true;
        };
        let path = self.config_path();
        [self.root.join(".blue"), path]
            .iter()
            .filter_map(|p| p.canonicalize().ok())
            .any(|real| !real.starts_with(&root))
    }

    fn invalid(&self, line: Option<u64>, message: impl Into<String>) -> ConfigError {
        ConfigError::Invalid {
            path: self.config_path(),
            line,
            message: message.into(),
        }
    }
}

use std::fmt;

use super::Ask;

/// Why a repository that was found may be read, but not written to
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadsOnly {
    /// `.blue/config.yaml`, which git tracks, names another repository than the remote
    FileDisagrees { file: String, remote: String },
    /// Only `.blue/config.yaml` names it
    FileAlone { file: String },
}

impl ReadsOnly {
    /// Whether a caller has named so much that nothing is left to the file
    pub(super) fn is_lifted_by(&self, ask: &Ask) -> bool {
        let named = ask.owner.is_some() && ask.name.is_some();
        match self {
            Self::FileDisagrees { .. } => named,
            Self::FileAlone { .. } => named && ask.host.is_some(),
        }
    }
}

impl fmt::Display for ReadsOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileDisagrees { file, remote } => write!(
                f,
                "not written: `.blue/config.yaml`, which git tracks, names {file}, and the remote \
                 {remote}"
            ),
            Self::FileAlone { file } => write!(
                f,
                "not written: only `.blue/config.yaml` names {file}, and no remote does"
            ),
        }
    }
}

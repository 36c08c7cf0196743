//! Trust in a host, derived from what a person confirmed

use super::{Find, known::Known};
use crate::{
    detect::{DetectedType, known_host},
    token::Confirmed,
};

/// How the host of a find came to be named
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostSource {
    /// A person typed it on the command line
    Typed,
    /// A variable or `hosts.yaml` names it
    Settings,
    /// A remote of the working directory names it
    Remote,
    /// Only `.blue/config.yaml` names it, which may have come with a clone
    File,
    /// Only the arguments of a call name it, which may be those of a text that a model read
    Call,
}

/// Derives what may be done with tokens at the host of a find
///
/// The only place that does: no find has trust of its own. A guess gets nothing. What a call or a
/// file names gets something only if variables or `hosts.yaml` name it too.
pub(super) fn confirmed(find: &Find, known: &Known) -> Confirmed {
    let Some(host) = find.found.host.as_ref().filter(|_| !find.found.guess) else {
        return Confirmed::Nothing;
    };
    // A host that is GitHub by its own word or by that of a file could lure the token of github.com.
    let claims_github = find.found.kind == DetectedType::GitHub
        && known_host(host) != Some(DetectedType::GitHub)
        && known.told(host).map(|told| told.kind) != Some(DetectedType::GitHub);
    match find.source {
        HostSource::Typed | HostSource::Settings | HostSource::Remote if claims_github => {
            Confirmed::Host
        }
        HostSource::Typed | HostSource::Settings | HostSource::Remote => Confirmed::HostAndType,
        HostSource::File | HostSource::Call if known.names(host) => Confirmed::Host,
        HostSource::File | HostSource::Call => Confirmed::Nothing,
    }
}

impl HostSource {
    /// What names the host, for a note to the user
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Typed => "the command line",
            Self::Settings => "the settings",
            Self::Remote => "the remote",
            Self::File => "`.blue/config.yaml`",
            Self::Call => "a call",
        }
    }
}

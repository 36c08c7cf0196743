//! Addresses of pages

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What may stand in a path as it is; a slash stays a slash
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

/// A page of one repository
#[derive(Debug, Clone)]
pub(super) struct RepoLink {
    base: String,
}

/// How a point in history is named in an address
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum At {
    Branch(String),
    Tag(String),
    Commit(String),
}

impl At {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Branch(name) | Self::Tag(name) | Self::Commit(name) => name,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Branch(_) => "branch",
            Self::Tag(_) => "tag",
            Self::Commit(_) => "commit",
        }
    }
}

impl RepoLink {
    pub(super) fn new(owner: &str, name: &str) -> Self {
        Self {
            base: format!("/{}/{}", encode(owner), encode(name)),
        }
    }

    pub(super) fn home(&self) -> String {
        self.base.clone()
    }

    /// A page right under the repository, such as `pulls`
    pub(super) fn page(&self, name: &str) -> String {
        format!("{}/{name}", self.base)
    }

    /// A folder or file as of `at`
    pub(super) fn source(&self, at: &At, path: &str) -> String {
        let start = format!("{}/src/{}/{}", self.base, at.kind(), encode(at.name()));
        if path.is_empty() {
            start
        } else {
            format!("{start}/{}", encode(path))
        }
    }

    /// The bytes of a file as of `at`
    pub(super) fn raw(&self, at: &At, path: &str) -> String {
        format!(
            "{}/raw/{}/{}/{}",
            self.base,
            at.kind(),
            encode(at.name()),
            encode(path)
        )
    }

    pub(super) fn commits(&self, at: &At) -> String {
        format!("{}/commits/{}/{}", self.base, at.kind(), encode(at.name()))
    }

    pub(super) fn commit(&self, sha: &str) -> String {
        format!("{}/commit/{sha}", self.base)
    }
}

/// Percent-encode what a path cannot hold, slashes aside
pub(super) fn encode(text: &str) -> String {
    utf8_percent_encode(text, PATH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_encoded_once() {
        let link = RepoLink::new("al", "a.b");
        let at = At::Branch("feat/ä #1".to_owned());
        assert_eq!(
            link.source(&at, "50%/a b?.txt"),
            "/al/a.b/src/branch/feat/%C3%A4%20%231/50%25/a%20b%3F.txt"
        );
        assert_eq!(
            link.source(&At::Tag("v1".to_owned()), ""),
            "/al/a.b/src/tag/v1"
        );
    }
}

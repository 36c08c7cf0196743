//! Where things are: API addresses, web pages, opaque ids

use base64::{Engine, engine::general_purpose::STANDARD};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// Kept as it is in one path segment; a slash is not
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The roots of the forge
#[derive(Debug, Clone)]
pub(super) struct Urls {
    /// Web pages: `http://127.0.0.1:3000`
    pub(super) web: String,
    /// This door: `http://127.0.0.1:3000/api/v3`
    pub(super) api: String,
}

impl Urls {
    pub(super) fn new(root: &str) -> Self {
        let web = root.trim_end_matches('/').to_owned();
        let api = format!("{web}/api/v3");
        Self { web, api }
    }
}

/// A path of a repository, slashes kept
pub(super) fn path(text: &str) -> String {
    let segments: Vec<String> = text.split('/').map(segment).collect();
    segments.join("/")
}

pub(super) fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// GitHub's opaque global id in its older form
pub(super) fn node_id(kind: &str, id: impl std::fmt::Display) -> String {
    STANDARD.encode(format!("{:02}:{kind}{id}", kind.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_paths() {
        assert_eq!(node_id("User", 1), "MDQ6VXNlcjE=");
        assert_eq!(path("a b/ü#%.txt"), "a%20b/%C3%BC%23%25.txt");
        assert_eq!(segment("a/b"), "a%2Fb");
    }
}

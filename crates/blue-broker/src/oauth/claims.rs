//! Metadata that a client sends about itself, in a registration or in its document
//!
//! None of it is trusted; it is only normalized so that it can be shown and compared.

use blue_base::text::clean_line;
use serde_json::{Map, Value};
use url::Url;

use super::redirect;
use crate::config::Config;

const MOST_URIS: usize = 20;
/// Limit of all redirect URIs together, in bytes, because unauthenticated callers can have them
/// stored
const LONGEST_URIS: usize = 2048;
const LONGEST_NAME: usize = 100;
const LONGEST_URI: usize = 2048;

/// Members that are links to pages
const LINKS: &[&str] = &["client_uri", "logo_uri", "policy_uri", "tos_uri"];

#[derive(Debug, Clone)]
pub(super) struct Claims {
    pub(super) name: Option<String>,
    pub(super) redirect_uris: Vec<String>,
    /// As it was sent, whatever it was
    pub(super) auth_method: Option<String>,
    /// Other members that are kept
    pub(super) metadata: Map<String, Value>,
}

/// What is wrong with the metadata, as a message for the author of the client
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ClaimError {
    #[error("{0}")]
    Redirect(String),
    #[error("{0}")]
    Metadata(String),
}

impl Claims {
    pub(super) fn read(config: &Config, said: &Map<String, Value>) -> Result<Self, ClaimError> {
        let redirect_uris = redirect_uris(config, said)?;
        must_hold(said, "grant_types", "authorization_code")?;
        must_hold(said, "response_types", "code")?;
        let mut metadata = Map::new();
        for key in LINKS {
            if let Some(link) = text(said, key)?
                && let Some(link) = shown_link(key, &link)?
            {
                metadata.insert((*key).to_owned(), link.into());
            }
        }
        if let Some(kind) = text(said, "application_type")?
            && matches!(kind.as_str(), "native" | "web")
        {
            metadata.insert("application_type".to_owned(), kind.into());
        }
        Ok(Self {
            name: text(said, "client_name")?.map(|name| clean(&name)),
            redirect_uris,
            auth_method: text(said, "token_endpoint_auth_method")?,
            metadata,
        })
    }

    /// The name, or the best substitute
    pub(super) fn shown_name(&self) -> String {
        let name = self.name.clone().filter(|name| !name.is_empty());
        name.unwrap_or_else(|| {
            let first = self.redirect_uris.first().map(String::as_str);
            let url = first.and_then(|uri| Url::parse(uri).ok());
            let host = url.and_then(|url| url.host_str().map(str::to_owned));
            host.unwrap_or_else(|| "Unnamed client".to_owned())
        })
    }
}

fn redirect_uris(config: &Config, said: &Map<String, Value>) -> Result<Vec<String>, ClaimError> {
    let bad = |why: String| ClaimError::Redirect(why);
    let list = match said.get("redirect_uris") {
        Some(Value::Array(list)) if !list.is_empty() => list,
        _ => return Err(bad("`redirect_uris` must be a list of URIs".to_owned())),
    };
    if list.len() > MOST_URIS {
        return Err(bad(format!("more than {MOST_URIS} redirect URIs")));
    }
    let mut uris: Vec<String> = Vec::new();
    for (at, uri) in list.iter().enumerate() {
        let at = at + 1;
        let uri = uri
            .as_str()
            .ok_or_else(|| bad(format!("redirect URI {at} is not a text")))?;
        redirect::registrable(config, uri)
            .map_err(|why| bad(format!("redirect URI {at} {why}")))?;
        if !uris.iter().any(|known| known == uri) {
            uris.push(uri.to_owned());
        }
    }
    if uris.iter().map(String::len).sum::<usize>() > LONGEST_URIS {
        return Err(bad(format!(
            "the redirect URIs are longer than {LONGEST_URIS} bytes together"
        )));
    }
    Ok(uris)
}

/// A text; `null` counts as absent
fn text(said: &Map<String, Value>, key: &str) -> Result<Option<String>, ClaimError> {
    match said.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(ClaimError::Metadata(format!("`{key}` must be a text"))),
    }
}

/// A list that is absent, or has this among its texts
fn must_hold(said: &Map<String, Value>, key: &str, needed: &str) -> Result<(), ClaimError> {
    match said.get(key) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Array(list)) if list.iter().any(|v| v == needed) => Ok(()),
        Some(_) => Err(ClaimError::Metadata(format!(
            "`{key}` must be a list with `{needed}`"
        ))),
    }
}

/// An https URL; plain http is left out, anything else is an attack or a mistake
fn shown_link(key: &str, link: &str) -> Result<Option<String>, ClaimError> {
    let bad = || ClaimError::Metadata(format!("`{key}` must be an https:// URL"));
    if link.is_empty() {
        return Ok(None);
    }
    let url = Url::parse(link).map_err(|_| bad())?;
    let plain = url.username().is_empty() && url.password().is_none() && url.has_host();
    if link.len() > LONGEST_URI || !plain {
        return Err(bad());
    }
    match url.scheme() {
        "https" => Ok(Some(url.into())),
        "http" => Ok(None),
        _ => Err(bad()),
    }
}

/// A name in one line, without characters that disguise it
fn clean(name: &str) -> String {
    let line = clean_line(name);
    line.chars().take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_that_hides_nothing() {
        assert_eq!(clean("  Claude \n Code\t"), "Claude Code");
        assert_eq!(clean("a\u{202e}b\u{200b}c\u{0}d\u{feff}"), "abcd");
        assert_eq!(
            clean("\u{3164}\u{2800} \u{115f}\u{ffa0}\u{fe0f}\u{34f}\u{17b4}\u{e01ef}"),
            ""
        );
        assert_eq!(clean("<b>x</b>"), "<b>x</b>");
        assert_eq!(clean(&"é".repeat(500)).chars().count(), LONGEST_NAME);
    }

    #[test]
    fn links_are_https_or_nothing() {
        let link = |text: &str| shown_link("client_uri", text);
        assert_eq!(
            link("https://example.org/x"),
            Ok(Some("https://example.org/x".to_owned()))
        );
        assert_eq!(link("http://localhost:1/"), Ok(None));
        assert_eq!(link(""), Ok(None));
        for bad in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " javascript:alert(1)",
            "java\tscript:alert(1)",
            "data:text/html,<script>",
            "https://u:p@example.org/",
            "file:///etc/passwd",
            "x",
        ] {
            assert!(link(bad).is_err(), "{bad}");
        }
        let shown = link("https://example.org/\"><script>").unwrap().unwrap();
        assert!(!shown.contains(['"', '<', '>']), "{shown}");
    }
}

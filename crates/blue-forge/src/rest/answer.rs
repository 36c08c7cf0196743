//! An answer, read leniently: bodies may be empty, text, `null`, or JSON of several shapes

use std::fmt::Write as _;

use bytes::Bytes;
use jiff::{Timestamp, fmt::rfc2822};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::{
    decode::{decode, list},
    folders::without_folders,
    status,
};
use crate::{ForgeError, Result};
use blue_base::{
    host::Host,
    http::{HeaderMap, StatusCode},
    secret::Secret,
    text::clean_line,
};

/// Longest plain-text body that is taken for a message
const MAX_TEXT: usize = 500;

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// How many bytes were before `body`, when only the end was wanted
    pub(crate) skipped: u64,
    pub(super) host: Host,
    pub(super) what: String,
    pub(super) secret: Option<Secret>,
}

impl Answer {
    /// This answer, or the error that its status means
    pub(crate) fn ok(self) -> Result<Self> {
        if self.status.is_success() {
            Ok(self)
        } else {
            Err(self.into_error())
        }
    }

    pub(crate) fn into_error(self) -> ForgeError {
        status::error_of(&self)
    }

    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        decode(&self.host, &self.body)
    }

    /// A list; `null` is an empty one, and `null` rows are left out
    pub(crate) fn list<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        list(&self.host, &self.body)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Time of the answer, by the server's own clock
    pub(crate) fn date(&self) -> Option<Timestamp> {
        let date = self.header("date")?;
        rfc2822::DateTimeParser::new().parse_timestamp(date).ok()
    }

    /// Where a redirect points, seen from `url`
    pub(crate) fn location(&self, url: &Url) -> Option<Url> {
        url.join(self.header("location")?).ok()
    }

    /// The forge's own words in one line, all of them; empty when it said nothing
    ///
    /// The token is masked, so this is for people. What the words mean is told by [`Self::says`] and
    /// [`Self::unmasked`]: a short token may be a part of any word.
    pub(crate) fn message(&self) -> String {
        self.mask(&self.unmasked())
    }

    /// A part of [`Self::unmasked`] as it may be shown
    pub(crate) fn mask(&self, text: &str) -> String {
        masked(text, self.secret.as_ref())
    }

    /// The forge's words, or the name of the status when it said nothing
    pub(crate) fn message_or_reason(&self) -> String {
        let message = self.message();
        if message.is_empty() {
            let reason = self.status.canonical_reason().unwrap_or("no reason given");
            return reason.to_lowercase();
        }
        message
    }

    /// The forge's words with whatever token they repeat: to be matched, never to be shown
    pub(crate) fn unmasked(&self) -> String {
        let mut text = unmasked_in(&self.body);
        if let Some(url) = self.sso_url() {
            let _ = write!(text, " (authorize the token at {url})");
        }
        text
    }

    /// Whether the forge's words contain these, in whatever case
    pub(crate) fn says(&self, words: &str) -> bool {
        self.unmasked()
            .to_lowercase()
            .contains(&words.to_lowercase())
    }

    /// Where a person lets the token into an organization with single sign-on
    pub(super) fn sso_url(&self) -> Option<String> {
        let value = self.header("x-github-sso")?;
        let url = value.split(';').find_map(|part| {
            let (key, url) = part.split_once('=')?;
            (key.trim() == "url").then_some(url.trim())
        })?;
        web_address(url)
    }
}

/// The words in a body for people: with the token masked
pub(super) fn message_in(body: &[u8], secret: Option<&Secret>) -> String {
    masked(&unmasked_in(body), secret)
}

fn unmasked_in(body: &[u8]) -> String {
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(value) => words(&value),
        Err(_) => plain(body),
    };
    without_folders(&clean_line(&text))
}

/// Some servers repeat the token that they were sent
fn masked(text: &str, secret: Option<&Secret>) -> String {
    match secret {
        Some(secret) if !secret.is_empty() => text.replace(secret.expose(), "****"),
        _ => text.to_owned(),
    }
}

/// A URL that a person may open, as it is written
fn web_address(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    (url.scheme() == "https" && url.has_host()).then(|| url.to_string())
}

fn words(value: &Value) -> String {
    let Value::Object(map) = value else {
        return value.as_str().unwrap_or_default().to_owned();
    };
    let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut message = text("message").trim().to_owned();
    for key in ["error_description", "error", "StdOut", "StdErr"] {
        if message.is_empty() {
            text(key).trim().clone_into(&mut message);
        }
    }
    let details: Vec<String> = match map.get("errors") {
        Some(Value::Array(errors)) => errors.iter().filter_map(detail).collect(),
        Some(Value::String(one)) => vec![one.clone()],
        _ => Vec::new(),
    };
    for detail in details {
        if message.contains(&detail) {
            continue;
        }
        if !message.is_empty() {
            message.push_str(": ");
        }
        message.push_str(&detail);
    }
    if let Some(why) = map.get("block").and_then(taken_down) {
        message.push_str(&why);
    }
    message
}

/// Why a repository was taken down, and where that is published
fn taken_down(block: &Value) -> Option<String> {
    let part = |key: &str| block.get(key).and_then(Value::as_str);
    let url = part("html_url").and_then(web_address)?;
    Some(match part("reason") {
        Some(reason) => format!(" ({reason}: {url})"),
        None => format!(" ({url})"),
    })
}

fn detail(error: &Value) -> Option<String> {
    if let Some(text) = error.as_str() {
        return Some(text.to_owned());
    }
    let part = |key: &str| error.get(key).and_then(Value::as_str);
    part("message").map(str::to_owned).or_else(|| {
        let parts: Vec<&str> = ["resource", "field", "code"]
            .into_iter()
            .filter_map(part)
            .collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    })
}

fn plain(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    // A page for browsers says nothing that helps here.
    if text.starts_with('<') {
        return String::new();
    }
    text.chars().take(MAX_TEXT).collect()
}

#[cfg(test)]
impl Answer {
    pub(crate) fn for_test(status: u16, body: &str) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
            skipped: 0,
            host: Host::parse("git.example.org").unwrap(),
            what: "it".to_owned(),
            secret: None,
        }
    }
}

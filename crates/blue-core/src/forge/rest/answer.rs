//! An answer, read leniently: bodies may be empty, text, `null`, or JSON of several shapes

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::{
    decode::{decode, list},
    status,
};
use crate::{
    forge::{ForgeError, Result, model::Host},
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

    /// Where a redirect points, seen from `url`
    pub(crate) fn location(&self, url: &Url) -> Option<Url> {
        url.join(self.header("location")?).ok()
    }

    /// The forge's own words in one line, all of them; empty when it said nothing
    pub(crate) fn message(&self) -> String {
        message_in(&self.body, self.secret.as_ref())
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
}

pub(super) fn message_in(body: &[u8], secret: Option<&Secret>) -> String {
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(value) => words(&value),
        Err(_) => plain(body),
    };
    // Some servers repeat the token that they were sent.
    let text = match secret {
        Some(secret) if !secret.is_empty() => text.replace(secret.expose(), "****"),
        _ => text,
    };
    clean_line(&text)
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
    message
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

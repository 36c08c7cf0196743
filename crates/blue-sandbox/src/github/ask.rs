//! A request, read

use bytes::Bytes;
use http::{HeaderMap, Method, request::Parts};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use super::media::Media;
use super::page::Page;
use super::refusal::{Refusal, Result};

/// Where the door begins
pub(super) const BASE: &str = "/api/v3";

#[derive(Debug)]
pub(super) struct Ask {
    pub(super) method: Method,
    /// After the base, still encoded
    pub(super) path: String,
    raw_query: Option<String>,
    query: Vec<(String, String)>,
    pub(super) headers: HeaderMap,
    body: Bytes,
}

impl Ask {
    pub(super) fn new(parts: Parts, body: Bytes) -> Self {
        let path = parts.uri.path();
        let path = path.strip_prefix(BASE).unwrap_or(path).to_owned();
        let raw_query = parts.uri.query().map(str::to_owned);
        let query = pairs(raw_query.as_deref().unwrap_or_default());
        Self {
            method: parts.method,
            path,
            raw_query,
            query,
            headers: parts.headers,
            body,
        }
    }

    /// GET, and HEAD which is the same without the body
    pub(super) fn reads(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }

    pub(super) fn path_and_query(&self) -> String {
        match &self.raw_query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }

    /// A parameter that is there and not empty
    pub(super) fn param(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(key, value)| key == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn page(&self) -> Page {
        Page::from_query(&self.query)
    }

    pub(super) fn media(&self) -> Media {
        Media::of(&self.headers)
    }

    /// The JSON body; an absent one counts as `{}`
    pub(super) fn body<T: DeserializeOwned>(&self) -> Result<T> {
        let body: &[u8] = if self.body.is_empty() {
            b"{}"
        } else {
            &self.body
        };
        let value: serde_json::Value = serde_json::from_slice(body)
            .map_err(|_| Refusal::new(http::StatusCode::BAD_REQUEST, "Problems parsing JSON"))?;
        if !value.is_object() {
            let message = "Body should be a JSON object";
            return Err(Refusal::new(http::StatusCode::BAD_REQUEST, message));
        }
        serde_json::from_value(value).map_err(|error| {
            let error = error.to_string();
            let missing = error
                .strip_prefix("missing field `")
                .and_then(|rest| rest.strip_suffix('`'));
            Refusal::unprocessable(match missing {
                Some(field) => format!("Invalid request.\n\n\"{field}\" wasn't supplied."),
                None => format!("Invalid request.\n\n{error}."),
            })
        })
    }
}

fn pairs(query: &str) -> Vec<(String, String)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (
                decode(&name.replace('+', " ")),
                decode(&value.replace('+', " ")),
            )
        })
        .collect()
}

pub(super) fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(uri: &str, body: &'static str) -> Ask {
        let (parts, ()) = http::Request::get(uri).body(()).unwrap().into_parts();
        Ask::new(parts, Bytes::from_static(body.as_bytes()))
    }

    #[derive(Debug, serde::Deserialize)]
    struct Wanted {
        title: String,
    }

    #[test]
    fn paths_queries_and_bodies() {
        let asked = ask("/api/v3/repos/a/b?ref=a%2Fb+c&empty=", "");
        assert_eq!(asked.path, "/repos/a/b");
        assert_eq!(asked.param("ref"), Some("a/b c"));
        assert_eq!(asked.param("empty"), None);
        let body = |text| ask("/", text).body::<Wanted>();
        assert_eq!(body(r#"{"title":"t"}"#).unwrap().title, "t");
        let words = |refused: Result<Wanted>| format!("{:?}", refused.unwrap_err());
        assert!(words(body("{}")).contains("wasn't supplied"));
        assert!(words(body("nonsense")).contains("Problems parsing JSON"));
        assert!(words(body("[]")).contains("JSON object"));
    }
}

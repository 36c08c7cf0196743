//! One rule: what it matches and what it does

use std::{collections::BTreeMap, time::Duration};

use http::{HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) struct Rule {
    pub id: u64,
    pub strike: Strike,
    path: String,
    method: Option<String>,
    left: Option<u64>,
    skip: u64,
    hits: u64,
    /// What was asked, to show it again
    asked: Value,
}

/// What happens to a request that was struck
#[derive(Debug, Clone)]
pub(super) struct Strike {
    pub delay: Duration,
    pub kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// Nothing but the delay
    Pass,
    Status {
        status: StatusCode,
        headers: Vec<(HeaderName, HeaderValue)>,
        body: Value,
    },
    Drop,
    Truncate(usize),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    path: String,
    method: Option<String>,
    count: Option<u64>,
    #[serde(default)]
    skip: u64,
    delay_ms: Option<u64>,
    status: Option<u16>,
    body: Option<Value>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    drop: bool,
    truncate: Option<usize>,
}

impl Rule {
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        let asked: Value =
            serde_json::from_slice(body).map_err(|error| format!("not JSON: {error}"))?;
        let raw = Raw::deserialize(&asked).map_err(|error| error.to_string())?;
        if raw.count == Some(0) {
            return Err("`count` must be at least 1".to_owned());
        }
        if raw.status.is_none() && (raw.body.is_some() || !raw.headers.is_empty()) {
            return Err("`body` and `headers` go with `status`".to_owned());
        }
        let kind = match (raw.status, raw.drop, raw.truncate) {
            (None, false, None) if raw.delay_ms.is_some() => Kind::Pass,
            (Some(status), false, None) => answer(status, raw.body, &raw.headers)?,
            (None, true, None) => Kind::Drop,
            (None, false, Some(bytes)) => Kind::Truncate(bytes),
            (None, false, None) => {
                return Err("needs one of `delay_ms`, `status`, `drop`, `truncate`".to_owned());
            }
            _ => return Err("only one of `status`, `drop`, `truncate`".to_owned()),
        };
        Ok(Self {
            id: 0,
            strike: Strike {
                delay: Duration::from_millis(raw.delay_ms.unwrap_or(0)),
                kind,
            },
            path: raw.path,
            method: raw.method,
            left: raw.count,
            skip: raw.skip,
            hits: 0,
            asked,
        })
    }

    /// Whether this request is struck; counts it if so
    pub(super) fn strikes(&mut self, method: &str, path: &str) -> bool {
        let method_fits = self
            .method
            .as_ref()
            .is_none_or(|one| one.eq_ignore_ascii_case(method));
        if !method_fits || !glob(self.path.as_bytes(), path.as_bytes()) {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.hits += 1;
        self.left = self.left.map(|left| left.saturating_sub(1));
        true
    }

    pub(super) fn is_spent(&self) -> bool {
        self.left == Some(0)
    }

    pub(super) fn show(&self) -> Value {
        let mut shown = json!({"id": self.id, "hits": self.hits});
        if let (Value::Object(shown), Value::Object(asked)) = (&mut shown, &self.asked) {
            shown.extend(asked.clone());
        }
        if let Some(left) = self.left {
            shown["left"] = left.into();
        }
        shown
    }
}

fn answer(
    status: u16,
    body: Option<Value>,
    headers: &BTreeMap<String, String>,
) -> Result<Kind, String> {
    let status = StatusCode::from_u16(status)
        .ok()
        .filter(|status| !status.is_informational())
        .ok_or_else(|| format!("`{status}` is not an HTTP status to answer with"))?;
    let headers = headers
        .iter()
        .map(|(name, value)| {
            let parsed = (
                name.parse::<HeaderName>().ok(),
                value.parse::<HeaderValue>().ok(),
            );
            match parsed {
                (Some(name), Some(value)) => Ok((name, value)),
                _ => Err(format!("`{name}` is not a header that can be sent")),
            }
        })
        .collect::<Result<_, _>>()?;
    let reason = status.canonical_reason().unwrap_or("a fault was asked for");
    let body = body.unwrap_or_else(|| json!({ "message": reason }));
    Ok(Kind::Status {
        status,
        headers,
        body,
    })
}

/// Match with `*` for any run of bytes and `?` for any one
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&wanted) if wanted == b'?' || wanted == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                // Let the last star take one byte more, and try again from there.
                let Some((at, from)) = star else { return false };
                star = Some((at, from + 1));
                p = at + 1;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|&rest| rest == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, text, expected) in [
            ("/api/v1/*", "/api/v1/repos/a/b", true),
            ("/api/v1/*/b", "/api/v1/repos/a/b", true),
            ("/api/v1/*/c", "/api/v1/repos/a/b", false),
            ("*", "", true),
            ("/a?c", "/abc", true),
            ("/a?c", "/ac", false),
            ("**", "/x", true),
            ("", "/x", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "xxaxxbxx", false),
        ] {
            assert_eq!(
                glob(pattern.as_bytes(), text.as_bytes()),
                expected,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn counts_and_skips() {
        let mut rule =
            Rule::parse(br#"{"path":"/x","method":"get","count":1,"skip":1,"drop":true}"#).unwrap();
        assert!(!rule.strikes("POST", "/x"));
        assert!(!rule.strikes("GET", "/x"));
        assert!(rule.strikes("GET", "/x"));
        assert!(rule.is_spent());
    }

    #[test]
    fn faulty_rules_are_named() {
        for (body, message) in [
            (r"{", "not JSON"),
            (r#"{"path":"/x"}"#, "needs one of"),
            (r#"{"path":"/x","drop":true,"status":500}"#, "only one of"),
            (r#"{"path":"/x","sttus":500}"#, "unknown field `sttus`"),
            (r#"{"path":"/x","status":99}"#, "not an HTTP status"),
            (
                r#"{"path":"/x","drop":true,"body":"x"}"#,
                "go with `status`",
            ),
            (r#"{"path":"/x","drop":true,"count":0}"#, "at least 1"),
            (r#"{"drop":true}"#, "missing field `path`"),
        ] {
            let error = Rule::parse(body.as_bytes()).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}

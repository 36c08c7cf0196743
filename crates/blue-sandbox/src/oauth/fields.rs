//! What a form or a JSON body says, read as leniently as Gitea does

use std::collections::HashMap;

use http::{HeaderMap, header};
use serde_json::Value;
use url::form_urlencoded;

/// Named values; the first of each name counts, and a missing one is empty
#[derive(Debug, Default)]
pub(super) struct Fields(HashMap<String, String>);

impl Fields {
    pub(super) fn from_query(query: Option<&str>) -> Self {
        Self::from_form(query.unwrap_or_default().as_bytes())
    }

    pub(super) fn from_form(body: &[u8]) -> Self {
        let mut fields = HashMap::new();
        for (name, value) in form_urlencoded::parse(body) {
            fields
                .entry(name.into_owned())
                .or_insert_with(|| value.into_owned());
        }
        Self(fields)
    }

    /// A request body: JSON when it says so, else a form
    pub(super) fn from_body(headers: &HeaderMap, body: &[u8]) -> Self {
        if !is_json(headers) {
            return Self::from_form(body);
        }
        let Ok(Value::Object(object)) = serde_json::from_slice(body) else {
            return Self::default();
        };
        let text = |(name, value): (String, Value)| match value {
            Value::String(value) => Some((name, value)),
            Value::Bool(value) => Some((name, value.to_string())),
            Value::Number(value) => Some((name, value.to_string())),
            _ => None,
        };
        Self(object.into_iter().filter_map(text).collect())
    }

    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains("json"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn reads_forms_and_json() {
        let form = Fields::from_form(b"a=1&a=2&b=x+y%26");
        assert_eq!(
            (form.get("a"), form.get("b"), form.get("c")),
            ("1", "x y&", "")
        );
        let mut headers = HeaderMap::new();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        let json = Fields::from_body(&headers, br#"{"a":"1","b":true,"c":null}"#);
        assert_eq!(
            (json.get("a"), json.get("b"), json.get("c")),
            ("1", "true", "")
        );
        assert_eq!(Fields::from_body(&headers, b"not json").get("a"), "");
    }
}

//! Request bodies, read as strictly as Gitea's JSON reader

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::fail::Fail;

/// A JSON object; names are case-sensitive and must not be repeated
#[derive(Debug, Default, Clone)]
pub(super) struct Form(Map<String, Value>);

impl Form {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Fail> {
        if bytes.is_empty() {
            return Err(Fail::invalid("[]: jsontext: unexpected EOF"));
        }
        match serde_json::from_slice::<Strict>(bytes) {
            Ok(Strict(Value::Object(map))) => Ok(Self(map)),
            Ok(Strict(Value::Null)) => Ok(Self::default()),
            Ok(Strict(other)) => Err(Fail::invalid(&format!(
                "[]: json: cannot unmarshal JSON {} into Go struct",
                kind(&other)
            ))),
            Err(error) if error.is_eof() => {
                let offset = bytes.len();
                Err(Fail::invalid(&format!(
                    "[]: jsontext: unexpected EOF after offset {offset}"
                )))
            }
            Err(error) => {
                let words = error.to_string();
                let words = words.split(" at line ").next().unwrap_or_default();
                Err(Fail::invalid(&format!("[]: jsontext: {words}")))
            }
        }
    }

    /// A form as a browser sends it; every value is text
    pub(super) fn from_pairs(bytes: &[u8]) -> Self {
        let pairs = url::form_urlencoded::parse(bytes).into_owned();
        Self(pairs.map(|(name, value)| (name, value.into())).collect())
    }

    pub(super) fn from_map(map: Map<String, Value>) -> Self {
        Self(map)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    /// Text, empty when left out
    pub(super) fn text(&self, name: &str) -> Result<&str, Fail> {
        Ok(self.opt_text(name)?.unwrap_or_default())
    }

    pub(super) fn opt_text(&self, name: &str) -> Result<Option<&str>, Fail> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(name, other, "string")),
        }
    }

    /// Text that must be there, named as Gitea names the field
    pub(super) fn required(&self, name: &str, field: &str) -> Result<&str, Fail> {
        match self.opt_text(name)? {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(Fail::invalid(&format!("[{field}]: Required"))),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Fail> {
        Ok(self.opt_flag(name)?.unwrap_or(false))
    }

    pub(super) fn opt_flag(&self, name: &str) -> Result<Option<bool>, Fail> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(wrong(name, other, "bool")),
        }
    }

    pub(super) fn opt_number(&self, name: &str) -> Result<Option<i64>, Fail> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value
                .as_i64()
                .map(Some)
                .ok_or_else(|| wrong(name, value, "int64")),
        }
    }

    pub(super) fn opt_texts(&self, name: &str) -> Result<Option<Vec<String>>, Fail> {
        let Some(list) = self.opt_list(name)? else {
            return Ok(None);
        };
        let text = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            other => Err(wrong(name, other, "string")),
        };
        list.iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    pub(super) fn opt_list(&self, name: &str) -> Result<Option<&Vec<Value>>, Fail> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(wrong(name, other, "[]string")),
        }
    }

    /// An object, or nothing when left out
    pub(super) fn opt_object(&self, name: &str, kind: &str) -> Result<Option<Self>, Fail> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Self(map.clone()))),
            Some(other) => Err(wrong(name, other, kind)),
        }
    }

    /// The fields themselves
    pub(super) fn into_map(self) -> Map<String, Value> {
        self.0
    }

    pub(super) fn object(&self, name: &str) -> Option<Self> {
        match self.0.get(name) {
            Some(Value::Object(map)) => Some(Self(map.clone())),
            _ => None,
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn wrong(name: &str, value: &Value, wanted: &str) -> Fail {
    let kind = kind(value);
    Fail::invalid(&format!(
        "[]: json: cannot unmarshal JSON {kind} into Go {wanted} within \"/{name}\""
    ))
}

/// A value in which no object repeats a name
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(value)) = seq.next_element()? {
            list.push(value);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((name, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom(format!(
                    "duplicate object member name {name:?}"
                )));
            }
            map.insert(name, value);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_name_is_refused() {
        let fail = Form::parse(br#"{"name":"a","name":"b"}"#).unwrap_err();
        assert_eq!(
            fail.message(),
            "[]: jsontext: duplicate object member name \"name\""
        );
    }

    #[test]
    fn names_are_case_sensitive() {
        let form = Form::parse(br#"{"Name":"a"}"#).unwrap();
        assert_eq!(
            form.required("name", "Name").unwrap_err().message(),
            "[Name]: Required"
        );
    }

    #[test]
    fn a_cut_body_says_where() {
        let fail = Form::parse(b"{").unwrap_err();
        assert_eq!(
            fail.message(),
            "[]: jsontext: unexpected EOF after offset 1"
        );
    }
}

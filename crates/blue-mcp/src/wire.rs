//! What comes in, looked at before it is believed
//!
//! The library behind drops or answers vaguely what it cannot read; here such a message gets the
//! error that JSON-RPC has for it, with its id where there is one.

use rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, ErrorCode, JsonRpcError, RequestId, ServerJsonRpcMessage},
};
use serde_json::{Map, Value};

/// What some programs put before a text
pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";
/// Where a message of the newest revision says so
pub(super) const VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
/// Where HTTP headers differ from the message, or from themselves
const HEADER_MISMATCH: i32 = -32020;
/// Longest name of a revision; those that exist have ten characters
const MAX_VERSION: usize = 100;
/// Most values in one message; the largest that makes sense, a commit of many files, has far fewer
const MAX_VALUES: usize = 100_000;
/// Most messages in one batch
const MAX_BATCH: usize = 100;

/// What is answered to a message that cannot be taken; large, and seldom
#[derive(Debug)]
pub(super) struct Refusal(Box<JsonRpcError>);

impl Refusal {
    pub(super) fn new(id: Option<RequestId>, error: ErrorData) -> Self {
        Self(Box::new(JsonRpcError::new(id, error)))
    }

    pub(super) fn message(self) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::Error(*self.0)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::to_value(&self.0).expect("an error is made of maps with text keys")
    }
}

/// One message or several
#[derive(Debug)]
pub(super) enum Incoming {
    One(Value),
    /// Only the oldest revision has these
    Batch(Vec<Value>),
}

/// Read a text as JSON
pub(super) fn read(text: &[u8]) -> Result<Incoming, Refusal> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    if value_count(text) > MAX_VALUES {
        let message = format!("a message has more than {MAX_VALUES} values");
        return Err(invalid(None, message));
    }
    match serde_json::from_slice(text) {
        Ok(Value::Array(items)) => Ok(Incoming::Batch(items)),
        Ok(value) => Ok(Incoming::One(value)),
        Err(error) => {
            let message = format!("this is not JSON: {error}");
            let error = ErrorData::parse_error(message, None);
            Err(Refusal::new(id_of_cut(text), error))
        }
    }
}

/// About how many values a message has: two bytes can be a value that takes a hundred in memory
pub(super) fn value_count(text: &[u8]) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    let begins = text.iter().filter(|byte| {
        let (was_quoted, was_escaped) = (quoted, escaped);
        escaped = was_quoted && !was_escaped && **byte == b'\\';
        quoted = was_quoted != (**byte == b'"' && !was_escaped);
        !was_quoted && matches!(byte, b',' | b'[' | b'{')
    });
    begins.count()
}

/// The id of a message in which only half a character is wrong
///
/// Programs that cut texts by UTF-16 send such, and would wait long for an answer without an id.
fn id_of_cut(text: &[u8]) -> Option<RequestId> {
    const HALF: &[u8] = b"\\ufffd";
    let unit = |text: &[u8]| {
        let digits = text.strip_prefix(b"\\u")?.get(..4)?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let (mut rest, mut mended) = (text, Vec::new());
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (before, escape) = rest.split_at(at);
        mended.extend_from_slice(before);
        let second = escape.get(6..).and_then(unit);
        let (whole, length) = match (unit(escape), second) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (true, 12),
            (Some(0xd800..=0xdfff), _) => (false, 6),
            // Of any other escape the second byte is no beginning of one.
            _ => (true, escape.len().min(2)),
        };
        let (escape, after) = escape.split_at(length);
        mended.extend_from_slice(if whole { escape } else { HALF });
        rest = after;
    }
    mended.extend_from_slice(rest);
    let value: Value = serde_json::from_slice(&mended).ok()?;
    id(value.as_object()?).ok()?
}

/// Check the length of a batch, and whether there may be one
pub(super) fn check_batch(items: &[Value], allowed: bool) -> Result<(), Refusal> {
    if !allowed {
        return Err(invalid(
            None,
            "batches are part of revision 2025-03-26 only; send one message at a time",
        ));
    }
    match items.len() {
        0 => Err(invalid(None, "the batch is empty")),
        1..=MAX_BATCH => Ok(()),
        n => {
            let message = format!("a batch of {n} messages; {MAX_BATCH} are taken");
            Err(invalid(None, message))
        }
    }
}

/// Whether a message tells something and waits for no answer, however wrong it may be otherwise
pub(super) fn is_notification(value: &Value) -> bool {
    let plain = value.get("jsonrpc").is_some_and(|version| version == "2.0");
    plain && method(value).is_some() && value.get("id").is_none()
}

/// Read one message
pub(super) fn message(mut value: Value) -> Result<ClientJsonRpcMessage, Refusal> {
    let Value::Object(fields) = &mut value else {
        return Err(invalid(None, "a message is a JSON object"));
    };
    // Some clients send null for what they leave out.
    if fields.get("params").is_some_and(Value::is_null) {
        fields.remove("params");
    }
    let id = id(fields)?;
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid(id, "`jsonrpc` must be \"2.0\""));
    }
    match fields.get("method") {
        Some(Value::String(_)) => {}
        Some(_) => return Err(invalid(id, "`method` must be a string")),
        None if fields.contains_key("result") || fields.contains_key("error") => {}
        None => return Err(invalid(id, "`method` is missing")),
    }
    if let Some(wrong) = wrong_params(&value) {
        return Err(Refusal::new(id, ErrorData::invalid_params(wrong, None)));
    }
    check_version(&value, id.as_ref())?;
    serde_json::from_value(value).map_err(|error| {
        let message = format!("this is no message of the protocol: {error}");
        invalid(id, message)
    })
}

/// What the library would take for something that was left out
fn wrong_params(value: &Value) -> Option<&'static str> {
    let is = |path, right: fn(&Value) -> bool| {
        let there = value.pointer(path);
        there.is_none_or(|there| there.is_null() || right(there))
    };
    let lists = method(value).is_some_and(|method| method.ends_with("/list"));
    if !is("/params", Value::is_object) {
        Some("`params` must be an object")
    } else if !is("/params/_meta", Value::is_object) {
        Some("`_meta` must be an object")
    } else if lists && !is("/params/cursor", Value::is_string) {
        Some("`cursor` must be a string")
    } else {
        None
    }
}

/// A message says its revision as a text, and the first one of the newest revision must
fn check_version(value: &Value, id: Option<&RequestId>) -> Result<(), Refusal> {
    let message = match value.pointer(VERSION) {
        Some(Value::String(version)) if version.len() <= MAX_VERSION => return Ok(()),
        Some(_) => {
            "`io.modelcontextprotocol/protocolVersion` in `_meta` must be a string like 2026-07-28"
        }
        None if method(value) == Some("server/discover") => {
            "`server/discover` needs `io.modelcontextprotocol/protocolVersion` in `_meta`"
        }
        None => return Ok(()),
    };
    let error = ErrorData::invalid_params(message, None);
    Err(Refusal::new(id.cloned(), error))
}

/// The method of a message that may still be anything
pub(super) fn method(value: &Value) -> Option<&str> {
    value.get("method")?.as_str()
}

fn id(fields: &Map<String, Value>) -> Result<Option<RequestId>, Refusal> {
    match fields.get("id") {
        None => Ok(None),
        Some(Value::String(id)) => Ok(Some(RequestId::String(id.as_str().into()))),
        Some(Value::Number(number)) if number.is_i64() => {
            Ok(number.as_i64().map(RequestId::Number))
        }
        Some(_) => Err(invalid(None, "an `id` is a string or a whole number")),
    }
}

/// A header that came twice, with the error that the newest revision has for it
pub(super) fn twice(id: Option<RequestId>, header: &str) -> Refusal {
    let message = format!("the header `{header}` came more than once");
    Refusal::new(
        id,
        ErrorData::new(ErrorCode(HEADER_MISMATCH), message, None),
    )
}

pub(super) fn invalid(
    id: Option<RequestId>,
    message: impl Into<std::borrow::Cow<'static, str>>,
) -> Refusal {
    Refusal::new(id, ErrorData::invalid_request(message, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (i32, Option<RequestId>) {
        let error = match read(text.as_bytes()) {
            Err(error) => error,
            Ok(Incoming::One(value)) => message(value).unwrap_err(),
            Ok(Incoming::Batch(items)) => check_batch(&items, true).unwrap_err(),
        };
        (error.0.error.code.0, error.0.id)
    }

    #[test]
    fn what_cannot_be_read_is_answered_by_the_book() {
        let seven = Some(RequestId::Number(7));
        for (text, code, id) in [
            ("{", -32700, None),
            ("hello", -32700, None),
            ("\u{1f980}", -32700, None),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\\\ud83e\udd80\ud83e","b":"\udd80"}}"#,
                -32700,
                seven.clone(),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","a":"\ud83e"#,
                -32700,
                None,
            ),
            ("1", -32600, None),
            ("null", -32600, None),
            ("[]", -32600, None),
            ("{}", -32600, None),
            (r#"{"id":7,"method":"ping"}"#, -32600, seven.clone()),
            (
                r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
                -32600,
                seven.clone(),
            ),
            (r#"{"jsonrpc":"2.0","id":7}"#, -32600, seven.clone()),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":5}"#,
                -32600,
                seven.clone(),
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                -32600,
                None,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
                -32600,
                None,
            ),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, None),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[]}"#,
                -32602,
                seven.clone(),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":5}}"#,
                -32602,
                seven.clone(),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":"x"}}"#,
                -32602,
                seven.clone(),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"server/discover"}"#,
                -32602,
                seven.clone(),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":
                {"_meta":{"io.modelcontextprotocol/protocolVersion":20260728}}}"#,
                -32602,
                seven,
            ),
        ] {
            assert_eq!(refused(text), (code, id), "{text}");
        }
    }

    #[test]
    fn what_would_fill_the_memory_is_not_read() {
        let many = format!("[{}1]", "1,".repeat(MAX_VALUES));
        assert_eq!(refused(&many), (-32600, None));
        let many = format!(r#"{{"a\\":{}1}}"#, r#"1,"b":"#.repeat(MAX_VALUES));
        assert_eq!(refused(&many), (-32600, None));
        let text = format!(r#"{{"a":"{}\""}}"#, r#",[{\""#.repeat(MAX_VALUES));
        assert!(read(text.as_bytes()).is_ok());
    }

    #[test]
    fn what_can_be_read_is_passed_on() {
        for text in [
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":null,"_meta":null}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"no/such","params":{"cursor":5}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ] {
            let Ok(Incoming::One(value)) = read(text.as_bytes()) else {
                panic!("{text}");
            };
            assert!(message(value).is_ok(), "{text}");
        }
        assert!(check_batch(&[Value::Null], true).is_ok());
        assert!(check_batch(&[Value::Null], false).is_err());
        assert!(check_batch(&vec![Value::Null; MAX_BATCH + 1], true).is_err());
    }
}

//! What a model sent, read with good will and refused with clear words

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{ErrorCode, ToolError, args::RepoArgs, nearest};

/// Other names that models use for an argument
const ALIASES: &[(&str, &str)] = &[
    ("number", "index"),
    ("pr", "index"),
    ("pr_number", "index"),
    ("pull_number", "index"),
    ("repo", "name"),
    ("repository", "name"),
    ("per_page", "limit"),
    ("merge_method", "style"),
    ("base_branch", "base"),
    ("head_branch", "head"),
];

/// How Gitea's and GitLab's APIs call a branch that a commit makes
const NEW_BRANCH: &str = "new_branch";

/// Read the arguments of a call
pub(crate) fn parse<T: JsonSchema + DeserializeOwned>(
    tool: &str,
    mut args: Map<String, Value>,
) -> Result<T, ToolError> {
    let schema = super::input::<T>();
    rename(tool, &schema, &mut args)?;
    no_new_branch(tool, &schema, &args)?;
    let args = Value::Object(object(tool, "", &schema, args)?);
    T::deserialize(&args).map_err(|error| match too_large(&args) {
        Some((name, number)) => invalid(format!("{tool}: `{name}` cannot be as large as {number}")),
        None => invalid(format!("{tool}: {error}")),
    })
}

/// A number that is whole and still not to be had
fn too_large(args: &Value) -> Option<(&String, &Value)> {
    let mut args = args.as_object()?.iter();
    args.find(|(_, value)| value.as_u64().is_some_and(|n| n > u32::MAX.into()))
}

fn invalid(message: String) -> ToolError {
    ToolError::new(ErrorCode::Invalid, message)
}

fn rename(
    tool: &str,
    schema: &Map<String, Value>,
    args: &mut Map<String, Value>,
) -> Result<(), ToolError> {
    let known = |name: &str| property(schema, name).is_some();
    for (alias, real) in ALIASES {
        if known(alias) || !known(real) {
            continue;
        }
        let Some(value) = args.remove(*alias) else {
            continue;
        };
        if let Some(said) = args.get(*real).filter(|said| !said.is_null()) {
            if plain(said) == plain(&value) || value.is_null() {
                continue;
            }
            let (said, value) = (shown(said), shown(&value));
            return Err(invalid(format!(
                "{tool}: `{alias}` means `{real}`, which cannot be {said} and {value}"
            )));
        }
        args.insert((*real).to_owned(), value);
    }
    if known("owner") && known("name") {
        split(args);
    }
    Ok(())
}

/// Refuses `new_branch` beside `branch`: in the APIs that have both, `branch` is where the new one starts
///
/// To leave `new_branch` out, as a hint on a wrong name would say, commits to that one.
fn no_new_branch(
    tool: &str,
    schema: &Map<String, Value>,
    args: &Map<String, Value>,
) -> Result<(), ToolError> {
    let is_ours = |name: &str| property(schema, name).is_some();
    if is_ours(NEW_BRANCH) || !is_ours("branch") || !is_ours("base") {
        return Ok(());
    }
    let text = |name: &str| {
        let text = args.get(name).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty())
    };
    let (Some(new), Some(branch)) = (text(NEW_BRANCH), text("branch")) else {
        return Ok(());
    };
    let base = text("base").unwrap_or(branch);
    let message =
        format!("{tool} has no argument `{NEW_BRANCH}`: `branch` is made if it is missing");
    Err(invalid(message).with_hint(format!(
        "send the same with `branch: \"{new}\", base: \"{base}\"` and without `{NEW_BRANCH}`"
    )))
}

/// `owner/name` in one, unless another owner is named beside it
fn split(args: &mut Map<String, Value>) {
    let whole = args.get("name").and_then(Value::as_str);
    let parts = whole.and_then(|whole| whole.split_once('/'));
    // A URL, or a host before it, is no such pair.
    let Some((owner, name)) = parts.filter(|(_, name)| !name.contains('/')) else {
        return;
    };
    let (owner, name) = (owner.to_owned(), name.to_owned());
    let said = args.get("owner").and_then(Value::as_str).unwrap_or("");
    if said.is_empty() || said == owner {
        args.insert("owner".to_owned(), owner.into());
        args.insert("name".to_owned(), name.into());
    }
}

/// A number as a text and as itself is the same
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().trim_start_matches('#').to_owned(),
        other => other.to_string(),
    }
}

fn property<'a>(schema: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

/// `at`: where in the arguments this object is, empty for the outermost
fn object(
    tool: &str,
    at: &str,
    schema: &Map<String, Value>,
    args: Map<String, Value>,
) -> Result<Map<String, Value>, ToolError> {
    let mut read = Map::new();
    let given: Vec<String> = args.keys().cloned().collect();
    for (name, value) in args {
        let path = join(at, &name);
        let Some(property) = property(schema, &name) else {
            if at.is_empty() && RepoArgs::UNLISTED.contains(&name.as_str()) {
                if !value.is_null() {
                    let text = serde_json::json!({"type": "string"});
                    read.insert(name, one(tool, &path, &text, value)?);
                }
                continue;
            }
            return Err(unknown(tool, &path, &name, &given, schema));
        };
        // Some clients send null for what the model left out, and some models an empty text.
        let is_text = property.get("enum").is_none() && property["type"] == "string";
        if !value.is_null() && (is_text || value != "") {
            read.insert(name, one(tool, &path, property, value)?);
        }
    }
    if let Some(Value::Array(required)) = schema.get("required") {
        for name in required.iter().filter_map(Value::as_str) {
            if !read.contains_key(name) {
                let path = join(at, name);
                let what = property(schema, name).map(expected).unwrap_or_default();
                return Err(invalid(format!("{tool} needs `{path}`, {what}")));
            }
        }
    }
    Ok(read)
}

fn one(tool: &str, path: &str, schema: &Value, value: Value) -> Result<Value, ToolError> {
    let wrong = |value: &Value| {
        let (what, got) = (expected(schema), shown(value));
        invalid(format!("{tool}: `{path}` must be {what}, not {got}"))
    };
    if let Some(Value::Array(allowed)) = schema.get("enum") {
        let same = |one: &&Value| match (one.as_str(), value.as_str()) {
            (Some(one), Some(text)) => one.eq_ignore_ascii_case(text.trim()),
            _ => **one == value,
        };
        return allowed
            .iter()
            .find(same)
            .cloned()
            .ok_or_else(|| wrong(&value));
    }
    match (schema.get("type").and_then(Value::as_str), value) {
        (Some("object"), Value::Object(fields)) => match schema {
            Value::Object(schema) if schema.contains_key("properties") => {
                object(tool, path, schema, fields).map(Value::Object)
            }
            _ => Ok(Value::Object(fields)),
        },
        (Some("array"), Value::Array(items)) => {
            let Some(inner) = schema.get("items") else {
                return Ok(Value::Array(items));
            };
            let items = items.into_iter().enumerate();
            items
                .map(|(n, item)| one(tool, &format!("{path}[{n}]"), inner, item))
                .collect::<Result<_, _>>()
                .map(Value::Array)
        }
        // A list that was written out as text, or whose only item came without it.
        (Some("array"), Value::String(text)) if text.trim().is_empty() => Ok(Value::Array(vec![])),
        (Some("array"), Value::String(text)) => match serde_json::from_str(&text) {
            Ok(list @ Value::Array(_)) => one(tool, path, schema, list),
            _ => Err(wrong(&Value::String(text))),
        },
        (Some("array"), item @ Value::Object(_)) => {
            one(tool, path, schema, Value::Array(vec![item]))
        }
        (Some("integer"), Value::String(text)) => match text.trim().trim_start_matches('#').parse()
        {
            Ok(number) => Ok(Value::Number(serde_json::Number::from(u64::min(
                number,
                u64::MAX,
            )))),
            Err(_) => Err(wrong(&Value::String(text))),
        },
        (Some("integer"), Value::Number(number)) => match whole(&number) {
            Some(number) => Ok(number.into()),
            None => Err(wrong(&Value::Number(number))),
        },
        (Some("boolean"), Value::String(text)) => {
            match text.trim().to_ascii_lowercase().parse::<bool>() {
                Ok(yes) => Ok(yes.into()),
                Err(_) => Err(wrong(&Value::String(text))),
            }
        }
        (Some("string"), Value::Number(number)) => Ok(number.to_string().into()),
        (Some("string"), value @ Value::String(_))
        | (Some("boolean"), value @ Value::Bool(_))
        | (Some("number"), value @ Value::Number(_))
        | (None, value) => Ok(value),
        (_, value) => Err(wrong(&value)),
    }
}

/// `3.0` is what some clients make of 3
fn whole(number: &serde_json::Number) -> Option<u64> {
    number.as_u64().or_else(|| {
        let float = number.as_f64().filter(|f| f.fract() == 0.0 && *f >= 0.0)?;
        format!("{float:.0}").parse().ok()
    })
}

fn expected(schema: &Value) -> String {
    if let Some(Value::Array(allowed)) = schema.get("enum") {
        let allowed: Vec<String> = allowed.iter().map(shown).collect();
        return format!("one of {}", allowed.join(", "));
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => "a whole number".to_owned(),
        Some("number") => "a number".to_owned(),
        Some("string") => "a text".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some("array") => "a list".to_owned(),
        Some("object") => "an object".to_owned(),
        _ => "something else".to_owned(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) if text.chars().count() > 40 => {
            let start: String = text.chars().take(40).collect();
            format!("`{start}…`")
        }
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

/// `given`: the arguments that came with it, of which none is proposed for another word
fn unknown(
    tool: &str,
    path: &str,
    name: &str,
    given: &[String],
    schema: &Map<String, Value>,
) -> ToolError {
    let names: Vec<&str> = match schema.get("properties") {
        Some(Value::Object(properties)) => properties.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let is_free = |real: &&&str| !given.iter().any(|other| other == **real);
    let free: Vec<&str> = names.iter().filter(is_free).copied().collect();
    // A slip beside the right name does no harm; another word would change what was given.
    let meant = nearest(name, names.iter().copied()).or_else(|| by_word(name, &free));
    let hint = match (list_with(name, schema), meant) {
        (Some(list), _) => format!("it belongs to an item of `{list}`"),
        (None, Some(real)) => format!("did you mean `{real}`?"),
        (None, None) if names.is_empty() => "it takes none".to_owned(),
        (None, None) => format!("it takes {}", names.join(", ")),
    };
    invalid(format!("{tool} has no argument `{path}`")).with_hint(hint)
}

/// `commit_message` is meant for `message`, and `title` for `merge_message_title`
fn by_word<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let is_word_of = |word: &str, text: &str| text.split('_').any(|part| part == word);
    // The first word says most: `branch_name` is a branch.
    let first = name
        .split('_')
        .find_map(|word| names.iter().copied().find(|real| *real == word));
    first.or_else(|| names.iter().copied().find(|real| is_word_of(name, real)))
}

/// The list whose items have such an argument
fn list_with<'a>(name: &str, schema: &'a Map<String, Value>) -> Option<&'a str> {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return None;
    };
    let has = |list: &Value| {
        list.pointer("/items/properties")
            .is_some_and(|items| items.get(name).is_some())
    };
    properties
        .iter()
        .find(|(_, list)| has(list))
        .map(|(list, _)| list.as_str())
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Style {
        /// As it is
        Merge,
        /// As one
        Squash,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Edit {
        path: String,
        mode: Option<u32>,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Input {
        owner: Option<String>,
        name: Option<String>,
        index: u64,
        limit: Option<u32>,
        style: Option<Style>,
        #[serde(default)]
        draft: bool,
        #[serde(default)]
        edits: Vec<Edit>,
    }

    fn read(args: Value) -> Result<Input, String> {
        let Value::Object(args) = args else { panic!() };
        parse("pr_merge", args).map_err(|e| match e.hint {
            Some(hint) => format!("{}; {hint}", e.message),
            None => e.message,
        })
    }

    #[test]
    fn what_models_send_is_read_where_the_meaning_is_clear() {
        for args in [
            json!({"index": 7}),
            json!({"index": "7"}),
            json!({"index": "#7"}),
            json!({"index": 7.0}),
            json!({"number": 7}),
            json!({"pr_number": "7", "style": null}),
            json!({"index": 7, "draft": "false", "host": "git.example"}),
            json!({"index": 7, "number": "#7", "pr": null}),
            json!({"index": 7, "draft": "", "style": ""}),
            json!({"index": 7, "draft": "False", "style": "SQUASH"}),
        ] {
            let input = read(args.clone()).unwrap();
            assert_eq!((input.index, input.draft), (7, false), "{args}");
        }
        let input =
            read(json!({"index": 1, "repo": "alice/site", "edits": [{"path": 3, "mode": "1"}]}));
        let input = input.unwrap();
        assert_eq!(input.owner.as_deref(), Some("alice"));
        assert_eq!(input.name.as_deref(), Some("site"));
        assert_eq!(input.edits[0].path, "3");
        for args in [
            json!({"index": 1, "name": "alice/site"}),
            json!({"index": 1, "name": "alice/site", "owner": ""}),
            json!({"index": 1, "name": "alice/site", "owner": "alice"}),
            json!({"index": 1, "repo": "alice/site", "owner": null}),
        ] {
            let input = read(args.clone()).unwrap();
            let whole = (input.owner.as_deref(), input.name.as_deref());
            assert_eq!(whole, (Some("alice"), Some("site")), "{args}");
        }
        let other = read(json!({"index": 1, "name": "alice/site", "owner": "bob"})).unwrap();
        assert_eq!(other.name.as_deref(), Some("alice/site"));
        let url = read(json!({"index": 1, "name": "http://git.example/a/b"})).unwrap();
        assert_eq!(url.name.as_deref(), Some("http://git.example/a/b"));
        let input = read(json!({"index": 1, "per_page": "5", "merge_method": "squash"})).unwrap();
        assert_eq!((input.limit, input.style), (Some(5), Some(Style::Squash)));
        for (edits, paths) in [
            (
                json!("[{\"path\": \"a\"}, {\"path\": \"b\"}]"),
                &["a", "b"][..],
            ),
            (json!({"path": "a"}), &["a"]),
            (json!(""), &[]),
        ] {
            let input = read(json!({"index": 1, "edits": edits})).unwrap();
            let read: Vec<&str> = input.edits.iter().map(|e| e.path.as_str()).collect();
            assert_eq!(read, paths, "{edits}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        for (args, said) in [
            (json!({}), "pr_merge needs `index`, a whole number"),
            (
                json!({"index": -1}),
                "pr_merge: `index` must be a whole number, not `-1`",
            ),
            (
                json!({"index": 1.5}),
                "pr_merge: `index` must be a whole number, not `1.5`",
            ),
            (
                json!({"index": "x"}),
                "pr_merge: `index` must be a whole number, not `x`",
            ),
            (
                json!({"index": [1]}),
                "pr_merge: `index` must be a whole number, not a list",
            ),
            (
                json!({"index": 1, "ownr": "a"}),
                "pr_merge has no argument `ownr`; did you mean `owner`?",
            ),
            (
                json!({"index": 1, "style": "fast"}),
                "pr_merge: `style` must be one of `merge`, `squash`, not `fast`",
            ),
            (
                json!({"index": 1, "edits": [{"path": "a", "mod": 1}]}),
                "pr_merge has no argument `edits[0].mod`; did you mean `mode`?",
            ),
            (
                json!({"index": 1, "edits": [{}]}),
                "pr_merge needs `edits[0].path`, a text",
            ),
            (
                json!({"index": 1, "number": 2}),
                "pr_merge: `number` means `index`, which cannot be `1` and `2`",
            ),
            (
                json!({"index": ""}),
                "pr_merge needs `index`, a whole number",
            ),
            (
                json!({"index": 1, "limit": 5_000_000_000_u64}),
                "pr_merge: `limit` cannot be as large as 5000000000",
            ),
            (
                json!({"index": 1, "host": 5.5, "owner": []}),
                "pr_merge: `owner` must be a text, not a list",
            ),
            (
                json!({"index": 1, "host": ["a"]}),
                "pr_merge: `host` must be a text, not a list",
            ),
            (
                json!({"index": 1, "is_draft": true}),
                "pr_merge has no argument `is_draft`; did you mean `draft`?",
            ),
            (
                json!({"index": 1, "is_draft": true, "draft": false}),
                "pr_merge has no argument `is_draft`; it takes owner, name, index, limit, style, \
                 draft, edits",
            ),
            (
                json!({"index": 1, "mode": 1}),
                "pr_merge has no argument `mode`; it belongs to an item of `edits`",
            ),
            (
                json!({"index": 1, "zzz": 1}),
                "pr_merge has no argument `zzz`; it takes owner, name, index, limit, style, draft, \
                 edits",
            ),
            (
                json!({"index": 1, "edits": "all"}),
                "pr_merge: `edits` must be a list, not `all`",
            ),
            (
                json!({"index": 1, "edits": "[{\"path\": []}]"}),
                "pr_merge: `edits[0].path` must be a text, not a list",
            ),
            (
                json!({"index": 1, "draft": "maybe"}),
                "pr_merge: `draft` must be true or false, not `maybe`",
            ),
        ] {
            assert_eq!(read(args.clone()).unwrap_err(), said, "{args}");
        }
    }
}

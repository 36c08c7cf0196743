//! JSON Schemas as models see them: short, inlined, without keywords that models ignore

pub mod check;

use schemars::{
    JsonSchema,
    generate::{Contract, SchemaSettings},
};
use serde_json::{Map, Value};

use crate::Effect;

/// The doc comment of a type, as it was written
pub(crate) fn description<T: JsonSchema>() -> String {
    match raw::<T>(Contract::Deserialize).get("description") {
        Some(Value::String(text)) => text.clone(),
        _ => String::new(),
    }
}

/// First line of a doc comment
pub(crate) fn summary(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// A doc comment as running text: a summary that lacks its full stop gets one
pub(crate) fn prose(text: &str) -> String {
    let parts: Vec<String> = text
        .split("\n\n")
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(". ").replace(".. ", ". ")
}

/// A doc comment with its paragraphs, each on one line
pub(crate) fn paragraphs(text: &str) -> String {
    let parts: Vec<String> = text
        .split("\n\n")
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    parts.join("\n\n")
}

/// Schema of what a tool takes
pub(crate) fn input<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = raw::<T>(Contract::Deserialize);
    schema.remove("description");
    for value in schema.values_mut() {
        trim(value, true);
    }
    let required = match schema.get("required") {
        Some(Value::Array(names)) => names.clone(),
        _ => Vec::new(),
    };
    // The names say it, and they are in every tool.
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for shared in ["owner", "name", "page", "limit"] {
            if let Some(Value::Object(property)) = properties.get_mut(shared) {
                property.remove("description");
            }
        }
        // A tool about a branch or tag, and nothing in it: that has a name, too.
        let about_ref = required
            .iter()
            .any(|name| name == "branch" || name == "tag")
            && !properties.contains_key("path");
        if let Some(Value::Object(property)) = properties.get_mut("name")
            && about_ref
        {
            property.insert("description".to_owned(), "of the repository".into());
        }
    }
    tidy(&mut schema);
    schema
}

/// Schema of what a tool gives, with the envelope
pub(crate) fn output<T: JsonSchema>(effect: Effect) -> Map<String, Value> {
    // What may be left out is not required.
    let mut schema = raw::<T>(Contract::Serialize);
    schema.remove("description");
    for value in schema.values_mut() {
        trim(value, false);
    }
    tidy(&mut schema);
    let lines = serde_json::json!({"type": "array", "items": {"type": "string"}});
    if let Value::Object(properties) = schema
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()))
    {
        if effect != Effect::Read {
            let text = serde_json::json!({"type": "string"});
            properties.insert("repository".to_owned(), text);
        }
        properties.insert("next_steps".to_owned(), lines.clone());
        properties.insert("notes".to_owned(), lines);
    }
    schema
}

fn raw<T: JsonSchema>(contract: Contract) -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
        s.contract = contract;
    });
    match settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
    {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn trim(value: &mut Value, describe: bool) {
    match value {
        Value::Object(schema) => {
            // A property may be called like a keyword; its value is then a schema, not a text.
            let text = |key: &str, schema: &Map<String, Value>| {
                schema.get(key).is_some_and(Value::is_string)
            };
            if !describe && text("description", schema) {
                schema.remove("description");
            }
            tidy(schema);
            for inner in schema.values_mut() {
                trim(inner, describe);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| trim(item, describe)),
        _ => {}
    }
}

/// Removes keywords that models ignore
fn tidy(schema: &mut Map<String, Value>) {
    for key in ["title", "format", "$schema"] {
        if schema.get(key).is_some_and(Value::is_string) {
            schema.remove(key);
        }
    }
    for key in ["minimum", "maximum"] {
        if schema.get(key).is_some_and(Value::is_number) {
            schema.remove(key);
        }
    }
    // To leave something out is the way to say null, unless null has a meaning of its own.
    let null = schema.remove("nullable").is_some();
    if !null && let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|t| t != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            schema.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(either)) = schema.get_mut("anyOf") {
        either.retain(|s| s.get("type").is_none_or(|t| t != "null"));
        if let [Value::Object(one)] = &either[..] {
            let one = one.clone();
            schema.remove("anyOf");
            for (key, value) in one {
                schema.entry(key).or_insert(value);
            }
            tidy(schema);
        }
    }
    named(schema);
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|v| !v.is_null());
        // There are clients whose models refuse all tools for one `enum` that has no type.
        if values.iter().all(Value::is_string) {
            schema.insert("type".to_owned(), "string".into());
        }
    }
    let unset = |default: &Value| default.is_null() || *default == Value::Bool(false);
    if schema.get("default").is_some_and(unset) {
        schema.remove("default");
    }
}

/// Variants with a doc comment each come as `oneOf` of constants: say it as `enum`
fn named(schema: &mut Map<String, Value>) {
    let Some(Value::Array(either)) = schema.get("oneOf") else {
        return;
    };
    let mut values = Vec::new();
    for one in either {
        match (one.get("const"), one.get("enum")) {
            (Some(value), _) => values.push(value.clone()),
            (None, Some(Value::Array(some))) => values.extend(some.iter().cloned()),
            _ => return,
        }
    }
    schema.remove("oneOf");
    schema.insert("enum".to_owned(), values.into());
}

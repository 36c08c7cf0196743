//! What clients see of all tools together

use std::{path::Path, sync::Arc};

use blue_forge::{
    allow::Allow,
    open::{Ask, OpenError, Opened},
};
use blue_testkit::{Cx, Result};
use blue_tools::{AnyTool, Effect, ErrorCode, Opener, tools};
use serde_json::{Value, json};

use crate::desk::{self, Desk};

/// Every tool there is, in the order clients see them
pub(crate) const NAMES: &[&str] = &[
    "repo_status",
    "branch_list",
    "branch_delete",
    "branch_protection_get",
    "pr_list",
    "pr_create",
    "pr_verify",
    "pr_merge",
    "dir_list",
    "file_read",
    "file_write_branch",
    "file_delete",
    "tag_create",
    "workflow_run_status",
];

/// Bytes that a model reads of all tools: name, description and input schema
const VISIBLE: usize = 6_000;
/// Bytes of the whole list, output schemas too
const WHOLE: usize = 16 << 10;

blue_testkit::on_every_forge![
    reading_only_refuses_every_other_tool,
    what_is_not_allowed_is_refused_by_every_tool,
    the_answer_of_every_write_names_the_repository,
    notes_of_a_call_are_in_its_answer_and_in_its_error,
];

fn visible(tool: &dyn AnyTool) -> Value {
    json!({
        "name": tool.name(),
        "description": tool.description(),
        "inputSchema": tool.input_schema(),
    })
}

fn hints(tool: &dyn AnyTool) -> Value {
    let reads = tool.effect() == Effect::Read;
    json!({
        "readOnlyHint": reads,
        "destructiveHint": tool.effect() == Effect::Destroy,
        "idempotentHint": tool.idempotent(),
        "openWorldHint": true,
    })
}

#[test]
fn the_tools_are_these_in_this_order() {
    let names: Vec<&str> = tools::ALL.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, NAMES);
}

#[test]
fn a_schema_changes_only_on_purpose() {
    for tool in tools::ALL {
        let mut shown = visible(*tool);
        shown["outputSchema"] = Value::Object(tool.output_schema());
        shown["effect"] = tool.effect().as_str().into();
        let text = serde_json::to_string_pretty(&shown).unwrap();
        insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(tool.name(), text);
        });
    }
}

#[test]
fn models_are_not_told_more_than_they_need() {
    let sizes: Vec<(&str, usize)> = tools::ALL
        .iter()
        .map(|tool| (tool.name(), visible(*tool).to_string().len()))
        .collect();
    let sum: usize = sizes.iter().map(|(_, size)| size).sum();
    assert!(sum <= VISIBLE, "{sum} bytes: {sizes:?}");
}

#[test]
fn the_whole_list_is_small() {
    let list: Vec<Value> = tools::ALL
        .iter()
        .map(|tool| {
            let mut shown = visible(*tool);
            shown["outputSchema"] = Value::Object(tool.output_schema());
            shown["annotations"] = hints(*tool);
            shown
        })
        .collect();
    let size = json!({"tools": list}).to_string().len();
    assert!(size <= WHOLE, "{size} bytes");
}

#[test]
fn every_tool_is_described() {
    for tool in tools::ALL {
        let (name, text) = (tool.name(), tool.description());
        let summary = tool.summary();
        assert!(
            summary.len() >= 8 && summary.len() <= 100,
            "{name}: {summary}"
        );
        assert!(!summary.ends_with('.'), "{name}: {summary}");
        assert!(summary.starts_with(char::is_uppercase), "{name}: {summary}");
        assert!(text.starts_with(&summary), "{name}: {text}");
    }
}

#[test]
fn names_are_a_noun_and_a_verb() {
    for tool in tools::ALL {
        let name = tool.name();
        let parts: Vec<&str> = name.split('_').collect();
        assert!(parts.len() >= 2, "{name}");
        let plain = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase());
        assert!(parts.iter().all(plain), "{name}");
        assert_eq!(
            format!("{}_{}", tool.noun(), tool.verb().replace('-', "_")),
            name
        );
    }
}

#[test]
fn every_argument_is_described_for_people() {
    for tool in tools::ALL {
        let mut command = tool.command();
        command.build();
        for argument in command.get_arguments() {
            let id = argument.get_id();
            let help = argument
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(!help.is_empty(), "{}: `{id}` has no help", tool.name());
            assert!(!help.ends_with('.'), "{}: `{id}`: {help}", tool.name());
        }
    }
}

#[test]
fn every_command_line_makes_sense() {
    for tool in tools::ALL {
        tool.command().debug_assert();
    }
}

/// Every JSON argument can be typed, but for what only the other door has
#[test]
fn what_a_model_can_say_a_person_can_type() {
    for tool in tools::ALL {
        let mut command = tool.command();
        command.build();
        let typed: Vec<String> = command
            .get_arguments()
            .flat_map(|argument| {
                let long = argument.get_long().unwrap_or_default();
                [argument.get_id().to_string(), long.replace('-', "_")]
            })
            .collect();
        let schema = tool.input_schema();
        for name in schema["properties"].as_object().unwrap().keys() {
            // A person has `--file`, `--delete` and `--rename` for these.
            if tool.name() == "file_write_branch" && name == "files" {
                continue;
            }
            assert!(
                typed.contains(name),
                "{}: `{name}` cannot be typed",
                tool.name()
            );
        }
    }
}

#[test]
fn schemas_are_plain() {
    for tool in tools::ALL {
        for (which, schema) in [
            ("input", tool.input_schema()),
            ("output", tool.output_schema()),
        ] {
            let name = format!("{} ({which})", tool.name());
            assert_eq!(schema["type"], "object", "{name}");
            for key in ["anyOf", "oneOf", "allOf", "not", "$defs", "enum"] {
                assert!(!schema.contains_key(key), "{name} has `{key}` at the top");
            }
            let text = Value::Object(schema.clone()).to_string();
            for word in [
                "$ref",
                "$schema",
                "\"title\":\"",
                "\"format\":\"",
                "\"description\":\"\"",
            ] {
                assert!(!text.contains(word), "{name} has `{word}`: {text}");
            }
            jsonschema::meta::validate(&Value::Object(schema))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let properties = &tool.input_schema()["properties"];
        assert!(properties.get("host").is_none(), "{}", tool.name());
        let plain = json!({"type": "string"});
        let told = json!({"type": "string", "description": "of the repository"});
        let about_ref = ["branch_delete", "branch_protection_get", "tag_create"];
        let name = if about_ref.contains(&tool.name()) {
            &told
        } else {
            &plain
        };
        assert_eq!(properties["owner"], plain, "{}", tool.name());
        assert_eq!(properties["name"], *name, "{}", tool.name());
    }
}

/// Every schema within a schema that lists values, or is a list's row, says all that it is
#[test]
fn nothing_has_to_be_guessed() {
    fn look(schema: &Value, at: &str) {
        match schema {
            Value::Object(fields) => {
                if fields.get("enum").is_some_and(Value::is_array) {
                    assert_eq!(fields.get("type"), Some(&json!("string")), "{at}");
                }
                if let Some(row) = fields.get("items") {
                    let known = row["type"] != "object" || row["properties"].is_object();
                    assert!(known, "{at}: {row}");
                }
                for (key, inner) in fields {
                    look(inner, &format!("{at}.{key}"));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| look(item, at)),
            _ => {}
        }
    }
    for tool in tools::ALL {
        look(&Value::Object(tool.input_schema()), tool.name());
    }
}

#[test]
fn the_long_name_is_understood_and_not_listed() {
    for tool in tools::ALL {
        let name = tool.name();
        assert!(!name.starts_with("blue_"), "{name}");
        let long = format!("blue_{name}");
        assert_eq!(tools::find(&long).map(AnyTool::name), Some(name));
        assert_eq!(tools::find(name).map(AnyTool::name), Some(name));
        assert!(tools::find(&format!("blue_{long}")).is_none());
    }
    assert!(tools::find("").is_none() && tools::find("blue_").is_none());
}

#[test]
fn no_tool_is_forgotten() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tools");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name != "mod")
        .collect();
    files.sort();
    let mut names: Vec<&str> = tools::ALL.iter().map(|tool| tool.name()).collect();
    names.sort_unstable();
    assert_eq!(files, names);
}

/// Arguments that are good enough to get past the door
fn plausible(tool: &dyn AnyTool) -> Value {
    let schema = tool.input_schema();
    let mut args = json!({});
    for name in schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let name = name.as_str().unwrap();
        let property = &schema["properties"][name];
        args[name] = match property["type"].as_str() {
            Some("integer") => json!(1),
            Some("boolean") => json!(false),
            Some("array") => json!([]),
            _ if name.ends_with("sha") => json!("0123456789012345678901234567890123456789"),
            _ => property["enum"].get(0).cloned().unwrap_or(json!("main")),
        };
    }
    args
}

async fn reading_only_refuses_every_other_tool(cx: Cx) -> Result<()> {
    let owner = cx.lab.user("owner").await?;
    let repo = cx.lab.repo(&owner).await?;
    let desk = Desk::with(&cx, &owner, &repo, |settings| {
        settings.http.read_only = true;
    });
    for tool in tools::ALL {
        if tool.effect() == Effect::Read {
            continue;
        }
        let error = desk.refused(tool.name(), plausible(*tool)).await;
        assert_eq!(error.code, ErrorCode::ReadOnly, "{error:?}");
        assert!(error.message.contains(tool.name()), "{error:?}");
        assert!(error.hint.unwrap().contains("--read-only"));
    }
    desk.call("repo_status", json!({})).await?;
    Ok(())
}

async fn what_is_not_allowed_is_refused_by_every_tool(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    desk.call("repo_status", json!({})).await?;
    let desk = Desk::with(&cx, &repo.owner, &repo, |settings| {
        settings.allow = Allow::parse("somebody-else").expect("it is a list");
    });
    for tool in tools::ALL {
        let mut args = plausible(*tool);
        // What one tool demands beyond its schema comes before the repository is opened.
        if tool.name() == "file_write_branch" {
            args["path"] = json!("a.txt");
            args["content"] = json!("a");
            args["message"] = json!("m");
        }
        let error = desk.refused(tool.name(), args).await;
        assert_eq!(
            error.code,
            ErrorCode::NotAllowed,
            "{}: {error:?}",
            tool.name()
        );
        assert!(error.message.contains(repo.id.owner()), "{error:?}");
        assert!(error.hint.unwrap().contains("--allow"));
    }
    Ok(())
}

async fn the_answer_of_every_write_names_the_repository(cx: Cx) -> Result<()> {
    let (desk, repo) = desk::start(&cx).await?;
    let sha = |answer: &Value| answer["files"][0]["sha"].clone();
    let mut named = Vec::new();
    let mut call = async |tool: &'static str, args: Value| -> Result<Value> {
        let answer = desk.call(tool, args).await?;
        assert_eq!(
            answer["repository"],
            repo.id.to_string(),
            "{tool}: {answer:#}"
        );
        named.push(tool);
        Ok(answer)
    };
    let write = json!({"branch": "topic", "path": "a.txt", "content": "a", "message": "Add a"});
    call("file_write_branch", write).await?;
    let pr = json!({"head": "topic", "title": "Add a"});
    let pr = call("pr_create", pr).await?;
    call("pr_merge", json!({"index": pr["pr_number"]})).await?;
    call("branch_delete", json!({"branch": "topic"})).await?;
    call("tag_create", json!({"tag": "v1", "target": "main"})).await?;
    let other = json!({"branch": "main", "path": "b.txt", "content": "b", "message": "Add b"});
    let other = call("file_write_branch", other).await?;
    let read = desk.call("file_read", json!({"path": "b.txt"})).await?;
    assert_eq!(read.get("repository"), None, "a read costs no more bytes");
    assert_eq!(sha(&other), read["sha"]);
    let gone = json!({"branch": "main", "path": "b.txt", "sha": read["sha"], "message": "No b"});
    call("file_delete", gone).await?;
    for tool in tools::ALL {
        let writes = tool.effect() != Effect::Read;
        assert_eq!(named.contains(&tool.name()), writes, "{}", tool.name());
    }
    Ok(())
}

/// Opens repositories, and notices something each time
#[derive(Debug)]
struct Noticing(Arc<dyn Opener>);

#[async_trait::async_trait]
impl Opener for Noticing {
    async fn open(&self, ask: &Ask) -> Result<Opened, OpenError> {
        let mut opened = self.0.open(ask).await?;
        opened.notices.push("it was seen".to_owned());
        Ok(opened)
    }
}

async fn notes_of_a_call_are_in_its_answer_and_in_its_error(cx: Cx) -> Result<()> {
    let (desk, _) = desk::start(&cx).await?;
    let plain = desk.call("branch_list", json!({})).await?;
    assert_eq!(plain.get("notes"), None);
    let desk = desk.opening_with(|opener| Arc::new(Noticing(opener)));
    let noted = json!(["it was seen"]);
    for _ in 0..2 {
        let answer = desk.call("branch_list", json!({})).await?;
        assert_eq!(
            answer["notes"], noted,
            "one call does not inherit from another"
        );
    }
    let error = desk.refused("file_read", json!({"path": "gone"})).await;
    assert_eq!(error.json()["notes"], noted);
    let typed = desk.typed("branch_list", &[]).await?;
    assert_eq!((&typed.json["notes"], typed.notes.len()), (&noted, 1));
    Ok(())
}

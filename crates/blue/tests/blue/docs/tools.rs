//! `docs/tools.md` is made from the tools

use std::fmt::Write as _;

use blue_tools::{AnyTool, Effect, tools::ALL};
use clap::{Arg, ArgMatches, parser::ValueSource};
use serde_json::{Map, Value, json};

use super::{fresh, words};

const INTRO: &str = "\
# Tools

Generated from the tools themselves; after a change run `BLUE_UPDATE=1 cargo test -p blue`.

Each tool can be called in two ways, with the same arguments and the same answer: by agents through
`blue mcp`, and by people and scripts on the command line (`pr_merge` is `blue pr merge`; with `--json`
it prints exactly the object that an agent gets). Lists of objects have options of their own there:
`--file`, `--delete`, `--rename`, `--edit`.

- `owner` and `name` say which repository; if left out, they come from the git remote of the working
  directory. `host` says which forge, and is needed only if that is ambiguous. On the command line,
  `-R [HOST/]OWNER/NAME` gives all three, or the URL of the repository.
- An answer is one flat object. Its `next_steps`, if there are any, name the tools to use next.
- Every answer of a tool that writes has `repository`, the `owner/name` that it went to.
- What was noticed on the way (an assumption, a disagreement between a file and a remote) is in `notes`, in
  answers and in errors; there is no such field if nothing was. On the command line it also goes to stderr.
- One thing has one name in all answers: `number` and `html_url` of a pull request, `head_branch`, `base_branch`,
  `commit_sha`. `sha` is that of a branch or of a blob.
- `can_merge` of `pr_verify` is the verdict on a pull request: `yes`, `no` or `unknown`. `no` comes with `blockers`
  that are known; what could not be read, such as a rule that only admins see, is listed under `unknown`. `yes`
  with `partial` means that nothing that can be read is in the way. Rules that are not met, but that the caller
  may bypass, are listed under `bypass`. `can_merge` of `branch_protection_get` is the caller's right to merge into
  a branch, true or false.
- A failure is `{\"error\":{\"code\",\"message\",\"hint\",\"retryable\",\"forge_status\"}}`; the codes are
  listed in [cli.md](cli.md#codes-of-failures). The forge's own words are kept in the message; where it
  only says `not found`, the message says what was not found.
- An unknown argument is refused by name. A number may be sent as a text, `number` is accepted for `index`,
  and `owner/name` for `name`.
- `--read-only` refuses every tool that is not listed as *reads*. `--allow` and `BLUE_ALLOW` say whose
  repositories may be touched. On the command line, a tool that *destroys*, and `--delete`, ask for
  confirmation first, or need `--yes`.
- `file_write_branch` deletes a file of `files` only with its `sha` or with `expected_head`. An overwrite needs
  neither; its row has `replaced`, the blob that was there. `base` is where a new branch starts: one that exists is
  written to where it is, and a note says that `base` was not used.
- A branch is named as the forge knows it: `m1`, not `origin/m1`. Such a name is used if there is such a branch, and is
  not made if its first part is `origin`, `upstream` or a remote of the clone.
- On the command line a pull request is named by its number, `#12`, its URL or its branch; if left out it is that of
  the current branch. `-R` may stand anywhere, and the flags of `gh` work: `-t -b -d -s -L -H -B`, `--squash`,
  `--merge` and `--rebase`.
- `workflow` of `repo_status` is advice. A push to the default branch needs the user's wish, also where it is `trunk`;
  it is `none` where the repository is archived.
";

#[test]
fn the_page_of_the_tools_is_fresh() {
    let mut page = INTRO.to_owned();
    page += "\n| tool | command | effect | what it does |\n|---|---|---|---|\n";
    for tool in ALL {
        let name = tool.name();
        let _ = writeln!(
            page,
            "| [`{name}`](#{name}) | `{}` | {} | {} |",
            typed(*tool),
            effect(*tool),
            tool.summary()
        );
    }
    for tool in ALL {
        section(&mut page, *tool);
    }
    fresh("tools.md", &page);
}

#[test]
fn every_example_can_be_typed_and_sent() {
    for tool in ALL {
        let lines = examples(*tool);
        assert!(!lines.is_empty(), "{} has no example", tool.name());
        let all: Vec<_> = lines.iter().map(|line| sent(*tool, line)).collect();
        // A person may leave out what is then found; a model may not.
        for name in required(&tool.input_schema()) {
            assert!(all[0].contains_key(name), "{}: {name} is missing", lines[0]);
        }
    }
}

fn section(page: &mut String, tool: &dyn AnyTool) {
    let mut command = tool.command().bin_name(typed(tool));
    let about = command.get_long_about().unwrap_or_default().to_string();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let again = match (tool.effect(), tool.idempotent()) {
        (Effect::Read, _) => "",
        (_, true) => "; repeating a call changes nothing more",
        (_, false) => "; repeating a call may do it again",
    };
    let _ = write!(
        page,
        "\n## {}\n\n{about}\n\n`{usage}`: {}{again}\n\n",
        tool.name(),
        effect(tool),
    );
    arguments(page, tool, &command);
    let answer = shape(&Value::Object(tool.output_schema()), 1);
    let _ = write!(page, "Answer:\n\n```text\n{answer}\n```\n");
    let lines = examples(tool);
    if let Some(first) = lines.first() {
        let sent = json!(sent(tool, first));
        let _ = write!(
            page,
            "\n```sh\n{}\n```\n\n```json\n{sent}\n```\n",
            lines.join("\n")
        );
    }
}

fn arguments(page: &mut String, tool: &dyn AnyTool, command: &clap::Command) {
    let schema = tool.input_schema();
    let required = required(&schema);
    *page += "| argument | type | command line | |\n|---|---|---|---|\n";
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut listed = vec!["owner", "name", "host", "whole", "help"];
    for (name, property) in properties.into_iter().flatten() {
        if ["owner", "name"].contains(&name.as_str()) {
            continue;
        }
        let arg = command.get_arguments().find(|arg| is(arg, name));
        let said = property.get("description").and_then(Value::as_str);
        let said = said.filter(|said| !said.is_empty());
        let help = arg.and_then(Arg::get_help).map(ToString::to_string);
        let what = said.map(str::to_owned).or(help).unwrap_or_default();
        let must = if required.contains(&name.as_str()) {
            ", required"
        } else {
            ""
        };
        let kind = shape(property, 0).replace('|', "\\|");
        let typed = arg.map(option).unwrap_or_default();
        let what = what.replace('\n', " ");
        let _ = writeln!(page, "| `{name}` | {kind}{must} | {typed} | {what} |");
        listed.push(arg.map_or(name.as_str(), |arg| arg.get_id().as_str()));
    }
    // What only a person needs: a file to read, the last commit.
    for arg in command.get_arguments() {
        if !listed.contains(&arg.get_id().as_str()) {
            let what = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "| | | {} | {what} |", option(arg));
        }
    }
    *page += "| `owner`, `name` | text | `-R` | which repository |\n\n";
}

fn typed(tool: &dyn AnyTool) -> String {
    format!("blue {} {}", tool.noun(), tool.verb())
}

fn effect(tool: &dyn AnyTool) -> &'static str {
    match tool.effect() {
        Effect::Read => "reads",
        Effect::Write => "writes",
        Effect::Destroy => "destroys",
    }
}

/// An argument goes by its field, or by what is typed where the field's name is a word of Rust
fn is(arg: &Arg, name: &str) -> bool {
    arg.get_id() == name || arg.get_long() == Some(name)
}

fn option(arg: &Arg) -> String {
    match arg.get_long() {
        Some(long) => format!("`--{long}`"),
        None => format!("`{}`", arg.get_id().as_str().to_uppercase()),
    }
}

fn required(schema: &Map<String, Value>) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// A schema in a form that people read; objects below `lines` are laid out on lines of their own
fn shape(schema: &Value, lines: usize) -> String {
    if let Some(Value::Array(allowed)) = schema.get("enum") {
        let words: Vec<_> = allowed.iter().map(ToString::to_string).collect();
        return words.join(" | ");
    }
    if let Some(word) = schema.get("const") {
        return word.to_string();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(ways)) = schema.get(key) {
            let ways: Vec<_> = ways.iter().map(|way| shape(way, 0)).collect();
            return ways.join(" | ");
        }
    }
    if let Some(Value::Array(types)) = schema.get("type") {
        let either = types.iter().map(|one| {
            if one == "null" {
                return "null".to_owned();
            }
            let mut schema = schema.clone();
            schema["type"] = one.clone();
            shape(&schema, lines)
        });
        return either.collect::<Vec<_>>().join(" | ");
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => "text".to_owned(),
        Some("integer" | "number") => "number".to_owned(),
        Some("boolean") => "true | false".to_owned(),
        Some("array") => {
            let items = schema.get("items").map(|items| shape(items, 0));
            format!("[{}, …]", items.unwrap_or_default())
        }
        Some("object") => {
            let Some(Value::Object(schema)) = Some(schema) else {
                return String::new();
            };
            let required = required(schema);
            let properties = schema.get("properties").and_then(Value::as_object);
            let fields = properties.into_iter().flatten().map(|(name, inner)| {
                let maybe = if required.contains(&name.as_str()) {
                    ""
                } else {
                    "?"
                };
                format!("{name}{maybe}: {}", shape(inner, 0))
            });
            let fields: Vec<_> = fields.collect();
            if fields.is_empty() {
                return "object".to_owned();
            }
            if lines > 0 {
                format!("{{\n  {}\n}}", fields.join(",\n  "))
            } else {
                format!("{{ {} }}", fields.join(", "))
            }
        }
        _ => "anything".to_owned(),
    }
}

/// The lines below "Examples:" of a tool's help
fn examples(tool: &dyn AnyTool) -> Vec<String> {
    let command = tool.command();
    let help = command.get_after_help().map(ToString::to_string);
    let help = help.unwrap_or_default();
    let lines = help.lines().map(str::trim);
    lines
        .filter(|line| line.starts_with("blue "))
        .map(str::to_owned)
        .collect()
}

/// What is typed, as a model sends it
fn sent(tool: &dyn AnyTool, line: &str) -> Map<String, Value> {
    let words = words(line);
    let start = typed(tool);
    assert!(line.starts_with(&start), "{line}: not {start}");
    let command = tool.command();
    let schema = tool.input_schema();
    let properties = schema.get("properties").and_then(Value::as_object);
    let ids: Vec<(String, String)> = properties
        .into_iter()
        .flatten()
        .filter_map(|(name, _)| {
            let arg = command.get_arguments().find(|arg| is(arg, name))?;
            Some((name.clone(), arg.get_id().to_string()))
        })
        .collect();
    let matches = command
        .no_binary_name(true)
        .try_get_matches_from(&words[3..])
        .unwrap_or_else(|error| panic!("{line}: {error}"));
    let mut sent = Map::new();
    if let Some((owner, name)) = value(&matches, "whole").as_deref().and_then(|whole| {
        let (owner, name) = whole.rsplit_once('/')?;
        Some((owner.to_owned(), name.to_owned()))
    }) {
        sent.insert("owner".to_owned(), owner.into());
        sent.insert("name".to_owned(), name.into());
    }
    for (name, id) in ids {
        let Some(text) = value(&matches, &id) else {
            continue;
        };
        let value = match schema["properties"][&name]
            .get("type")
            .and_then(Value::as_str)
        {
            Some("integer") => json!(text.parse::<u64>().unwrap()),
            Some("boolean") => json!(true),
            _ => json!(text),
        };
        sent.insert(name, value);
    }
    sent
}

fn value(matches: &ArgMatches, id: &str) -> Option<String> {
    let known = matches.try_contains_id(id).is_ok();
    if !known || matches.value_source(id) != Some(ValueSource::CommandLine) {
        return None;
    }
    let raw = matches.get_raw(id)?.next()?;
    Some(raw.to_str().unwrap().to_owned())
}

//! The command line: what can be typed, and its help pages

use std::{ffi::OsString, fmt::Write as _, path::PathBuf};

use blue_tools::{ErrorCode, ToolError, nearest};
use clap::{
    CommandFactory, FromArgMatches, Parser, Subcommand,
    builder::styling,
    error::ErrorKind,
    error::{ContextKind, ContextValue},
};
use terminal_size::{Width, terminal_size};

use crate::{
    commands::{self, Brief, Call},
    env::{self, Env, Group},
    habits,
    render::folded,
    version::LINE,
};

/// Columns that help takes at most
const WIDEST: usize = 100;

/// Drive software development across repositories and forges
///
/// Blue works with GitHub, Gitea and Forgejo through one interface, detects which of them hosts a
/// repository, and comes with a small forge of its own to try things on.
#[derive(Debug, Parser)]
#[command(
    name = "blue",
    after_help = "Run `blue help COMMAND` or `blue COMMAND --help` for more."
)]
#[command(
    propagate_version = false,
    arg_required_else_help = true,
    infer_subcommands = false
)]
pub(crate) struct Cli<C: Subcommand = Call> {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) call: C,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Print exactly one JSON object on stdout, for errors too
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Run as if started in this folder
    #[arg(short = 'C', long = "cwd", value_name = "DIR", global = true)]
    pub(crate) cwd: Option<PathBuf>,
    /// Log to stderr; repeat for more detail
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
}

/// Read the command line; an `Err` is a help page, the version or a mistake
pub(crate) fn parse(argv: &[OsString], env: &Env) -> Result<Cli, clap::Error> {
    let mut cli = parse_words(argv, env)?;
    if let Call::Tool(call) = &mut cli.call {
        call.read_alias(argv);
    }
    Ok(cli)
}

fn parse_words(argv: &[OsString], env: &Env) -> Result<Cli, clap::Error> {
    let moved = commands::limits_after(argv).or_else(|| help_alone(argv));
    let argv = moved.as_deref().unwrap_or(argv);
    // Only who needs help or made a mistake waits for all commands and their texts.
    let brief = || styled(Cli::<Brief>::command());
    let mut error = match read(argv, env, brief()) {
        Err(error) => error,
        found => return found,
    };
    // What has a place of its own can be typed by its name, too, as an agent knows it.
    let mut named = Vec::new();
    while let Some(name) = unknown_name(&error).filter(|name| !named.contains(name)) {
        named.push(name);
        match commands::by_name(brief(), argv, &named).map(|command| read(argv, env, command)) {
            Some(Err(next)) if next.kind() == ErrorKind::UnknownArgument => error = next,
            Some(found) => return found,
            None if named.len() > 1 => return Err(error),
            None => break,
        }
    }
    match error.kind() {
        ErrorKind::DisplayVersion => Err(error),
        _ => read(argv, env, command_at(width())),
    }
}

/// Removes `--json` from `blue help` or `blue pr help`, where clap would take it for a command
///
/// The option is not lost: the printing code looks for it in the original arguments.
fn help_alone(argv: &[OsString]) -> Option<Vec<OsString>> {
    let at = argv.iter().position(|word| word == "help")?;
    let mut here = command();
    here.build();
    for word in &argv[1..at] {
        here = here.find_subcommand(word)?.clone();
    }
    // Elsewhere it may well be the name of a file.
    let without = argv.iter().filter(|word| *word != "--json").cloned();
    here.has_subcommands().then(|| without.collect())
}

/// Returns the name of an unknown option, without its dashes
fn unknown_name(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let name = typed.strip_prefix("--")?.split('=').next()?;
    (error.kind() == ErrorKind::UnknownArgument).then(|| name.replace('-', "_"))
}

fn read(argv: &[OsString], env: &Env, command: clap::Command) -> Result<Cli, clap::Error> {
    // `Auto` knows terminals but not our list of variables.
    let mut command = command.color(match (env.colour(true), env.colour(false)) {
        (false, _) => clap::ColorChoice::Never,
        (_, true) => clap::ColorChoice::Always,
        _ => clap::ColorChoice::Auto,
    });
    let matches = command.try_get_matches_from_mut(argv)?;
    Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
}

/// Whether `--json` was typed, for when the rest cannot be understood
pub(crate) fn wants_json(argv: &[OsString]) -> bool {
    argv.iter()
        .skip(1)
        .take_while(|arg| *arg != "--")
        // `--json=…` is a mistake, but its user wants JSON.
        .any(|arg| arg == "--json" || arg.as_encoded_bytes().starts_with(b"--json="))
}

/// A mistake on the command line in our own form: one message, one hint
pub(crate) fn mistake(error: &clap::Error, argv: &[OsString]) -> ToolError {
    let text = error.render().to_string().replace('\'', "`");
    let mut lines = text.lines().map(str::trim);
    let message: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let message = message.join(" ");
    let message = message
        .strip_prefix("error: ")
        .unwrap_or(&message)
        .replace("invalid digit found in string", "expected a whole number")
        .replace(
            "number too large to fit in target type",
            "the number is too large",
        );
    let message = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a command is missing".to_owned(),
        _ => message,
    };
    let mut hints: Vec<String> = lines
        .filter_map(|line| line.strip_prefix("tip: "))
        // What only sounds alike to clap is not proposed.
        .filter(|tip| !tip.starts_with("to pass ") && !is_similar_name(tip))
        .map(str::to_owned)
        .collect();
    let called = called(argv);
    hints.extend(instead_of(error, &called, argv));
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && called == "blue"
    {
        let below = below(word);
        match &below[..] {
            [] => {}
            // What sounds alike is not what was meant.
            [one] => hints = vec![format!("there is {one}")],
            several => hints = vec![format!("there are {}", several.join(", "))],
        }
    }
    hints.push(format!("see `{called} --help`"));
    ToolError::new(ErrorCode::Usage, message).with_hint(hints.join("; "))
}

/// Whether clap proposes an argument or a command; a value it proposes is one of few
fn is_similar_name(tip: &str) -> bool {
    tip.contains("similar argument") || tip.contains("similar subcommand")
}

/// What to type in place of an option or a command that does not exist
fn instead_of(error: &clap::Error, called: &str, argv: &[OsString]) -> Option<String> {
    let mut here = command();
    here.build();
    for word in called.split(' ').skip(1) {
        here = here.find_subcommand(word)?.clone();
    }
    if let Some(ContextValue::String(verb)) = error.get(ContextKind::InvalidSubcommand) {
        if let Some(answer) = habits::verb_answer(called, verb) {
            return Some(answer.to_owned());
        }
        let names = here.get_subcommands().map(clap::Command::get_name);
        let near = nearest(verb, names.filter(|name| *name != "help"))?;
        return Some(format!("a similar subcommand exists: `{near}`"));
    }
    let ContextValue::String(typed) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    if let Some(answer) = habits::flag_answer(called, typed) {
        return Some(answer.to_owned());
    }
    // `gh pr list --json number,title`
    let mut pairs = argv.windows(2);
    if pairs.any(|pair| pair[0] == "--json" && pair[1] == typed.as_str()) {
        return Some("`--json` takes no fields: it prints all of them".to_owned());
    }
    let word = typed.strip_prefix("--")?.split('=').next()?;
    let longs: Vec<&str> = here
        .get_arguments()
        .filter(|arg| !arg.is_hide_set())
        .flat_map(|arg| arg.get_long_and_visible_aliases().unwrap_or_default())
        .collect();
    let near = nearest(word, longs)?;
    Some(format!("a similar argument exists: `--{near}`"))
}

/// The command that was meant, as far as it can be understood
fn called(argv: &[OsString]) -> String {
    let mut here = command();
    here.build();
    let mut path = vec!["blue".to_owned()];
    for word in argv.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = here.find_subcommand(word).filter(|_| word != "help") {
            path.push(below.get_name().to_owned());
            here = below.clone();
        }
    }
    path.join(" ")
}

/// The commands that a verb or the name of a tool may mean: `merge` and `pr_merge` are `blue pr merge`
fn below(word: &str) -> Vec<String> {
    let word = word.replace('_', "-");
    let word = word.strip_prefix("blue-").unwrap_or(&word);
    let mut root = command();
    root.build();
    let mut found = Vec::new();
    for noun in root
        .get_subcommands()
        .filter(|noun| noun.get_name() != "help")
    {
        for verb in noun.get_subcommands() {
            let (noun, verb_name) = (noun.get_name(), verb.get_name());
            let mut names = std::iter::once(verb_name).chain(verb.get_all_aliases());
            if names.any(|name| word == name || word == format!("{noun}-{name}")) {
                found.push(format!("`blue {noun} {verb_name}`"));
            }
        }
    }
    found
}

/// The whole tree of commands with its help
pub(crate) fn command() -> clap::Command {
    command_at(WIDEST)
}

/// The whole tree of commands, with help wrapped at `width` columns
pub(crate) fn command_at(width: usize) -> clap::Command {
    with_variables(styled(<Cli>::command()).term_width(width), "", width)
}

/// Columns for help
fn width() -> usize {
    let columns = terminal_size().map(|(Width(columns), _)| usize::from(columns));
    columns.unwrap_or(WIDEST).min(WIDEST)
}

fn styled(command: clap::Command) -> clap::Command {
    let styles = styling::Styles::styled()
        .header(styling::Style::new().bold())
        .usage(styling::Style::new().bold())
        .literal(styling::AnsiColor::Cyan.on_default())
        .placeholder(styling::Style::new().dimmed());
    command
        .version(LINE.as_str())
        .styles(styles)
        .max_term_width(WIDEST)
}

/// Add the variables that a command looks at to its long help
fn with_variables(mut command: clap::Command, path: &str, width: usize) -> clap::Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|c| c.get_name().to_owned())
        .collect();
    let leaf = names.is_empty();
    for name in names {
        let below = format!("{path} {name}").trim().to_owned();
        command = command.mut_subcommand(name, |c| with_variables(c, &below, width));
    }
    let text = variables(path, width);
    if !(leaf || path.is_empty()) || text.is_empty() {
        return command;
    }
    let before = command
        .get_after_long_help()
        .or_else(|| command.get_after_help())
        .map(|text| format!("{text}\n\n"))
        .unwrap_or_default();
    command.after_long_help(format!("{before}{text}"))
}

fn variables(path: &str, columns: usize) -> String {
    let mut text = String::new();
    let width = env::ALL.iter().map(|v| v.name.len()).max().unwrap_or(0);
    // On a narrow terminal the text goes below the name.
    let beside = columns >= width + 4 + 40;
    let room = columns
        - if beside {
            width + 4
        } else {
            6.min(columns / 2)
        };
    for group in Group::ALL {
        let shown: Vec<_> = env::ALL
            .iter()
            .filter(|var| var.group == *group)
            // The top page shows all; a command what is its own.
            .filter(|var| path.is_empty() || var.commands.iter().any(|c| under(path, c)))
            .filter(|var| !var.is_twin())
            .collect();
        if shown.is_empty() {
            continue;
        }
        let _ = writeln!(text, "Environment, {}:", group.title());
        for var in shown {
            let mut lines = folded(var.what, room);
            if !var.default.is_empty() {
                lines.extend(folded(&format!("[default: {}]", var.default), room));
            }
            if beside {
                let names = std::iter::once(var.name).chain(std::iter::repeat(""));
                for (name, line) in names.zip(&lines) {
                    let _ = writeln!(text, "  {name:width$}  {line}");
                }
            } else {
                let _ = writeln!(text, "  {}", var.name);
                for line in &lines {
                    let _ = writeln!(text, "      {line}");
                }
            }
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}

fn under(path: &str, command: &str) -> bool {
    path == command
        || path
            .strip_prefix(command)
            .is_some_and(|rest| rest.starts_with(' '))
}

//! The part of the command line that is made from the tools

use std::ffi::OsString;

use blue_forge::allow::{Allow, BadAllow};
use blue_tools::{AnyTool, Effect, tools};
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches as _};

use crate::render::{self, Known};

/// What a noun is about, where its verbs alone do not say it
const NOUNS: &[(&str, &str)] = &[
    ("repo", "Show the state of a repository"),
    ("branch", "List and delete branches, show their protection"),
    ("pr", "Open, check and merge pull requests"),
    ("dir", "List directories"),
    ("file", "Read, write and delete files"),
    ("tag", "Create tags"),
    ("workflow", "Show CI results"),
];

/// The arguments that say which repository is meant
pub(super) const REPOSITORY: &[&str] = &["owner", "name", "host", "whole"];

const VARIABLES: &str = "Tokens, hosts and proxies come from the environment: see `blue --help`.";

// No doc comment: clap would show it as the help of the nouns that take these.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct Limits {
    /// Refuse everything that would change something
    #[arg(long, global = true)]
    pub(crate) read_only: bool,
    /// Allow only these owners: `alice`, `acme/site`, `acme/*`, `host/owner` [env: `BLUE_ALLOW`]
    #[arg(long, value_name = "LIST", value_parser = list, global = true)]
    pub(crate) allow: Option<Allow>,
    /// Set by destroying tools alone
    #[arg(skip)]
    pub(crate) yes: bool,
}

/// Aliases that only show something: the exit status does not depend on the verdict
const SHOWING_ALIASES: &[&str] = &["view"];

/// A tool and what was typed after it
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) tool: &'static dyn AnyTool,
    pub(crate) args: ArgMatches,
    pub(crate) limits: Limits,
    /// The exit status tells the verdict of the answer
    pub(crate) judges: bool,
}

/// Put every tool below its noun
pub(crate) fn augment(mut command: Command) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|below| below.get_name().to_owned())
        .collect();
    for (at, noun) in nouns().into_iter().enumerate() {
        // The verbs are made when the noun is typed: every start would pay for them otherwise.
        let group = Command::new(noun)
            .about(about(noun))
            .display_order(1 + at)
            .defer(verbs);
        command = command.subcommand(group);
    }
    // The first command is where people begin; all the others come after the tools.
    for (at, name) in names.into_iter().enumerate() {
        let order = if at == 0 { 0 } else { 100 + at };
        command = command.mut_subcommand(name, |below| below.display_order(order));
    }
    command
}

impl Call {
    /// What was typed, if it is below a noun of the tools
    pub(crate) fn of(noun: &str, args: &ArgMatches) -> Option<Result<Self, clap::Error>> {
        let (verb, args) = args.subcommand()?;
        let tool = tools::ALL
            .iter()
            .copied()
            .find(|tool| tool.noun() == noun && tool.verb() == verb)?;
        Some(Limits::from_arg_matches(args).map(|mut limits| {
            limits.yes = takes_away(tool) && args.get_flag("yes");
            Self {
                tool,
                args: args.clone(),
                limits,
                judges: true,
            }
        }))
    }

    /// Read the verb as it was typed, which clap replaces by the name of the command
    pub(crate) fn read_alias(&mut self, argv: &[OsString]) {
        let (noun, verb) = (self.tool.noun(), self.tool.verb());
        let words = argv.iter().skip(1).filter_map(|word| word.to_str());
        let typed = words
            .skip_while(|word| *word != noun)
            .find(|word| *word == verb || SHOWING_ALIASES.contains(word));
        self.judges = !typed.is_some_and(|word| SHOWING_ALIASES.contains(&word));
    }
}

/// The tree where the tool that was typed takes these arguments, which have a place, by their names;
/// none if it has no such argument
pub(crate) fn by_name(command: Command, argv: &[OsString], names: &[String]) -> Option<Command> {
    let words = || argv.iter().skip(1).filter_map(|word| word.to_str());
    let noun = words().find(|word| nouns().contains(word))?.to_owned();
    let verb = words().skip_while(|word| *word != noun).nth(1)?.to_owned();
    let mut group = verbs(Command::new(noun.clone()));
    let tool = group.find_subcommand(&verb)?;
    let placed = |name: &String| tool.get_positionals().any(|arg| arg.get_id() == name);
    if !names.iter().all(placed) {
        return None;
    }
    for name in names {
        let long = name.replace('_', "-");
        group = group.mut_subcommand(&verb, |tool| tool.mut_arg(name, |arg| arg.long(long)));
    }
    Some(command.mut_subcommand(noun, |_| group))
}

/// Puts limits and `-R` that stand before the verb after it, where they mean something; none if there
/// are no such
///
/// gh takes `-R` anywhere.
pub(crate) fn limits_after(argv: &[OsString]) -> Option<Vec<OsString>> {
    let (mut kept, mut moved) = (argv.get(..1)?.to_vec(), Vec::new());
    let mut words = argv.get(1..)?.iter();
    let command = loop {
        let word = words.next()?;
        match word.to_str()? {
            "--read-only" | "--yes" | "-y" => moved.push(word.clone()),
            "--allow" | "-R" | "--repo" => moved.extend([word, words.next()?].map(Clone::clone)),
            text if text.starts_with("--allow=") || is_repository(text) => moved.push(word.clone()),
            "-C" | "--cwd" => kept.extend([word, words.next()?].map(Clone::clone)),
            text if text.starts_with('-') => kept.push(word.clone()),
            text => break text,
        }
    };
    let is_noun = nouns().contains(&command);
    if !is_noun && (moved.is_empty() || command != "mcp") {
        return None;
    }
    kept.push(command.into());
    // The verb of a noun comes first.
    while let Some(word) = words.as_slice().first().filter(|_| is_noun) {
        words.next();
        match word.to_str()? {
            "-R" | "--repo" => moved.extend([word, words.next()?].map(Clone::clone)),
            text if is_repository(text) => moved.push(word.clone()),
            text => {
                kept.push(word.clone());
                if !text.starts_with('-') {
                    break;
                }
            }
        }
    }
    if moved.is_empty() {
        return None;
    }
    kept.extend(moved);
    kept.extend_from_slice(words.as_slice());
    Some(kept)
}

/// `-Racme/site` and `--repo=acme/site`
fn is_repository(word: &str) -> bool {
    word.starts_with("--repo=") || word.strip_prefix("-R").is_some_and(|rest| !rest.is_empty())
}

/// Whether a call of it may take something away
fn takes_away(tool: &dyn AnyTool) -> bool {
    tool.effect() == Effect::Destroy || !tool.removes().is_empty()
}

fn list(text: &str) -> Result<Allow, BadAllow> {
    Allow::parse(text)
}

/// In the order of the tools, each once
pub(crate) fn nouns() -> Vec<&'static str> {
    let mut nouns = Vec::new();
    for tool in tools::ALL {
        if !nouns.contains(&tool.noun()) {
            nouns.push(tool.noun());
        }
    }
    nouns
}

fn about(noun: &'static str) -> String {
    let known = NOUNS.iter().find(|(name, _)| *name == noun);
    known.map_or_else(
        || format!("Work with `{noun}`"),
        |(_, about)| (*about).to_owned(),
    )
}

fn verbs(group: Command) -> Command {
    let noun = group.get_name().to_owned();
    let mut group = Limits::augment_args(group)
        .subcommand_required(true)
        .arg_required_else_help(true);
    for tool in tools::ALL.iter().filter(|tool| tool.noun() == noun) {
        let mut verb = for_people(tool.command());
        if takes_away(*tool) {
            verb = verb.arg(
                Arg::new("yes")
                    .long("yes")
                    .short('y')
                    .action(ArgAction::SetTrue)
                    .help_heading("Limits")
                    .help("Do not ask for confirmation"),
            );
        }
        let before = verb
            .get_after_long_help()
            .or_else(|| verb.get_after_help())
            .map(|text| format!("{text}\n\n"))
            .unwrap_or_default();
        group = group.subcommand(verb.after_long_help(format!("{before}{VARIABLES}")));
    }
    group
}

/// Help that speaks of commands, where a model is told of tools
fn for_people(verb: Command) -> Command {
    let option = |arg: &Arg| {
        let long = arg.get_long()?;
        Some((format!("`{}`", arg.get_id()), format!("`--{long}`")))
    };
    let options: Vec<_> = verb.get_arguments().filter_map(option).collect();
    let typed = |text: &str| {
        let text = render::typed(text, &Known::default());
        let named = |text: String, (id, typed): &(String, String)| text.replace(id, typed);
        options.iter().fold(text, named)
    };
    let about = verb.get_about().map(|text| typed(&text.to_string()));
    let long = verb.get_long_about().map(|text| typed(&text.to_string()));
    verb.about(about.unwrap_or_default())
        .long_about(long.unwrap_or_default())
        .mut_args(|arg| {
            let help = arg.get_help().map(|text| typed(&text.to_string()));
            let long = arg.get_long_help().map(|text| typed(&text.to_string()));
            // What follows the repository's arguments would be listed under their heading.
            let of_repo = REPOSITORY.contains(&arg.get_id().as_str());
            let arg = if of_repo { arg } else { arg.help_heading(None) };
            let arg = match help {
                Some(help) => arg.help(help),
                None => arg,
            };
            match long {
                Some(long) => arg.long_help(long),
                None => arg,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_noun_says_what_it_is_about() {
        for noun in nouns() {
            assert!(
                NOUNS.iter().any(|(known, _)| *known == noun),
                "`{noun}` needs a line in NOUNS"
            );
        }
    }

    #[test]
    fn limits_may_stand_before_the_command() {
        let after = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let moved = limits_after(&words)?;
            let words: Vec<_> = moved.iter().filter_map(|word| word.to_str()).collect();
            Some(words.join(" "))
        };
        for (typed, meant) in [
            ("blue --read-only pr merge 1", "blue pr merge --read-only 1"),
            (
                "blue --json --allow a -C x repo status",
                "blue --json -C x repo status --allow a",
            ),
            (
                "blue --allow=a --yes pr list",
                "blue pr list --allow=a --yes",
            ),
            ("blue -y file delete x -b m", "blue file delete -y x -b m"),
            (
                "blue --read-only mcp --http 1",
                "blue mcp --read-only --http 1",
            ),
            ("blue --read-only pr", "blue pr --read-only"),
            ("blue -R a/b pr list", "blue pr list -R a/b"),
            (
                "blue --json --repo=a/b pr merge 1",
                "blue --json pr merge --repo=a/b 1",
            ),
            ("blue pr -R a/b list -L 3", "blue pr list -R a/b -L 3"),
            ("blue pr -Ra/b --json view 1", "blue pr --json view -Ra/b 1"),
        ] {
            assert_eq!(after(typed).as_deref(), Some(meant), "{typed}");
        }
        for left in [
            "blue pr merge 1 --read-only",
            "blue --read-only broker",
            "blue --allow",
            "blue",
            "blue --json mcp",
            "blue pr list -R a/b",
            "blue pr -R",
            "blue -R a/b up",
        ] {
            assert_eq!(after(left), None, "{left}");
        }
    }

    #[test]
    fn the_tree_is_sound() {
        augment(Command::new("blue")).debug_assert();
    }
}

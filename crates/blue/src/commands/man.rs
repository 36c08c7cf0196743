//! `blue man`

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use blue_tools::{ErrorCode, ToolError};
use clap::builder::Resettable;
use clap_mangen::Man;
use serde::Serialize;

use super::{Cx, Stop};
use crate::{
    cli,
    render::{Page, Report, Style},
    version::BUILD,
};

/// Columns of a page that is read on a terminal of 80, without its indent
const COLUMNS: usize = 72;

/// Print or write the man pages
///
/// Generated from the same definitions as the commands themselves. Without a folder, the page of
/// `blue` itself is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder for one page per command; created if missing
    dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  blue man | man -l -
  blue man ~/.local/share/man/man1";

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Pages {
    Printed { page: String },
    Written { dir: PathBuf, pages: Vec<String> },
}

pub(crate) fn run(cx: &Cx, args: Args) -> Result<(), Stop> {
    let command = cli::command_at(COLUMNS);
    let pages = match args.dir {
        None => {
            let (_, page) = rendered(command).map_err(Stop::Output)?;
            Pages::Printed {
                page: String::from_utf8_lossy(&page).into_owned(),
            }
        }
        Some(dir) => {
            let dir = cx.env.cwd().join(dir);
            let pages = write(command, &dir).map_err(|source| {
                let message = format!("could not write to `{}`", dir.display());
                ToolError::new(ErrorCode::Io, message).with_source(source)
            })?;
            Pages::Written { dir, pages }
        }
    };
    cx.screen.show(&pages).map_err(Stop::Output)
}

fn write(command: clap::Command, dir: &Path) -> io::Result<Vec<String>> {
    std::fs::create_dir_all(dir)?;
    let mut commands = vec![command.disable_help_subcommand(true)];
    let mut pages = Vec::new();
    commands[0].build();
    while let Some(command) = commands.pop() {
        let (name, page) = rendered(command.clone())?;
        std::fs::write(dir.join(&name), page)?;
        pages.push(name);
        commands.extend(
            command
                .get_subcommands()
                .filter(|c| !c.is_hide_set())
                .cloned(),
        );
    }
    pages.sort();
    Ok(pages)
}

/// Name and text of the page of a command
fn rendered(command: clap::Command) -> io::Result<(String, Vec<u8>)> {
    let command = with_aliases(command);
    let more = command
        .get_after_long_help()
        .or_else(|| command.get_after_help())
        .map(ToString::to_string);
    let command = command
        .after_help(Resettable::Reset)
        .after_long_help(Resettable::Reset);
    let man = Man::new(command)
        .date(BUILD.date.unwrap_or_default())
        .source(format!("blue {}", BUILD.version))
        .manual("Blue");
    let mut page = Vec::new();
    man.render(&mut page)?;
    let mut section = "";
    for part in more.iter().flat_map(|more| more.split("\n\n")) {
        section = add(&mut page, part, section)?;
    }
    Ok((man.get_filename(), page))
}

/// What follows the options has lines of its own, which must stay as they are; the section it is in
fn add(page: &mut Vec<u8>, part: &str, last: &str) -> io::Result<&'static str> {
    let (title, lines) = part.split_once('\n').unwrap_or_default();
    let (section, below, lines) = match title.trim_end_matches(':').split_once(", ") {
        _ if title == "Examples:" => ("EXAMPLES", None, lines),
        Some(("Environment", which)) => ("ENVIRONMENT", Some(which), lines),
        _ => ("NOTES", None, part),
    };
    if section != last {
        writeln!(page, ".SH {section}")?;
    }
    if let Some(below) = below {
        writeln!(page, ".SS \"{}\"", roff(below))?;
    }
    writeln!(page, ".nf")?;
    for line in lines.lines() {
        writeln!(page, "{}", roff(line))?;
    }
    writeln!(page, ".fi")?;
    Ok(section)
}

/// A line of text that means no request to roff
fn roff(line: &str) -> String {
    let text = line.replace('\\', "\\e").replace('-', "\\-");
    let text = text.replace('\'', "\\(aq").replace('"', "\\(dq");
    if text.starts_with('.') {
        format!("\\&{text}")
    } else {
        text
    }
}

/// Say the other names of a command and its options, which the pages would leave out
fn with_aliases(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command
        .get_visible_aliases()
        .map(|name| format!("`{name}`"))
        .collect();
    let long = command.get_long_about().or_else(|| command.get_about());
    let long = long.map(ToString::to_string).unwrap_or_default();
    let command = if names.is_empty() {
        command
    } else {
        command.long_about(format!("{long}\n\nAlso called {}.", names.join(", ")))
    };
    command.mut_args(|arg| {
        let others = arg.get_visible_aliases().unwrap_or_default();
        if others.is_empty() {
            return arg;
        }
        let names: Vec<String> = others.iter().map(|name| format!("--{name}")).collect();
        let help = arg.get_long_help().or_else(|| arg.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        let help = format!("{help} [also: {}]", names.join(", "));
        arg.help(help.clone()).long_help(help)
    })
}

impl Report for Pages {
    fn page(&self, page: &mut Page) {
        match self {
            Self::Printed { page: text } => page.text(text),
            Self::Written { dir, pages } => page.line(
                &format!("{} pages in {}", pages.len(), dir.display()),
                Style::Plain,
            ),
        };
    }
}

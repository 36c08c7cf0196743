//! `blue man`

use std::path::PathBuf;

use blue_tools::{ErrorCode, ToolError};
use clap_mangen::Man;
use serde::Serialize;

use super::{Cx, Stop};
use crate::{
    cli,
    render::{Page, Report, Style},
};

/// Write the man pages
///
/// Made from the same definitions as the commands themselves. Without a folder the page of `blue`
/// is printed: `blue man | man -l -`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder for one page per command; it is made if it is not there
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
    let command = cli::command();
    let pages = match args.dir {
        None => {
            let mut page = Vec::new();
            Man::new(with_aliases(command))
                .render(&mut page)
                .map_err(Stop::Output)?;
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

fn write(command: clap::Command, dir: &std::path::Path) -> std::io::Result<Vec<String>> {
    std::fs::create_dir_all(dir)?;
    let mut commands = vec![command.disable_help_subcommand(true)];
    let mut pages = Vec::new();
    commands[0].build();
    while let Some(command) = commands.pop() {
        let page = Man::new(with_aliases(command.clone()));
        page.generate_to(dir)?;
        pages.push(page.get_filename());
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

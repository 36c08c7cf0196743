//! `blue completions`

use clap_complete::{Shell, generate};
use serde::Serialize;

use super::{Cx, Stop};
use crate::{
    cli,
    render::{Page, Report},
};

/// Print a completion script for a shell
///
/// Generated from the same definitions as the commands themselves.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  blue completions bash > ~/.local/share/bash-completion/completions/blue
  blue completions zsh > \"${fpath[1]}/_blue\"
  blue completions fish > ~/.config/fish/completions/blue.fish
  blue completions elvish >> ~/.config/elvish/rc.elv
  blue completions powershell >> $PROFILE";

#[derive(Debug, Serialize)]
struct Completions {
    shell: String,
    script: String,
}

pub(crate) fn run(cx: &Cx, args: &Args) -> Result<(), Stop> {
    let mut script = Vec::new();
    generate(args.shell, &mut cli::command(), "blue", &mut script);
    let completions = Completions {
        shell: args.shell.to_string(),
        script: String::from_utf8_lossy(&script).into_owned(),
    };
    cx.screen.show(&completions).map_err(Stop::Output)
}

impl Report for Completions {
    fn page(&self, page: &mut Page) {
        page.text(&self.script);
    }
}

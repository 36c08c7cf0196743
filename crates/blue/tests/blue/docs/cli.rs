//! `docs/cli.md` is made from the help pages

use std::fmt::Write as _;

use blue_tools::ErrorCode;

use super::fresh;
use crate::cli::Blue;

const INTRO: &str = "\
# Commands

Generated from the program's own help; after a change run `BLUE_UPDATE=1 cargo test -p blue`.

- The result goes to stdout; warnings, notes, errors and logs go to stderr.
- `--json` prints exactly one JSON object on stdout. So does a failure:
  `{\"error\":{\"code\":…,\"message\":…,\"hint\":…,\"retryable\":…}}`, with `causes` and `forge_status` where
  there are any; the exit code is the same as without `--json`.
- Exit codes: 0 success, 1 failure, 2 wrong usage, 64 wrong configuration, 130 Ctrl-C.
- `blue pr verify` and `blue workflow run-status` also tell their verdict by the exit code, with `--wait` and
  `--json` too: 0 for green (it can be merged or is merged; CI succeeded), 1 for red or blocked, 8 for pending
  or unknown (checks still run, the verdict is `unknown`, nothing has run). The answer is on stdout in each
  case; a failure of Blue itself is also 1, with an error instead of an answer. `blue pr view` shows the
  same page as `blue pr verify` and always ends with 0.
- Colour and links appear on terminals only, and never with `NO_COLOR`, `CLICOLOR=0` or `TERM=dumb`. On a
  terminal, tables are cut to its width, and only a part of a long file is shown. Elsewhere nothing is
  cut: `blue file read` writes the exact bytes of the file.
- Deleting something asks for confirmation on a terminal; elsewhere, and with `--json`, it needs
  `--yes`.
- `--read-only`, `--allow` and `--yes` may also come before the noun: `blue --read-only pr list`.
- For the id of a commit or blob, its first seven digits or more are enough.
- The commands below a noun (`blue pr merge`) are the same [tools](tools.md) that agents use.
";

#[test]
fn the_command_page_is_fresh() {
    let mut page = INTRO.to_owned();
    page += "\n## Codes of failures\n\n| code | meaning |\n|---|---|\n";
    for code in ErrorCode::ALL {
        let _ = writeln!(page, "| `{code}` | {} |", code.meaning());
    }
    add(&mut page, &[]);
    fresh("cli.md", &page);
}

/// The page of a command and of those below it
fn add(page: &mut String, path: &[&str]) {
    let help = Blue::new()
        .run(&[path, &["--help"]].concat())
        .success()
        .stdout;
    let name = [&["blue"], path].concat().join(" ");
    let lines: Vec<_> = help.trim_end().lines().map(str::trim_end).collect();
    let mut text = lines.join("\n");
    if path.len() > 1 && path[0] == "broker" {
        text = without_settings(&text);
    }
    let _ = write!(page, "\n## `{name}`\n\n```text\n{text}\n```\n");
    for below in commands(&help) {
        add(page, &[path, &[below]].concat());
    }
}

/// A page of a command below `blue broker`, without the settings that are those of that page
fn without_settings(help: &str) -> String {
    let mut kept = Vec::new();
    let mut is_settings = false;
    for line in help.lines() {
        if !line.is_empty() && !line.starts_with(' ') {
            is_settings = line == "Settings:" || line.starts_with("Environment, the broker");
        }
        if !is_settings {
            kept.push(line);
        }
    }
    let text = kept.join("\n");
    format!("{}\n\nSettings: see `blue broker`", text.trim_end())
}

fn commands(help: &str) -> Vec<&str> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        // A line that is further in goes on with the one before it.
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .filter(|name| *name != "help")
        .collect()
}

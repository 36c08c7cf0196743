//! `docs/cli.md` is made from the help pages

use std::fmt::Write as _;

use blue_tools::ErrorCode;

use crate::{cli::Blue, tidy::root};

const INTRO: &str = "\
# Commands

Made from the program's own help; after a change run `BLUE_UPDATE=1 cargo test -p blue`.

- The result goes to stdout; warnings, notes, errors and logs go to stderr.
- `--json` prints exactly one JSON object on stdout. A failure is such an object too:
  `{\"error\":{\"code\":…,\"message\":…,\"hint\":…,\"retryable\":…}}`, with `causes` and `forge_status` where
  there are any; the exit code is the same as without `--json`.
- Exit codes: 0 success, 1 failure, 2 wrong usage, 64 wrong configuration.
- Colour is for terminals only, and never with `NO_COLOR` or `TERM=dumb`.
";

#[test]
fn the_command_page_is_fresh() {
    let mut page = INTRO.to_owned();
    page += "\n## Codes of failures\n\n| code | meaning |\n|---|---|\n";
    for code in ErrorCode::ALL {
        let _ = writeln!(page, "| `{code}` | {} |", code.meaning());
    }
    add(&mut page, &[]);
    let path = root().join("docs/cli.md");
    if update() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == written,
        "docs/cli.md is stale: run `BLUE_UPDATE=1 cargo test -p blue`"
    );
}

/// The page of a command and of those below it
fn add(page: &mut String, path: &[&str]) {
    let help = Blue::new()
        .run(&[path, &["--help"]].concat())
        .success()
        .stdout;
    let name = [&["blue"], path].concat().join(" ");
    let lines: Vec<_> = help.trim_end().lines().map(str::trim_end).collect();
    let text = lines.join("\n");
    let _ = write!(page, "\n## `{name}`\n\n```text\n{text}\n```\n");
    for below in commands(&help) {
        add(page, &[path, &[below]].concat());
    }
}

fn commands(help: &str) -> Vec<&str> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "the switch of this test run")]
fn update() -> bool {
    std::env::var("BLUE_UPDATE").is_ok_and(|value| !value.is_empty())
}

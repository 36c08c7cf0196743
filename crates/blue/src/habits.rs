//! What users of gh type, answered with what Blue has

/// A flag of gh that Blue has not
struct Flag {
    /// Commands that it belongs to; empty for all that are made from tools
    commands: &'static [&'static str],
    flags: &'static [&'static str],
    answer: &'static str,
}

const NO_BROWSER: &str = "Blue opens no browser: leave it out; `--json` prints the URL, `blue pr view` and `blue pr create` do too";
const ON_THE_PAGE: &str = "leave it out, and set it on the page whose URL is printed";
const FILTER: &str = "leave it out, and filter the rows that `--json` prints";

/// The first entry that fits counts
const FLAGS: &[Flag] = &[
    Flag {
        commands: &["file write-branch"],
        flags: &["--new-branch", "--create-branch"],
        answer: "give the new branch as `--branch`, and where it starts as `--base`",
    },
    Flag {
        commands: &["pr merge"],
        flags: &["--auto", "--disable-auto", "--admin"],
        answer: "leave it out: Blue merges now, or says what is in the way; `blue workflow run-status \
                 --wait 300` waits for checks",
    },
    Flag {
        commands: &["pr create"],
        flags: &["--fill-first", "--fill-verbose"],
        answer: "use `--fill`",
    },
    Flag {
        commands: &["pr create"],
        flags: &[
            "--reviewer",
            "-r",
            "--assignee",
            "-a",
            "--label",
            "-l",
            "--milestone",
            "-m",
            "--project",
            "-p",
        ],
        answer: ON_THE_PAGE,
    },
    Flag {
        commands: &["pr list"],
        flags: &[
            "--author",
            "-A",
            "--search",
            "-S",
            "--label",
            "-l",
            "--assignee",
            "-a",
            "--app",
            "--draft",
            "-d",
        ],
        answer: FILTER,
    },
    Flag {
        commands: &["pr verify"],
        flags: &["--comments", "-c"],
        answer: "leave it out: comments are on the page whose URL is printed",
    },
    Flag {
        commands: &["workflow run-status"],
        flags: &["--watch"],
        answer: "use `--wait 300`",
    },
    Flag {
        commands: &[],
        flags: &["--web", "-w"],
        answer: NO_BROWSER,
    },
    Flag {
        commands: &[],
        flags: &["--jq", "-q", "--template"],
        answer: "leave it out, and give what `--json` prints to `jq`",
    },
];

const BY_PAGE: &str = "Blue has no such command: do it on the page whose URL `blue pr view` prints";

/// Verbs of gh that Blue has not
const VERBS: &[(&str, &[&str], &str)] = &[
    (
        "pr",
        &["checks"],
        "there is `blue workflow run-status --pr`",
    ),
    ("pr", &["status"], "there is `blue pr list`"),
    (
        "pr",
        &["checkout", "co"],
        "Blue works without a work tree: `git fetch` and `git switch` do that",
    ),
    (
        "pr",
        &["diff"],
        "there is `blue pr view`, which prints the URL of the page that shows it",
    ),
    (
        "pr",
        &[
            "close",
            "comment",
            "edit",
            "lock",
            "ready",
            "reopen",
            "review",
            "update-branch",
        ],
        BY_PAGE,
    ),
    ("repo", &["view"], "there is `blue repo status`"),
    (
        "workflow",
        &["list", "view", "watch"],
        "there is `blue workflow run-status`",
    ),
];

/// Returns what to type in place of a flag of gh; `called` is like `blue pr merge`
pub(crate) fn flag_answer(called: &str, typed: &str) -> Option<&'static str> {
    let command = called.strip_prefix("blue ")?;
    let name = typed.split('=').next().unwrap_or(typed);
    let entry = FLAGS.iter().find(|entry| {
        let fits = entry.commands.is_empty() || entry.commands.contains(&command);
        fits && entry.flags.contains(&name)
    });
    entry.map(|entry| entry.answer)
}

/// Returns what to type in place of a verb of gh; `called` is like `blue pr`
pub(crate) fn verb_answer(called: &str, verb: &str) -> Option<&'static str> {
    let noun = called.strip_prefix("blue ")?;
    let mut entries = VERBS.iter();
    let entry = entries.find(|(of, verbs, _)| *of == noun && verbs.contains(&verb))?;
    Some(entry.2)
}

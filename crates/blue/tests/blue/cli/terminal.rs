//! What a person sees on a terminal; `script` from util-linux plays one

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use super::{Blue, tools::alice};

/// Run in a terminal of this width and type something into it
fn shown(blue: &Blue, width: usize, line: &str, typed: &str) -> String {
    let program = env!("CARGO_BIN_EXE_blue");
    let inner = format!("stty rows 24 cols {width}; '{program}' {line}; echo exit $?");
    let like = blue.command(&[]);
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", &inner, "/dev/null"]);
    script.env_clear().env("TERM", "xterm-256color");
    for (name, value) in like.get_envs() {
        script.env(name, value.unwrap_or_default());
    }
    let mut child = script
        .current_dir(blue.home())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    String::from_utf8(output.stdout).unwrap()
}

/// Columns that a line takes once colours and links are taken off
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        out += &rest[..at];
        rest = &rest[at + 1..];
        let end = match rest.as_bytes().first() {
            Some(b']') => rest.find("\x1b\\").map_or(rest.len(), |at| at + 2),
            _ => rest
                .find(|c: char| c.is_ascii_alphabetic())
                .map_or(rest.len(), |at| at + 1),
        };
        rest = &rest[end..];
    }
    out + rest
}

#[test]
fn a_table_is_as_wide_as_the_terminal() {
    let (blue, _running) = alice();
    let list = "pr list -R acme/storefront";
    for width in [50, 60, 80, 200] {
        let text = shown(&blue, width, list, "");
        let text = plain(&text);
        assert!(text.contains("exit 0"), "{text}");
        assert!(text.contains("Give a discount"), "{text}");
        for line in text.lines() {
            assert!(line.trim_end().chars().count() <= width, "{width}: {line}");
        }
        assert_eq!(text.contains('…'), width < 71, "{text}");
    }
}

#[test]
fn a_number_is_a_link_where_the_terminal_can_show_one() {
    let (blue, running) = alice();
    let list = "pr list -R acme/storefront";
    let url = format!("\x1b]8;;{}/acme/storefront/pulls/1\x1b\\", running.url());
    assert!(shown(&blue, 80, list, "").contains(&url));
    let blue = blue.var("NO_COLOR", "1");
    assert!(!shown(&blue, 80, list, "").contains('\x1b'));
}

#[test]
fn a_person_is_asked_before_something_goes() {
    let (blue, _running) = alice();
    let delete = "file delete Makefile -b main -R acme/storefront";
    let is_there = || {
        let ran = blue
            .run(&["dir", "list", "-R", "acme/storefront"])
            .success();
        ran.stdout.contains("Makefile")
    };
    let no = plain(&shown(&blue, 80, delete, "n\n"));
    assert!(
        no.contains("delete file Makefile of acme/storefront, with --branch main? [y/N]"),
        "{no}"
    );
    assert!(
        no.contains("nothing was done") && no.contains("exit 1"),
        "{no}"
    );
    let nothing = plain(&shown(&blue, 80, delete, "\n"));
    assert!(nothing.contains("exit 1"), "{nothing}");
    assert!(is_there());
}

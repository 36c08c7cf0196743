//! What `README.md` shows is what the program prints

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use super::words;
use crate::{
    cli::{Blue, Running},
    tidy::root,
};

/// What differs from run to run: ports, ids of commits, passwords and tokens, and where the program is
fn steady(text: &str) -> String {
    let text = text.replace(env!("CARGO_BIN_EXE_blue"), "blue");
    let mut out = String::new();
    let mut word = String::new();
    let mut close = |word: &mut String, next: Option<char>| {
        let digits = word.bytes().all(|b| b.is_ascii_digit());
        let is_hex = word.bytes().all(|b| b.is_ascii_hexdigit());
        // The start of a commit id, the end of a password, and a token.
        if is_hex && matches!(word.len(), 10 | 12 | 40) {
            out.push_str("ID");
        } else if digits && out.ends_with("127.0.0.1:") {
            out.push_str("PORT");
        } else {
            out.push_str(word);
        }
        word.clear();
        out.extend(next);
    };
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(c);
        } else {
            close(&mut word, Some(c));
        }
    }
    close(&mut word, None);
    out
}

/// The blocks of a kind: ` ```console ` and so on
fn blocks<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let fence = format!("```{kind}\n");
    let starts = page.split(fence.as_str()).skip(1);
    starts
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect()
}

#[test]
fn the_first_session_is_what_happens() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let blue = Blue::new();
    let running = Running::start(&blue, &["up", "--json"]);
    let blue = blue
        .var("GITEA_URL", running.url())
        .var("GITEA_TOKEN", running.token(1));
    let clone = format!("{}/acme/inventory.git", running.url());
    let cloned = Command::new("git")
        .args(["clone", "-q", &clone])
        .current_dir(blue.home())
        .status();
    assert!(cloned.unwrap().success());
    let mut merged = false;
    for block in blocks(&readme, "console") {
        for part in format!("\n{block}").split("\n$ ").skip(1) {
            let (line, shown) = part.split_once('\n').unwrap();
            let words = words(line);
            let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
            let ran = blue.run(&[&["-C", "inventory"], &words[..]].concat());
            assert_eq!(ran.code, Some(0), "{line}: {ran}");
            let printed = format!("{}{}", ran.stdout, ran.stderr);
            assert_eq!(
                steady(shown.trim_end()),
                steady(printed.trim_end()),
                "{line}"
            );
            merged |= words[..2] == ["pr", "merge"];
        }
    }
    assert!(merged, "the session ends with a merge");
}

#[test]
fn the_start_is_what_is_printed() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let blue = Blue::new();
    let mut child = blue
        .command(&["up"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = steady(&line.unwrap());
        let last = line.starts_with("Ctrl-C stops it");
        printed.push(line);
        if last {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let shown = blocks(&readme, "text")[0].lines().map(steady);
    // What is too long or too much to show is left out there.
    for line in shown.filter(|line| !line.contains('…')) {
        assert!(printed.contains(&line), "{line}\n{printed:#?}");
    }
}

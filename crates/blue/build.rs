//! Tell `blue --version` which commit it was built from, where that can be known

use std::{path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A source archive unpacked inside some other repository must not take that one's commit.
    if git(&["rev-parse", "--show-prefix"]).as_deref() != Some("crates/blue/") {
        return;
    }
    let Some(commit) = git(&["rev-parse", "--short=10", "HEAD"]) else {
        return;
    };
    println!("cargo::rustc-env=BLUE_BUILD_COMMIT={commit}");
    if let Some(date) = git(&["log", "-1", "--format=%cs"]) {
        println!("cargo::rustc-env=BLUE_BUILD_DATE={date}");
    }
    // In a worktree these are not under `.git`, so git is asked for the places. A file that does
    // not exist is left out: cargo would take it as changed each time.
    // The log of HEAD changes with every commit, also when the branch has no file of its own yet.
    let mut places = ["HEAD", "logs/HEAD", "packed-refs"]
        .map(str::to_owned)
        .to_vec();
    places.extend(git(&["symbolic-ref", "-q", "HEAD"]));
    for place in places {
        if let Some(path) = git(&["rev-parse", "--git-path", &place])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

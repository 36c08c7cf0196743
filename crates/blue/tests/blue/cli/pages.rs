//! What is made from the definitions of the commands: completions, man pages, help

use blue_tools::tools;
use serde_json::json;

use super::Blue;

#[test]
fn shells_get_their_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = Blue::new().run(&["completions", shell]).success();
        for word in ["blue", "branch", "list", "limit", "read-only"] {
            assert!(ran.stdout.contains(word), "{shell}: {word}");
        }
        if shell == "bash" {
            // Names of tools are no files.
            let (_, after) = ran.stdout.split_once("--toolset)\n").unwrap();
            assert!(
                after.trim_start().starts_with("COMPREPLY=(\"${cur}\")"),
                "{after}"
            );
        }
        let json = Blue::new().run(&["completions", shell, "--json"]).json();
        assert_eq!(json["script"], ran.stdout.as_str());
    }
}

#[test]
fn there_is_a_man_page_for_every_command() {
    let blue = Blue::new();
    let page = blue.run(&["man"]).success();
    let version = env!("CARGO_PKG_VERSION");
    let title = page
        .stdout
        .lines()
        .find(|line| line.starts_with(".TH blue 1 "))
        .unwrap();
    assert!(
        title.ends_with(&format!("\"blue {version}\" Blue")),
        "{title}"
    );
    let written = blue.run(&["man", "pages/man1", "--json"]).success().json();
    let pages = written["pages"].as_array().unwrap();
    for tool in tools::ALL {
        let name = format!("blue-{}-{}.1", tool.noun(), tool.verb());
        assert!(pages.contains(&json!(name)), "{name}");
    }
    let read = |name: &str| std::fs::read_to_string(blue.home().join("pages/man1").join(name));
    let merge = read("blue-pr-merge.1").unwrap().replace("\\-", "-");
    assert!(merge.contains("[also: --title]"), "{merge}");
    let write = read("blue-file-write-branch.1").unwrap();
    assert!(write.contains("Also called `write`."), "{write}");
    for page in pages {
        let file = blue.home().join("pages/man1").join(page.as_str().unwrap());
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
        // A line that is laid out stays within a terminal of 80 columns, and as it is.
        for part in text.split("\n.nf\n").skip(1) {
            let (lines, _) = part.split_once("\n.fi").unwrap();
            for line in lines.lines().filter(|line| !line.contains("blue ")) {
                let shown = line
                    .replace("\\-", "-")
                    .replace("\\(aq", "'")
                    .replace("\\(dq", "'");
                assert!(shown.chars().count() <= 73, "{page}: {line}");
            }
        }
    }
}

#[test]
fn help_names_options_as_they_are_typed() {
    let help = Blue::new().run(&["branch", "delete", "--help"]).success();
    assert!(
        help.stdout.contains("needs `--force` and `--sha`"),
        "{help}"
    );
}

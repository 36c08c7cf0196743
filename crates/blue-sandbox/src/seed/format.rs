//! The seed file: people, organisations and repositories in YAML
//!
//! ```yaml
//! users:                       # the first must be an admin
//!   - { login: alice, password: secret-1, token: 0123456789abcdef, admin: true }
//!   - { login: bob }           # password `bob-password`, a random token
//! orgs:
//!   - { name: acme, owners: [alice], members: { bob: write } }
//! repositories:
//!   - owner: acme
//!     name: app
//!     description: What it is for
//!     private: true            # default false; so is `archived`
//!     default_branch: trunk    # default main
//!     collaborators: { bob: read }
//!     files:                   # the first commit of the default branch
//!       README.md: "# App\n"
//!       logo.bin: { base64: AAEC }
//!     commits:                 # more of them, in order
//!       - branch: feature      # made from `from` (the default branch) when it is not there
//!         message: Say hello
//!         author: bob
//!         date: 2026-03-01T10:00:00Z
//!         files: { hello.txt: hi, old.txt: null }   # null removes
//!     branches:
//!       - { name: release, from: feature, files: { VERSION: "1" } }
//!     tags: [{ name: v1, target: feature, message: First }]
//!     protections:
//!       - { branch: main, approvals: 1, checks: ["ci/*"], push: [alice] }
//!     pulls:
//!       - { head: feature, title: Say hello, author: bob, reviews: [{ by: alice, state: approved }] }
//! ```
//!
//! A key that is not known is an error, with its line.

use std::collections::BTreeMap;

use blue_base::yaml;
use jiff::Timestamp;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub users: Vec<User>,
    #[serde(default)]
    pub orgs: Vec<Org>,
    #[serde(default)]
    pub repositories: Vec<Repository>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct User {
    pub login: String,
    pub password: Option<String>,
    pub token: Option<String>,
    #[serde(default)]
    pub admin: bool,
    #[serde(default)]
    pub full_name: String,
    pub email: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Org {
    pub name: String,
    #[serde(default)]
    pub full_name: String,
    #[serde(default)]
    pub description: String,
    pub owners: Vec<String>,
    #[serde(default)]
    pub members: BTreeMap<String, Permission>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Permission {
    Read,
    Write,
    Admin,
}

impl Permission {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Repository {
    pub owner: String,
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub private: bool,
    #[serde(default)]
    pub archived: bool,
    pub default_branch: Option<String>,
    #[serde(default)]
    pub collaborators: BTreeMap<String, Permission>,
    #[serde(default)]
    pub files: BTreeMap<String, Option<Content>>,
    #[serde(default)]
    pub commits: Vec<Commit>,
    #[serde(default)]
    pub branches: Vec<Branch>,
    #[serde(default)]
    pub tags: Vec<Tag>,
    #[serde(default)]
    pub protections: Vec<Protection>,
    #[serde(default)]
    pub pulls: Vec<Pull>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Base64(Base64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Base64 {
    pub base64: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Commit {
    pub branch: Option<String>,
    pub from: Option<String>,
    pub message: String,
    pub author: Option<String>,
    pub date: Option<Timestamp>,
    #[serde(default)]
    pub files: BTreeMap<String, Option<Content>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Branch {
    pub name: String,
    pub from: Option<String>,
    pub message: Option<String>,
    #[serde(default)]
    pub files: BTreeMap<String, Option<Content>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tag {
    pub name: String,
    #[serde(default)]
    pub target: String,
    #[serde(default)]
    pub message: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Protection {
    /// A branch, or a pattern such as `release/*`
    pub branch: String,
    #[serde(default)]
    pub approvals: i64,
    /// Contexts that must succeed; globs
    #[serde(default)]
    pub checks: Vec<String>,
    /// Logins that may push; without this key, none may
    pub push: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pull {
    pub head: String,
    pub base: Option<String>,
    pub title: String,
    #[serde(default)]
    pub body: String,
    pub author: Option<String>,
    #[serde(default)]
    pub reviews: Vec<Review>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Review {
    pub by: String,
    pub state: ReviewState,
    #[serde(default)]
    pub body: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ReviewState {
    Approved,
    Changes,
    Comment,
}

impl File {
    /// Read a seed file; the error names the line
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let file: Self = yaml::parse(text).map_err(|fault| fault.to_string())?;
        match file.users.first() {
            Some(first) if first.admin => Ok(file),
            _ => Err("the first of `users` must have `admin: true`".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_docs_is_good() {
        let example: String = include_str!("format.rs")
            .lines()
            .skip_while(|line| *line != "//! ```yaml")
            .skip(1)
            .take_while(|line| *line != "//! ```")
            .map(|line| {
                line.trim_start_matches("//!")
                    .strip_prefix(' ')
                    .unwrap_or("")
                    .to_owned()
                    + "\n"
            })
            .collect();
        let file = File::parse(&example).unwrap();
        assert_eq!(file.users.len(), 2);
        assert!(file.repositories[0].commits[0].files["old.txt"].is_none());
    }

    #[test]
    fn unknown_keys_are_named_with_their_line() {
        let text = "users:\n  - login: a\n    admin: true\n    tokn: x\n";
        let error = File::parse(text).unwrap_err();
        assert!(error.contains("tokn"), "{error}");
        assert!(error.starts_with("line 4: unknown field"), "{error}");
        assert!(
            File::parse("users: []")
                .unwrap_err()
                .contains("admin: true")
        );
        assert!(
            File::parse("users:\n  - login: a\n")
                .unwrap_err()
                .contains("admin: true")
        );
        assert!(File::parse("users: [").is_err());
    }
}

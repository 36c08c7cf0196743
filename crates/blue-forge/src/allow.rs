//! Which owners and repositories may be touched at all
//!
//! A list such as `alice, acme/*, git.example.org/bob/site`: an owner, `owner/repo`, either with a
//! host before it; `*` stands for any part of a name. Letter case does not matter.
//!
//! Two words are host and owner when the first looks like a host (it has a `.` or a `:`, or is
//! `localhost`), else owner and repository. An owner with a dot in the name is written with three
//! words: `*/john.doe/*`. Without a port, a host is the one without a port.

use std::{fmt, sync::Arc};

use super::{
    glob,
    model::{Host, RepoId},
};
use blue_base::text::clean_line;

/// Entries that a refusal repeats
const SHOWN: usize = 12;

/// The owners and repositories that may be touched
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allow {
    /// None: all of them
    rules: Option<Arc<[Rule]>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    /// As it was written
    text: String,
    host: Option<String>,
    owner: String,
    name: Option<String>,
}

/// A list that cannot be meant as it is written
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAllow {
    /// Nothing at all and everything are both unlikely to be meant
    #[error("the list of allowed owners is empty")]
    Empty,
    #[error("`{entry}` in the list of allowed owners {why}")]
    Entry { entry: String, why: &'static str },
}

/// An owner or repository that is not on the list
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAllowed {
    pub host: Host,
    pub owner: String,
    /// Set when others of the owner's repositories are allowed
    pub name: Option<String>,
    /// The owner is allowed on another host
    elsewhere: bool,
    allowed: String,
}

impl Allow {
    /// Whatever the token can reach
    pub fn everything() -> Self {
        Self::default()
    }

    /// Read a list; entries are separated by commas or spaces
    ///
    /// A list that is set but empty is an error: a variable that came out empty by mistake must
    /// not open everything.
    pub fn parse(text: &str) -> Result<Self, BadAllow> {
        let rules = text
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|entry| !entry.is_empty())
            .map(Rule::parse)
            .collect::<Result<Vec<_>, _>>()?;
        if rules.is_empty() {
            return Err(BadAllow::Empty);
        }
        Ok(Self {
            rules: Some(rules.into()),
        })
    }

    /// Whether anything is refused
    pub fn is_limited(&self) -> bool {
        self.rules.is_some()
    }

    pub fn check(&self, host: &Host, owner: &str, name: &str) -> Result<(), NotAllowed> {
        let Some(rules) = &self.rules else {
            return Ok(());
        };
        if rules.iter().any(|r| {
            r.is_host(host)
                && is_like(&r.owner, owner)
                && r.name.as_ref().is_none_or(|n| is_like(n, name))
        }) {
            return Ok(());
        }
        let here = rules
            .iter()
            .any(|r| r.is_host(host) && is_like(&r.owner, owner));
        Err(NotAllowed {
            host: host.clone(),
            owner: owner.to_owned(),
            name: here.then(|| name.to_owned()),
            elsewhere: !here && rules.iter().any(|r| is_like(&r.owner, owner)),
            allowed: self.to_string(),
        })
    }

    pub fn check_repo(&self, host: &Host, repo: &RepoId) -> Result<(), NotAllowed> {
        self.check(host, repo.owner(), repo.name())
    }
}

/// As it was written; nothing for everything
impl fmt::Display for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(rules) = &self.rules else {
            return Ok(());
        };
        let shown: Vec<&str> = rules.iter().take(SHOWN).map(|r| r.text.as_str()).collect();
        f.write_str(&shown.join(", "))?;
        match rules.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl Rule {
    fn parse(entry: &str) -> Result<Self, BadAllow> {
        let bad = |why| BadAllow::Entry {
            entry: clean_line(entry),
            why,
        };
        if entry.contains("://") {
            return Err(bad("is a URL; write `host/owner` or `host/owner/repo`"));
        }
        let parts: Vec<&str> = entry.split('/').collect();
        let (host, owner, name) = match parts.as_slice() {
            [owner] => (None, *owner, None),
            [host, owner] if is_host(host) => (Some(*host), *owner, None),
            [owner, name] => (None, *owner, Some(*name)),
            [host, owner, name] => (Some(*host), *owner, Some(*name)),
            _ => return Err(bad("has too many parts; write `host/owner/repo`")),
        };
        let part = |text: &str| {
            if text.is_empty() {
                return Err(bad("has an empty part"));
            }
            // Other glob syntax is refused instead of taken literally: a user would believe that it works.
            if text.contains(['?', '[', ']', '{', '}', '!', '@']) {
                return Err(bad(
                    "has a character that names cannot have; `*` is the only wildcard",
                ));
            }
            let plain = text.replace('*', "x");
            if RepoId::parse(&plain, &plain).is_err() {
                return Err(bad("is not an owner or a repository"));
            }
            Ok(text.to_ascii_lowercase())
        };
        let host = match host {
            None => None,
            Some("") => return Err(bad("has an empty part")),
            Some(host) if host.contains('*') => {
                if Host::parse(&host.replace('*', "1")).is_err() {
                    return Err(bad("does not begin with a host"));
                }
                Some(host.to_ascii_lowercase())
            }
            Some(host) => match Host::parse(host) {
                Ok(host) => Some(host.as_str().to_owned()),
                Err(_) => return Err(bad("does not begin with a host")),
            },
        };
        Ok(Self {
            text: clean_line(entry),
            host,
            owner: part(owner)?,
            name: name.map(part).transpose()?,
        })
    }

    fn is_host(&self, host: &Host) -> bool {
        self.host.as_ref().is_none_or(|h| is_like(h, host.as_str()))
    }
}

fn is_host(text: &str) -> bool {
    text.contains(['.', ':']) || text.eq_ignore_ascii_case("localhost")
}

/// `pattern` is in lower case
fn is_like(pattern: &str, text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    // Brackets of an IPv6 address are no glob.
    if pattern.contains('*') {
        glob::matches(&pattern.replace('[', "\\["), &text, &[])
    } else {
        pattern == text
    }
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = clean_line(&self.owner);
        match &self.name {
            Some(name) => write!(
                f,
                "`{owner}/{}` is not among the allowed repositories",
                clean_line(name)
            )?,
            None if self.elsewhere => write!(
                f,
                "`{owner}` on {} is not among the allowed owners",
                self.host
            )?,
            None => write!(f, "`{owner}` is not among the allowed owners")?,
        }
        write!(f, " (`BLUE_ALLOW`/`--allow`: {})", self.allowed)
    }
}

impl std::error::Error for NotAllowed {}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(list: &str, place: &str) -> bool {
        let parts: Vec<&str> = place.split('/').collect();
        let host = Host::parse(parts[0]).unwrap();
        Allow::parse(list)
            .unwrap()
            .check(&host, parts[1], parts[2])
            .is_ok()
    }

    #[test]
    fn what_a_list_allows() {
        let (hub, own) = ("github.com", "git.example.org:3000");
        for (list, owner_repo, on_hub, on_own) in [
            ("alice", "alice/x", true, true),
            ("alice", "ALICE/x", true, true),
            ("Alice", "alice/x", true, true),
            ("alice", "alice2/x", false, false),
            ("alice", "malice/x", false, false),
            ("alice", "mallory/alice", false, false),
            ("alice/site", "alice/site", true, true),
            ("alice/site", "alice/Site", true, true),
            ("alice/site", "alice/sites", false, false),
            ("acme/*", "acme/anything", true, true),
            ("acme-*", "acme-labs/x", true, true),
            ("acme-*", "acme/x", false, false),
            ("acme/web-*", "acme/web-1", true, true),
            ("acme/web-*", "acme/api", false, false),
            ("*", "anyone/x", true, true),
            ("*/site", "anyone/site", true, true),
            ("*/site", "anyone/x", false, false),
            ("bob, alice", "alice/x", true, true),
            (" bob\n\talice,, ", "alice/x", true, true),
            ("github.com/alice", "alice/x", true, false),
            ("GitHub.com/alice/x", "alice/x", true, false),
            ("github.com/alice/x", "alice/y", false, false),
            ("git.example.org:3000/alice", "alice/x", false, true),
            // Another port is another server.
            ("git.example.org/alice", "alice/x", false, false),
            ("*.example.org:*/alice", "alice/x", false, true),
            ("*/alice/x", "alice/x", true, true),
            // Three words are needed for an owner that looks like a host.
            ("john.doe", "john.doe/x", true, true),
            ("*/john.doe/*", "john.doe/x", true, true),
            ("john.doe/x", "john.doe/x", false, false),
            // `K` (a sign for Kelvin) is not `k`.
            ("k", "\u{212a}/x", false, false),
        ] {
            assert_eq!(
                allows(list, &format!("{hub}/{owner_repo}")),
                on_hub,
                "{list}: {owner_repo}"
            );
            assert_eq!(
                allows(list, &format!("{own}/{owner_repo}")),
                on_own,
                "{list}: {owner_repo}"
            );
        }
        assert!(allows("localhost/alice", "localhost/alice/x"));
        assert!(!allows("localhost/alice", "localhost:3000/alice/x"));
        assert!(allows("[::1]:3000/alice", "[::1]:3000/alice/x"));
        assert!(allows("[::1]:*/alice", "[::1]:3000/alice/x"));
        assert!(!allows("[::1]:*/alice", "[::2]:3000/alice/x"));
    }

    #[test]
    fn what_is_not_a_list() {
        assert_eq!(Allow::parse(""), Err(BadAllow::Empty));
        assert_eq!(Allow::parse(" , \n"), Err(BadAllow::Empty));
        for (entry, why) in [
            ("https://github.com/acme", "is a URL"),
            ("acme/", "empty part"),
            ("/acme", "empty part"),
            ("acme//x", "empty part"),
            ("a/b/c/d", "too many parts"),
            ("!acme", "`*` is the only wildcard"),
            ("acme/{a;b}", "`*` is the only wildcard"),
            ("acm?", "`*` is the only wildcard"),
            ("@acme", "`*` is the only wildcard"),
            ("acme/..", "not an owner or a repository"),
            ("a%2fb", "not an owner or a repository"),
            ("host#x/acme/site", "begin with a host"),
            ("a b\\c", "not an owner or a repository"),
        ] {
            let error = Allow::parse(&format!("alice {entry}"))
                .unwrap_err()
                .to_string();
            assert!(error.contains(why), "{entry}: {error}");
        }
    }

    #[test]
    fn a_refusal_names_the_owner_and_the_setting() {
        let host = Host::parse("git.example.org").unwrap();
        let allow = Allow::parse("alice,acme/*\nbob/site github.com/carol").unwrap();
        let said = |owner, name| allow.check(&host, owner, name).unwrap_err().to_string();
        let list = "(`BLUE_ALLOW`/`--allow`: alice, acme/*, bob/site, github.com/carol)";
        assert_eq!(
            said("mallory", "x"),
            format!("`mallory` is not among the allowed owners {list}")
        );
        assert_eq!(
            said("bob", "x"),
            format!("`bob/x` is not among the allowed repositories {list}")
        );
        assert_eq!(
            said("carol", "x"),
            format!("`carol` on git.example.org is not among the allowed owners {list}")
        );
        let many: Vec<String> = (0..20).map(|i| format!("o{i}")).collect();
        let allow = Allow::parse(&many.join(",")).unwrap();
        let said = allow.check(&host, "m", "x").unwrap_err().to_string();
        assert!(said.ends_with("o11 and 8 more)"), "{said}");
        assert!(allow.check(&host, "o19", "x").is_ok());
        assert!(Allow::everything().check(&host, "m", "x").is_ok());
    }
}

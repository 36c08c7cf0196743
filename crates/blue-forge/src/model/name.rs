//! Names that cannot be wrong: repository, commit

use std::fmt;

use blue_base::host::BadName;
use serde::Serialize;

/// A repository on a forge: `owner/name`
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct RepoId {
    owner: String,
    name: String,
}

impl RepoId {
    pub fn parse(owner: &str, name: &str) -> Result<Self, BadName> {
        Ok(Self {
            owner: segment(owner, "an", "owner")?,
            name: segment(name, "a", "repository name")?,
        })
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

fn segment(text: &str, article: &str, what: &str) -> Result<String, BadName> {
    let shown = blue_base::text::clean_line(text);
    if text.is_empty() {
        return Err(BadName::new(format!("the {what} is empty")));
    }
    if text == "." || text == ".." || text.len() > 255 {
        return Err(BadName::new(format!("`{shown}` is not {article} {what}")));
    }
    if text.chars().any(|c| {
        c.is_control() || c.is_whitespace() || matches!(c, '/' | '\\' | '?' | '#' | '%' | ':')
    }) {
        return Err(BadName::new(format!("`{shown}` is not {article} {what}")));
    }
    Ok(text.to_owned())
}

/// A full object id: 40 or 64 hexadecimal digits in lower case
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Sha(String);

impl Sha {
    pub fn parse(text: &str) -> Result<Self, BadName> {
        let text = text.trim();
        if matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(Self(text.to_ascii_lowercase()));
        }
        Err(BadName::new(format!(
            "`{}` is not a full object id of 40 hexadecimal digits",
            blue_base::text::clean_line(text)
        )))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_and_shas() {
        assert_eq!(
            RepoId::parse("alice", "demo").unwrap().to_string(),
            "alice/demo"
        );
        for bad in ["", ".", "..", "a/b", "a b", "a?b", "a%2fb"] {
            assert!(RepoId::parse("alice", bad).is_err(), "{bad}");
        }
        assert!(
            Sha::parse(&"A".repeat(40))
                .unwrap()
                .as_str()
                .starts_with("aaa")
        );
        assert!(Sha::parse("abc").is_err());
    }
}

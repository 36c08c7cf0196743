//! Commits and annotated tags

use jiff::{Timestamp, tz::Offset};

use super::{Error, Kind, Oid, Repo, Result};

/// Who did it and when, with the zone it was written in
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) seconds: i64,
    /// Minutes east of UTC
    pub(crate) zone: i32,
}

impl Signature {
    pub(crate) fn new(name: &str, email: &str, when: Timestamp) -> Self {
        Self {
            name: clean(name),
            email: clean(email),
            seconds: when.as_second(),
            zone: 0,
        }
    }

    /// RFC 3339 with the zone of the signature, as forges print it
    pub(crate) fn date(&self) -> String {
        let when = Timestamp::from_second(self.seconds).unwrap_or(Timestamp::UNIX_EPOCH);
        match Offset::from_seconds(self.zone * 60) {
            Ok(offset) if self.zone != 0 => when.display_with_offset(offset).to_string(),
            _ => when.to_string(),
        }
    }

    fn line(&self) -> String {
        let sign = if self.zone < 0 { '-' } else { '+' };
        let zone = self.zone.abs();
        format!(
            "{} <{}> {} {sign}{:02}{:02}",
            self.name,
            self.email,
            self.seconds,
            zone / 60,
            zone % 60
        )
    }

    fn parse(line: &str) -> Option<Self> {
        let (name, rest) = line.split_once('<')?;
        let (email, when) = rest.rsplit_once('>')?;
        let mut when = when.split_whitespace();
        let seconds = when.next().and_then(|text| text.parse().ok()).unwrap_or(0);
        let zone: i32 = when.next().and_then(|text| text.parse().ok()).unwrap_or(0);
        Some(Self {
            name: name.trim().to_owned(),
            email: email.to_owned(),
            seconds,
            zone: zone / 100 * 60 + zone % 100,
        })
    }
}

/// Characters that would break the line are left out, as git does
fn clean(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, '<' | '>' | '\n' | '\r' | '\0'))
        .collect::<String>()
        .trim()
        .to_owned()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) tree: Oid,
    pub(crate) parents: Vec<Oid>,
    pub(crate) author: Signature,
    pub(crate) committer: Signature,
    pub(crate) message: String,
    /// Signature block, as it stands in the object
    pub(crate) gpgsig: Option<String>,
}

impl Commit {
    pub(crate) fn title(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    fn parse(data: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(data);
        let (head, message) = text.split_once("\n\n").unwrap_or((text.trim_end(), ""));
        let (mut tree, mut parents, mut author, mut committer) = (None, Vec::new(), None, None);
        let mut gpgsig: Option<String> = None;
        let mut in_signature = false;
        for line in head.lines() {
            if let Some(more) = line.strip_prefix(' ') {
                if in_signature && let Some(block) = gpgsig.as_mut() {
                    block.push('\n');
                    block.push_str(more);
                }
                continue;
            }
            in_signature = false;
            match line.split_once(' ') {
                Some(("tree", value)) => tree = Oid::parse(value),
                Some(("parent", value)) => parents.extend(Oid::parse(value)),
                Some(("author", value)) => author = Signature::parse(value),
                Some(("committer", value)) => committer = Signature::parse(value),
                Some(("gpgsig", value)) => {
                    gpgsig = Some(value.to_owned());
                    in_signature = true;
                }
                _ => {}
            }
        }
        Some(Self {
            tree: tree?,
            parents,
            author: author?,
            committer: committer?,
            message: message.to_owned(),
            gpgsig,
        })
    }

    fn bytes(&self) -> Vec<u8> {
        let parents: String = self
            .parents
            .iter()
            .map(|oid| ["parent ", &oid.to_string(), "\n"].concat())
            .collect();
        let message = self.message.replace('\0', "");
        format!(
            "tree {}\n{parents}author {}\ncommitter {}\n\n{}\n",
            self.tree,
            self.author.line(),
            self.committer.line(),
            message.trim_end()
        )
        .into_bytes()
    }
}

/// An annotated tag
#[derive(Debug, Clone)]
pub(crate) struct Tag {
    pub(crate) target: Oid,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) tagger: Option<Signature>,
    pub(crate) message: String,
}

impl Tag {
    pub(super) fn parse(data: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(data);
        let (head, message) = text.split_once("\n\n").unwrap_or((text.trim_end(), ""));
        let field = |name: &str| {
            head.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        };
        Some(Self {
            target: Oid::parse(field("object")?)?,
            kind: field("type")?.to_owned(),
            name: field("tag")?.to_owned(),
            tagger: field("tagger").and_then(Signature::parse),
            message: message.to_owned(),
        })
    }
}

impl Repo {
    pub(crate) fn commit(&self, oid: Oid) -> Result<Commit> {
        let data = self.read_kind(oid, Kind::Commit)?;
        Commit::parse(&data).ok_or(Error::Damaged(oid))
    }

    pub(crate) fn write_commit(&self, commit: &Commit) -> Result<Oid> {
        self.write(Kind::Commit, &commit.bytes())
    }

    pub(crate) fn tag_object(&self, oid: Oid) -> Result<Tag> {
        let data = self.read_kind(oid, Kind::Tag)?;
        Tag::parse(&data).ok_or(Error::Damaged(oid))
    }

    /// Write an annotated tag object that points to a commit
    pub(crate) fn write_tag(
        &self,
        name: &str,
        target: Oid,
        tagger: &Signature,
        message: &str,
    ) -> Result<Oid> {
        let kind = self.stat(target)?.0.name();
        let text = format!(
            "object {target}\ntype {kind}\ntag {name}\ntagger {}\n\n{}\n",
            tagger.line(),
            message.trim_end()
        );
        self.write(Kind::Tag, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_survives_the_way_to_disk_and_back() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path().join("r.git"), "main").unwrap();
        let when = Timestamp::from_second(1_700_000_000).unwrap();
        let who = Signature {
            zone: -150,
            ..Signature::new("A <b>", "a@b", when)
        };
        let commit = Commit {
            tree: repo.write(Kind::Tree, b"").unwrap(),
            parents: Vec::new(),
            author: who.clone(),
            committer: who.clone(),
            message: "title\n\nbody\n".to_owned(),
            gpgsig: None,
        };
        let oid = repo.write_commit(&commit).unwrap();
        assert_eq!(repo.commit(oid).unwrap(), commit);
        assert_eq!(who.date(), "2023-11-14T19:43:20-02:30");
        assert_eq!(who.name, "A b");
        repo.git(&["fsck", "--strict"]).unwrap();
    }
}

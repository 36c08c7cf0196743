//! Differences between two trees, told by git

use super::{Oid, Repo, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Added,
    Modified,
    Deleted,
    Renamed,
}

/// One changed file
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) path: String,
    pub(crate) old_path: Option<String>,
    pub(crate) kind: ChangeKind,
    pub(crate) oid: Oid,
    pub(crate) additions: u64,
    pub(crate) deletions: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Diff {
    pub(crate) files: Vec<Change>,
}

impl Diff {
    pub(crate) fn additions(&self) -> u64 {
        self.files.iter().map(|file| file.additions).sum()
    }

    pub(crate) fn deletions(&self) -> u64 {
        self.files.iter().map(|file| file.deletions).sum()
    }
}

impl Repo {
    /// What changed from one commit or tree to another
    pub(crate) fn diff(&self, from: Oid, to: Oid) -> Result<Diff> {
        if from == to {
            return Ok(Diff::default());
        }
        self.hold_empty_tree(from)?;
        let (from, to) = (from.to_string(), to.to_string());
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "-M",
            "--raw",
            "--numstat",
            "--no-abbrev",
            &from,
            &to,
        ];
        let output = self.git(&args)?.text();
        Ok(Diff {
            files: parse(&output),
        })
    }

    /// Returns the differences between two trees as a patch, as `git diff` prints it
    pub(crate) fn patch(&self, from: Oid, to: Oid) -> Result<String> {
        self.hold_empty_tree(from)?;
        let (from, to) = (from.to_string(), to.to_string());
        Ok(self
            .git(&["diff-tree", "-p", "-r", "-M", &from, &to])?
            .text())
    }

    /// Mails of the commits between two points, as `git format-patch` writes them
    pub(crate) fn format_patch(&self, from: Oid, to: Oid) -> Result<String> {
        let range = format!("{from}..{to}");
        Ok(self
            .git(&[
                "format-patch",
                "--stdout",
                "--full-index",
                "--binary",
                &range,
            ])?
            .text())
    }

    /// The tree without entries must exist before git can compare with it
    fn hold_empty_tree(&self, oid: Oid) -> Result<()> {
        if oid == Oid::EMPTY_TREE {
            self.write(super::Kind::Tree, b"")?;
        }
        Ok(())
    }
}

fn parse(output: &str) -> Vec<Change> {
    let mut files: Vec<Change> = Vec::new();
    let mut fields = output.split('\0');
    while let Some(field) = fields.next() {
        if let Some(raw) = field.strip_prefix(':') {
            let mut words = raw.split(' ').skip(2);
            let old = words.next().and_then(Oid::parse);
            let new = words.next().and_then(Oid::parse).unwrap_or(Oid::ZERO);
            let letter = words.next().unwrap_or("M");
            let path = fields.next().unwrap_or_default().to_owned();
            let renamed = letter.starts_with(['R', 'C']);
            let (path, old_path) = if renamed {
                (fields.next().unwrap_or_default().to_owned(), Some(path))
            } else {
                (path, None)
            };
            let kind = match letter.as_bytes().first() {
                Some(b'A') => ChangeKind::Added,
                Some(b'D') => ChangeKind::Deleted,
                Some(b'R' | b'C') => ChangeKind::Renamed,
                _ => ChangeKind::Modified,
            };
            let oid = if new.is_zero() {
                old.unwrap_or(new)
            } else {
                new
            };
            files.push(Change {
                path,
                old_path,
                kind,
                oid,
                additions: 0,
                deletions: 0,
            });
        } else if let Some((additions, rest)) = field.split_once('\t')
            && let Some((deletions, path)) = rest.split_once('\t')
        {
            // A rename leaves the path empty here and gives both names as fields of their own.
            let path = if path.is_empty() {
                fields.next();
                fields.next().unwrap_or_default()
            } else {
                path
            };
            if let Some(file) = files.iter_mut().find(|file| file.path == path) {
                file.additions = additions.parse().unwrap_or(0);
                file.deletions = deletions.parse().unwrap_or(0);
            }
        }
    }
    files
}

//! Trees: read, look up a path, edit many paths at once

use std::collections::BTreeMap;

use super::{Error, Kind, Oid, Repo, Result};

/// What an entry of a tree is
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Tree,
    File,
    Executable,
    Symlink,
    Submodule,
}

impl Mode {
    /// As it stands in the object
    fn raw(self) -> &'static str {
        match self {
            Self::Tree => "40000",
            other => other.text(),
        }
    }

    /// Six digits, as forges print it
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Tree => "040000",
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
            Self::Submodule => "160000",
        }
    }

    fn parse(raw: &[u8]) -> Self {
        match raw {
            b"40000" | b"040000" => Self::Tree,
            b"120000" => Self::Symlink,
            b"160000" => Self::Submodule,
            b"100755" => Self::Executable,
            _ => Self::File,
        }
    }

    pub(crate) fn is_blob(self) -> bool {
        matches!(self, Self::File | Self::Executable | Self::Symlink)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) mode: Mode,
    pub(crate) oid: Oid,
}

/// One change to a tree; a path is given from the root
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Put { path: String, mode: Mode, oid: Oid },
    Remove { path: String },
}

impl Edit {
    fn path(&self) -> &str {
        match self {
            Self::Put { path, .. } | Self::Remove { path } => path,
        }
    }
}

impl Repo {
    pub(crate) fn tree(&self, oid: Oid) -> Result<Vec<Entry>> {
        if oid == Oid::EMPTY_TREE {
            return Ok(Vec::new());
        }
        let data = self.read_kind(oid, Kind::Tree)?;
        parse(&data).ok_or(Error::Damaged(oid))
    }

    /// The entry at a path; the empty path is the tree itself
    pub(crate) fn entry(&self, tree: Oid, path: &str) -> Result<Option<Entry>> {
        let mut here = Entry {
            name: String::new(),
            mode: Mode::Tree,
            oid: tree,
        };
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if here.mode != Mode::Tree {
                return Ok(None);
            }
            match self
                .tree(here.oid)?
                .into_iter()
                .find(|entry| entry.name == part)
            {
                Some(entry) => here = entry,
                None => return Ok(None),
            }
        }
        Ok(Some(here))
    }

    /// Everything below a tree with full paths; folders come before what they hold
    pub(crate) fn walk_tree(&self, tree: Oid, prefix: &str, out: &mut Vec<Entry>) -> Result<()> {
        for mut entry in self.tree(tree)? {
            entry.name = format!("{prefix}{}", entry.name);
            let (below, inside) = (entry.oid, format!("{}/", entry.name));
            let is_tree = entry.mode == Mode::Tree;
            out.push(entry);
            if is_tree {
                self.walk_tree(below, &inside, out)?;
            }
        }
        Ok(())
    }

    /// Write a tree with these changes; folders left empty disappear
    pub(crate) fn edit_tree(&self, tree: Oid, edits: &[Edit]) -> Result<Oid> {
        let edits: Vec<(&str, &Edit)> = edits.iter().map(|edit| (edit.path(), edit)).collect();
        let edited = self.edit_level(Some(tree), &edits)?;
        match edited {
            Some(oid) => Ok(oid),
            None => self.write(Kind::Tree, b""),
        }
    }

    fn edit_level(&self, tree: Option<Oid>, edits: &[(&str, &Edit)]) -> Result<Option<Oid>> {
        let mut entries: BTreeMap<String, Entry> = match tree {
            Some(oid) => self
                .tree(oid)?
                .into_iter()
                .map(|e| (e.name.clone(), e))
                .collect(),
            None => BTreeMap::new(),
        };
        let mut deeper: BTreeMap<&str, Vec<(&str, &Edit)>> = BTreeMap::new();
        for (path, edit) in edits {
            match path.split_once('/') {
                Some((dir, rest)) => deeper.entry(dir).or_default().push((rest, edit)),
                None => match edit {
                    Edit::Put { mode, oid, .. } => {
                        let entry = Entry {
                            name: (*path).to_owned(),
                            mode: *mode,
                            oid: *oid,
                        };
                        entries.insert((*path).to_owned(), entry);
                    }
                    Edit::Remove { .. } => {
                        entries.remove(*path);
                    }
                },
            }
        }
        for (dir, edits) in deeper {
            let below = entries
                .get(dir)
                .filter(|e| e.mode == Mode::Tree)
                .map(|e| e.oid);
            match self.edit_level(below, &edits)? {
                Some(oid) => {
                    let entry = Entry {
                        name: dir.to_owned(),
                        mode: Mode::Tree,
                        oid,
                    };
                    entries.insert(dir.to_owned(), entry);
                }
                None if below.is_some() => {
                    entries.remove(dir);
                }
                None => {}
            }
        }
        if entries.is_empty() {
            return Ok(None);
        }
        self.write_tree(entries.into_values().collect()).map(Some)
    }

    pub(crate) fn write_tree(&self, mut entries: Vec<Entry>) -> Result<Oid> {
        // Git sorts folders as if their names ended in a slash.
        let key = |entry: &Entry| match entry.mode {
            Mode::Tree => format!("{}/", entry.name),
            _ => entry.name.clone(),
        };
        entries.sort_by_key(key);
        let mut data = Vec::new();
        for entry in entries {
            data.extend_from_slice(entry.mode.raw().as_bytes());
            data.push(b' ');
            data.extend_from_slice(entry.name.as_bytes());
            data.push(0);
            data.extend_from_slice(entry.oid.raw());
        }
        self.write(Kind::Tree, &data)
    }
}

fn parse(mut data: &[u8]) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    while !data.is_empty() {
        let space = data.iter().position(|byte| *byte == b' ')?;
        let end = data.iter().position(|byte| *byte == 0)?;
        entries.push(Entry {
            mode: Mode::parse(&data[..space]),
            name: String::from_utf8_lossy(data.get(space + 1..end)?).into_owned(),
            oid: Oid::from_raw(data.get(end + 1..end + 21)?)?,
        });
        data = &data[end + 21..];
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_reach_deep_and_leave_no_empty_folder() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path().join("r.git"), "main").unwrap();
        let oid = repo.write(Kind::Blob, b"x").unwrap();
        let put = |path: &str| Edit::Put {
            path: path.to_owned(),
            mode: Mode::File,
            oid,
        };
        let tree = repo
            .edit_tree(
                Oid::EMPTY_TREE,
                &[put("a/b/c"), put("a.txt"), put("a-b"), put("z")],
            )
            .unwrap();
        let git = repo
            .git(&["ls-tree", "-r", "--name-only", &tree.to_string()])
            .unwrap()
            .text();
        assert_eq!(git, "a-b\na.txt\na/b/c\nz\n");
        repo.git(&["fsck", "--strict"]).unwrap();
        let tree = repo
            .edit_tree(
                tree,
                &[Edit::Remove {
                    path: "a/b/c".into(),
                }],
            )
            .unwrap();
        assert!(repo.entry(tree, "a").unwrap().is_none());
        assert!(repo.entry(tree, "z").unwrap().is_some());
    }
}

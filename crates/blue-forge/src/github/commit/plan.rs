//! What the wanted changes mean for the tree that is there

use super::tree::Present;
use crate::{
    ConflictKind, ForgeError, Result,
    blob::{ObjectFormat, blob_id},
    github::GitHub,
    model::{Expect, FileChange, Sha, WrittenFile},
};

const PLAIN: &str = "100644";
const LINK: &str = "120000";

/// One entry of the new tree
#[derive(Debug)]
pub(super) struct Step {
    pub(super) path: String,
    pub(super) mode: String,
    pub(super) source: Source,
}

#[derive(Debug)]
pub(super) enum Source {
    Bytes(Vec<u8>),
    /// A blob that the repository has
    Blob(Sha),
    Gone,
}

#[derive(Debug, Default)]
pub(super) struct Plan {
    steps: Vec<Step>,
    written: Vec<WrittenFile>,
}

impl Plan {
    pub(super) fn make(forge: &GitHub, changes: &[FileChange], present: &Present) -> Result<Self> {
        let mut plan = Self::default();
        let place = Place { forge, present };
        for change in changes {
            match change {
                FileChange::Write {
                    path,
                    content,
                    expect,
                } => plan.write(&place, path, content, expect)?,
                FileChange::Delete { path, expect } => plan.delete(&place, path, expect)?,
                FileChange::Rename {
                    from,
                    to,
                    content,
                    expect,
                } => plan.rename(&place, from, to, content.as_deref(), expect)?,
            }
        }
        Ok(plan)
    }

    /// Every file has its new content already
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub(super) fn written(self) -> Vec<WrittenFile> {
        self.written
    }

    fn write(
        &mut self,
        place: &Place<'_>,
        path: &str,
        content: &[u8],
        expect: &Expect,
    ) -> Result<()> {
        let current = place.file(path)?;
        expect.hold(path, current.map(|c| c.0))?;
        place.nothing_above(path)?;
        if current.is_some_and(|(_, mode)| mode == LINK) {
            return Err(ForgeError::is_a_link(path));
        }
        let sha = blob_id(content, ObjectFormat::Sha1);
        if current.is_none_or(|(present, _)| *present != sha) {
            let mode = current.map_or(PLAIN, |(_, mode)| mode);
            self.step(path, mode, Source::Bytes(content.to_vec()));
        }
        let replaced = current
            .map(|(present, _)| present)
            .filter(|now| **now != sha);
        self.wrote(path, sha, replaced.cloned());
        Ok(())
    }

    fn delete(&mut self, place: &Place<'_>, path: &str, expect: &Expect) -> Result<()> {
        // A submodule can go too, as on the other forges.
        let current = match place.present.get(path) {
            Some(entry) if entry.kind == "commit" => Some((entry.sha(), entry.mode.as_str())),
            _ => place.file(path)?,
        };
        expect.hold(path, current.map(|c| c.0))?;
        let Some((_, mode)) = current else {
            return Err(place.forge.not_found(format!("file `{path}`")));
        };
        self.step(path, mode, Source::Gone);
        Ok(())
    }

    fn rename(
        &mut self,
        place: &Place<'_>,
        from: &str,
        to: &str,
        content: Option<&[u8]>,
        expect: &Expect,
    ) -> Result<()> {
        let current = place.file(from)?;
        expect.hold(from, current.map(|c| c.0))?;
        let Some((sha, mode)) = current else {
            return Err(place.forge.not_found(format!("file `{from}`")));
        };
        if place.file(to)?.is_some() {
            return Err(ForgeError::Conflict {
                kind: ConflictKind::Exists,
                message: format!("`{to}` exists already"),
                status: None,
            });
        }
        if !to.starts_with(&format!("{from}/")) {
            place.nothing_above(to)?;
        }
        if content.is_some() && mode == LINK {
            return Err(ForgeError::is_a_link(from));
        }
        self.step(from, mode, Source::Gone);
        let (source, sha) = match content {
            Some(bytes) => (
                Source::Bytes(bytes.to_vec()),
                blob_id(bytes, ObjectFormat::Sha1),
            ),
            None => (Source::Blob(sha.clone()), sha.clone()),
        };
        self.step(to, mode, source);
        self.wrote(to, sha, None);
        Ok(())
    }

    fn step(&mut self, path: &str, mode: &str, source: Source) {
        self.steps.push(Step {
            path: path.to_owned(),
            mode: mode.to_owned(),
            source,
        });
    }

    fn wrote(&mut self, path: &str, sha: Sha, replaced: Option<Sha>) {
        self.written.push(WrittenFile {
            path: path.to_owned(),
            sha,
            replaced,
        });
    }
}

/// What is there now
struct Place<'a> {
    forge: &'a GitHub,
    present: &'a Present,
}

impl<'a> Place<'a> {
    /// Blob and mode of a file or link; nothing where nothing is
    fn file(&self, path: &str) -> Result<Option<(&'a Sha, &'a str)>> {
        let invalid = |what: &str| {
            Err(ForgeError::Invalid {
                message: format!("`{path}` is a {what}, not a file"),
                status: None,
            })
        };
        match self.present.get(path) {
            None => Ok(None),
            Some(entry) if entry.kind == "tree" => invalid("directory"),
            Some(entry) if entry.kind == "commit" => invalid("submodule"),
            Some(entry) => Ok(Some((entry.sha(), &entry.mode))),
        }
    }

    /// A file cannot have files below it
    fn nothing_above(&self, path: &str) -> Result<()> {
        for (end, _) in path.match_indices('/') {
            let above = &path[..end];
            if self.present.get(above).is_some_and(|e| e.kind != "tree") {
                return Err(ForgeError::Invalid {
                    message: format!("`{above}` is not a directory, so `{path}` cannot be written"),
                    status: None,
                });
            }
        }
        Ok(())
    }
}

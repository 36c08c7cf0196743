//! From what a caller writes to a commit

use std::fs;

use super::{Oid, Repo, Result};

impl Repo {
    /// A branch, a tag or a full object name, peeled to a commit
    pub(crate) fn resolve(&self, spec: &str) -> Result<Option<Oid>> {
        if let Some(oid) = self.branch(spec)? {
            return Ok(Some(oid));
        }
        if let Some(oid) = self.tag(spec)? {
            return self.peel(oid);
        }
        self.full(spec)
    }

    /// As `resolve`, and also an abbreviated object name or a full ref name
    pub(crate) fn resolve_loosely(&self, spec: &str) -> Result<Option<Oid>> {
        if let Some(oid) = self.resolve(spec)? {
            return Ok(Some(oid));
        }
        if spec.starts_with("refs/")
            && !spec.contains("..")
            && let Some(oid) = self.ref_oid(spec)?
        {
            return self.peel(oid);
        }
        self.short(spec)
    }

    fn full(&self, spec: &str) -> Result<Option<Oid>> {
        match Oid::parse(spec) {
            Some(oid) if spec == oid.to_string() && self.has(oid) => self.peel(oid),
            _ => Ok(None),
        }
    }

    /// The one commit whose name starts so
    fn short(&self, spec: &str) -> Result<Option<Oid>> {
        let plausible =
            (4..=40).contains(&spec.len()) && spec.bytes().all(|b| b.is_ascii_hexdigit());
        if !plausible {
            return Ok(None);
        }
        let spec = spec.to_ascii_lowercase();
        let Ok(files) = fs::read_dir(self.path().join("objects").join(&spec[..2])) else {
            return Ok(None);
        };
        let mut found = None;
        for file in files {
            let name = format!("{}{}", &spec[..2], file?.file_name().to_string_lossy());
            if !name.starts_with(&spec) {
                continue;
            }
            let Some(oid) = Oid::parse(&name) else {
                continue;
            };
            if let Some(commit) = self.peel(oid)? {
                if found.is_some_and(|other| other != commit) {
                    return Ok(None);
                }
                found = Some(commit);
            }
        }
        Ok(found)
    }
}

//! Refs as files, changed under git's own lock files

use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Error, Oid, Repo, Result};

/// What a ref must hold before it is changed
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    Anything,
    Absent,
    At(Oid),
}

impl Repo {
    /// The branch `HEAD` names
    pub(crate) fn head(&self) -> Result<String> {
        let text = fs::read_to_string(self.path().join("HEAD"))?;
        Ok(text
            .trim()
            .trim_start_matches("ref: refs/heads/")
            .to_owned())
    }

    pub(crate) fn set_head(&self, branch: &str) -> Result<()> {
        let temporary = self.path().join("HEAD.new");
        fs::write(&temporary, format!("ref: refs/heads/{branch}\n"))?;
        Ok(fs::rename(temporary, self.path().join("HEAD"))?)
    }

    pub(crate) fn ref_oid(&self, name: &str) -> Result<Option<Oid>> {
        match fs::read_to_string(self.path().join(name)) {
            Ok(text) => Ok(Oid::parse(text.trim())),
            Err(error) if absent(error.kind()) => Ok(self
                .packed()?
                .into_iter()
                .find(|(packed, _)| packed == name)
                .map(|found| found.1)),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn branch(&self, name: &str) -> Result<Option<Oid>> {
        if !valid_ref_part(name) {
            return Ok(None);
        }
        self.ref_oid(&format!("refs/heads/{name}"))
    }

    pub(crate) fn tag(&self, name: &str) -> Result<Option<Oid>> {
        if !valid_ref_part(name) {
            return Ok(None);
        }
        self.ref_oid(&format!("refs/tags/{name}"))
    }

    /// Refs below a folder such as `refs/heads/`, by name, without the folder
    pub(crate) fn refs(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        let mut found = Vec::new();
        collect(&self.path().join(prefix), "", &mut found)?;
        for (name, oid) in self.packed()? {
            if let Some(short) = name.strip_prefix(prefix)
                && !found.iter().any(|(loose, _)| loose == short)
            {
                found.push((short.to_owned(), oid));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Move, make or (with `None`) delete a ref, if it is where the caller expects it
    pub(crate) fn update_ref(&self, name: &str, new: Option<Oid>, expect: Expect) -> Result<()> {
        let path = self.path().join(name);
        if new.is_some() {
            self.refuse_clash(name)?;
        }
        let lock = Lock::take(&path, name)?;
        let found = self.ref_oid(name)?;
        match (expect, found) {
            (Expect::Absent, Some(_)) => {
                return Err(Error::Lock {
                    name: name.to_owned(),
                    why: "reference already exists".into(),
                });
            }
            (Expect::At(expected), found) if found != Some(expected) => {
                let found = found.unwrap_or(Oid::ZERO);
                return Err(Error::Moved {
                    name: name.to_owned(),
                    expected,
                    found,
                });
            }
            _ => {}
        }
        if let Some(oid) = new {
            return lock.commit(oid);
        }
        if self.packed()?.iter().any(|(packed, _)| packed == name) {
            drop(lock);
            return self.git(&["update-ref", "-d", name]).map(drop);
        }
        if found.is_some() {
            fs::remove_file(&path)?;
        }
        drop(lock);
        self.prune_folders(&path);
        Ok(())
    }

    /// Remove lock files a killed process left behind
    pub(crate) fn clear_locks(&self) -> Result<()> {
        clear_locks(&self.path().join("refs"))?;
        for name in ["HEAD.lock", "HEAD.new", "packed-refs.lock", "config.lock"] {
            match fs::remove_file(self.path().join(name)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// `a` and `a/b` cannot both be refs
    fn refuse_clash(&self, name: &str) -> Result<()> {
        let clash = |other: &str| Error::Lock {
            name: name.to_owned(),
            why: format!("'{other}' exists; cannot create '{name}'"),
        };
        let mut parent = name;
        while let Some((above, _)) = parent.rsplit_once('/') {
            if above == "refs" || !above.contains('/') {
                break;
            }
            if self.path().join(above).is_file() {
                return Err(clash(above));
            }
            parent = above;
        }
        let below = self.refs(&format!("{name}/"))?;
        match below.first() {
            Some((child, _)) => Err(clash(&format!("{name}/{child}"))),
            None => Ok(()),
        }
    }

    fn packed(&self) -> Result<Vec<(String, Oid)>> {
        let text = match fs::read_to_string(self.path().join("packed-refs")) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let rows = text.lines().filter_map(|line| {
            let (oid, name) = line.split_once(' ')?;
            Some((name.to_owned(), Oid::parse(oid)?))
        });
        Ok(rows.collect())
    }

    fn prune_folders(&self, path: &Path) {
        let keep = [
            self.path().join("refs/heads"),
            self.path().join("refs/tags"),
        ];
        let mut dir = path.parent();
        while let Some(folder) = dir {
            if keep.iter().any(|kept| kept == folder) || folder == self.path().join("refs") {
                break;
            }
            // A folder that is not empty stays, and so do those above it.
            if fs::remove_dir(folder).is_err() {
                break;
            }
            dir = folder.parent();
        }
    }
}

/// A held `<ref>.lock`, removed when dropped
struct Lock {
    target: PathBuf,
    path: PathBuf,
}

impl Lock {
    fn take(target: &Path, name: &str) -> Result<Self> {
        let path = PathBuf::from(format!("{}.lock", target.display()));
        let failed = |why: &std::io::Error| Error::Lock {
            name: name.to_owned(),
            why: why.to_string(),
        };
        for _ in 0..200 {
            if let Some(dir) = target.parent() {
                fs::create_dir_all(dir).map_err(|error| failed(&error))?;
            }
            match fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&path)
            {
                Ok(_) => {
                    return Ok(Self {
                        target: target.to_owned(),
                        path,
                    });
                }
                // The folder may have been pruned, or a push holds the lock for a moment.
                Err(error)
                    if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) =>
                {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(failed(&error)),
            }
        }
        Err(Error::Lock {
            name: name.to_owned(),
            why: "File exists".to_owned(),
        })
    }

    fn commit(self, oid: Oid) -> Result<()> {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&self.path)?;
        file.write_all(format!("{oid}\n").as_bytes())?;
        if self.target.is_dir() {
            // Only empty folders are left below a name that does not clash.
            remove_empty(&self.target)?;
        }
        fs::rename(&self.path, &self.target)?;
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Gone already when the lock file became the ref.
        drop(fs::remove_file(&self.path));
    }
}

fn remove_empty(dir: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        remove_empty(&entry?.path())?;
    }
    fs::remove_dir(dir)
}

fn absent(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound
            | ErrorKind::IsADirectory
            | ErrorKind::NotADirectory
            | ErrorKind::InvalidFilename
            | ErrorKind::InvalidInput
    )
}

fn collect(dir: &Path, prefix: &str, found: &mut Vec<(String, Oid)>) -> Result<()> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if absent(error.kind()) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let name = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), found)?;
        } else if !is_lock(&name)
            && let Ok(text) = fs::read_to_string(entry.path())
            && let Some(oid) = Oid::parse(text.trim())
        {
            found.push((name, oid));
        }
    }
    Ok(())
}

fn clear_locks(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            clear_locks(&entry.path())?;
        } else if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "lock")
        {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether git would take this as the name of a branch
pub(crate) fn valid_branch_name(name: &str) -> bool {
    valid_ref_part(name) && !name.starts_with('-') && name != "HEAD"
}

/// Git's own lock files; it knows them in lower case only
fn is_lock(name: &str) -> bool {
    name.strip_suffix(".lock").is_some()
}

fn valid_ref_part(name: &str) -> bool {
    !name.is_empty()
        && !name.ends_with('.')
        && name != "@"
        && !name.contains("..")
        && !name.contains("@{")
        && !name
            .chars()
            .any(|c| c.is_ascii_control() || " ~^:?*[\\".contains(c))
        && name
            .split('/')
            .all(|part| !part.is_empty() && !part.starts_with('.') && !is_lock(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> (tempfile::TempDir, Repo) {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path().join("r.git"), "main").unwrap();
        (dir, repo)
    }

    #[test]
    fn a_ref_moves_only_from_where_it_is_expected() {
        let (_dir, repo) = empty();
        let (a, b) = (Oid::of("blob", b"a"), Oid::of("blob", b"b"));
        repo.update_ref("refs/heads/x", Some(a), Expect::Absent)
            .unwrap();
        assert!(
            repo.update_ref("refs/heads/x", Some(b), Expect::Absent)
                .is_err()
        );
        assert!(
            repo.update_ref("refs/heads/x", Some(a), Expect::At(b))
                .is_err()
        );
        repo.update_ref("refs/heads/x", Some(b), Expect::At(a))
            .unwrap();
        assert_eq!(repo.branch("x").unwrap(), Some(b));
        repo.update_ref("refs/heads/x", None, Expect::At(b))
            .unwrap();
        assert_eq!(repo.branch("x").unwrap(), None);
    }

    #[test]
    fn a_name_and_a_folder_clash_until_one_is_gone() {
        let (_dir, repo) = empty();
        let a = Oid::of("blob", b"a");
        repo.update_ref("refs/heads/x/y", Some(a), Expect::Absent)
            .unwrap();
        assert!(
            repo.update_ref("refs/heads/x", Some(a), Expect::Absent)
                .is_err()
        );
        repo.update_ref("refs/heads/x/y", None, Expect::Anything)
            .unwrap();
        repo.update_ref("refs/heads/x", Some(a), Expect::Absent)
            .unwrap();
        assert!(
            repo.update_ref("refs/heads/x/y", Some(a), Expect::Absent)
                .is_err()
        );
        assert_eq!(repo.refs("refs/heads/").unwrap(), vec![("x".to_owned(), a)]);
    }

    #[test]
    fn branch_names_follow_git() {
        for good in ["main", "feature/a", "ü", "a#b", "a%20b"] {
            assert!(valid_branch_name(good), "{good}");
        }
        for bad in [
            "", "a b", "a..b", "a.lock", "/a", "a/", "a//b", ".a", "a~1", "-a", "@", "a\\b",
        ] {
            assert!(!valid_branch_name(bad), "{bad}");
        }
    }
}

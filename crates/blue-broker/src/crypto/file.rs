//! The file of the master keys: one key a line in base64, the active one first
//!
//! A file that an admin made may also be the 32 raw bytes of one key.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tempfile::{NamedTempFile, PersistError};

use super::keyring::{KeyRing, MasterKey};
use crate::{
    config::KeyFile,
    rng::{self, Rng},
};

#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("the key file `{path}` could not be read")]
    Read { path: String, source: io::Error },
    #[error("the key file `{path}` could not be written")]
    Write { path: String, source: io::Error },
    #[error("line {line} of the key file `{path}` is not a key: 32 bytes in base64")]
    NotAKey { path: String, line: usize },
    #[error("the key file `{path}` holds no key")]
    Empty { path: String },
    #[error("the key file `{path}` is gone, and the database holds data of key `{id}`")]
    Gone { path: String, id: String },
    #[error("the key file `{path}` belongs to another account, which a new one cannot be given to")]
    Owner { path: String, source: io::Error },
    #[error("somebody else is changing the key file `{path}` just now")]
    Busy { path: String },
}

/// Read the keys; a missing file at the default path is created, at a configured path it is an
/// error
///
/// `known` is the id of a key that the database was written with. If there is one, no file is
/// created: a new key would open no row, and the loss of the file must not go unnoticed.
pub(crate) fn load_or_make(
    file: &KeyFile,
    rng: &dyn Rng,
    known: Option<&str>,
) -> Result<KeyRing, KeyFileError> {
    let path = file.path();
    if let Some(mode) = file.open_to_others() {
        // Only a warning: secrets that a supervisor mounts are often readable by a group.
        tracing::warn!(
            path = %path.display(),
            mode = format!("{mode:o}"),
            "others can read the key file: chmod 600"
        );
    }
    match (read(path), file) {
        (Err(KeyFileError::Read { source, .. }), KeyFile::Own(_))
            if source.kind() == io::ErrorKind::NotFound =>
        {
            if let Some(id) = known {
                return Err(KeyFileError::Gone {
                    path: shown(path),
                    id: id.to_owned(),
                });
            }
            let made = KeyRing::of(MasterKey::of(rng::bytes(rng)), Vec::new());
            // Two replicas may start at once: both use the file that was created first.
            match make(path, &made) {
                Err(KeyFileError::Write { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists =>
                {
                    read(path)
                }
                done => done.map(|()| made),
            }
        }
        (read, _) => read,
    }
}

/// Read the keys of an existing file
pub(crate) fn read(path: &Path) -> Result<KeyRing, KeyFileError> {
    let held = fs::read(path).map_err(|source| KeyFileError::Read {
        path: shown(path),
        source,
    })?;
    parse(&held, path)
}

/// Lock on the key file while it is changed: of two concurrent rotations, one would overwrite the
/// other's key
#[derive(Debug)]
pub(crate) struct Lock {
    /// The folder: the file itself is replaced
    _folder: Option<File>,
}

pub(crate) fn lock(path: &Path) -> Result<Lock, KeyFileError> {
    // Other systems cannot open a folder.
    if !cfg!(unix) {
        return Ok(Lock { _folder: None });
    }
    let folder = File::open(folder(path)).map_err(|source| KeyFileError::Write {
        path: shown(path),
        source,
    })?;
    match folder.try_lock() {
        Ok(()) => Ok(Lock {
            _folder: Some(folder),
        }),
        Err(fs::TryLockError::WouldBlock) => Err(KeyFileError::Busy { path: shown(path) }),
        // A file system without locks: better than no rotation at all.
        Err(fs::TryLockError::Error(error)) => {
            tracing::warn!(%error, "the key file cannot be locked");
            Ok(Lock { _folder: None })
        }
    }
}

/// Replace the file atomically; it stays readable by its owner only, and the owner stays the same
pub(crate) fn write(path: &Path, ring: &KeyRing) -> Result<(), KeyFileError> {
    put(path, ring, |file| file.persist(path))
}

/// Create the file atomically, readable by its owner only; an existing one is left unchanged
fn make(path: &Path, ring: &KeyRing) -> Result<(), KeyFileError> {
    put(path, ring, |file| file.persist_noclobber(path))
}

fn put(
    path: &Path,
    ring: &KeyRing,
    persist: impl FnOnce(NamedTempFile) -> Result<File, PersistError>,
) -> Result<(), KeyFileError> {
    let failed = |source| KeyFileError::Write {
        path: shown(path),
        source,
    };
    // A temporary file is made 0600.
    let mut file = NamedTempFile::new_in(folder(path)).map_err(failed)?;
    #[cfg(unix)]
    give_to_owner(file.as_file(), path).map_err(|source| KeyFileError::Owner {
        path: shown(path),
        source,
    })?;
    for key in ring.all() {
        writeln!(file, "{}", STANDARD.encode(key.bytes())).map_err(failed)?;
    }
    file.as_file().sync_all().map_err(failed)?;
    persist(file).map_err(|error| failed(error.error))?;
    // Rows will need the key, so it must survive a power cut.
    #[cfg(unix)]
    File::open(folder(path))
        .and_then(|folder| folder.sync_all())
        .map_err(failed)?;
    Ok(())
}

/// Give a new file the owner of the old one: an admin may be root, the broker is not
#[cfg(unix)]
fn give_to_owner(new: &File, old: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let Ok(old) = old.metadata() else {
        return Ok(());
    };
    let mine = new.metadata()?;
    if old.uid() != mine.uid() {
        fchown(new, Some(old.uid()), None)?;
    }
    if old.gid() != mine.gid() {
        // A failure loses nothing: the group has no rights on the file.
        let _ = fchown(new, None, Some(old.gid()));
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    let parent = path.parent().unwrap_or(path);
    if parent.as_os_str().is_empty() {
        return Path::new(".");
    }
    parent
}

fn parse(held: &[u8], path: &Path) -> Result<KeyRing, KeyFileError> {
    // Text that an admin typed is not a raw key, even if it has 32 bytes.
    let is_text = held
        .iter()
        .all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace());
    if let (false, Ok(bytes)) = (is_text, held.try_into()) {
        return Ok(KeyRing::of(MasterKey::of(bytes), Vec::new()));
    }
    let mut keys = Vec::new();
    for (at, line) in String::from_utf8_lossy(held).lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let bytes = STANDARD.decode(line).ok();
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| KeyFileError::NotAKey {
            path: shown(path),
            line: at + 1,
        })?;
        keys.push(MasterKey::of(bytes));
    }
    if keys.is_empty() {
        return Err(KeyFileError::Empty { path: shown(path) });
    }
    let active = keys.remove(0);
    Ok(KeyRing::of(active, keys))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SystemRng;

    #[test]
    fn a_key_is_made_once_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::Own(dir.path().join("keys"));
        let rng = SystemRng::default();
        let made = load_or_make(&file, &rng, None).unwrap();
        let again = load_or_make(&file, &rng, Some(made.active_id())).unwrap();
        assert_eq!(made.active_id(), again.active_id());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let bits = file.path().metadata().unwrap().permissions().mode();
            assert_eq!(bits & 0o777, 0o600);
        }
        let rotated = again.rotated(&rng);
        write(file.path(), &rotated).unwrap();
        let read = load_or_make(&file, &rng, None).unwrap();
        assert_eq!(read.ids(), rotated.ids());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_stays_with_its_owner() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::Own(dir.path().join("keys"));
        let rng = SystemRng::default();
        let made = load_or_make(&file, &rng, None).unwrap();
        // Only root can change the owner of a file.
        if chown(file.path(), Some(4711), Some(4712)).is_err() {
            return;
        }
        write(file.path(), &made.rotated(&rng)).unwrap();
        let found = file.path().metadata().unwrap();
        assert_eq!((found.uid(), found.gid()), (4711, 4712));
        assert_eq!(found.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_lost_key_is_not_replaced_silently() {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::Own(dir.path().join("keys"));
        let lost = load_or_make(&file, &SystemRng::default(), Some("00aa00aa"));
        assert!(matches!(lost, Err(KeyFileError::Gone { .. })));
        let named = KeyFile::Named(dir.path().join("keys"));
        let lost = load_or_make(&named, &SystemRng::default(), None);
        assert!(matches!(lost, Err(KeyFileError::Read { .. })));
    }

    #[test]
    fn a_key_file_that_appears_meanwhile_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let rng = SystemRng::default();
        let new_ring = || KeyRing::of(MasterKey::of(rng::bytes(&rng)), Vec::new());
        let first = new_ring();
        make(&path, &first).unwrap();
        assert!(make(&path, &new_ring()).is_err());
        assert_eq!(read(&path).unwrap().ids(), first.ids());
    }

    #[test]
    fn what_is_no_key_is_told_by_its_line() {
        let parse = |held: &[u8]| parse(held, Path::new("keys"));
        let bad = |text: &str| parse(text.as_bytes()).unwrap_err().to_string();
        assert!(bad("# mine\nhunter2\n").starts_with("line 2 of"));
        assert!(!bad("hunter2").contains("hunter2"));
        assert!(bad("\n# nothing\n").contains("holds no key"));
        assert!(bad("hunter2hunter2hunter2hunter2hun\n").starts_with("line 1 of"));
        assert!(parse(&[0xff; 31]).is_err() && parse(&[0xff; 33]).is_err());
    }

    #[test]
    fn a_key_is_a_line_or_its_bytes() {
        let bytes: [u8; 32] = rng::bytes(&SystemRng::default());
        let line = STANDARD.encode(bytes);
        let id = MasterKey::of(bytes).id().to_owned();
        for held in [
            bytes.to_vec(),
            line.clone().into_bytes(),
            format!("# mine\r\n\r\n{line}\r\n").into_bytes(),
        ] {
            assert_eq!(
                parse(&held, Path::new("keys")).unwrap().ids(),
                [id.as_str()]
            );
        }
    }
}

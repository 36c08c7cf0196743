//! The file of the master keys: one key a line in base64, the active one first

use std::{
    io::{self, Write as _},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};

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
}

/// Read the keys; a file that nobody named is made
///
/// `known` is the id of a key that the database was written with: then a new key would open
/// nothing, and losing the file must not go unnoticed.
pub(crate) fn load_or_make(
    file: &KeyFile,
    rng: &dyn Rng,
    known: Option<&str>,
) -> Result<KeyRing, KeyFileError> {
    let path = file.path();
    if let Some(mode) = file.open_to_others() {
        // No refusal: secrets that a supervisor mounts are often readable by a group.
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
            write(path, &made)?;
            Ok(made)
        }
        (read, _) => read,
    }
}

/// Read the keys of a file that is there
pub(super) fn read(path: &Path) -> Result<KeyRing, KeyFileError> {
    let text = std::fs::read_to_string(path).map_err(|source| KeyFileError::Read {
        path: shown(path),
        source,
    })?;
    parse(&text, path)
}

/// Replace the file in one step, readable by its owner only
pub(crate) fn write(path: &Path, ring: &KeyRing) -> Result<(), KeyFileError> {
    let failed = |source| KeyFileError::Write {
        path: shown(path),
        source,
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    // A temporary file is made 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    for key in ring.all() {
        writeln!(file, "{}", STANDARD.encode(key.bytes())).map_err(failed)?;
    }
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn parse(text: &str, path: &Path) -> Result<KeyRing, KeyFileError> {
    let mut keys = Vec::new();
    for (at, line) in text.lines().enumerate() {
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
    fn what_is_no_key_is_told_by_its_line() {
        let bad = |text: &str| parse(text, Path::new("keys")).unwrap_err().to_string();
        assert!(bad("# mine\nhunter2\n").starts_with("line 2 of"));
        assert!(!bad("hunter2").contains("hunter2"));
        assert!(bad("\n# nothing\n").contains("holds no key"));
    }
}

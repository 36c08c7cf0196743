//! One broker per SQLite file
//!
//! Two brokers on one file would each remember tokens that the other has revoked, count limits
//! apart, and migrate under each other. The lock is that of the operating system on a file of its
//! own beside the database: SQLite's locks lie on the database file itself, and on some systems
//! the two kinds would block each other. The system releases it when the process ends, also by
//! `kill -9`, so the file may stay. Admin commands do not take it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use super::StoreError;
use crate::config::Database;

/// Held as long as a broker works with its SQLite file; PostgreSQL has several
#[derive(Debug)]
pub(crate) struct DatabaseLock {
    _file: Option<File>,
}

impl DatabaseLock {
    /// Take the lock of the database, or fail if another broker holds it
    pub(crate) fn take(database: &Database) -> Result<Self, StoreError> {
        let Database::Sqlite(path) = database else {
            return Ok(Self { _file: None });
        };
        let place = lock_file(path);
        let file = open(&place).map_err(|source| StoreError::File {
            path: place.display().to_string(),
            source,
        })?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: Some(file) }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Locked {
                database: path.display().to_string(),
                lock: place.display().to_string(),
            }),
            // A file system without locks: a warning is better than no broker at all.
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, "the database cannot be locked against a second broker");
                Ok(Self { _file: None })
            }
        }
    }
}

/// `broker.db.lock` beside `broker.db`, by whatever link the database is named
fn lock_file(database: &Path) -> PathBuf {
    let real = database.canonicalize().or_else(|_| {
        // It is not there yet; its folder is.
        let folder = database.parent().unwrap_or(database).canonicalize()?;
        let name = database.file_name().unwrap_or_default();
        io::Result::Ok(folder.join(name))
    });
    let mut name = real
        .unwrap_or_else(|_| database.to_owned())
        .into_os_string();
    name.push(".lock");
    name.into()
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_broker_on_one_file_is_refused_until_the_first_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let database = |name: &str| Database::Sqlite(dir.path().join(name));
        let first = DatabaseLock::take(&database("broker.db")).unwrap();
        let refused = DatabaseLock::take(&database("broker.db")).unwrap_err();
        let said = refused.to_string();
        assert!(
            said.contains("/broker.db`: it holds the lock") && said.contains("/broker.db.lock`"),
            "{said}"
        );
        // Another database in the same folder is another broker's.
        DatabaseLock::take(&database("other.db")).unwrap();
        drop(first);
        DatabaseLock::take(&database("broker.db")).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_the_database_leads_to_the_same_lock() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("broker.db"), dir.path().join("link.db"));
        std::fs::write(&real, "").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let _first = DatabaseLock::take(&Database::Sqlite(real)).unwrap();
        let second = DatabaseLock::take(&Database::Sqlite(link));
        assert!(
            matches!(second, Err(StoreError::Locked { .. })),
            "{second:?}"
        );
    }
}

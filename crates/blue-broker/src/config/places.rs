//! Checks that files can be created at their configured paths, without creating anything

use std::path::Path;

use super::Database;
use crate::crypto::{self, KeyFileError};

/// Whether the folder exists or could be created
pub(super) fn can_be_folder(path: &Path) -> Result<(), String> {
    let there = path.ancestors().find(|above| above.exists());
    match there {
        Some(above) if !above.is_dir() => Err(format!("`{}` is not a folder", above.display())),
        _ => Ok(()),
    }
}

/// Whether a database can be created there; only the data folder itself is created when missing
pub(super) fn can_hold(database: &Database, data: &Path) -> Result<(), String> {
    let Database::Sqlite(path) = database else {
        return Ok(());
    };
    if path.is_dir() {
        return Err(format!("`{}` is a folder", path.display()));
    }
    match path.parent() {
        Some(folder) if folder != data && !folder.is_dir() => {
            Err(format!("there is no folder `{}`", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Whether a file holds keys; an unreadable one is accepted, because other commands may run as
/// another user
pub(super) fn holds_keys(path: &Path) -> Result<(), String> {
    if !path.is_file() {
        return Err(format!("`{}` is not a file", path.display()));
    }
    match crypto::read(path) {
        Ok(_) | Err(KeyFileError::Read { .. }) => Ok(()),
        Err(why) => Err(why.to_string()),
    }
}

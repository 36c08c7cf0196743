//! Whether files can be where they are said to be; nothing is made to find out

use std::path::Path;

use super::Database;
use crate::crypto::{self, KeyFileError};

/// Whether there is such a folder, or one could be made
pub(super) fn can_be_folder(path: &Path) -> Result<(), String> {
    let there = path.ancestors().find(|above| above.exists());
    match there {
        Some(above) if !above.is_dir() => Err(format!("`{}` is not a folder", above.display())),
        _ => Ok(()),
    }
}

/// Whether a database can be there: of its folder, only that of the data is made
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

/// Whether a file holds keys; who may not read it may still have other commands to run
pub(super) fn holds_keys(path: &Path) -> Result<(), String> {
    if !path.is_file() {
        return Err(format!("`{}` is not a file", path.display()));
    }
    match crypto::read(path) {
        Ok(_) | Err(KeyFileError::Read { .. }) => Ok(()),
        Err(why) => Err(why.to_string()),
    }
}

//! Make the folder whole after a killed run

use std::{collections::HashSet, fs};

use crate::{app::App, ops::Result, store::repos};

/// Remove folders without a row and locks without a holder
pub(crate) fn run(app: &App) -> Result<()> {
    let rows = app.store.read(repos::all)?;
    let known: HashSet<String> = rows.iter().map(|repo| format!("{}.git", repo.id)).collect();
    for entry in fs::read_dir(app.dir.join("repos"))? {
        let entry = entry?;
        if !known.contains(entry.file_name().to_string_lossy().as_ref()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    for repo in &rows {
        app.git(repo.id).clear_locks()?;
    }
    Ok(())
}

use std::path::{Path, PathBuf};

/// Whether git could find a repository from here: `.git` in a folder above, or one that is bare
pub(super) fn may_be_inside(dir: &Path) -> bool {
    let Ok(dir) = dir.canonicalize() else {
        return true;
    };
    let holds = |at: &Path| at.join(".git").exists() || at.join("HEAD").exists();
    dir.ancestors().any(holds)
}

/// The bare repository that `dir` is in, unless `.git` is in any folder above
pub(super) fn repository(dir: &Path) -> Option<PathBuf> {
    let dir = dir.canonicalize().ok()?;
    if dir.ancestors().any(|at| at.join(".git").exists()) {
        return None;
    }
    // What git itself looks for.
    let holds = |at: &&Path| {
        at.join("HEAD").exists() && at.join("objects").is_dir() && at.join("refs").is_dir()
    };
    let found = dir.ancestors().find(holds)?;
    Some(found.to_owned())
}

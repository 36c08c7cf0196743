//! One bare repository on disk

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::Result;

/// Pushes are unpacked to loose objects, and nothing is ever packed behind our back
const CONFIG: &str = "[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tlogallrefupdates = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[receive]
\tautogc = false
\tunpackLimit = 100000000
\tdenyDeleteCurrent = ignore
\tdenyCurrentBranch = ignore
[transfer]
\tunpackLimit = 100000000
[http]
\treceivepack = true
[uploadpack]
\tallowAnySHA1InWant = true
\tallowFilter = true
";

/// A bare repository; cheap to make, holds nothing open
#[derive(Debug, Clone)]
pub(crate) struct Repo {
    path: PathBuf,
}

impl Repo {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Make an empty bare repository, replacing what a killed attempt left there
    pub(crate) fn init(path: PathBuf, default_branch: &str) -> Result<Self> {
        if path.exists() {
            fs::remove_dir_all(&path)?;
        }
        for dir in [
            "objects/info",
            "objects/pack",
            "refs/heads",
            "refs/tags",
            "info",
            "hooks",
        ] {
            fs::create_dir_all(path.join(dir))?;
        }
        fs::write(path.join("config"), CONFIG)?;
        let repo = Self { path };
        repo.set_head(default_branch)?;
        Ok(repo)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

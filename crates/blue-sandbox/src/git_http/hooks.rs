//! The hooks git runs for us when a push needs a second look

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

const HOOKS: &[(&str, &str)] = &[
    ("pre-receive", include_str!("pre-receive.sh")),
    ("update", include_str!("update.sh")),
];

/// What the hooks are told about one push
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Orders {
    /// Refuse everything, in these words
    pub refusal: Option<String>,
    /// Refs that may move forward only
    pub forward_only: Vec<String>,
}

impl Orders {
    pub(super) fn env(&self) -> [(&'static str, String); 2] {
        // A ref has no space in its name, so spaces can stand around each.
        let mut forward_only = String::new();
        for name in &self.forward_only {
            forward_only.extend([" ", name, " "]);
        }
        [
            ("SANDBOX_REFUSAL", self.refusal.clone().unwrap_or_default()),
            ("SANDBOX_FORWARD_ONLY", forward_only),
        ]
    }
}

/// The folder with the hooks, made when it is not there yet
pub(super) fn folder(dir: &Path) -> io::Result<PathBuf> {
    let hooks = dir.join("hooks");
    fs::create_dir_all(&hooks)?;
    for (name, script) in HOOKS {
        let path = hooks.join(name);
        if fs::read(&path).is_ok_and(|found| found == script.as_bytes()) {
            continue;
        }
        // Another push may be about to run it: put it in place whole.
        let fresh = tempfile::NamedTempFile::new_in(&hooks)?;
        fs::write(fresh.path(), script)?;
        fs::set_permissions(fresh.path(), fs::Permissions::from_mode(0o755))?;
        fresh.persist(path).map_err(|error| error.error)?;
    }
    Ok(hooks)
}

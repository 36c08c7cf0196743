//! Values that must never be shown

use std::{fmt, path::Path};

/// A token or password: no `Display`, and a `Debug` that tells nothing
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Take a secret; white space around it (a file's last newline) is not part of it
    pub fn new(value: impl Into<String>) -> Self {
        let value: String = value.into();
        Self(value.trim().to_owned())
    }

    /// The value itself, for the one place that sends it
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The mode of a file that is not for its owner alone, where systems have modes
pub fn open_to_others(file: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file.metadata().ok()?.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then_some(mode)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        None
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        let secret = Secret::new("hunter2\n");
        assert_eq!(format!("{secret:?}"), "****");
        assert_eq!(secret.expose(), "hunter2");
    }
}

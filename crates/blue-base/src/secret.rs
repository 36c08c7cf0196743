//! Values that must never be shown

use std::{fmt, path::Path};

use subtle::ConstantTimeEq as _;

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

/// Compares two values in a time that does not depend on where they differ
///
/// A guess of a token, password or hash must be compared this way: with `==` the response time would
/// tell how many leading bytes of the guess are right. Values of different lengths are unequal at
/// once, which tells the length only.
pub fn constant_time_eq(one: impl AsRef<[u8]>, other: impl AsRef<[u8]>) -> bool {
    one.as_ref().ct_eq(other.as_ref()).into()
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

    #[test]
    fn values_are_equal_only_if_every_byte_and_the_length_are() {
        assert!(constant_time_eq("", ""));
        assert!(constant_time_eq("hunter2", b"hunter2"));
        assert!(constant_time_eq([7; 32], [7; 32]));
        for other in ["", "hunter", "hunter22", "Hunter2", "huNter2", "hunter3"] {
            assert!(!constant_time_eq("hunter2", other), "{other}");
            assert!(!constant_time_eq(other, "hunter2"), "{other}");
        }
    }
}

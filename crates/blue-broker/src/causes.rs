//! An error with its causes, in one line for the log
//!
//! The log's JSON has only the message of the outermost error.

use std::error::Error;

/// Joins the messages of an error and its causes, each once
pub(crate) fn whole(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !line.contains(&words) {
            line.push_str(": ");
            line.push_str(&words);
        }
        cause = error.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::KeyFileError;

    #[test]
    fn every_cause_is_said_once() {
        let source = std::io::Error::other("Permission denied");
        let error = KeyFileError::Read {
            path: "keys".to_owned(),
            source,
        };
        let line = "the key file `keys` could not be read: Permission denied";
        assert_eq!(whole(&error), line);
        let again = crate::StartError::Keys(error);
        assert_eq!(
            whole(&again),
            format!("could not load the master keys: {line}")
        );
    }
}

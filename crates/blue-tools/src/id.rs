//! Object ids as people type them: the start is enough, as pages show it

use blue_forge::model::{Entry, Sha};

use crate::{ErrorCode, Repo, ToolError};

/// Fewest digits that say which object is meant
const FEWEST: usize = 7;

/// Whether it is only the start of an id, which must be compared with the object that is there
pub(crate) fn is_start(typed: &str) -> Result<bool, ToolError> {
    if typed.is_empty() || Sha::parse(typed).is_ok() {
        return Ok(false);
    }
    if typed.len() < FEWEST || !typed.bytes().all(|b| b.is_ascii_hexdigit()) {
        let message = format!("`{typed}` is not an object id");
        let hint = format!("give at least {FEWEST} of its digits");
        return Err(ToolError::new(ErrorCode::Usage, message).with_hint(hint));
    }
    Ok(true)
}

/// The whole id, if it is that of the object that is there; `what` is where it is
pub(crate) fn completed(typed: &str, now: &Sha, what: &str) -> Result<String, ToolError> {
    if now.as_str().starts_with(&typed.to_ascii_lowercase()) {
        return Ok(now.to_string());
    }
    let message = format!("{what} is `{now}` now, not `{typed}`");
    Err(ToolError::new(ErrorCode::Conflict, message)
        .with_hint("it was changed in the meantime: look at what is new first"))
}

/// The row of a file; it is enough, however large the file
pub(crate) async fn blob_at(
    repo: &Repo,
    path: &str,
    rev: Option<&str>,
) -> Result<Option<Entry>, ToolError> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let rows = repo.forge.list_dir(&repo.id, above, rev).await?;
    Ok(rows.into_iter().find(|row| row.name == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_an_id_is_enough() {
        let now = Sha::parse(&"0123456789".repeat(4)).unwrap();
        assert!(!is_start(now.as_str()).unwrap());
        assert!(!is_start("").unwrap());
        for start in ["0123456", "0123456789", "ABCDEF0"] {
            assert!(is_start(start).unwrap(), "{start}");
        }
        for bad in ["012345", "topic-1", "HEAD", "012345 "] {
            assert_eq!(is_start(bad).unwrap_err().code, ErrorCode::Usage, "{bad}");
        }
        assert_eq!(completed("0123456", &now, "x").unwrap(), now.as_str());
        let moved = completed("1234567", &now, "x").unwrap_err();
        assert_eq!(moved.code, ErrorCode::Conflict);
    }
}

//! Paths inside a repository, as callers write them

use blue_base::text::clean_line;

use crate::{ErrorCode, ToolError};

/// The path as a forge wants it; the root is empty
///
/// `/a`, `./a`, `a//b` and `a/` mean what they seem to; `..` leads nowhere.
pub(crate) fn inside(path: &str) -> Result<String, ToolError> {
    let wrong = |why: &str| {
        let shown = clean_line(path);
        Err(
            ToolError::new(ErrorCode::Invalid, format!("`{shown}` has {why} in it"))
                .with_hint("paths start at the root of the repository"),
        )
    };
    if path.contains('\0') {
        return wrong("a zero byte");
    }
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    if parts.contains(&"..") {
        return wrong("`..`");
    }
    Ok(parts.join("/"))
}

/// The path of a file that is written or deleted: a slash at its end would be a mistake
pub(crate) fn of_file(path: &str) -> Result<String, ToolError> {
    if path.is_empty() {
        return Err(ToolError::new(ErrorCode::Invalid, "`path` is empty"));
    }
    let file = inside(path)?;
    if file.is_empty() || path.ends_with('/') {
        let shown = clean_line(path);
        let message = format!("`{shown}` names a directory, not a file");
        return Err(ToolError::new(ErrorCode::Invalid, message));
    }
    Ok(file)
}

/// The branch, without the prefix that git gives it
pub(crate) fn of_branch(name: &str) -> Result<&str, ToolError> {
    match without(name, "refs/heads/") {
        "" => Err(ToolError::new(ErrorCode::Invalid, "`branch` is empty")),
        name => Ok(name),
    }
}

/// Returns an optional branch without `refs/heads/`; an empty one, as some models send, is none
pub(crate) fn branch_if_given(name: Option<&str>) -> Option<&str> {
    name.map(|name| without(name, "refs/heads/"))
        .filter(|name| !name.is_empty())
}

/// Returns an optional head without `refs/heads/`; it may be `owner:branch` of a fork
pub(crate) fn head_if_given(name: Option<&str>) -> Option<String> {
    let name = name?;
    match name.split_once(':') {
        Some((owner, branch)) => {
            let branch = branch_if_given(Some(branch))?;
            Some(format!("{}:{branch}", owner.trim()))
        }
        None => branch_if_given(Some(name)).map(str::to_owned),
    }
}

/// The name of a tag, without the prefix that git gives it
pub(crate) fn of_tag(name: &str) -> &str {
    without(name, "refs/tags/")
}

fn without<'a>(name: &'a str, prefix: &str) -> &'a str {
    let name = name.trim();
    name.strip_prefix(prefix).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_with_good_will() {
        for (given, meant) in [
            ("", ""),
            ("/", ""),
            (".", ""),
            ("a/", "a"),
            ("./a", "a"),
            ("/a//b/./c", "a/b/c"),
            ("a b/ü#%?", "a b/ü#%?"),
            ("...", "..."),
        ] {
            assert_eq!(inside(given).unwrap(), meant, "{given}");
        }
        for bad in ["..", "a/../b", "../x", "a\0"] {
            assert_eq!(inside(bad).unwrap_err().code, ErrorCode::Invalid, "{bad}");
        }
    }

    #[test]
    fn a_file_has_a_name() {
        assert_eq!(of_file("/a/b").unwrap(), "a/b");
        for bad in ["", "/", "a/", "./"] {
            assert!(of_file(bad).is_err(), "{bad}");
        }
        assert_eq!(of_branch("refs/heads/a/b").unwrap(), "a/b");
        assert!(of_branch(" ").is_err());
        assert!(of_branch("refs/heads/").is_err());
        assert_eq!(branch_if_given(Some(" refs/heads/a ")), Some("a"));
        for none in [None, Some(""), Some(" "), Some("refs/heads/")] {
            assert_eq!(branch_if_given(none), None, "{none:?}");
            assert_eq!(head_if_given(none), None, "{none:?}");
        }
        assert_eq!(head_if_given(Some("bob:")), None);
        for (head, meant) in [
            ("refs/heads/a", "a"),
            ("bob:refs/heads/a/b", "bob:a/b"),
            ("bob:a", "bob:a"),
        ] {
            assert_eq!(head_if_given(Some(head)).as_deref(), Some(meant));
        }
        assert_eq!(of_tag("refs/tags/v1"), "v1");
    }
}

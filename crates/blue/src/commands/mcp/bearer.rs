//! The token that clients of `blue mcp --http` must send
//!
//! Every account and program of a machine can connect to its loopback addresses, and a call works
//! with the forge token of the user who started Blue. So there is always a token, unless the user
//! says otherwise: one that is made once and kept for this user alone.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use blue_base::secret::{Secret, open_to_others};
use blue_broker::{Rng as _, SystemRng};
use blue_tools::{ErrorCode, ToolError};

use crate::commands::Cx;

/// How a token begins, so that a scanner that finds it somewhere knows what it opens
const PREFIX: &str = "blue_mcp_";
const TOKEN_BYTES: usize = 32;

/// A token and where it is kept
#[derive(Debug)]
pub(super) struct Bearer {
    pub(super) token: Secret,
    pub(super) file: PathBuf,
    /// Made by Blue, and not named by the user
    pub(super) is_own: bool,
}

/// Reads the token of `--bearer-file`
pub(super) fn given(cx: &Cx, file: &Path) -> Result<Bearer, ToolError> {
    let file = cx.env.cwd().join(file);
    let wrong = |what: &str| {
        let message = format!("--bearer-file: `{}` {what}", file.display());
        ToolError::new(ErrorCode::Config, message)
    };
    let text =
        fs::read_to_string(&file).map_err(|source| wrong("cannot be read").with_source(source))?;
    let token = parse(&text).ok_or_else(|| {
        wrong("holds no token").with_hint("write one line of letters and digits into it")
    })?;
    if let Some(mode) = open_to_others(&file) {
        let name = file.display();
        tracing::warn!(
            "--bearer-file: others on this machine can read `{name}` (mode {mode:o}): `chmod 600` it"
        );
    }
    Ok(Bearer {
        token,
        file,
        is_own: false,
    })
}

/// Reads Blue's own token, and makes it at the first start
///
/// One that other accounts could read is replaced.
pub(super) fn own(cx: &Cx) -> Result<Bearer, ToolError> {
    let file = cx.env.mcp_token_file().ok_or_else(|| {
        ToolError::new(
            ErrorCode::Config,
            "there is no home folder to keep a token in",
        )
        .with_hint("set `BLUE_HOME`, or give a token with `--bearer-file`")
    })?;
    let token = kept(&file).map_err(|source| {
        let message = format!("could not keep a token in `{}`", file.display());
        ToolError::new(ErrorCode::Io, message)
            .with_source(source)
            .with_hint(
                "choose another folder with `BLUE_HOME`, or give a token with `--bearer-file`",
            )
    })?;
    Ok(Bearer {
        token,
        file,
        is_own: true,
    })
}

fn kept(file: &Path) -> io::Result<Secret> {
    if let Some(mode) = open_to_others(file) {
        let name = file.display();
        tracing::warn!("others could read `{name}` (mode {mode:o}): the token is replaced");
        return make(file, true);
    }
    match fs::read_to_string(file) {
        Ok(text) => match parse(&text) {
            Some(token) => Ok(token),
            None => make(file, true),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(file, false),
        Err(error) => Err(error),
    }
}

/// Writes a new token; without `replace`, another process that was faster is right
fn make(file: &Path, replace: bool) -> io::Result<Secret> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let mut bytes = [0; TOKEN_BYTES];
    SystemRng::default().fill(&mut bytes);
    let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
    // A temporary file is readable by its owner only.
    let mut temp = tempfile::NamedTempFile::new_in(folder)?;
    writeln!(temp, "{token}")?;
    temp.as_file().sync_all()?;
    if replace {
        temp.persist(file).map_err(|error| error.error)?;
        return Ok(Secret::new(token));
    }
    match temp.persist_noclobber(file) {
        Ok(_) => Ok(Secret::new(token)),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            let text = fs::read_to_string(file)?;
            parse(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
        }
        Err(error) => Err(error.error),
    }
}

fn parse(text: &str) -> Option<Secret> {
    let token = text.trim();
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    is_token.then(|| Secret::new(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_made_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join("mcp-token");
        let first = kept(&file).unwrap();
        assert!(first.expose().starts_with(PREFIX));
        assert!(first.expose().len() > PREFIX.len() + 40);
        assert_eq!(open_to_others(&file), None);
        assert_eq!(open_to_others(file.parent().unwrap()), None);
        assert_eq!(kept(&file).unwrap(), first);
        assert_eq!(make(&file, false).unwrap(), first, "another was faster");
        fs::write(&file, "\n").unwrap();
        assert_ne!(kept(&file).unwrap(), first, "an empty file is no token");
    }

    #[cfg(unix)]
    #[test]
    fn a_token_that_others_could_read_is_replaced() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp-token");
        let first = kept(&file).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert_ne!(kept(&file).unwrap(), first);
        assert_eq!(open_to_others(&file), None);
    }
}

//! What the command line means: local files, and changes in short

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};

use super::{Encoding, FileArg, Input};
use crate::{Cx, ErrorCode, ToolError};

/// Read local files and put everything into `files`
pub(super) async fn complete(cx: &Cx, mut input: Input) -> Result<Input, ToolError> {
    if let Some(path) = input.path.take() {
        let file =
            match (input.content.take(), input.local.take()) {
                (Some(content), _) => FileArg {
                    content: Some(content),
                    ..FileArg::default()
                },
                (None, Some(local)) => local_file(cx, &local).await?,
                (None, None) => {
                    return Err(usage(format!("nothing says what goes into `{path}`")).with_hint(
                    "give `--content TEXT` or `--from FILE`; `--from -` reads what is piped in",
                ));
                }
            };
        let sha = input.sha.take();
        input.files.push(FileArg { path, sha, ..file });
    }
    for pair in std::mem::take(&mut input.more) {
        let (path, local) = split(&pair, "--file", "PATH=LOCAL")?;
        let file = local_file(cx, local).await?;
        let path = path.to_owned();
        input.files.push(FileArg { path, ..file });
    }
    for path in std::mem::take(&mut input.gone) {
        let delete = true;
        input.files.push(FileArg {
            path,
            delete,
            ..FileArg::default()
        });
    }
    for pair in std::mem::take(&mut input.moved) {
        let (old, new) = split(&pair, "--rename", "OLD=NEW")?;
        input.files.push(FileArg {
            path: new.to_owned(),
            rename_from: Some(old.to_owned()),
            ..FileArg::default()
        });
    }
    Ok(input)
}

async fn local_file(cx: &Cx, local: &str) -> Result<FileArg, ToolError> {
    if local == "-" {
        return Ok(FileArg {
            content: Some(cx.piped()?),
            ..FileArg::default()
        });
    }
    let bytes = tokio::fs::read(cx.cwd().join(local)).await.map_err(|e| {
        ToolError::new(ErrorCode::Io, format!("could not read `{local}`")).with_source(e)
    })?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => FileArg {
            content: Some(text),
            ..FileArg::default()
        },
        Err(other) => FileArg {
            content: Some(BASE64.encode(other.as_bytes())),
            encoding: Some(Encoding::Base64),
            ..FileArg::default()
        },
    })
}

fn split<'a>(pair: &'a str, flag: &str, form: &str) -> Result<(&'a str, &'a str), ToolError> {
    match pair.split_once('=') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() => Ok((left, right)),
        _ => Err(usage(format!("`{flag} {pair}` is not `{form}`"))),
    }
}

fn usage(message: String) -> ToolError {
    ToolError::new(ErrorCode::Usage, message)
}

//! What the command line means: local files, and changes in short

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use blue_forge::model::Sha;

use super::{DEFAULT, Edit, Encoding, FileArg, Input, begin};
use crate::{Cx, ErrorCode, ToolError, id, path};

/// Read local files and put everything into `files`
pub(super) async fn complete(cx: &Cx, mut input: Input) -> Result<Input, ToolError> {
    // The command line asks before anything is deleted, unless `--yes` is typed.
    input.confirmed = true;
    whole_ids(cx, &mut input).await?;
    if let Some(path) = input.path.take() {
        let edits = edits(cx, &mut input).await?;
        let file = match (input.content.take(), input.local.take()) {
            (None, None) if !edits.is_empty() => FileArg {
                edits,
                ..FileArg::default()
            },
            (Some(content), _) => FileArg {
                content: Some(content),
                ..FileArg::default()
            },
            (None, Some(local)) => local_file(cx, &local).await?,
            (None, None) => {
                return Err(usage(format!("no content was given for `{path}`")).with_hint(
                    "add `--content TEXT`, `--edit OLD NEW` or `--from FILE`; `--from -` reads stdin",
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
    if input.files.is_empty() {
        return Err(usage("no file was named".to_owned())
            .with_hint("name one to write, or use `--file`, `--delete` or `--rename`"));
    }
    Ok(input)
}

/// Complete ids of which only the start was typed
async fn whole_ids(cx: &Cx, input: &mut Input) -> Result<(), ToolError> {
    if let Some(start) = &input.expected_head
        && id::is_start(start)?
    {
        let repo = cx.repo(&input.repo).await?;
        let name = path::of_branch(&input.branch)?;
        let branch = repo.forge.get_branch(&repo.id, name).await?;
        let whole = id::completed(start, &branch.sha, &format!("branch `{name}`"))?;
        input.expected_head = Some(whole);
    }
    if let (Some(start), Some(file)) = (&input.sha, &input.path)
        && id::is_start(start)?
    {
        let file = path::of_file(file)?;
        let repo = cx.repo(&input.repo).await?;
        let base = input.base.as_deref().unwrap_or(DEFAULT);
        let commit = begin(&repo, path::of_branch(&input.branch)?, base).await?;
        let blob = id::blob_at(&repo, &file, commit.as_ref().map(Sha::as_str)).await?;
        if let Some(row) = blob {
            input.sha = Some(id::completed(start, &row.sha, &format!("`{file}`"))?);
        } else {
            let message = format!("`{file}` is not there, so it cannot be `{start}`");
            return Err(ToolError::new(ErrorCode::NotFound, message));
        }
    }
    Ok(())
}

/// What `--edit` and `--edits` replace
async fn edits(cx: &Cx, input: &mut Input) -> Result<Vec<Edit>, ToolError> {
    let mut edits = Vec::new();
    if let Some(file) = input.edits_from.take() {
        let text = match file.as_str() {
            "-" => cx.piped().await?,
            local => bytes_of(cx, local).await?,
        };
        edits = serde_json::from_slice(&text).map_err(|source| {
            usage(format!("`{file}` holds no edits"))
                .with_source(source)
                .with_hint("write `[{\"old\": \"before\", \"new\": \"after\"}]` into it")
        })?;
    }
    let (pairs, _) = input.replace.as_chunks::<2>();
    edits.extend(pairs.iter().map(|[old, new]| Edit {
        old: old.clone(),
        new: new.clone(),
    }));
    Ok(edits)
}

async fn bytes_of(cx: &Cx, local: &str) -> Result<Vec<u8>, ToolError> {
    tokio::fs::read(cx.cwd().join(local)).await.map_err(|e| {
        ToolError::new(ErrorCode::Io, format!("could not read `{local}`")).with_source(e)
    })
}

async fn local_file(cx: &Cx, local: &str) -> Result<FileArg, ToolError> {
    let bytes = match local {
        "-" => cx.piped().await?,
        file => bytes_of(cx, file).await?,
    };
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

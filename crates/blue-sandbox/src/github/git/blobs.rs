//! Blobs

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::json;

use super::super::cx::At;
use super::super::media::Media;
use super::super::refusal::{Refusal, Result};
use super::super::reply::Reply;
use super::super::view::git;
use super::{not_empty, object};
use crate::git::Kind;

#[derive(Debug, Deserialize)]
struct Create {
    content: String,
    encoding: Option<String>,
}

pub(in crate::github) fn create(at: &At<'_>) -> Result<Reply> {
    at.writer()?;
    let body: Create = at.ask().body()?;
    not_empty(at)?;
    let data = match body.encoding.as_deref() {
        None | Some("utf-8") => body.content.into_bytes(),
        Some("base64") => decode(&body.content)?,
        Some(_) => return Err(Refusal::field("Blob", "encoding", "invalid")),
    };
    let oid = at.git.write(Kind::Blob, &data)?;
    let url = format!("{}/git/blobs/{oid}", at.repo.api(at.urls()));
    Ok(Reply::created(&json!({"url": url, "sha": oid.to_string()})))
}

/// Base64 with or without line breaks
pub(in crate::github) fn decode(text: &str) -> Result<Vec<u8>> {
    let clean: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    STANDARD
        .decode(clean)
        .map_err(|_| Refusal::unprocessable("content is not valid Base64"))
}

pub(in crate::github) fn get(at: &At<'_>, sha: &str) -> Result<Reply> {
    let oid = object(at, sha, Kind::Blob)?.ok_or_else(Refusal::not_found)?;
    let data = at.git.read_kind(oid, Kind::Blob)?;
    if at.ask().media() == Media::Raw {
        return Ok(Reply::bytes(
            "application/vnd.github.raw; charset=utf-8",
            data,
        ));
    }
    Ok(Reply::ok(&git::blob(at.urls(), &at.repo, oid, &data)))
}

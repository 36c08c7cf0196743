//! Bytes of a file: `/raw` and `/media`; and archives

use jiff::{Timestamp, fmt::strtime};

use super::{
    Outcome,
    fail::Fail,
    reply::{CACHE, Reply},
    request::InRepo,
};
use crate::{
    git::{Kind, Mode},
    ops::{self, commits},
};

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    if cx.req.verb() != "GET" {
        return Err(Fail::wrong_verb());
    }
    match path[0] {
        "archive" => archive(cx, &path[1..].join("/")),
        kind => file(cx, &path[1..].join("/"), kind == "raw"),
    }
}

fn file(cx: &InRepo<'_>, path: &str, raw: bool) -> Outcome {
    let (app, repo) = (cx.app(), cx.repo());
    let git = app.git(repo.id);
    if ops::repos::is_empty(app, repo)? {
        return Err(Fail::missing("repository is empty", &[]));
    }
    let asked = cx.req.query("ref").unwrap_or_default();
    // A ref that is not there means the default branch here; only this address does so.
    let found = if asked.is_empty() {
        None
    } else {
        git.resolve(asked)?
    };
    let commit = match found {
        Some(oid) => oid,
        None => {
            ops::branches::get(app, repo, &repo.default_branch).map_err(|_| Fail::not_found())?
        }
    };
    let entry = git.entry(git.commit(commit)?.tree, path)?;
    let entry = entry.ok_or_else(Fail::not_found)?;
    if !entry.mode.is_blob() {
        return Err(Fail::missing("getBlobForEntry", &[]));
    }
    let data = git.read_kind(entry.oid, Kind::Blob)?;
    let name = path.rsplit('/').next().unwrap_or(path);
    let kind = media_type(&data, entry.mode);
    if !raw {
        return Ok(Reply::bytes(200, data)
            .with("content-type", kind)
            .with("cache-control", CACHE));
    }
    let etag = format!("\"{}\"", entry.oid);
    let (dir, leaf) = path.rsplit_once('/').unwrap_or(("", path));
    let last = commits::last(app, repo, commit, dir, &[leaf.to_owned()])?;
    let when = last
        .get(leaf)
        .map_or(0, |(_, commit)| commit.committer.seconds);
    let when = http_date(when);
    let header = |name: &str| {
        cx.req
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let known =
        header("if-none-match").is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == etag));
    if known {
        return Ok(Reply::bytes(304, Vec::new())
            .with("etag", &etag)
            .with("last-modified", &when)
            .with("cache-control", "private, max-age=300"));
    }
    let reply = match header("range").and_then(|range| slice(range, data.len())) {
        Some((start, end)) => {
            let whole = format!("bytes {start}-{end}/{}", data.len());
            Reply::bytes(206, data[start..=end].to_vec()).with("content-range", &whole)
        }
        None => Reply::bytes(200, data),
    };
    Ok(reply
        .with("content-type", kind)
        .with("etag", &etag)
        .with("last-modified", &when)
        .with("accept-ranges", "bytes")
        .with("cache-control", "private, max-age=300")
        .with(
            "content-disposition",
            &format!("inline; filename={}", quoted(name)),
        )
        .with("access-control-expose-headers", "Content-Disposition"))
}

fn archive(cx: &InRepo<'_>, name: &str) -> Outcome {
    let (spec, format, kind) = if let Some(spec) = name.strip_suffix(".zip") {
        (spec, "zip", "application/zip")
    } else if let Some(spec) = name.strip_suffix(".tar.gz") {
        (spec, "tar.gz", "application/gzip")
    } else {
        return Err(Fail::new(400, "unknown archive format"));
    };
    let commit = commits::resolve(cx.app(), cx.repo(), spec)?;
    let prefix = format!("--prefix={}/", cx.repo().name);
    let output = cx.app().git(cx.repo().id).git(&[
        "archive",
        &format!("--format={format}"),
        &prefix,
        &commit.to_string(),
    ])?;
    Ok(Reply::bytes(200, output.stdout).with("content-type", kind))
}

fn media_type(data: &[u8], mode: Mode) -> &'static str {
    let start = &data[..data.len().min(1024)];
    let texty = |bytes: &[u8]| !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok_or_cut();
    if mode == Mode::Symlink || texty(start) {
        "text/plain; charset=utf-8"
    } else if start.starts_with(b"\x89PNG") {
        "image/png"
    } else if start.starts_with(b"\xff\xd8\xff") {
        "image/jpeg"
    } else if start.starts_with(b"%PDF") {
        "application/pdf"
    } else {
        "application/octet-stream"
    }
}

/// Text that was cut in the middle of a character is still text
trait OkOrCut {
    fn is_ok_or_cut(&self) -> bool;
}

impl OkOrCut for Result<&str, std::str::Utf8Error> {
    fn is_ok_or_cut(&self) -> bool {
        match self {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        }
    }
}

fn quoted(name: &str) -> String {
    let token = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if name.chars().all(token) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace(['"', '\\'], "_"))
    }
}

fn http_date(seconds: i64) -> String {
    let when = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    strtime::format("%a, %d %b %Y %H:%M:%S GMT", when).unwrap_or_default()
}

/// One range of a file, both ends included
fn slice(header: &str, length: usize) -> Option<(usize, usize)> {
    let (start, end) = header.strip_prefix("bytes=")?.split_once('-')?;
    let last = length.checked_sub(1)?;
    let (start, end) = match (start.parse::<usize>(), end.parse::<usize>()) {
        (Ok(start), Ok(end)) => (start, end.min(last)),
        (Ok(start), Err(_)) => (start, last),
        (Err(_), Ok(tail)) => (length.saturating_sub(tail), last),
        _ => return None,
    };
    (start <= end).then_some((start, end))
}

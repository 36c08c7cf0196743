//! The bytes of a file

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};

use crate::{
    git::{Kind, Mode},
    web::{
        place,
        visit::{Trouble, Visit},
    },
};

/// `raw/branch/…`, or GitHub's `raw/…` that leaves the kind out
pub(in crate::web) fn show(visit: &Visit<'_>, parts: &[&str]) -> Result<Response, Trouble> {
    let spot = match parts {
        ["branch" | "tag" | "commit", _, _, ..] => match place::named(visit, parts) {
            Err(Trouble::NotFound) => place::unnamed(visit, parts)?,
            found => found?,
        },
        _ => place::unnamed(visit, parts)?,
    };
    let git = visit.git();
    let tree = git.commit(spot.commit)?.tree;
    let entry = git.entry(tree, &spot.path)?.ok_or(Trouble::NotFound)?;
    if matches!(entry.mode, Mode::Tree | Mode::Submodule) {
        return Err(Trouble::NotFound);
    }
    let bytes = git.read_kind(entry.oid, Kind::Blob)?;
    // Whatever a file says it is, a browser shall not run it here.
    let text = std::str::from_utf8(&bytes).is_ok_and(|text| !text.contains('\0'));
    let kind = if text {
        "text/plain; charset=utf-8"
    } else {
        "application/octet-stream"
    };
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; sandbox"),
    );
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", entry.oid)) {
        headers.insert(header::ETAG, tag);
    }
    Ok(response)
}

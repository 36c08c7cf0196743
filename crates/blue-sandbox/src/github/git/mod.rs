//! Git's own objects and refs

pub(super) mod blobs;
pub(super) mod commits;
pub(super) mod refs;
pub(super) mod tags;
pub(super) mod trees;

use jiff::Timestamp;
use serde::Deserialize;

use super::cx::At;
use super::refusal::{Refusal, Result};
use crate::git::{Kind, Oid, Signature};

/// Who made an object, as a body gives it
#[derive(Debug, Deserialize)]
pub(super) struct Person {
    name: String,
    email: String,
    date: Option<String>,
}

impl Person {
    pub(super) fn signature(&self, now: Timestamp) -> Result<Signature> {
        let when = match &self.date {
            Some(text) => text.parse().map_err(|_| {
                Refusal::unprocessable(format!(
                    "Invalid request.\n\n{text} is not a valid date-time."
                ))
            })?,
            None => now,
        };
        Ok(Signature::new(&self.name, &self.email, when))
    }
}

/// An object of this kind, or nothing
fn object(at: &At<'_>, sha: &str, kind: Kind) -> Result<Option<Oid>> {
    let Some(oid) = Oid::parse(sha).filter(|oid| at.git.has(*oid)) else {
        return Ok(None);
    };
    Ok((at.git.stat(oid)?.0 == kind).then_some(oid))
}

/// Objects cannot be made in a repository without a commit
fn not_empty(at: &At<'_>) -> Result<()> {
    if at.is_empty()? {
        return Err(Refusal::empty_repository());
    }
    Ok(())
}

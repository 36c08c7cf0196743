//! A repository and its forks, named by their owners

use super::cx::At;
use super::refusal::Result;
use crate::git::Oid;
use crate::ops;
use crate::ops::access::{self, Access};
use crate::store::repos::{self, Repo};

/// The repository of this owner among the present one and its forks, if the caller may see it
pub(super) fn find(at: &At<'_>, owner: &str, name: Option<&str>) -> Result<Option<Repo>> {
    let own = &at.repo.row;
    let fits = |repo: &Repo| name.is_none_or(|name| name.eq_ignore_ascii_case(&repo.name));
    if owner.eq_ignore_ascii_case(&at.repo.owner.login) && fits(own) {
        return Ok(Some(own.clone()));
    }
    let owner = match ops::users::find(at.app(), owner) {
        Ok(owner) => owner,
        Err(ops::Error::NotFound(_)) => return Ok(None),
        Err(other) => return Err(other.into()),
    };
    let root = own.fork_of.unwrap_or(own.id);
    let theirs = at.app().store.read(|c| repos::of_owner(c, owner.id))?;
    let fork = theirs.into_iter().find(|repo| {
        let related = [Some(root), Some(own.id)].contains(&repo.fork_of) || repo.id == root;
        related && fits(repo) && repo.id != own.id
    });
    let Some(fork) = fork else { return Ok(None) };
    let seen = access::of(at.app(), &fork, at.cx.caller())? >= Access::Read;
    Ok(seen.then_some(fork))
}

/// Bring a branch of a fork here, so that it can be compared
pub(super) fn borrow(at: &At<'_>, fork: &Repo, branch: &str) -> Result<Option<Oid>> {
    let there = at.app().git(fork.id).branch(branch)?;
    match there {
        Some(oid) if !at.git.has(oid) => {
            let borrowed = ops::commits::borrow(at.app(), &at.repo.row, fork, branch)?;
            Ok(Some(borrowed))
        }
        known => Ok(known),
    }
}

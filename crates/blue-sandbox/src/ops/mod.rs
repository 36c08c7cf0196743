//! What a forge does
//!
//! Plain functions over the store and git. They know no HTTP and no dialect: a door checks who may
//! call (`access`), calls one of these, and puts the outcome in its own words.

pub(crate) mod access;
pub(crate) mod agit;
pub(crate) mod branches;
pub(crate) mod cache;
pub(crate) mod ci;
pub(crate) mod commits;
pub(crate) mod contents;
pub(crate) mod error;
pub(crate) mod merge;
pub(crate) mod mergeability;
pub(crate) mod protection;
pub(crate) mod pulls;
pub(crate) mod push;
pub(crate) mod repos;
pub(crate) mod reviews;
pub(crate) mod runs;
pub(crate) mod settle;
pub(crate) mod statuses;
pub(crate) mod styles;
pub(crate) mod tags;
pub(crate) mod users;

pub(crate) use self::error::{Error, MergeError, Result, What};

use crate::{
    app::App,
    git::Signature,
    store::{repos::Repo, users::User},
};

/// An archived repository takes no changes of its code
fn refuse_archived(repo: &Repo) -> Result<()> {
    if repo.archived_at.is_some() {
        Err(Error::Archived)
    } else {
        Ok(())
    }
}

/// How a person signs the commits the forge makes for them
pub(crate) fn signature(app: &App, user: &User) -> Signature {
    let name = if user.full_name.is_empty() {
        &user.login
    } else {
        &user.full_name
    };
    Signature::new(name, &user.email, app.now())
}

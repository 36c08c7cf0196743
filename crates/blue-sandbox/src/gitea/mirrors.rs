//! Copies of other repositories: `POST /repos/migrate`

use url::Url;

use super::{Outcome, fail::Fail, reply::Reply, request::Req, wire};
use crate::ops::{
    self,
    access::{self, Access},
};

/// Copy a repository of this sandbox, once or as a mirror; there is no other source
pub(super) fn migrate(req: &Req) -> Outcome {
    req.need_scope(&["repository"])?;
    let user = req.user()?;
    let form = req.form()?;
    let source = form.required("clone_addr", "CloneAddr")?;
    let name = form.required("repo_name", "RepoName")?;
    let owner = match form
        .opt_text("repo_owner")?
        .filter(|login| !login.is_empty())
    {
        Some(login) => ops::users::find(&req.app, login).map_err(|_| Fail::not_found())?,
        None => user.clone(),
    };
    if owner.id != user.id && !user.is_admin {
        return Err(Fail::forbidden(
            "Given user is not the owner of this account.",
        ));
    }
    let refused = || Fail::invalid("You can not import from disallowed hosts.");
    let found = Url::parse(source)
        .ok()
        .filter(|url| req.app.root_url.ends_with(&url.authority().to_owned()))
        .and_then(|url| {
            let mut parts = url.path_segments()?;
            let (owner, name) = (parts.next()?, parts.next()?);
            let name = name.strip_suffix(".git").unwrap_or(name);
            ops::repos::find(&req.app, owner, name).ok()
        })
        .ok_or_else(refused)?;
    if access::of(&req.app, &found.repo, req.caller.as_ref())? < Access::Read {
        return Err(refused());
    }
    let mut new = ops::repos::New {
        name,
        private: form.flag("private")?,
        default_branch: &found.repo.default_branch,
        settings: crate::store::repos::Settings::default(),
    };
    new.settings.mirror = form.flag("mirror")?;
    let copy = ops::repos::create(&req.app, &owner, &new)?;
    req.app.git(copy.repo.id).take_from(
        &req.app.git(found.repo.id),
        &["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"],
    )?;
    Ok(Reply::created(&wire::repo(&req.app, &copy, Access::Owner)?))
}

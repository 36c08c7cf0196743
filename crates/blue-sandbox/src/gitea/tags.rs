//! Tags

use serde_json::{Value, json};

use super::{
    Outcome,
    fail::{self, Fail},
    reply::{Page, Reply},
    request::InRepo,
    wire,
};
use crate::{
    git::Kind,
    ops::{self, What, tags},
};

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    let (app, repo) = (cx.app(), cx.repo());
    let name = path[1..].join("/");
    match (cx.req.verb(), name.as_str()) {
        ("GET", "") => {
            let all = tags::list(app, repo)?;
            let page = Page::of(cx.req);
            let mut rows = Vec::new();
            for tag in page.slice(&all) {
                rows.push(shown(cx, tag)?);
            }
            // The count is given, links are not.
            Ok(Reply::counted(&rows.into(), all.len()))
        }
        ("POST", "") => create(cx),
        ("GET", name) => {
            let missing = |_| Fail::missing(&format!("tag doesn't exist: {name}"), &[]);
            let tag = tags::get(app, repo, name).map_err(missing)?;
            Ok(Reply::ok(&shown(cx, &tag)?))
        }
        ("DELETE", name) if !name.is_empty() => {
            cx.req.user()?;
            cx.need_unarchived()?;
            cx.need_writer()?;
            tags::delete(app, repo, name)?;
            Ok(Reply::empty(204))
        }
        _ => Err(Fail::wrong_verb()),
    }
}

fn create(cx: &InRepo<'_>) -> Outcome {
    cx.req.user()?;
    cx.need_unarchived()?;
    let user = cx.need_writer()?;
    let form = cx.req.form()?;
    let name = form.required("tag_name", "TagName")?;
    let target = form.text("target")?;
    let asked = if target.is_empty() {
        cx.repo().default_branch.as_str()
    } else {
        target
    };
    let tag = tags::create(
        cx.app(),
        cx.repo(),
        user,
        name,
        target,
        &without_comments(form.text("message")?),
    )
    .map_err(|error| match error {
        ops::Error::NotFound(What::Ref(_)) => Fail::new(
            404,
            &format!("target not found: {}", fail::no_object(asked, "")),
        ),
        ops::Error::BadName { name } => Fail::new(
            500,
            &format!("release tag name is not valid [tag_name: {name}]"),
        ),
        other => other.into(),
    })?;
    Ok(Reply::created(&shown(cx, &tag)?))
}

/// What `git tag -m` leaves of a message
fn without_comments(message: &str) -> String {
    let lines = message.lines().filter(|line| !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

fn shown(cx: &InRepo<'_>, tag: &tags::Tag) -> Result<Value, Fail> {
    let git = cx.app().git(cx.repo().id);
    let created = if git.stat(tag.oid)?.0 == Kind::Tag {
        git.tag_object(tag.oid)?.tagger.map(|who| who.date())
    } else {
        Some(git.commit(tag.commit)?.committer.date())
    };
    let name = wire::path_url(&tag.name);
    Ok(json!({
        "name": tag.name,
        "message": tag.message.trim(),
        "id": tag.oid,
        "commit": {
            // The address names the tag object, the sha the commit: so it is in Gitea.
            "url": format!("{}/git/commits/{}", cx.api_url(), tag.oid),
            "sha": tag.commit,
            "created": created,
        },
        "zipball_url": format!("{}/archive/{name}.zip", cx.web_url()),
        "tarball_url": format!("{}/archive/{name}.tar.gz", cx.web_url()),
    }))
}

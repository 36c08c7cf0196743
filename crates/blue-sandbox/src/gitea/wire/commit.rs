//! Commits, in the three shapes Gitea has for them

use serde_json::{Map, Value, json};

use super::{NEVER, View, user};
use crate::{
    app::App,
    git::{ChangeKind, Commit, Diff, Oid, Signature},
    gitea::{fail::Fail, request::InRepo},
    ops,
    store::users,
};

pub(in crate::gitea) fn verification(commit: &Commit) -> Value {
    match &commit.gpgsig {
        None => json!({
            "verified": false,
            "reason": "gpg.error.not_signed_commit",
            "signature": "",
            "signer": null,
            "payload": "",
        }),
        Some(signature) => json!({
            "verified": false,
            "reason": "gpg.error.no_gpg_keys_found",
            "signature": signature,
            "signer": null,
            "payload": "",
        }),
    }
}

/// Which optional parts to work out
#[derive(Debug, Clone, Copy)]
pub(in crate::gitea) struct Parts {
    pub(in crate::gitea) stat: bool,
    pub(in crate::gitea) verification: bool,
    pub(in crate::gitea) files: bool,
}

/// A commit with its people, files and counts
pub(in crate::gitea) fn commit(
    cx: &InRepo<'_>,
    oid: Oid,
    commit: &Commit,
    parts: Parts,
) -> Result<Value, Fail> {
    let (app, api, web) = (cx.app(), cx.api_url(), cx.web_url());
    let url = format!("{api}/git/commits/{oid}");
    let when = commit.committer.date();
    let mut value = json!({
        "url": url,
        "sha": oid,
        "created": when,
        "html_url": format!("{web}/commit/{oid}"),
        "commit": {
            "url": url,
            "author": person(&commit.author),
            "committer": person(&commit.committer),
            "message": commit.message,
            // The name of the commit, not of the tree: that is what Gitea answers here.
            "tree": {"url": format!("{api}/git/trees/{oid}"), "sha": oid, "created": when},
            "verification": if parts.verification { verification(commit) } else { Value::Null },
        },
        "author": known(app, &commit.author)?,
        "committer": known(app, &commit.committer)?,
        "parents": parents(&api, commit),
        "files": null,
        "stats": null,
    });
    let diff = if parts.stat || parts.files {
        Some(ops::commits::diff(app, cx.repo(), oid, commit)?)
    } else {
        None
    };
    if let Some(diff) = diff {
        if parts.files {
            value["files"] = files(&diff);
        }
        if parts.stat {
            let (additions, deletions) = (diff.additions(), diff.deletions());
            value["stats"] = json!({"total": additions + deletions, "additions": additions, "deletions": deletions});
        }
    }
    Ok(value)
}

/// What was added, then removed, then changed; a renamed file is one removed and one added
fn files(diff: &Diff) -> Value {
    let mut groups: [Vec<&str>; 3] = Default::default();
    for file in &diff.files {
        match file.kind {
            ChangeKind::Added => groups[0].push(&file.path),
            ChangeKind::Deleted => groups[1].push(&file.path),
            ChangeKind::Modified => groups[2].push(&file.path),
            ChangeKind::Renamed => {
                groups[0].push(&file.path);
                groups[1].extend(file.old_path.as_deref());
            }
        }
    }
    let named = ["added", "removed", "modified"].into_iter().zip(groups);
    named
        .flat_map(|(status, names)| {
            names
                .into_iter()
                .map(move |name| json!({"filename": name, "status": status}))
        })
        .collect()
}

/// A commit as it comes with a changed file
pub(in crate::gitea) fn file_commit(cx: &InRepo<'_>, oid: Oid, commit: &Commit) -> Value {
    let (api, web) = (cx.api_url(), cx.web_url());
    json!({
        "url": format!("{api}/git/commits/{oid}"),
        "sha": oid,
        "created": NEVER,
        "html_url": format!("{web}/commit/{oid}"),
        "author": person(&commit.author),
        "committer": person(&commit.committer),
        "parents": parents(&api, commit),
        "message": commit.message,
        "tree": {
            "url": format!("{api}/git/trees/{}", commit.tree),
            "sha": commit.tree,
            "created": NEVER,
        },
    })
}

/// A commit as it comes with a branch
pub(in crate::gitea) fn payload_commit(
    cx: &InRepo<'_>,
    oid: Oid,
    commit: &Commit,
) -> Result<Value, Fail> {
    Ok(json!({
        "id": oid,
        "message": commit.message,
        "url": format!("{}/commit/{oid}", cx.web_url()),
        "author": payload_person(cx.app(), &commit.author)?,
        "committer": payload_person(cx.app(), &commit.committer)?,
        "verification": verification(commit),
        "timestamp": commit.author.date(),
        "added": null,
        "removed": null,
        "modified": null,
    }))
}

fn person(who: &Signature) -> Value {
    json!({"name": who.name, "email": who.email, "date": who.date()})
}

fn payload_person(app: &App, who: &Signature) -> Result<Value, Fail> {
    let found = app
        .store
        .read(|c| users::by_email(c, &who.email))
        .map_err(ops::Error::from)?;
    let login = found.map(|user| user.login).unwrap_or_default();
    Ok(json!({"name": who.name, "email": who.email, "username": login}))
}

/// The account behind a mail address
fn known(app: &App, who: &Signature) -> Result<Value, Fail> {
    let found = app
        .store
        .read(|c| users::by_email(c, &who.email))
        .map_err(ops::Error::from)?;
    Ok(found.map_or(Value::Null, |found| user(app, &found, View::Public)))
}

fn parents(api: &str, commit: &Commit) -> Value {
    let parent = |oid: &Oid| {
        let mut parent = Map::new();
        parent.insert("url".to_owned(), format!("{api}/git/commits/{oid}").into());
        parent.insert("sha".to_owned(), oid.to_string().into());
        parent.insert("created".to_owned(), NEVER.into());
        Value::Object(parent)
    };
    commit.parents.iter().map(parent).collect()
}

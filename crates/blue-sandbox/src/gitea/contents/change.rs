//! Change one file or many, in one commit

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::read::At;
use crate::{
    git::Signature,
    gitea::{
        Outcome,
        body::Form,
        fail::{self, Fail},
        reply::Reply,
        request::InRepo,
        wire,
    },
    ops::{
        self, What,
        access::Access,
        commits,
        contents::{self, Action, Change, Done, FileChange},
    },
    store::users::User,
};

/// Someone who may change files here
fn editor<'a>(cx: &'a InRepo<'_>) -> Result<&'a User, Fail> {
    let user = cx.user()?;
    if cx.access < Access::Write {
        return Err(Fail::forbidden(if cx.app().is_forgejo() {
            "user should have a permission to write to a repo"
        } else {
            "user should have a permission to write to the target branch"
        }));
    }
    if cx.repo().archived_at.is_some() {
        return Err(Fail::new(
            423,
            &format!("{} is not allowed to edit", cx.found.full_name()),
        ));
    }
    Ok(user)
}

fn decode(text: &str) -> Result<Vec<u8>, Fail> {
    BASE64_STANDARD.decode(text).map_err(|error| {
        let at = match error {
            base64::DecodeError::InvalidByte(at, _)
            | base64::DecodeError::InvalidLastSymbol(at, _) => at,
            _ => text.len(),
        };
        Fail::invalid(&format!("illegal base64 data at input byte {at}"))
    })
}

pub(super) fn put(cx: &InRepo<'_>, path: &str) -> Outcome {
    editor(cx)?;
    let form = cx.req.form()?;
    let sha = form.text("sha")?;
    if sha.is_empty() {
        if cx.app().is_forgejo() {
            return Err(Fail::invalid("[SHA]: Required"));
        }
        return write(cx, path, Action::Create);
    }
    match form
        .opt_text("from_path")?
        .filter(|from| !from.is_empty() && *from != path)
    {
        Some(from) => write(
            cx,
            path,
            Action::Rename {
                from: from.to_owned(),
            },
        ),
        None => write(cx, path, Action::Update),
    }
}

pub(super) fn write(cx: &InRepo<'_>, path: &str, action: Action) -> Outcome {
    let user = editor(cx)?;
    refuse_outside(cx, path)?;
    let form = cx.req.form()?;
    let content = decode(form.text("content")?)?;
    let created = matches!(action, Action::Create);
    let verb = if created { "Add" } else { "Update" };
    let file = FileChange {
        action,
        path: path.to_owned(),
        content,
        sha: form.opt_text("sha")?.map(str::to_owned),
    };
    let done = make(cx, user, &form, vec![file], &format!("{verb} {path}\n"))?;
    let at = At {
        asked: done.branch.clone(),
        kind: "branch",
        commit: done.commit,
    };
    let entry = contents::entry(cx.app(), cx.repo(), done.commit, path)?;
    let content = at.file(cx, path, &entry)?;
    let (commit, verification) = commit_of(cx, &done)?;
    let value = json!({"content": content, "commit": commit, "verification": verification});
    Ok(Reply::json(if created { 201 } else { 200 }, &value))
}

pub(super) fn delete(cx: &InRepo<'_>, path: &str) -> Outcome {
    let user = editor(cx)?;
    refuse_outside(cx, path)?;
    let form = from_query(cx, cx.req.form_or_empty()?);
    let sha = form.required("sha", "SHA")?.to_owned();
    let file = FileChange {
        action: Action::Delete,
        path: path.to_owned(),
        content: Vec::new(),
        sha: Some(sha),
    };
    let done = make(cx, user, &form, vec![file], &format!("Delete {path}\n"))?;
    let (commit, verification) = commit_of(cx, &done)?;
    Ok(Reply::ok(
        &json!({"content": null, "commit": commit, "verification": verification}),
    ))
}

/// A DELETE may carry its fields in the address
fn from_query(cx: &InRepo<'_>, form: Form) -> Form {
    if form.has("sha") {
        return form;
    }
    let names = ["sha", "message", "branch", "new_branch"];
    let fields = names
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), cx.req.query(name)?.into())));
    Form::from_map(fields.collect())
}

pub(super) fn many(cx: &InRepo<'_>) -> Outcome {
    let user = editor(cx)?;
    let form = cx.req.form()?;
    let list = form
        .opt_list("files")?
        .ok_or_else(|| Fail::invalid("[Files]: Required"))?;
    let mut files = Vec::new();
    for value in list {
        let Value::Object(map) = value else {
            return Err(Fail::invalid("[]: json: cannot unmarshal into Go struct"));
        };
        files.push(one_of_many(cx, &Form::from_map(map.clone()))?);
    }
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let title = format!("Change files {}\n", names.join(", "));
    let default = if files.len() == 1 {
        title.replace("Change files", "Update")
    } else {
        title
    };
    let done = make(cx, user, &form, files.clone(), &default)?;
    let at = At {
        asked: done.branch.clone(),
        kind: "branch",
        commit: done.commit,
    };
    let mut shown = Vec::new();
    for file in &files {
        // What was deleted comes back as nothing.
        if matches!(file.action, Action::Delete) {
            shown.push(Value::Null);
            continue;
        }
        let entry = contents::entry(cx.app(), cx.repo(), done.commit, &file.path)?;
        shown.push(at.file(cx, &file.path, &entry)?);
    }
    let shown: Value = if shown.is_empty() {
        Value::Null
    } else {
        shown.into()
    };
    let (commit, verification) = commit_of(cx, &done)?;
    Ok(Reply::created(
        &json!({"files": shown, "commit": commit, "verification": verification}),
    ))
}

fn one_of_many(cx: &InRepo<'_>, form: &Form) -> Result<FileChange, Fail> {
    let operation = form.required("operation", "Operation")?;
    let path = form.required("path", "Path")?;
    if path.len() > 500 {
        return Err(Fail::invalid("[Path]: MaxSize"));
    }
    if cx.app().is_forgejo() && !matches!(operation, "create" | "update" | "delete") {
        return Err(Fail::invalid("[Operation]: In"));
    }
    let action = match operation {
        "create" => Action::Create,
        "update" => match form
            .opt_text("from_path")?
            .filter(|from| !from.is_empty() && *from != path)
        {
            Some(from) => Action::Rename {
                from: from.to_owned(),
            },
            None => Action::Update,
        },
        "upload" => Action::Upload,
        "delete" => Action::Delete,
        "rename" => Action::Rename {
            from: form.text("from_path")?.to_owned(),
        },
        other => {
            return Err(Fail::new(
                500,
                &format!(
                    "invalid file operation: {other} {path}, supported operations are create, update, delete"
                ),
            ));
        }
    };
    Ok(FileChange {
        action,
        path: path.to_owned(),
        content: decode(form.text("content")?)?,
        sha: form.opt_text("sha")?.map(str::to_owned),
    })
}

fn make(
    cx: &InRepo<'_>,
    user: &User,
    form: &Form,
    files: Vec<FileChange>,
    default: &str,
) -> Result<Done, Fail> {
    let forgejo_delete = cx.app().is_forgejo() && cx.req.verb() == "DELETE";
    let given = form.text("message")?;
    let mut message = if given.trim().is_empty() {
        default
    } else {
        given
    }
    .to_owned();
    if form.flag("signoff")? {
        let who = ops::signature(cx.app(), user);
        message = format!(
            "{}\n\nSigned-off-by: {} <{}>",
            message.trim_end(),
            who.name,
            who.email
        );
    }
    let change = Change {
        branch: form.text("branch")?,
        new_branch: form.opt_text("new_branch")?,
        force_new_branch: form.flag("force_push")? || form.flag("force_overwrite_new_branch")?,
        message: &message,
        author: identity(cx, form, user, "author")?,
        committer: identity(cx, form, user, "committer")?,
        files,
    };
    contents::change(cx.app(), cx.repo(), user, &change).map_err(|error| match error {
        ops::Error::NotFound(What::Branch(name)) => Fail::new(
            404,
            &format!(
                "branch does not exist [repo_id: {} name: {name}]",
                cx.repo().id
            ),
        ),
        ops::Error::NotFound(What::Path(path)) => Fail::new(404, &fail::no_object("", &path)),
        ops::Error::BadName { .. } => Fail::invalid("[NewBranchName]: GitRefName"),
        ops::Error::BranchMoved => Fail::new(409, "branch was changed by another request"),
        // Forgejo's DELETE says 400 where its other verbs say 422.
        ops::Error::StaleSha { given, expected } if forgejo_delete => Fail::new(
            400,
            &format!("sha does not match [given: {given}, expected: {expected}]"),
        ),
        ops::Error::Exists(What::Branch(name)) if forgejo_delete => {
            Fail::new(400, &format!("branch already exists [name: {name}]"))
        }
        other => other.into(),
    })
}

/// Who signs: named in the request, or the caller with a date of their choice
fn identity(
    cx: &InRepo<'_>,
    form: &Form,
    user: &User,
    name: &str,
) -> Result<Option<Signature>, Fail> {
    let given = form.object(name).unwrap_or_default();
    let (who, email) = (given.text("name")?, given.text("email")?);
    let date = match form.object("dates") {
        Some(dates) => dates.text(name)?.parse::<jiff::Timestamp>().ok(),
        None => None,
    };
    let named = !who.is_empty() && !email.is_empty();
    if !named && date.is_none() {
        return Ok(None);
    }
    let mut signature = if named {
        Signature::new(who, email, cx.app().now())
    } else {
        ops::signature(cx.app(), user)
    };
    if let Some(when) = date {
        signature.seconds = when.as_second();
    }
    Ok(Some(signature))
}

fn commit_of(cx: &InRepo<'_>, done: &Done) -> Result<(Value, Value), Fail> {
    let commit = commits::get(cx.app(), cx.repo(), done.commit)?;
    Ok((
        wire::file_commit(cx, done.commit, &commit),
        wire::verification(&commit),
    ))
}

/// Gitea answers a path that leaves the repository with its own trouble
fn refuse_outside(cx: &InRepo<'_>, path: &str) -> Result<(), Fail> {
    if path.split('/').any(|part| part == "..") {
        return Err(Fail::new(
            500,
            &format!(
                "LsFiles: unable to run git ls-files for temporary repo of: {}, error: exit status 128 - \
                 fatal: {path}: '{path}' is outside repository",
                cx.found.full_name()
            ),
        ));
    }
    Ok(())
}

//! Change one file or many, in one commit

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::read::{At, clean, malformed};
use crate::{
    config::Flavor,
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
    if cx.app().is_forgejo() {
        cx.need_no_mirror()?;
    }
    if cx.repo().archived_at.is_some() || cx.repo().settings.mirror {
        return Err(Fail::new(
            423,
            &format!("{} is not allowed to edit", cx.found.full_name()),
        ));
    }
    Ok(user)
}

/// The path a change is about
pub(super) fn target(cx: &InRepo<'_>, path: &str) -> Result<String, Fail> {
    // Who may not write is told that first.
    editor(cx)?;
    let cleaned = clean(path).ok_or_else(|| Fail::invalid(&malformed(path)))?;
    let mut depth = 0_i32;
    for part in path.split('/') {
        depth += if part == ".." { -1 } else { 1 };
        if depth < 0 {
            return Err(outside(cx, path));
        }
    }
    Ok(cleaned)
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
                replaces: true,
            },
        ),
        None => write(cx, path, Action::Update),
    }
}

pub(super) fn write(cx: &InRepo<'_>, path: &str, action: Action) -> Outcome {
    let user = editor(cx)?;
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
    let done = make(cx, user, &form, files.clone(), &summary(&files))?;
    let at = At {
        asked: done.branch.clone(),
        kind: "branch",
        commit: done.commit,
    };
    let mut shown = Vec::new();
    for file in &files {
        // What was deleted comes back as nothing.
        shown.push(
            match contents::entry(cx.app(), cx.repo(), done.commit, &file.path) {
                Ok(entry) => at.file(cx, &file.path, &entry)?,
                Err(_) => Value::Null,
            },
        );
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

/// The message of a commit of many files that was given none
fn summary(files: &[FileChange]) -> String {
    let of = |verb: &str, belongs: fn(&Action) -> bool| {
        let names: Vec<&str> = files
            .iter()
            .filter(|file| belongs(&file.action))
            .map(|file| file.path.as_str())
            .collect();
        (!names.is_empty()).then(|| format!("{verb} {}", names.join(", ")))
    };
    let lines = [
        of("Add", |action| matches!(action, Action::Create)),
        of("Update", |action| {
            !matches!(action, Action::Create | Action::Delete)
        }),
        of("Delete", |action| matches!(action, Action::Delete)),
    ];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
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
                replaces: true,
            },
            None => Action::Update,
        },
        "upload" => Action::Upload,
        "delete" => Action::Delete,
        "rename" => Action::Rename {
            from: form
                .opt_text("from_path")?
                .filter(|from| !from.is_empty())
                .unwrap_or(path)
                .to_owned(),
            replaces: false,
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
    let change = Change {
        branch: form.text("branch")?,
        new_branch: form.opt_text("new_branch")?,
        force_new_branch: form.flag("force_push")? || form.flag("force_overwrite_new_branch")?,
        message: if given.is_empty() { default } else { given },
        sign_off: form.flag("signoff")?,
        author: identity(cx, user, form, ["author", "committer"])?,
        committer: identity(cx, user, form, ["committer", "author"])?,
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
        ops::Error::RefClash(words) if cx.app().is_forgejo() => {
            fail::push_rejected(cx.app(), cx.repo().id, &words)
        }
        ops::Error::StaleSha { given, expected } if cx.app().flavor == Flavor::Forgejo15 => {
            Fail::new(
                409,
                &format!("sha does not match [given: {given}, expected: {expected}]"),
            )
        }
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

/// Author or committer; what one lacks is taken from the other, then from the caller
fn identity(
    cx: &InRepo<'_>,
    user: &User,
    form: &Form,
    names: [&str; 2],
) -> Result<Option<Signature>, Fail> {
    let mut signature = ops::signature(cx.app(), user);
    // The nearest comes last and so wins.
    for name in names.into_iter().rev() {
        let Some(given) = form.opt_object(name, "structs.Identity")? else {
            continue;
        };
        let (who, email) = (given.text("name")?, given.text("email")?);
        if !who.is_empty() {
            who.clone_into(&mut signature.name);
        }
        if !email.is_empty() {
            email.clone_into(&mut signature.email);
        }
    }
    let date = match form.object("dates") {
        Some(dates) => dates.text(names[0])?.parse::<jiff::Timestamp>().ok(),
        None => None,
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
fn outside(cx: &InRepo<'_>, path: &str) -> Fail {
    Fail::new(
        500,
        &format!(
            "LsFiles: unable to run git ls-files for temporary repo of: {}, error: exit status 128 - \
             fatal: {path}: '{path}' is outside repository",
            cx.found.full_name()
        ),
    )
}

//! Files: read, and change one or many

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{
    Outcome,
    body::Form,
    fail::{self, Fail},
    reply::Reply,
    request::InRepo,
    wire,
};
use crate::{
    git::{Commit, Entry, Kind, Mode, Oid, Signature},
    ops::{
        self, What,
        access::Access,
        commits,
        contents::{self, Action, Change, Done, FileChange},
    },
    store::users::User,
};

/// Files above this are not put into an answer
const MOST_INLINE: u64 = 10 << 20;

pub(super) fn answer(cx: &InRepo<'_>, path: &[&str]) -> Outcome {
    let file = path[1..].join("/");
    match (cx.req.verb(), file.as_str()) {
        ("GET", _) => read(cx, &clean(&file)),
        ("POST", "") => change_many(cx),
        ("POST", _) => write(cx, &file, Action::Create),
        ("PUT", name) if !name.is_empty() => put(cx, &file),
        ("DELETE", name) if !name.is_empty() => delete(cx, &file),
        _ => Err(Fail::wrong_verb()),
    }
}

/// Resolve `.` and `..` as a path without a root does
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts.join("/")
}

fn read(cx: &InRepo<'_>, path: &str) -> Outcome {
    let (app, repo) = (cx.app(), cx.repo());
    let asked = cx
        .req
        .query("ref")
        .filter(|name| !name.is_empty())
        .unwrap_or(&repo.default_branch);
    let commit = contents::commit_of(app, repo, asked)?;
    let at = At::new(cx, asked, commit)?;
    let entry = contents::entry(app, repo, commit, path)?;
    if entry.mode != Mode::Tree {
        return Ok(Reply::ok(&at.file(cx, path, &entry)?));
    }
    let entries = app.git(repo.id).tree(entry.oid)?;
    Ok(Reply::ok(&at.folder(cx, path, &entries)?))
}

/// Where a read looks: what was asked for, and what it is
struct At {
    asked: String,
    /// `branch`, `tag` or `commit`
    kind: &'static str,
    commit: Oid,
}

impl At {
    fn new(cx: &InRepo<'_>, asked: &str, commit: Oid) -> Result<Self, Fail> {
        let git = cx.app().git(cx.repo().id);
        let kind = if git.branch(asked)?.is_some() {
            "branch"
        } else if git.tag(asked)?.is_some() {
            "tag"
        } else {
            "commit"
        };
        Ok(Self {
            asked: asked.to_owned(),
            kind,
            commit,
        })
    }

    fn folder(&self, cx: &InRepo<'_>, dir: &str, entries: &[Entry]) -> Result<Value, Fail> {
        let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        let last = commits::last(cx.app(), cx.repo(), self.commit, dir, &names)?;
        let mut rows = Vec::new();
        for entry in entries {
            let path = if dir.is_empty() {
                entry.name.clone()
            } else {
                format!("{dir}/{}", entry.name)
            };
            let by = last.get(&entry.name).map(|(oid, commit)| (*oid, commit));
            rows.push(self.shape(cx, &path, entry, by, false)?);
        }
        Ok(rows.into())
    }

    fn file(&self, cx: &InRepo<'_>, path: &str, entry: &Entry) -> Result<Value, Fail> {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        let last = commits::last(cx.app(), cx.repo(), self.commit, dir, &[name.to_owned()])?;
        let by = last.get(name).map(|(oid, commit)| (*oid, commit));
        self.shape(cx, path, entry, by, true)
    }

    fn shape(
        &self,
        cx: &InRepo<'_>,
        path: &str,
        entry: &Entry,
        last: Option<(Oid, &Commit)>,
        inline: bool,
    ) -> Result<Value, Fail> {
        let git = cx.app().git(cx.repo().id);
        let size = if entry.mode.is_blob() {
            git.stat(entry.oid)?.1
        } else {
            0
        };
        let (kind, object) = match entry.mode {
            Mode::Tree => ("dir", "trees"),
            Mode::Symlink => ("symlink", "blobs"),
            Mode::Submodule => ("submodule", "commits"),
            Mode::File | Mode::Executable => ("file", "blobs"),
        };
        let is_file = kind == "file";
        let wanted = inline && is_file && size <= MOST_INLINE;
        let data = if wanted || (kind == "symlink" && inline) {
            Some(git.read_kind(entry.oid, Kind::Blob)?)
        } else {
            None
        };
        let content = data
            .as_ref()
            .filter(|_| is_file)
            .map(|data| BASE64_STANDARD.encode(data));
        let target = data
            .as_ref()
            .filter(|_| !is_file)
            .map(|data| String::from_utf8_lossy(data).into_owned());
        let encoded = wire::path_url(path);
        let asked = wire::path_url(&self.asked);
        let query: String = url::form_urlencoded::byte_serialize(self.asked.as_bytes()).collect();
        let own = format!("{}/contents/{encoded}?ref={query}", cx.api_url());
        let object_url = format!("{}/git/{object}/{}", cx.api_url(), entry.oid);
        let page = format!("{}/src/{}/{asked}/{encoded}", cx.web_url(), self.kind);
        let raw = format!("{}/raw/{}/{asked}/{encoded}", cx.web_url(), self.kind);
        let submodule = if kind == "submodule" {
            self.submodule_url(cx, path)?
        } else {
            None
        };
        let page = (kind != "submodule").then_some(page);
        let mut value = json!({
            "name": entry.name,
            "path": path,
            "sha": entry.oid,
            "last_commit_sha": last.map(|(oid, _)| oid),
            "last_committer_date": last.map(|(_, commit)| commit.committer.date()),
            "last_author_date": last.map(|(_, commit)| commit.author.date()),
            "type": kind,
            "size": size,
            "encoding": content.as_ref().map(|_| "base64"),
            "content": content,
            "target": target,
            "url": own,
            "html_url": page,
            "git_url": object_url,
            "download_url": matches!(kind, "file" | "symlink").then_some(raw),
            "submodule_git_url": submodule,
            "_links": {"self": own, "git": object_url, "html": page},
        });
        if let Some((oid, size)) = data.as_deref().and_then(lfs_pointer) {
            value["lfs_oid"] = oid.into();
            value["lfs_size"] = size.into();
        }
        if cx.app().is_forgejo() {
            let fields = value.as_object_mut().expect("made as an object");
            fields.shift_remove("last_committer_date");
            fields.shift_remove("last_author_date");
        }
        Ok(value)
    }

    /// The address `.gitmodules` gives for a path
    fn submodule_url(&self, cx: &InRepo<'_>, path: &str) -> Result<Option<String>, Fail> {
        let git = cx.app().git(cx.repo().id);
        let tree = git.commit(self.commit)?.tree;
        let Some(file) = git.entry(tree, ".gitmodules")? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&git.read_kind(file.oid, Kind::Blob)?).into_owned();
        let mut here = false;
        for line in text.lines().map(str::trim) {
            match line
                .split_once('=')
                .map(|(name, value)| (name.trim(), value.trim()))
            {
                Some(("path", value)) => here = value == path,
                Some(("url", value)) if here => return Ok(Some(value.to_owned())),
                _ => {}
            }
        }
        Ok(None)
    }
}

fn lfs_pointer(data: &[u8]) -> Option<(String, u64)> {
    let text = std::str::from_utf8(data.get(..data.len().min(1024))?).ok()?;
    let rest = text.strip_prefix("version https://git-lfs.github.com/spec/v1\n")?;
    let field = |name: &str| rest.lines().find_map(|line| line.strip_prefix(name));
    Some((
        field("oid sha256:")?.to_owned(),
        field("size ")?.parse().ok()?,
    ))
}

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

fn put(cx: &InRepo<'_>, path: &str) -> Outcome {
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

fn write(cx: &InRepo<'_>, path: &str, action: Action) -> Outcome {
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

fn delete(cx: &InRepo<'_>, path: &str) -> Outcome {
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

fn change_many(cx: &InRepo<'_>) -> Outcome {
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
        files.push(one_of_many(&Form::from_map(map.clone()))?);
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

fn one_of_many(form: &Form) -> Result<FileChange, Fail> {
    let operation = form.required("operation", "Operation")?;
    let path = form.required("path", "Path")?;
    if path.len() > 500 {
        return Err(Fail::invalid("[Path]: MaxSize"));
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
    let given = form.text("message")?;
    let change = Change {
        branch: form.text("branch")?,
        new_branch: form.opt_text("new_branch")?,
        force_new_branch: form.flag("force_push")? || form.flag("force_overwrite_new_branch")?,
        message: if given.trim().is_empty() {
            default
        } else {
            given
        },
        author: identity(cx, form, "author")?,
        committer: identity(cx, form, "committer")?,
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
        other => other.into(),
    })
}

fn identity(cx: &InRepo<'_>, form: &Form, name: &str) -> Result<Option<Signature>, Fail> {
    let Some(given) = form.object(name) else {
        return Ok(None);
    };
    let (who, email) = (given.text("name")?, given.text("email")?);
    if who.is_empty() || email.is_empty() {
        return Ok(None);
    }
    let mut signature = Signature::new(who, email, cx.app().now());
    let date = form
        .object("dates")
        .and_then(|dates| dates.text(name).ok().map(str::to_owned));
    if let Some(when) = date.and_then(|text| text.parse::<jiff::Timestamp>().ok()) {
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

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
        ("GET", _) => {
            let malformed = || Fail::new(500, &malformed(&file));
            read(cx, &clean(&file).ok_or_else(malformed)?)
        }
        ("POST", "") => change_many(cx),
        ("POST", _) => write(cx, &target(cx, &file)?, Action::Create),
        ("PUT", name) if !name.is_empty() => put(cx, &target(cx, &file)?),
        ("DELETE", name) if !name.is_empty() => delete(cx, &target(cx, &file)?),
        _ => Err(Fail::wrong_verb()),
    }
}

/// Resolve `.` and `..` as a path below a root does; nothing for a path git keeps for itself
fn clean(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other if other.eq_ignore_ascii_case(".git") => return None,
            other => parts.push(other),
        }
    }
    (path.is_empty() || !parts.is_empty()).then(|| parts.join("/"))
}

fn malformed(path: &str) -> String {
    format!("path contains a malformed path component [path: {path}]")
}

/// The path a change is about
fn target(cx: &InRepo<'_>, path: &str) -> Result<String, Fail> {
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
            // A folder is called a blob too: so it is in Gitea.
            Mode::Tree => (
                "dir",
                if cx.app().is_forgejo() {
                    "trees"
                } else {
                    "blobs"
                },
            ),
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
        let object_url = (kind != "submodule" || cx.app().is_forgejo()).then_some(object_url);
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
                replaces: true,
            },
        ),
        None => write(cx, path, Action::Update),
    }
}

fn write(cx: &InRepo<'_>, path: &str, action: Action) -> Outcome {
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

fn delete(cx: &InRepo<'_>, path: &str) -> Outcome {
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
        ops::Error::BranchMoved => Fail::new(409, "branch was changed by another request"),
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
    let date = form
        .object("dates")
        .and_then(|dates| dates.text(names[0]).ok().map(str::to_owned));
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

//! What lies at a path

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::{
    git::{Commit, Entry, Kind, Mode, Oid},
    gitea::{Outcome, fail::Fail, reply::Reply, request::InRepo, wire},
    ops::{self, commits, contents},
};

/// Files above this are not put into an answer
const MOST_INLINE: u64 = 10 << 20;

/// Resolve `.` and `..` as a path below a root does; nothing for a path git keeps for itself
pub(super) fn clean(path: &str) -> Option<String> {
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

pub(super) fn malformed(path: &str) -> String {
    format!("path contains a malformed path component [path: {path}]")
}

pub(super) fn read(cx: &InRepo<'_>, path: &str) -> Outcome {
    let (app, repo) = (cx.app(), cx.repo());
    // Of a repository that it takes for empty Forgejo knows every path.
    if app.still_called_empty(repo.id) || app.is_forgejo() && ops::repos::is_empty(app, repo)? {
        return Ok(Reply::ok(&json!([])));
    }
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
pub(super) struct At {
    pub(super) asked: String,
    /// `branch`, `tag` or `commit`
    pub(super) kind: &'static str,
    pub(super) commit: Oid,
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

    pub(super) fn file(&self, cx: &InRepo<'_>, path: &str, entry: &Entry) -> Result<Value, Fail> {
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
            Mode::Tree if !cx.app().is_forgejo() => ("dir", "blobs"),
            Mode::Tree => ("dir", "trees"),
            Mode::Symlink => ("symlink", "blobs"),
            Mode::Submodule => ("submodule", "commits"),
            Mode::File | Mode::Executable => ("file", "blobs"),
        };
        let is_file = kind == "file";
        let wanted = inline && is_file && size <= MOST_INLINE;
        let data = if wanted || kind == "symlink" {
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
        let object_url =
            (kind != "submodule").then(|| format!("{}/git/{object}/{}", cx.api_url(), entry.oid));
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

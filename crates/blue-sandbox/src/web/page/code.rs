//! Folders and files

use axum::response::Response;

use crate::{
    git::{Commit, Entry, Kind, Mode, Oid},
    web::{
        link::At,
        place::{self, Spot},
        view::{
            files::{self as view, Content, EntryKind, EntryRow, LastCommit, Place},
            repo::Tab,
        },
        visit::{Trouble, Visit},
        when,
    },
};

/// Bytes of a file that a page shows
const SHOWN: u64 = 1 << 20;

/// The repository's first page
pub(in crate::web) fn front(visit: &Visit<'_>) -> Result<Response, Trouble> {
    let branch = &visit.repo().default_branch;
    let Some(commit) = visit.git().branch(branch)? else {
        let content = view::empty_repo(&clone_url(visit), branch);
        return Ok(visit.show(Tab::Code, "", &content));
    };
    let spot = Spot {
        at: At::Branch(branch.clone()),
        commit,
        path: String::new(),
    };
    look(visit, spot, true)
}

/// `src/branch/…`, `src/tag/…`, `src/commit/…`; an older form leaves the kind out
pub(in crate::web) fn source(visit: &Visit<'_>, parts: &[&str]) -> Result<Response, Trouble> {
    let spot = match parts {
        ["branch" | "tag" | "commit", _, ..] => place::named(visit, parts)?,
        _ => place::unnamed(visit, parts)?,
    };
    look(visit, spot, false)
}

/// `blob/…` and `tree/…`
pub(in crate::web) fn anywhere(visit: &Visit<'_>, parts: &[&str]) -> Result<Response, Trouble> {
    look(visit, place::unnamed(visit, parts)?, false)
}

fn look(visit: &Visit<'_>, spot: Spot, front: bool) -> Result<Response, Trouble> {
    let git = visit.git();
    let tree = git.commit(spot.commit)?.tree;
    let found = match spot.path.as_str() {
        "" => None,
        path => Some(git.entry(tree, path)?.ok_or(Trouble::NotFound)?),
    };
    let place = Place {
        link: visit.head.link(),
        repo: visit.head.name.clone(),
        at: spot.at,
        path: spot.path,
    };
    match found {
        None => folder(visit, &place, spot.commit, tree, front),
        Some(Entry {
            mode: Mode::Tree,
            oid,
            ..
        }) => folder(visit, &place, spot.commit, oid, false),
        Some(entry) => file(visit, &place, spot.commit, &entry),
    }
}

fn folder(
    visit: &Visit<'_>,
    place: &Place,
    commit: Oid,
    tree: Oid,
    front: bool,
) -> Result<Response, Trouble> {
    let git = visit.git();
    let mut entries = git.tree(tree)?;
    entries.sort_by_key(|entry| entry.mode != Mode::Tree);
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let last = git.last_commits(commit, &place.path, &names)?;
    let rows: Vec<EntryRow> = entries
        .iter()
        .map(|entry| {
            let touched = last.get(&entry.name);
            EntryRow {
                name: entry.name.clone(),
                kind: kind(entry.mode),
                last: touched
                    .map(|(_, commit)| commit.title().to_owned())
                    .unwrap_or_default(),
                sha: touched.map(|(oid, _)| oid.to_string()).unwrap_or_default(),
            }
        })
        .collect();
    let newest = newest(visit, commit, &place.path)?;
    let readme = match entries.iter().find(|entry| is_readme(entry)) {
        Some(entry) => {
            let text = git.read_kind(entry.oid, Kind::Blob)?;
            Some((
                entry.name.clone(),
                String::from_utf8_lossy(&text).into_owned(),
            ))
        }
        None => None,
    };
    let url = front.then(|| clone_url(visit));
    let readme = readme
        .as_ref()
        .map(|(name, text)| (name.as_str(), text.as_str()));
    let content = view::folder(place, url.as_deref(), newest.as_ref(), &rows, readme);
    Ok(visit.show(Tab::Code, &place.path, &content))
}

fn file(visit: &Visit<'_>, place: &Place, commit: Oid, entry: &Entry) -> Result<Response, Trouble> {
    let git = visit.git();
    let (size, content) = if entry.mode == Mode::Submodule {
        (0, Content::Submodule(entry.oid.to_string()))
    } else {
        let (_, size) = git.stat(entry.oid)?;
        let content = if size > SHOWN {
            Content::TooLarge
        } else {
            let bytes = git.read_kind(entry.oid, Kind::Blob)?;
            match String::from_utf8(bytes) {
                Ok(text) if entry.mode == Mode::Symlink => Content::Target(text),
                Ok(text) if !text.contains('\0') => Content::Text(text),
                _ => Content::Binary,
            }
        };
        (size, content)
    };
    let newest = newest(visit, commit, &place.path)?;
    let content = view::file(place, newest.as_ref(), size, &content);
    Ok(visit.show(Tab::Code, &place.path, &content))
}

/// The commit that made what lies at a path what it is
fn newest(visit: &Visit<'_>, from: Oid, path: &str) -> Result<Option<LastCommit>, Trouble> {
    let git = visit.git();
    if path.is_empty() {
        return Ok(Some(last_commit(from, &git.commit(from)?)));
    }
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let last = git.last_commits(from, folder, &[name.to_owned()])?;
    Ok(last
        .get(name)
        .map(|(oid, commit)| last_commit(*oid, commit)))
}

fn last_commit(oid: Oid, commit: &Commit) -> LastCommit {
    LastCommit {
        sha: oid.to_string(),
        title: commit.title().to_owned(),
        author: commit.author.name.clone(),
        when: when::seconds(commit.committer.seconds),
    }
}

fn kind(mode: Mode) -> EntryKind {
    match mode {
        Mode::Tree => EntryKind::Folder,
        Mode::File | Mode::Executable => EntryKind::File,
        Mode::Symlink => EntryKind::Link,
        Mode::Submodule => EntryKind::Submodule,
    }
}

fn is_readme(entry: &Entry) -> bool {
    let name = entry.name.to_lowercase();
    entry.mode.is_blob() && ["readme", "readme.md", "readme.txt"].contains(&name.as_str())
}

fn clone_url(visit: &Visit<'_>) -> String {
    format!("{}{}.git", visit.app.root_url, visit.head.link().home())
}

//! Rows of repositories, their old names and their collaborators

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use serde::{Deserialize, Serialize};

/// A repository; the bare repository of the same id lies on disk
#[derive(Debug, Clone)]
pub(crate) struct Repo {
    pub(crate) id: i64,
    pub(crate) owner_id: i64,
    pub(crate) name: String,
    pub(crate) default_branch: String,
    pub(crate) private: bool,
    pub(crate) archived_at: Option<i64>,
    pub(crate) fork_of: Option<i64>,
    pub(crate) settings: Settings,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

/// What an owner can edit
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own in the forge's settings"
)]
pub(crate) struct Settings {
    pub(crate) description: String,
    pub(crate) website: String,
    pub(crate) template: bool,
    pub(crate) has_issues: bool,
    pub(crate) has_pull_requests: bool,
    pub(crate) has_actions: bool,
    pub(crate) allow_merge: bool,
    pub(crate) allow_rebase: bool,
    pub(crate) allow_rebase_merge: bool,
    pub(crate) allow_squash: bool,
    pub(crate) allow_fast_forward_only: bool,
    pub(crate) allow_rebase_update: bool,
    pub(crate) allow_manual_merge: bool,
    pub(crate) autodetect_manual_merge: bool,
    pub(crate) ignore_whitespace_conflicts: bool,
    pub(crate) delete_branch_after_merge: bool,
    pub(crate) default_merge_style: String,
    pub(crate) default_allow_maintainer_edit: bool,
    pub(crate) object_format_name: String,
    /// It copies another repository and takes no other change
    pub(crate) mirror: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            description: String::new(),
            website: String::new(),
            template: false,
            has_issues: true,
            has_pull_requests: true,
            has_actions: true,
            allow_merge: true,
            allow_rebase: true,
            allow_rebase_merge: true,
            allow_squash: true,
            allow_fast_forward_only: true,
            allow_rebase_update: true,
            allow_manual_merge: false,
            autodetect_manual_merge: false,
            ignore_whitespace_conflicts: false,
            delete_branch_after_merge: false,
            default_merge_style: "merge".to_owned(),
            default_allow_maintainer_edit: true,
            object_format_name: "sha1".to_owned(),
            mirror: false,
        }
    }
}

const COLUMNS: &str = "id, owner_id, name, default_branch, private, archived_at, fork_of, settings, \
                       created_at, updated_at";

impl Repo {
    fn row(row: &Row<'_>) -> Result<Self> {
        let settings: String = row.get(7)?;
        Ok(Self {
            id: row.get(0)?,
            owner_id: row.get(1)?,
            name: row.get(2)?,
            default_branch: row.get(3)?,
            private: row.get(4)?,
            archived_at: row.get(5)?,
            fork_of: row.get(6)?,
            settings: serde_json::from_str(&settings).unwrap_or_default(),
            created_at: row.get(8)?,
            updated_at: row.get(9)?,
        })
    }
}

pub(crate) fn by_id(c: &Connection, id: i64) -> Result<Option<Repo>> {
    let sql = format!("SELECT {COLUMNS} FROM repos WHERE id = ?1");
    c.prepare_cached(&sql)?
        .query_row([id], Repo::row)
        .optional()
}

pub(crate) fn by_name(c: &Connection, owner_id: i64, name: &str) -> Result<Option<Repo>> {
    let sql = format!("SELECT {COLUMNS} FROM repos WHERE owner_id = ?1 AND key = ?2");
    c.prepare_cached(&sql)?
        .query_row(params![owner_id, name.to_lowercase()], Repo::row)
        .optional()
}

/// The repository that once had this name
pub(crate) fn by_old_name(c: &Connection, owner_id: i64, name: &str) -> Result<Option<Repo>> {
    let id: Option<i64> = c
        .prepare_cached("SELECT repo_id FROM renames WHERE owner_id = ?1 AND key = ?2")?
        .query_row(params![owner_id, name.to_lowercase()], |row| row.get(0))
        .optional()?;
    match id {
        Some(id) => by_id(c, id),
        None => Ok(None),
    }
}

pub(crate) fn all(c: &Connection) -> Result<Vec<Repo>> {
    let sql = format!("SELECT {COLUMNS} FROM repos ORDER BY id");
    c.prepare_cached(&sql)?.query_map([], Repo::row)?.collect()
}

pub(crate) fn of_owner(c: &Connection, owner_id: i64) -> Result<Vec<Repo>> {
    let sql = format!("SELECT {COLUMNS} FROM repos WHERE owner_id = ?1 ORDER BY id");
    c.prepare_cached(&sql)?
        .query_map([owner_id], Repo::row)?
        .collect()
}

/// What a new row needs
#[derive(Debug)]
pub(crate) struct NewRepo<'a> {
    pub(crate) owner_id: i64,
    pub(crate) name: &'a str,
    pub(crate) default_branch: &'a str,
    pub(crate) private: bool,
    pub(crate) fork_of: Option<i64>,
    pub(crate) settings: &'a Settings,
}

pub(crate) fn insert(c: &Connection, new: &NewRepo<'_>, now: Timestamp) -> Result<i64> {
    c.prepare_cached(
        "INSERT INTO repos (owner_id, name, key, default_branch, private, fork_of, settings, \
         created_at, updated_at) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?8)",
    )?
    .execute(params![
        new.owner_id,
        new.name,
        new.name.to_lowercase(),
        new.default_branch,
        new.private,
        new.fork_of,
        json(new.settings),
        now.as_millisecond()
    ])?;
    let id = c.last_insert_rowid();
    forget_name(c, new.owner_id, new.name)?;
    Ok(id)
}

/// Write back everything an owner can edit
pub(crate) fn save(c: &Connection, repo: &Repo, now: Timestamp) -> Result<()> {
    c.prepare_cached(
        "UPDATE repos SET name = ?2, key = ?3, default_branch = ?4, private = ?5, archived_at = ?6, \
         settings = ?7, updated_at = ?8 WHERE id = ?1",
    )?
    .execute(params![
        repo.id,
        repo.name,
        repo.name.to_lowercase(),
        repo.default_branch,
        repo.private,
        repo.archived_at,
        json(&repo.settings),
        now.as_millisecond()
    ])?;
    Ok(())
}

pub(crate) fn remember_name(c: &Connection, owner_id: i64, old: &str, repo_id: i64) -> Result<()> {
    c.execute(
        "INSERT OR REPLACE INTO renames (owner_id, key, repo_id) VALUES (?1,?2,?3)",
        params![owner_id, old.to_lowercase(), repo_id],
    )?;
    Ok(())
}

pub(crate) fn forget_name(c: &Connection, owner_id: i64, name: &str) -> Result<()> {
    c.execute(
        "DELETE FROM renames WHERE owner_id = ?1 AND key = ?2",
        params![owner_id, name.to_lowercase()],
    )?;
    Ok(())
}

pub(crate) fn delete(c: &Connection, id: i64) -> Result<()> {
    c.execute("DELETE FROM repos WHERE id = ?1", [id])?;
    Ok(())
}

pub(crate) fn touch(c: &Connection, id: i64, now: Timestamp) -> Result<()> {
    c.prepare_cached("UPDATE repos SET updated_at = ?2 WHERE id = ?1")?
        .execute(params![id, now.as_millisecond()])?;
    Ok(())
}

/// Take the next number for a pull request or issue
pub(crate) fn take_number(c: &Connection, id: i64) -> Result<i64> {
    c.prepare_cached(
        "UPDATE repos SET next_index = next_index + 1 WHERE id = ?1 RETURNING next_index - 1",
    )?
    .query_row([id], |row| row.get(0))
}

pub(crate) fn permission(c: &Connection, repo_id: i64, user_id: i64) -> Result<Option<String>> {
    c.prepare_cached("SELECT permission FROM collaborators WHERE repo_id = ?1 AND user_id = ?2")?
        .query_row([repo_id, user_id], |row| row.get(0))
        .optional()
}

pub(crate) fn set_permission(c: &Connection, repo_id: i64, user_id: i64, to: &str) -> Result<()> {
    c.execute(
        "INSERT INTO collaborators (repo_id, user_id, permission) VALUES (?1,?2,?3) \
         ON CONFLICT (repo_id, user_id) DO UPDATE SET permission = ?3",
        params![repo_id, user_id, to],
    )?;
    Ok(())
}

pub(crate) fn remove_collaborator(c: &Connection, repo_id: i64, user_id: i64) -> Result<bool> {
    let gone = c.execute(
        "DELETE FROM collaborators WHERE repo_id = ?1 AND user_id = ?2",
        [repo_id, user_id],
    )?;
    Ok(gone > 0)
}

/// Ids of the people who were let in, oldest first
pub(crate) fn collaborators(c: &Connection, repo_id: i64) -> Result<Vec<i64>> {
    c.prepare_cached("SELECT user_id FROM collaborators WHERE repo_id = ?1 ORDER BY rowid")?
        .query_map([repo_id], |row| row.get(0))?
        .collect()
}

pub(crate) fn forks(c: &Connection, id: i64) -> Result<Vec<Repo>> {
    let sql = format!("SELECT {COLUMNS} FROM repos WHERE fork_of = ?1 ORDER BY id");
    c.prepare_cached(&sql)?
        .query_map([id], Repo::row)?
        .collect()
}

fn json(settings: &Settings) -> String {
    serde_json::to_string(settings).expect("settings are plain data")
}

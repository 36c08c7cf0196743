//! Rows of pull requests and their comments

use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use serde::{Deserialize, Serialize};

use crate::git::Oid;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Closed,
    Merged,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Merged => "merged",
        }
    }

    fn parse(name: &str) -> Self {
        match name {
            "closed" => Self::Closed,
            "merged" => Self::Merged,
            _ => Self::Open,
        }
    }
}

/// A merge that waits for its checks
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AutoMerge {
    pub(crate) by: i64,
    pub(crate) style: String,
    pub(crate) title: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) delete_branch: bool,
}

/// A merge that was begun: enough to finish or forget it after a crash
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Intent {
    /// Tip the base branch gets
    pub(crate) new: String,
    pub(crate) by: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct Pull {
    pub(crate) id: i64,
    pub(crate) repo_id: i64,
    pub(crate) number: i64,
    pub(crate) poster_id: i64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) state: State,
    pub(crate) head_repo_id: Option<i64>,
    pub(crate) head_branch: String,
    pub(crate) head_sha: Oid,
    pub(crate) base_branch: String,
    pub(crate) base_sha: Oid,
    pub(crate) merge_base: Oid,
    pub(crate) mergeable: bool,
    pub(crate) checked_head: Option<Oid>,
    pub(crate) checked_base: Option<Oid>,
    pub(crate) stale_until: i64,
    pub(crate) check_until: i64,
    pub(crate) maintainer_edit: bool,
    pub(crate) merge_sha: Option<Oid>,
    pub(crate) merged_by: Option<i64>,
    pub(crate) auto_merge: Option<AutoMerge>,
    pub(crate) intent: Option<Intent>,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) closed_at: Option<i64>,
}

const COLUMNS: &str = "id, repo_id, number, poster_id, title, body, state, head_repo_id, head_branch, \
    head_sha, base_branch, base_sha, merge_base, mergeable, checked_head, checked_base, stale_until, \
    check_until, maintainer_edit, merge_sha, merged_by, auto_merge, intent, created_at, updated_at, \
    closed_at";

impl Pull {
    fn row(row: &Row<'_>) -> Result<Self> {
        let state: String = row.get(6)?;
        let checked = |at: usize| row.get::<_, String>(at).map(|hex| Oid::parse(&hex));
        let auto_merge: Option<String> = row.get(21)?;
        let intent: Option<String> = row.get(22)?;
        Ok(Self {
            id: row.get(0)?,
            repo_id: row.get(1)?,
            number: row.get(2)?,
            poster_id: row.get(3)?,
            title: row.get(4)?,
            body: row.get(5)?,
            state: State::parse(&state),
            head_repo_id: row.get(7)?,
            head_branch: row.get(8)?,
            head_sha: row.get(9)?,
            base_branch: row.get(10)?,
            base_sha: row.get(11)?,
            merge_base: row.get(12)?,
            mergeable: row.get(13)?,
            checked_head: checked(14)?,
            checked_base: checked(15)?,
            stale_until: row.get(16)?,
            check_until: row.get(17)?,
            maintainer_edit: row.get(18)?,
            merge_sha: row.get(19)?,
            merged_by: row.get(20)?,
            auto_merge: auto_merge.and_then(|text| serde_json::from_str(&text).ok()),
            intent: intent.and_then(|text| serde_json::from_str(&text).ok()),
            created_at: row.get(23)?,
            updated_at: row.get(24)?,
            closed_at: row.get(25)?,
        })
    }
}

pub(crate) fn by_number(c: &Connection, repo_id: i64, number: i64) -> Result<Option<Pull>> {
    let sql = format!("SELECT {COLUMNS} FROM pulls WHERE repo_id = ?1 AND number = ?2");
    c.prepare_cached(&sql)?
        .query_row([repo_id, number], Pull::row)
        .optional()
}

pub(crate) fn by_id(c: &Connection, id: i64) -> Result<Option<Pull>> {
    let sql = format!("SELECT {COLUMNS} FROM pulls WHERE id = ?1");
    c.prepare_cached(&sql)?
        .query_row([id], Pull::row)
        .optional()
}

/// All of a repository, newest first
pub(crate) fn of_repo(c: &Connection, repo_id: i64) -> Result<Vec<Pull>> {
    let sql = format!("SELECT {COLUMNS} FROM pulls WHERE repo_id = ?1 ORDER BY number DESC");
    c.prepare_cached(&sql)?
        .query_map([repo_id], Pull::row)?
        .collect()
}

/// Open ones whose head or base is this branch
pub(crate) fn open_at_branch(c: &Connection, repo_id: i64, branch: &str) -> Result<Vec<Pull>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM pulls WHERE state = 'open' AND \
         ((head_repo_id = ?1 AND head_branch = ?2) OR (repo_id = ?1 AND base_branch = ?2)) ORDER BY number"
    );
    c.prepare_cached(&sql)?
        .query_map(params![repo_id, branch], Pull::row)?
        .collect()
}

/// Open ones with a merge that waits
/// Open pull requests whose branch is in this repository and whose base is in another
pub(crate) fn open_from(c: &Connection, repo_id: i64) -> Result<Vec<Pull>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM pulls WHERE head_repo_id = ?1 AND repo_id <> ?1 AND state = 'open'"
    );
    c.prepare_cached(&sql)?
        .query_map([repo_id], Pull::row)?
        .collect()
}

pub(crate) fn scheduled(c: &Connection) -> Result<Vec<Pull>> {
    let sql =
        format!("SELECT {COLUMNS} FROM pulls WHERE state = 'open' AND auto_merge IS NOT NULL");
    c.prepare_cached(&sql)?.query_map([], Pull::row)?.collect()
}

/// Those a crash left in the middle of a merge
pub(crate) fn with_intent(c: &Connection) -> Result<Vec<Pull>> {
    let sql = format!("SELECT {COLUMNS} FROM pulls WHERE intent IS NOT NULL");
    c.prepare_cached(&sql)?.query_map([], Pull::row)?.collect()
}

/// Write a new row; its `id` is ignored and the new one returned
pub(crate) fn insert(c: &Connection, pull: &Pull) -> Result<i64> {
    c.prepare_cached(
        "INSERT INTO pulls (repo_id, number, poster_id, title, head_branch, head_sha, base_branch, \
         base_sha, merge_base, created_at, updated_at) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?10)",
    )?
    .execute(params![
        pull.repo_id,
        pull.number,
        pull.poster_id,
        pull.title,
        pull.head_branch,
        pull.head_sha,
        pull.base_branch,
        pull.base_sha,
        pull.merge_base,
        pull.created_at
    ])?;
    let id = c.last_insert_rowid();
    save(c, &Pull { id, ..pull.clone() })?;
    Ok(id)
}

/// Write a row back
pub(crate) fn save(c: &Connection, pull: &Pull) -> Result<()> {
    let hex = |oid: Option<Oid>| oid.map(|oid| oid.to_string()).unwrap_or_default();
    let auto_merge = pull
        .auto_merge
        .as_ref()
        .map(|it| serde_json::to_string(it).expect("plain data"));
    let intent = pull
        .intent
        .as_ref()
        .map(|it| serde_json::to_string(it).expect("plain data"));
    c.prepare_cached(
        "UPDATE pulls SET title=?2, body=?3, state=?4, head_repo_id=?5, head_branch=?6, head_sha=?7, \
         base_branch=?8, base_sha=?9, merge_base=?10, mergeable=?11, checked_head=?12, checked_base=?13, \
         stale_until=?14, check_until=?15, maintainer_edit=?16, merge_sha=?17, merged_by=?18, \
         auto_merge=?19, intent=?20, updated_at=?21, closed_at=?22 WHERE id=?1",
    )?
    .execute(params![
        pull.id,
        pull.title,
        pull.body,
        pull.state.name(),
        pull.head_repo_id,
        pull.head_branch,
        pull.head_sha,
        pull.base_branch,
        pull.base_sha,
        pull.merge_base,
        pull.mergeable,
        hex(pull.checked_head),
        hex(pull.checked_base),
        pull.stale_until,
        pull.check_until,
        pull.maintainer_edit,
        pull.merge_sha,
        pull.merged_by,
        auto_merge,
        intent,
        pull.updated_at,
        pull.closed_at
    ])?;
    Ok(())
}

/// A comment in the conversation of a pull request
#[derive(Debug, Clone)]
pub(crate) struct Comment {
    pub(crate) id: i64,
    pub(crate) number: i64,
    pub(crate) user_id: i64,
    pub(crate) body: String,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

impl Comment {
    fn row(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            number: row.get(1)?,
            user_id: row.get(2)?,
            body: row.get(3)?,
            created_at: row.get(4)?,
            updated_at: row.get(5)?,
        })
    }
}

pub(crate) fn comments(c: &Connection, repo_id: i64, number: i64) -> Result<Vec<Comment>> {
    c.prepare_cached(
        "SELECT id, number, user_id, body, created_at, updated_at FROM comments \
         WHERE repo_id = ?1 AND number = ?2 ORDER BY id",
    )?
    .query_map([repo_id, number], Comment::row)?
    .collect()
}

pub(crate) fn comment(c: &Connection, repo_id: i64, id: i64) -> Result<Option<Comment>> {
    c.prepare_cached(
        "SELECT id, number, user_id, body, created_at, updated_at FROM comments \
         WHERE repo_id = ?1 AND id = ?2",
    )?
    .query_row([repo_id, id], Comment::row)
    .optional()
}

pub(crate) fn insert_comment(
    c: &Connection,
    repo_id: i64,
    number: i64,
    user_id: i64,
    body: &str,
    now: i64,
) -> Result<i64> {
    c.execute(
        "INSERT INTO comments (repo_id, number, user_id, body, created_at, updated_at) \
         VALUES (?1,?2,?3,?4,?5,?5)",
        params![repo_id, number, user_id, body, now],
    )?;
    Ok(c.last_insert_rowid())
}

pub(crate) fn save_comment(c: &Connection, id: i64, body: &str, now: i64) -> Result<()> {
    c.execute(
        "UPDATE comments SET body = ?2, updated_at = ?3 WHERE id = ?1",
        params![id, body, now],
    )?;
    Ok(())
}

pub(crate) fn delete_comment(c: &Connection, id: i64) -> Result<()> {
    c.execute("DELETE FROM comments WHERE id = ?1", [id])?;
    Ok(())
}

/// Record that a push to `refs/for/` made the pull request
pub(crate) fn mark_agit(c: &Connection, pull_id: i64) -> Result<()> {
    c.execute("INSERT INTO agit_pulls (pull_id) VALUES (?1)", [pull_id])?;
    Ok(())
}

pub(crate) fn is_agit(c: &Connection, pull_id: i64) -> Result<bool> {
    c.prepare_cached("SELECT EXISTS (SELECT 1 FROM agit_pulls WHERE pull_id = ?1)")?
        .query_row([pull_id], |row| row.get(0))
}

/// One line of a timeline
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: i64,
    pub(crate) kind: String,
    pub(crate) user_id: i64,
    pub(crate) created_at: i64,
}

/// The timeline of a pull request, oldest first
pub(crate) fn events(c: &Connection, pull_id: i64) -> Result<Vec<Event>> {
    c.prepare_cached(
        "SELECT id, kind, user_id, created_at FROM pull_events WHERE pull_id = ?1 ORDER BY id",
    )?
    .query_map([pull_id], |row| {
        Ok(Event {
            id: row.get(0)?,
            kind: row.get(1)?,
            user_id: row.get(2)?,
            created_at: row.get(3)?,
        })
    })?
    .collect()
}

pub(crate) fn insert_event(
    c: &Connection,
    pull_id: i64,
    kind: &str,
    user_id: i64,
    now: i64,
) -> Result<()> {
    c.execute(
        "INSERT INTO pull_events (pull_id, kind, user_id, created_at) VALUES (?1,?2,?3,?4)",
        params![pull_id, kind, user_id, now],
    )?;
    Ok(())
}

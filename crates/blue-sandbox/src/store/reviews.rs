//! Rows of reviews

use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use serde::{Deserialize, Serialize};

use crate::git::Oid;

/// A comment on a line
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LineComment {
    pub(crate) path: String,
    pub(crate) body: String,
    #[serde(default)]
    pub(crate) old_position: i64,
    #[serde(default)]
    pub(crate) new_position: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct Review {
    pub(crate) id: i64,
    pub(crate) pull_id: i64,
    pub(crate) user_id: i64,
    pub(crate) state: String,
    pub(crate) body: String,
    pub(crate) commit_id: Oid,
    pub(crate) official: bool,
    pub(crate) dismissed: bool,
    pub(crate) comments: Vec<LineComment>,
    pub(crate) submitted_at: i64,
    pub(crate) updated_at: i64,
}

const COLUMNS: &str = "id, pull_id, user_id, state, body, commit_id, official, dismissed, comments, \
                       submitted_at, updated_at";

impl Review {
    fn row(row: &Row<'_>) -> Result<Self> {
        let comments: String = row.get(8)?;
        Ok(Self {
            id: row.get(0)?,
            pull_id: row.get(1)?,
            user_id: row.get(2)?,
            state: row.get(3)?,
            body: row.get(4)?,
            commit_id: row.get(5)?,
            official: row.get(6)?,
            dismissed: row.get(7)?,
            comments: serde_json::from_str(&comments).unwrap_or_default(),
            submitted_at: row.get(9)?,
            updated_at: row.get(10)?,
        })
    }
}

pub(crate) fn of_pull(c: &Connection, pull_id: i64) -> Result<Vec<Review>> {
    let sql = format!("SELECT {COLUMNS} FROM reviews WHERE pull_id = ?1 ORDER BY id");
    c.prepare_cached(&sql)?
        .query_map([pull_id], Review::row)?
        .collect()
}

pub(crate) fn by_id(c: &Connection, pull_id: i64, id: i64) -> Result<Option<Review>> {
    let sql = format!("SELECT {COLUMNS} FROM reviews WHERE pull_id = ?1 AND id = ?2");
    c.prepare_cached(&sql)?
        .query_row([pull_id, id], Review::row)
        .optional()
}

/// Write a new row; its `id` is ignored and the new one returned
pub(crate) fn insert(c: &Connection, review: &Review) -> Result<i64> {
    c.prepare_cached(
        "INSERT INTO reviews (pull_id, user_id, state, body, commit_id, official, dismissed, comments, \
         submitted_at, updated_at) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
    )?
    .execute(params![
        review.pull_id,
        review.user_id,
        review.state,
        review.body,
        review.commit_id,
        review.official,
        review.dismissed,
        serde_json::to_string(&review.comments).expect("plain data"),
        review.submitted_at,
        review.updated_at
    ])?;
    Ok(c.last_insert_rowid())
}

pub(crate) fn save(c: &Connection, review: &Review) -> Result<()> {
    c.prepare_cached(
        "UPDATE reviews SET state=?2, body=?3, official=?4, dismissed=?5, submitted_at=?6, updated_at=?7, \
         commit_id=?8, comments=?9 WHERE id=?1",
    )?
    .execute(params![
        review.id,
        review.state,
        review.body,
        review.official,
        review.dismissed,
        review.submitted_at,
        review.updated_at,
        review.commit_id,
        serde_json::to_string(&review.comments).expect("plain data")
    ])?;
    Ok(())
}

pub(crate) fn delete(c: &Connection, id: i64) -> Result<()> {
    c.execute("DELETE FROM reviews WHERE id = ?1", [id])?;
    Ok(())
}

//! Rows of teams, their members and their repositories

use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use serde_json::{Map, Value};

/// A team of an organisation
#[derive(Debug, Clone)]
pub(crate) struct Team {
    pub(crate) id: i64,
    pub(crate) org_id: i64,
    pub(crate) name: String,
    /// `read`, `write` or `admin`
    pub(crate) permission: String,
    /// The level of each unit, such as `repo.code`
    pub(crate) units: Map<String, Value>,
    pub(crate) all_repositories: bool,
}

impl Team {
    fn row(row: &Row<'_>) -> Result<Self> {
        let units: String = row.get(4)?;
        Ok(Self {
            id: row.get(0)?,
            org_id: row.get(1)?,
            name: row.get(2)?,
            permission: row.get(3)?,
            units: serde_json::from_str(&units).unwrap_or_default(),
            all_repositories: row.get(5)?,
        })
    }

    /// The level of a unit; none where the team has no part in it
    pub(crate) fn level(&self, unit: &str) -> Option<&str> {
        if self.permission == "admin" {
            return Some("admin");
        }
        self.units
            .get(unit)
            .and_then(Value::as_str)
            .filter(|level| *level != "none")
    }
}

const TEAM: &str = "SELECT id, org_id, name, permission, units, all_repositories FROM teams";

pub(crate) fn by_id(c: &Connection, id: i64) -> Result<Option<Team>> {
    c.prepare_cached(&format!("{TEAM} WHERE id = ?1"))?
        .query_row([id], Team::row)
        .optional()
}

pub(crate) fn of_org(c: &Connection, org_id: i64) -> Result<Vec<Team>> {
    c.prepare_cached(&format!("{TEAM} WHERE org_id = ?1 ORDER BY id"))?
        .query_map([org_id], Team::row)?
        .collect()
}

/// The teams that let a user into a repository of an organisation
pub(crate) fn of_user(
    c: &Connection,
    org_id: i64,
    repo_id: i64,
    user_id: i64,
) -> Result<Vec<Team>> {
    c.prepare_cached(&format!(
        "{TEAM} WHERE org_id = ?1 \
         AND id IN (SELECT team_id FROM team_members WHERE user_id = ?3) \
         AND (all_repositories OR id IN (SELECT team_id FROM team_repos WHERE repo_id = ?2))"
    ))?
    .query_map([org_id, repo_id, user_id], Team::row)?
    .collect()
}

/// Write a new row; its `id` is ignored and the new one returned
pub(crate) fn insert(c: &Connection, team: &Team) -> Result<i64> {
    let units = serde_json::to_string(&team.units).expect("plain data");
    c.execute(
        "INSERT INTO teams (org_id, name, permission, units, all_repositories) \
         VALUES (?1,?2,?3,?4,?5)",
        params![
            team.org_id,
            team.name,
            team.permission,
            units,
            team.all_repositories
        ],
    )?;
    Ok(c.last_insert_rowid())
}

pub(crate) fn add_member(c: &Connection, team_id: i64, user_id: i64) -> Result<()> {
    c.execute(
        "INSERT OR IGNORE INTO team_members (team_id, user_id) VALUES (?1,?2)",
        [team_id, user_id],
    )?;
    Ok(())
}

pub(crate) fn add_repository(c: &Connection, team_id: i64, repo_id: i64) -> Result<()> {
    c.execute(
        "INSERT OR IGNORE INTO team_repos (team_id, repo_id) VALUES (?1,?2)",
        [team_id, repo_id],
    )?;
    Ok(())
}

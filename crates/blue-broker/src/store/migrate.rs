//! Bringing a database up to date: every step in one transaction, none for a newer schema

use sqlx::AssertSqlSafe;

use super::{
    StoreError, Wrapping,
    db::{Db, reading},
    token_keys::key_all_hashes,
};

/// One step from a schema to the next
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    sql: &'static str,
    /// Whether the hashes of tokens are keyed afterwards, which SQL cannot do
    keys_hashes: bool,
}

impl Step {
    pub(super) const fn sql(sql: &'static str) -> Self {
        Self {
            sql,
            keys_hashes: false,
        }
    }

    const fn then_key_hashes(self) -> Self {
        Self {
            keys_hashes: true,
            ..self
        }
    }
}

/// Every step there is; a step that was released is never changed
pub(super) const ALL: &[Step] = &[
    Step::sql(include_str!("migrations/0001.sql")),
    Step::sql(include_str!("migrations/0002.sql")),
    Step::sql(include_str!("migrations/0003.sql")),
    Step::sql(include_str!("migrations/0004.sql")).then_key_hashes(),
];

pub(super) async fn run(db: &Db, steps: &[Step], by: Wrapping<'_>) -> Result<(), StoreError> {
    match db {
        Db::Sqlite { write, .. } => {
            let mut on = write.begin_with("BEGIN IMMEDIATE").await?;
            sqlx::query(VERSIONS).execute(&mut *on).await?;
            let (found,): (i64,) = sqlx::query_as(NEWEST).fetch_one(&mut *on).await?;
            for (version, step) in missing(found, steps)? {
                sqlx::raw_sql(step.sql).execute(&mut *on).await?;
                if step.keys_hashes {
                    key_all_hashes!(on, by);
                }
                sqlx::query(DONE).bind(version).execute(&mut *on).await?;
            }
            on.commit().await?;
        }
        Db::Postgres(pool) => {
            let mut on = pool.begin().await?;
            // Two replicas may start at once.
            sqlx::query("SELECT pg_advisory_xact_lock(7031944)")
                .execute(&mut *on)
                .await?;
            sqlx::query(VERSIONS).execute(&mut *on).await?;
            let (found,): (i64,) = sqlx::query_as(NEWEST).fetch_one(&mut *on).await?;
            for (version, step) in missing(found, steps)? {
                let sql = step.sql.replace("BLOB", "BYTEA");
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *on).await?;
                if step.keys_hashes {
                    key_all_hashes!(on, by);
                }
                sqlx::query(DONE).bind(version).execute(&mut *on).await?;
            }
            on.commit().await?;
        }
    }
    Ok(())
}

/// Check that every step was made, without making any
pub(super) async fn check(db: &Db, steps: &[Step]) -> Result<(), StoreError> {
    if !has_table(db, "schema_steps").await? {
        return Err(StoreError::Empty);
    }
    let (found,): (i64,) = reading!(db, |on| { sqlx::query_as(NEWEST).fetch_one(on).await? });
    match missing(found, steps)?.last() {
        None => Ok(()),
        Some(&(known, _)) => Err(StoreError::Older { found, known }),
    }
}

/// Whether a table is there, in whatever schema the database has
pub(super) async fn has_table(db: &Db, name: &str) -> Result<bool, StoreError> {
    const SQLITE: &str = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = $1";
    const POSTGRES: &str = "SELECT COUNT(to_regclass($1))";
    let (tables,): (i64,) = match db {
        Db::Sqlite { read, .. } => sqlx::query_as(SQLITE).bind(name).fetch_one(read).await?,
        Db::Postgres(pool) => sqlx::query_as(POSTGRES).bind(name).fetch_one(pool).await?,
    };
    Ok(tables > 0)
}

const VERSIONS: &str =
    "CREATE TABLE IF NOT EXISTS schema_steps (version BIGINT NOT NULL PRIMARY KEY)";
const NEWEST: &str = "SELECT CAST(COALESCE(MAX(version), 0) AS BIGINT) FROM schema_steps";
const DONE: &str = "INSERT INTO schema_steps (version) VALUES ($1)";

/// The steps after `found`, each with its number
fn missing(found: i64, steps: &[Step]) -> Result<Vec<(i64, Step)>, StoreError> {
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    let numbered = (1..).zip(steps.iter().copied());
    Ok(numbered.filter(|(version, _)| *version > found).collect())
}

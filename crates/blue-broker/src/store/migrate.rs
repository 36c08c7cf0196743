//! Bringing a database up to date: every step in one transaction, none for a newer schema

use sqlx::AssertSqlSafe;

use super::{
    StoreError,
    db::{Db, reading},
};

/// Every step there is; a step that was released is never changed
pub(super) const ALL: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
];

pub(super) async fn run(db: &Db, steps: &[&str]) -> Result<(), StoreError> {
    match db {
        Db::Sqlite { write, .. } => {
            let mut on = write.begin_with("BEGIN IMMEDIATE").await?;
            sqlx::query(VERSIONS).execute(&mut *on).await?;
            let (found,): (i64,) = sqlx::query_as(NEWEST).fetch_one(&mut *on).await?;
            for (version, step) in missing(found, steps)? {
                sqlx::raw_sql(AssertSqlSafe(step.to_owned()))
                    .execute(&mut *on)
                    .await?;
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
                let step = step.replace("BLOB", "BYTEA");
                sqlx::raw_sql(AssertSqlSafe(step)).execute(&mut *on).await?;
                sqlx::query(DONE).bind(version).execute(&mut *on).await?;
            }
            on.commit().await?;
        }
    }
    Ok(())
}

/// Look whether every step was made, and make none
pub(super) async fn check(db: &Db, steps: &[&str]) -> Result<(), StoreError> {
    let (tables,): (i64,) = match db {
        Db::Sqlite { read, .. } => sqlx::query_as(SQLITE_TABLES).fetch_one(read).await?,
        Db::Postgres(pool) => sqlx::query_as(POSTGRES_TABLES).fetch_one(pool).await?,
    };
    if tables == 0 {
        return Err(StoreError::Empty);
    }
    let (found,): (i64,) = reading!(db, |on| { sqlx::query_as(NEWEST).fetch_one(on).await? });
    match missing(found, steps)?.last() {
        None => Ok(()),
        Some(&(known, _)) => Err(StoreError::Older { found, known }),
    }
}

const SQLITE_TABLES: &str =
    "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_steps'";
const POSTGRES_TABLES: &str = "SELECT COUNT(to_regclass('schema_steps'))";
const VERSIONS: &str =
    "CREATE TABLE IF NOT EXISTS schema_steps (version BIGINT NOT NULL PRIMARY KEY)";
const NEWEST: &str = "SELECT CAST(COALESCE(MAX(version), 0) AS BIGINT) FROM schema_steps";
const DONE: &str = "INSERT INTO schema_steps (version) VALUES ($1)";

/// The steps after `found`, each with its number
fn missing<'a>(found: i64, steps: &'a [&str]) -> Result<Vec<(i64, &'a str)>, StoreError> {
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    let numbered = (1..).zip(steps.iter().copied());
    Ok(numbered.filter(|(version, _)| *version > found).collect())
}

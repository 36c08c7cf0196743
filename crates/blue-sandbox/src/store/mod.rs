//! The one SQLite file of a sandbox
//!
//! Write-ahead log: readers never wait for the writer, and a killed process leaves either all of a
//! transaction or nothing of it.

pub(crate) mod checks;
pub(crate) mod protections;
pub(crate) mod pulls;
pub(crate) mod repos;
pub(crate) mod reviews;
pub(crate) mod teams;
pub(crate) mod users;

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// One schema per concern; each statement may run again
const SCHEMAS: &[&str] = &[
    include_str!("schema/users.sql"),
    include_str!("schema/repos.sql"),
    include_str!("schema/teams.sql"),
    include_str!("schema/pulls.sql"),
    include_str!("schema/checks.sql"),
    include_str!("../oauth/schema.sql"),
];

/// Idle connections kept for reading
const IDLE_READERS: usize = 4;

#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
}

impl Store {
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Self> {
        let writer = connect(path)?;
        for schema in SCHEMAS {
            writer.execute_batch(schema)?;
        }
        Ok(Self {
            path: path.to_owned(),
            writer: Mutex::new(writer),
            readers: Mutex::default(),
        })
    }

    /// Look something up
    pub(crate) fn read<T, E: From<rusqlite::Error>>(
        &self,
        body: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let idle = self
            .readers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connect(&self.path)?,
        };
        let result = body(&connection);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < IDLE_READERS {
            readers.push(connection);
        }
        result
    }

    /// Change something: all of it, or nothing when the body fails
    ///
    /// Writers take turns, so what the body reads stays true until it ends. A body must not call
    /// `write` again.
    pub(crate) fn write<T, E: From<rusqlite::Error>>(
        &self,
        body: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = body(&tx)?;
        tx.commit()?;
        Ok(result)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", -512)?;
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

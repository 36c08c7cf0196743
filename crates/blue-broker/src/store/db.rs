//! Two kinds of database behind one enum

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    Connection as _, PgConnection, PgPool, SqlitePool,
    postgres::PgPoolOptions,
    sqlite::{
        SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions,
        SqliteSynchronous,
    },
};

use tokio::time::timeout;

use super::{Store, StoreError, Wrapping, migrate};
use crate::config::{self, Database};

/// How long a writer waits for another process that holds the lock of the file
pub(super) const BUSY: Duration = Duration::from_secs(5);
/// Timeout of a connection to PostgreSQL
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(super) enum Db {
    Sqlite {
        read: SqlitePool,
        /// One connection: writers queue here instead of at the file's lock
        write: SqlitePool,
    },
    Postgres(PgPool),
}

/// Run a query that only reads
macro_rules! reading {
    ($db:expr, |$on:ident| $body:expr) => {
        match $db {
            $crate::store::db::Db::Sqlite { read: $on, .. } => $body,
            $crate::store::db::Db::Postgres($on) => $body,
        }
    };
}

/// Run one query that writes
macro_rules! writing {
    ($db:expr, |$on:ident| $body:expr) => {
        match $db {
            $crate::store::db::Db::Sqlite { write: $on, .. } => $body,
            $crate::store::db::Db::Postgres($on) => $body,
        }
    };
}

/// Run several queries in a transaction; `?` inside rolls back
macro_rules! together {
    ($db:expr, |$on:ident| $body:expr) => {
        match $db {
            $crate::store::db::Db::Sqlite { write, .. } => {
                let mut $on = write.begin_with("BEGIN IMMEDIATE").await?;
                let done = $body;
                $on.commit().await?;
                done
            }
            $crate::store::db::Db::Postgres(pool) => {
                let mut $on = pool.begin().await?;
                let done = $body;
                $on.commit().await?;
                done
            }
        }
    };
}

/// A query with the current time in it, in ms by the clock of the database; `$sql` is a macro of
/// the time
macro_rules! by_its_clock {
    ($db:expr, $sql:ident) => {
        match $db {
            $crate::store::db::Db::Sqlite { .. } => {
                $sql!("CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)")
            }
            $crate::store::db::Db::Postgres(_) => {
                $sql!("CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)")
            }
        }
    };
}

pub(super) use {by_its_clock, reading, together, writing};

impl Store {
    /// Connect to the database, create it if there is none, and change nothing else yet
    pub(crate) async fn connect(database: &Database) -> Result<Connected, StoreError> {
        let db = match database {
            Database::Sqlite(path) => sqlite(path).await?,
            Database::Postgres(url) => postgres(url.expose()).await?,
        };
        Ok(Connected(Self::of(db, database)))
    }

    /// Open an existing database with an up-to-date schema, without changing anything
    ///
    /// Another program may be using it, and may be older than this one.
    pub(crate) async fn open_beside(database: &Database) -> Result<Self, StoreError> {
        let db = match database {
            Database::Sqlite(path) => pools(common(path)).await?,
            Database::Postgres(url) => postgres(url.expose()).await?,
        };
        let store = Self::of(db, database);
        let checked = migrate::check(&store.db, migrate::ALL).await;
        if checked.is_err() {
            store.close().await;
        }
        checked.map(|()| store)
    }

    pub(super) fn of(db: Db, database: &Database) -> Self {
        let file = match database {
            Database::Sqlite(path) => Some(SameFile::of(path)),
            Database::Postgres(_) => None,
        };
        Self {
            db,
            file,
            token_key: None,
        }
    }

    /// Whether rows can be read and written, in the database that was opened
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        const READ: &str = "SELECT EXISTS (SELECT 1 FROM users), EXISTS (SELECT 1 FROM grants), \
            EXISTS (SELECT 1 FROM pairs), EXISTS (SELECT 1 FROM clients)";
        const WRITE: &str = "UPDATE schema_steps SET version = version WHERE version = 1";
        // A deleted or replaced file can still be written to, but no other process would find the
        // rows.
        if let Some(file) = &self.file
            && !file.is_there()
        {
            return Err(StoreError::Replaced);
        }
        reading!(&self.db, |on| {
            sqlx::query(READ).execute(on).await?;
        });
        // A row is written unchanged: only a write notices a full disk or a read-only database.
        writing!(&self.db, |on| {
            sqlx::query(WRITE).execute(on).await?;
        });
        Ok(())
    }

    pub(crate) async fn close(&self) {
        match &self.db {
            Db::Sqlite { read, write } => {
                read.close().await;
                write.close().await;
            }
            Db::Postgres(pool) => pool.close().await,
        }
    }
}

/// A database of any schema, or of none yet
#[derive(Debug)]
pub(crate) struct Connected(Store);

impl Connected {
    /// Ids of the master keys that the rows need
    pub(crate) async fn key_ids(&self) -> Result<Vec<String>, StoreError> {
        let Self(store) = self;
        let mut ids = Vec::new();
        if migrate::has_table(&store.db, "users").await? {
            ids = store.key_ids_of_users().await?;
        }
        if migrate::has_table(&store.db, "token_keys").await? {
            ids.push(store.wrapped_token_key().await?.key_id);
        }
        Ok(ids)
    }

    /// Bring the database up to date, and learn the key of its token hashes
    pub(crate) async fn open(self, by: Wrapping<'_>) -> Result<Store, StoreError> {
        let Self(mut store) = self;
        migrate::run(&store.db, migrate::ALL, by).await?;
        store.token_key = Some(store.open_token_key(by.ring).await?);
        Ok(store)
    }
}

pub(super) async fn sqlite(path: &Path) -> Result<Db, StoreError> {
    private_file(path).map_err(|source| StoreError::File {
        path: path.display().to_string(),
        source,
    })?;
    pools(common(path).journal_mode(SqliteJournalMode::Wal)).await
}

/// Options that all connections to the file have in common
fn common(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .synchronous(SqliteSynchronous::Normal)
        .auto_vacuum(SqliteAutoVacuum::None)
        .busy_timeout(BUSY)
        .foreign_keys(false)
        .pragma("secure_delete", "ON")
        .pragma("temp_store", "MEMORY")
        .pragma("cache_size", "-2000")
        .statement_cache_capacity(64)
}

async fn pools(options: SqliteConnectOptions) -> Result<Db, StoreError> {
    // Created first: only this connection turns the write-ahead log on.
    let write = SqlitePoolOptions::new()
        .max_connections(1)
        .test_before_acquire(false)
        // On a full disk SQLite rolls a transaction back by itself. The rollback of sqlx then
        // fails, so it counts the transaction as open and would refuse to begin another on this
        // connection.
        .before_acquire(|on, _| Box::pin(async move { Ok(!on.is_in_transaction()) }))
        .connect_with(options.clone())
        .await?;
    let read = SqlitePoolOptions::new()
        .max_connections(4)
        .test_before_acquire(false)
        .connect_lazy_with(options);
    Ok(Db::Sqlite { read, write })
}

/// Identity of the file that was opened, to notice another in its place
#[derive(Debug, Clone)]
pub(super) struct SameFile {
    path: PathBuf,
    id: Option<(u64, u64)>,
}

impl SameFile {
    fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            id: identity(path),
        }
    }

    fn is_there(&self) -> bool {
        self.path.is_file() && identity(&self.path) == self.id
    }
}

/// Device and number of a file, where systems have them
fn identity(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let found = path.metadata().ok()?;
        Some((found.dev(), found.ino()))
    }
    #[cfg(not(unix))]
    None
}

/// Create the file for its owner only, before SQLite would create it with wider permissions
fn private_file(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?;
    Ok(())
}

pub(super) async fn postgres(url: &str) -> Result<Db, StoreError> {
    let options = config::postgres_options(url)?;
    // If the first connection of a pool fails, the pool reports only a timeout.
    let first = timeout(PATIENCE, PgConnection::connect_with(&options)).await;
    first
        .map_err(|_| sqlx::Error::PoolTimedOut)??
        .close()
        .await?;
    let pool = PgPoolOptions::new()
        .max_connections(10)
        // A restarted server has closed all connections, and the next ten requests would fail.
        .test_before_acquire(true)
        .acquire_timeout(PATIENCE)
        .connect_with(options)
        .await?;
    Ok(Db::Postgres(pool))
}

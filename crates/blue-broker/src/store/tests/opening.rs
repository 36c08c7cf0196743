//! Databases as they are found: older, newer, full, gone

use super::*;

#[tokio::test]
async fn a_newer_schema_is_refused_and_nothing_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    let store = sqlite(&dir).await;
    sqlx::query("INSERT INTO schema_steps (version) VALUES (99)")
        .execute(match &store.db {
            Db::Sqlite { write, .. } => write,
            Db::Postgres(_) => unreachable!(),
        })
        .await
        .unwrap();
    store.close().await;
    let path = dir.path().join("broker.db");
    let before = std::fs::read(&path).unwrap();
    let database = Database::Sqlite(path.clone());
    let refused = open(&database).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Newer { found: 99, .. }),
        "{refused}"
    );
    assert!(before == std::fs::read(&path).unwrap(), "it was changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_earlier_schema_is_brought_up_to_date() {
    let server = blue_testkit::Postgres::start();
    for known in 1..=migrate::ALL.len() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("old.db");
        let db = db::sqlite(&path).await.unwrap();
        brought_up_to_date(db, known, Database::Sqlite(path)).await;
        if let Some(server) = &server {
            let url = server.database(&format!("from_{known}")).unwrap();
            let db = db::postgres(&url).await.unwrap();
            brought_up_to_date(db, known, Database::Postgres(Secret::new(url))).await;
        }
    }
}

async fn brought_up_to_date(old: Db, known: usize, database: Database) {
    const ADD: &str = "INSERT INTO users (id, forge, forge_user, login, key_id, wrapped_key, state, \
        version, access_expires_at, created_at, updated_at) \
        VALUES ('u', 'f', '1', 'ada', 'k', $1, 'reconnect', 3, 0, 0, 0)";
    migrate_to(&old, &migrate::ALL[..known]).await.unwrap();
    match old {
        Db::Sqlite { write, read } => {
            let added = sqlx::query(ADD).bind(vec![7_u8]).execute(&write).await;
            added.unwrap();
            write.close().await;
            read.close().await;
        }
        Db::Postgres(pool) => {
            let added = sqlx::query(ADD).bind(vec![7_u8]).execute(&pool).await;
            added.unwrap();
            pool.close().await;
        }
    }
    let store = open(&database).await.unwrap();
    let user = store.user("u").await.unwrap().unwrap();
    assert_eq!((user.version, user.scope), (3, None), "from {known}");
    assert_eq!(user.key.sealed, [7]);
    store.close().await;
}

#[tokio::test]
async fn a_step_that_fails_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let store = sqlite(&dir).await;
    let mut steps = migrate::ALL.to_vec();
    steps.push(migrate::Step::sql(
        "CREATE TABLE half (a TEXT); CREATE TABLE clients (a TEXT);",
    ));
    assert!(migrate_to(&store.db, &steps).await.is_err());
    // The table of the failed step is not there: the same name can be made.
    *steps.last_mut().unwrap() = migrate::Step::sql("CREATE TABLE half (a TEXT)");
    migrate_to(&store.db, &steps).await.unwrap();
    migrate_to(&store.db, &steps).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn the_files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;

    let dir = tempfile::tempdir().unwrap();
    let store = sqlite(&dir).await;
    store.put_client(&client("A", None)).await.unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.file_name());
        seen += 1;
    }
    assert_eq!(seen, 3, "database, log, index");
}

#[tokio::test]
async fn a_full_disk_is_over_when_there_is_room_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = sqlite(&dir).await;
    let Db::Sqlite { write, .. } = &store.db else {
        unreachable!()
    };
    let room = async |pages: &str| {
        let sql = format!("PRAGMA max_page_count = {pages}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql))
            .execute(write)
            .await
            .unwrap();
    };
    let fill = async || -> Result<(), StoreError> {
        together!(&store.db, |on| {
            for _ in 0..50 {
                let sql = "INSERT INTO audit (id, at, event, detail) \
                    VALUES (hex(randomblob(8)), 0, 'x', hex(randomblob(4000)))";
                sqlx::query(sql).execute(&mut *on).await?;
            }
        });
        Ok(())
    };
    // As small as it is: SQLite takes nothing less.
    room("1").await;
    let refused = fill().await.unwrap_err();
    assert!(refused.to_string().contains("full"), "{refused}");
    room("1000000").await;
    fill().await.unwrap();
}

#[tokio::test]
async fn ping_notices_what_can_no_more_be_read_or_written() {
    for (harm, said) in [
        ("DROP TABLE pairs", "no such table"),
        ("PRAGMA query_only = ON", "readonly"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = sqlite(&dir).await;
        store.ping().await.unwrap();
        let Db::Sqlite { write, .. } = &store.db else {
            unreachable!()
        };
        sqlx::raw_sql(harm).execute(write).await.unwrap();
        let found = store.ping().await.unwrap_err().to_string();
        assert!(found.contains(said), "{harm}: {found}");
    }
    let dir = tempfile::tempdir().unwrap();
    let store = sqlite(&dir).await;
    let (path, aside) = (dir.path().join("broker.db"), dir.path().join("aside"));
    std::fs::rename(&path, &aside).unwrap();
    assert!(matches!(store.ping().await, Err(StoreError::Replaced)));
    std::fs::write(&path, "").unwrap();
    assert!(matches!(store.ping().await, Err(StoreError::Replaced)));
    std::fs::rename(&aside, &path).unwrap();
    store.ping().await.unwrap();
}

#[tokio::test]
async fn opening_beside_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("broker.db");
    let database = Database::Sqlite(path.clone());
    assert!(Store::open_beside(&database).await.is_err());
    assert!(!path.exists());
    std::fs::write(&path, "").unwrap();
    let empty = Store::open_beside(&database).await;
    assert!(matches!(empty, Err(StoreError::Empty)), "{empty:?}");
    assert_eq!(std::fs::read(&path).unwrap(), b"");
    let db = db::sqlite(&path).await.unwrap();
    migrate_to(&db, &migrate::ALL[..1]).await.unwrap();
    for _ in 0..2 {
        let older = Store::open_beside(&database).await;
        let is_older = matches!(older, Err(StoreError::Older { found: 1, .. }));
        assert!(is_older, "{older:?}");
    }
    open(&database).await.unwrap().close().await;
    Store::open_beside(&database)
        .await
        .unwrap()
        .ping()
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_is_looked_at_and_may_start_again() {
    let Some(server) = blue_testkit::Postgres::start() else {
        return;
    };
    let database = Database::Postgres(Secret::new(server.database("restarted").unwrap()));
    for _ in 0..2 {
        let empty = Store::open_beside(&database).await;
        assert!(matches!(empty, Err(StoreError::Empty)), "{empty:?}");
    }
    let store = open(&database).await.unwrap();
    let other = Store::open_beside(&database).await.unwrap();
    let all = async || {
        let ten: Vec<_> = (0..10).map(|_| store.ping()).collect();
        futures_util::future::join_all(ten).await
    };
    all().await;
    // What a restart does to every connection.
    let Db::Postgres(pool) = &other.db else {
        unreachable!()
    };
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE pid <> pg_backend_pid() AND datname = current_database()";
    sqlx::query(end).execute(pool).await.unwrap();
    assert!(all().await.iter().all(Result::is_ok));
}

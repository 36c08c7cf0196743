//! Hashes of tokens are keyed: what is written into the database is no token

use super::*;
use crate::token::{Kind, Token};

/// Run one statement with these bytes, as an attacker with write access to the database does
async fn write(store: &Store, sql: &'static str, bytes: &[&[u8]]) {
    let written = match &store.db {
        Db::Sqlite { write, .. } => {
            let mut query = sqlx::query(sql);
            for some in bytes {
                query = query.bind(some.to_vec());
            }
            query.execute(write).await.map(drop)
        }
        Db::Postgres(pool) => {
            let mut query = sqlx::query(sql);
            for some in bytes {
                query = query.bind(some.to_vec());
            }
            query.execute(pool).await.map(drop)
        }
    };
    written.unwrap();
}

const PLANT_GRANT: &str = "INSERT INTO grants (id, user_id, client_id, scope, resource, created_at, \
    last_used_at, refresh_window, refresh_count) VALUES ('g', 'u', 'c', 'mcp', 'r', 0, 0, 0, 0)";
const PLANT_PAIR: &str = "INSERT INTO pairs (id, grant_id, access_hash, refresh_hash, created_at, \
    access_expires_at, refresh_expires_at) VALUES ('p', 'g', $1, $2, 0, 4000000000000, 4000000000000)";
const PLANT_CODE: &str = "INSERT INTO codes (hash, client_id, user_id, redirect_uri, challenge, \
    resource, scope, created_at, expires_at) VALUES ($1, 'c', 'u', 'x', 'x', 'r', 'mcp', 0, 4000000000000)";
const PLANT_PAGE: &str = "INSERT INTO page_sessions (hash, user_id, form_hash, created_at, expires_at) \
    VALUES ($1, 'u', $1, 0, 4000000000000)";
const PLANT_CLIENT: &str = "INSERT INTO clients (id, kind, name, redirect_uris, auth_method, secret_hash, \
    metadata, created_at) VALUES ('c', 'dynamic', 'c', '[]', 'client_secret_post', $1, '{\"client_uri\":\"x\"}', 0)";

/// Tokens of each kind, whose rows hold what anyone can compute
struct Planted {
    access: TokenHash,
    refresh: TokenHash,
    code: TokenHash,
    page: TokenHash,
    secret: TokenHash,
}

async fn plant(store: &Store) -> Planted {
    let rng = SystemRng::default();
    let hash = |kind| Token::new(kind, &rng).hash();
    let planted = Planted {
        access: hash(Kind::Access),
        refresh: hash(Kind::Refresh),
        code: hash(Kind::Code),
        page: hash(Kind::PageSession),
        secret: hash(Kind::ClientSecret),
    };
    write(store, PLANT_GRANT, &[]).await;
    let pair = [
        planted.access.unkeyed_bytes(),
        planted.refresh.unkeyed_bytes(),
    ];
    write(store, PLANT_PAIR, &pair).await;
    write(store, PLANT_CODE, &[planted.code.unkeyed_bytes()]).await;
    write(store, PLANT_PAGE, &[planted.page.unkeyed_bytes()]).await;
    write(store, PLANT_CLIENT, &[planted.secret.unkeyed_bytes()]).await;
    planted
}

/// Which of the tokens are valid
async fn good(store: &Store, planted: &Planted) -> [bool; 5] {
    let secret = store.client("c").await.unwrap().unwrap().secret.unwrap();
    [
        store
            .check_access(&planted.access, at(0))
            .await
            .unwrap()
            .is_some(),
        store
            .refresh_token(&planted.refresh)
            .await
            .unwrap()
            .is_some(),
        store.code_is_open(&planted.code, at(0)).await.unwrap(),
        store
            .page_session(&planted.page, at(0))
            .await
            .unwrap()
            .is_some(),
        secret.matches(&store.keyed(&planted.secret).unwrap()),
    ]
}

pub(super) async fn a_planted_hash_opens_nothing(store: Store) {
    let planted = plant(&store).await;
    assert_eq!(good(&store, &planted).await, [false; 5]);
    // The same rows, written by the broker itself.
    let code = Code {
        expires_at: at(60),
        ..code()
    };
    store.put_code(&planted.code, &code, at(0)).await.unwrap();
    assert!(store.code_is_open(&planted.code, at(0)).await.unwrap());
}

/// Schemas before hashes were keyed
const UNKEYED_STEPS: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_before_stay_good_when_their_hashes_are_keyed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.db");
    let db = db::sqlite(&path).await.unwrap();
    upgraded(db, Database::Sqlite(path)).await;
    if let Some(server) = blue_testkit::Postgres::start() {
        let url = server.database("unkeyed").unwrap();
        let db = db::postgres(&url).await.unwrap();
        upgraded(db, Database::Postgres(Secret::new(url))).await;
    }
}

async fn upgraded(old: Db, database: Database) {
    migrate_to(&old, &migrate::ALL[..UNKEYED_STEPS])
        .await
        .unwrap();
    let old = Store::of(old, &database);
    let planted = plant(&old).await;
    // More than one statement converts.
    let more = async || -> Result<(), StoreError> {
        together!(&old.db, |on| {
            for _ in 0..token_keys::ROWS_PER_STATEMENT {
                let sql = "INSERT INTO pairs (id, grant_id, access_hash, refresh_hash, created_at, \
                    access_expires_at, refresh_expires_at) VALUES ($1, 'g', $2, $3, 0, 0, 0)";
                sqlx::query(sql)
                    .bind(id())
                    .bind(random_hash().unkeyed_bytes())
                    .bind(random_hash().unkeyed_bytes())
                    .execute(&mut *on)
                    .await?;
            }
        });
        Ok(())
    };
    more().await.unwrap();
    old.close().await;
    for _ in 0..2 {
        let store = open(&database).await.unwrap();
        assert_eq!(good(&store, &planted).await, [true; 5]);
        // Members that nothing reads are gone.
        let client = store.client("c").await.unwrap().unwrap();
        assert_eq!(client.metadata, json!({}));
        store.close().await;
    }
}

#[tokio::test]
async fn another_master_key_opens_no_database_and_changes_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = sqlite(&dir).await;
    store.close().await;
    let database = Database::Sqlite(dir.path().join("broker.db"));
    let rng = SystemRng::default();
    let connected = Store::connect(&database).await.unwrap();
    assert_eq!(connected.key_ids().await.unwrap(), KeyRing::fixed().ids());
    let other = KeyRing::fixed().rotated(&rng).only_active();
    let by = Wrapping {
        ring: &other,
        rng: &rng,
    };
    let refused = connected.open(by).await.unwrap_err();
    assert!(matches!(refused, StoreError::TokenKeySealed), "{refused}");
    // Without its row there is no key, and none is made in its place.
    let store = open(&database).await.unwrap();
    write(&store, "DELETE FROM token_keys", &[]).await;
    store.close().await;
    let refused = open(&database).await.unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt(_)), "{refused}");
}

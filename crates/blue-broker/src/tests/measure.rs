//! What a token check costs, from the inside; `bench/broker/run` runs it in the profile that is shipped

use std::{
    hint::black_box,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, HeaderValue, header};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

use super::World;
use crate::{
    app::App,
    http::check_bearer,
    store::ms,
    token::{Kind, Token},
};

const PEOPLE: usize = 1_000;
const CLIENTS: i64 = 100_000;
const GRANTS: i64 = 100_000;
const PAIRS: i64 = 1_000_000;
/// Of the tokens, so many are known here and looked up
const KNOWN: usize = 10_000;
const WARM: u32 = 200_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures and takes its time; bench/broker/run runs it"]
async fn a_token_check() {
    let world = World::start().await;
    let app = world.app();
    let mut people = Vec::new();
    for n in 0..PEOPLE {
        people.push(world.sign_in(&n.to_string()).await);
    }
    let file = world.dir.path().join("data").join("broker.db");
    let tokens = fill(app, &file, &people).await;

    println!("| {GRANTS} grants, {CLIENTS} clients, {PAIRS} pairs of tokens | median | p99 |");
    println!("|---|---|---|");
    row(
        "first use of a token, which is written down",
        all(app, &tokens).await,
    );
    // Longer than the cache holds a caller; what was recorded is not written again.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    row(
        "a token that was used before, from the rows",
        all(app, &tokens).await,
    );

    let one = bearer(&tokens[0]);
    check_bearer(app, &one).await.unwrap();
    let mut took = Vec::new();
    for _ in 0..WARM / 100 {
        // A clock costs more than what is measured, so it is read once in a hundred.
        let begun = Instant::now();
        for _ in 0..100 {
            black_box(check_bearer(app, black_box(&one)).await.unwrap());
        }
        took.push(begun.elapsed() / 100);
    }
    row("a token that was used within the last second", took);
}

async fn all(app: &Arc<App>, tokens: &[Token]) -> Vec<Duration> {
    let mut took = Vec::with_capacity(tokens.len());
    for token in tokens {
        let headers = bearer(token);
        let begun = Instant::now();
        check_bearer(app, &headers).await.unwrap();
        took.push(begun.elapsed());
    }
    took
}

fn bearer(token: &Token) -> HeaderMap {
    let value = format!("Bearer {}", token.expose());
    let value = HeaderValue::try_from(value).unwrap();
    HeaderMap::from_iter([(header::AUTHORIZATION, value)])
}

fn row(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let at = |percent: usize| {
        let time = took[(took.len() * percent / 100).min(took.len() - 1)];
        format!("{:.1} µs", time.as_secs_f64() * 1e6)
    };
    println!("| {what} | {} | {} |", at(50), at(99));
}

/// Fill the tables in few big steps, without the broker, and return valid tokens
async fn fill(app: &App, file: &Path, people: &[String]) -> Vec<Token> {
    const NUMBERS: &str =
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $1) ";
    let options = SqliteConnectOptions::new()
        .filename(file)
        .busy_timeout(Duration::from_mins(2));
    let mut db = SqliteConnection::connect_with(&options).await.unwrap();
    let mut db = db.begin().await.unwrap();
    let now = ms(app.now());
    let later = now + 86_400_000;
    let sql = "INSERT INTO clients SELECT printf('bbc_%022d', i), 'dynamic', 'A client', \
        '[\"http://127.0.0.1/callback\"]', 'none', NULL, '{}', randomblob(32), $2, NULL FROM n";
    let sql = sqlx::AssertSqlSafe(format!("{NUMBERS}{sql}"));
    let query = sqlx::query(sql).bind(CLIENTS).bind(now);
    query.execute(&mut *db).await.unwrap();

    // Each person has as many grants as the next one.
    let people_table = "CREATE TEMP TABLE people (i INTEGER PRIMARY KEY, id TEXT)";
    sqlx::query(people_table).execute(&mut *db).await.unwrap();
    for (at, id) in people.iter().enumerate() {
        let query = sqlx::query("INSERT INTO people VALUES ($1, $2)");
        let query = query.bind(i64::try_from(at).unwrap()).bind(id);
        query.execute(&mut *db).await.unwrap();
    }
    let sql = "INSERT INTO grants SELECT printf('%022d', n.i), people.id, printf('bbc_%022d', n.i), 'mcp', $3, $2, $2, \
        NULL, NULL, 0, 0 FROM n JOIN people ON people.i = n.i % $4";
    let sql = sqlx::AssertSqlSafe(format!("{NUMBERS}{sql}"));
    let query = sqlx::query(sql)
        .bind(GRANTS)
        .bind(now)
        .bind(app.config.public_url.resource())
        .bind(i64::try_from(people.len()).unwrap());
    query.execute(&mut *db).await.unwrap();

    let sql = "INSERT INTO pairs SELECT hex(randomblob(11)), printf('%022d', i % $3), NULL, randomblob(32), randomblob(32), \
        $2, $4, $4, NULL, NULL, NULL FROM n";
    let sql = sqlx::AssertSqlSafe(format!("{NUMBERS}{sql}"));
    let query = sqlx::query(sql)
        .bind(PAIRS)
        .bind(now)
        .bind(GRANTS)
        .bind(later);
    query.execute(&mut *db).await.unwrap();

    let mut tokens = Vec::with_capacity(KNOWN);
    for n in 0..KNOWN {
        let token = Token::new(Kind::Access, &*app.rng);
        // Spread over all grants, and not in their order.
        let grant = i64::try_from(n).unwrap() * 7919 % GRANTS;
        let sql = "INSERT INTO pairs SELECT hex(randomblob(11)), printf('%022d', $1), NULL, $2, randomblob(32), \
            $3, $4, $4, NULL, NULL, NULL";
        let query = sqlx::query(sql)
            .bind(grant)
            .bind(app.store.keyed(&token.hash()).unwrap().bytes().to_vec())
            .bind(now)
            .bind(later);
        query.execute(&mut *db).await.unwrap();
        tokens.push(token);
    }
    db.commit().await.unwrap();
    tokens
}

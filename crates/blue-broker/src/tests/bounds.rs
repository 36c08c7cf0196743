//! What users, strangers and a full disk can do to a running broker

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn the_51st_grant_revokes_the_longest_unused_and_is_audited() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let mut all = Vec::new();
    for _ in 0..50 {
        all.push(world.tokens("tool", &user).await);
        world.clock.advance(Duration::from_secs(1));
    }
    world.clock.advance(Duration::from_mins(2));
    // The first is in use, and is cached now; so is the second when it is revoked.
    for tokens in &all[..2] {
        assert_eq!(world.call(&tokens["access_token"]).await.0, 200);
        world.clock.advance(Duration::from_secs(1));
    }
    for n in [2, 3] {
        all.push(world.tokens("tool", &user).await);
        let (status, _) = world.call(&all[n]["access_token"]).await;
        assert_eq!(status, 401, "{n} is the longest unused");
    }
    for n in [0, 1, 4, 51] {
        let (status, said) = world.call(&all[n]["access_token"]).await;
        assert_eq!(status, 200, "{n} {said}");
    }
    let events = world.app().store.audit(1000).await.unwrap();
    let revoked: Vec<_> = events.iter().filter(|e| e.event == "revoked").collect();
    assert_eq!(revoked.len(), 2);
    for event in revoked {
        assert_eq!(event.user.as_ref(), Some(&user));
        assert_eq!(event.client_id.as_deref(), Some("tool"));
        let why = json!({ "why": "more than 50 grants for one client" });
        assert!(
            event.detail == why && event.request_id.is_some(),
            "{event:?}"
        );
    }
    assert_eq!(world.echo.ended.lock().unwrap().len(), 2, "calls end, too");
    assert_eq!(world.app().store.grants(100).await.unwrap().len(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_use_of_a_good_token_is_answered_on_a_full_disk() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    let mut database = world.database().await;
    for table in ["pairs", "grants"] {
        let full = format!(
            "CREATE TRIGGER full_{table} BEFORE UPDATE ON {table} \
             BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END"
        );
        let full = sqlx::AssertSqlSafe(full);
        sqlx::raw_sql(full).execute(&mut database).await.unwrap();
    }
    let (status, said) = world.call(&tokens["access_token"]).await;
    assert_eq!((status, &said["login"]), (200, &json!("login-1")), "{said}");
    // When there is room again, the next read of the rows records the use.
    for table in ["pairs", "grants"] {
        let over = sqlx::AssertSqlSafe(format!("DROP TRIGGER full_{table}"));
        sqlx::raw_sql(over).execute(&mut database).await.unwrap();
    }
    let is_noted = async || {
        assert_eq!(world.call(&tokens["access_token"]).await.0, 200);
        let row: (Option<i64>,) = sqlx::query_as("SELECT access_used_at FROM pairs")
            .fetch_one(&mut world.database().await)
            .await
            .unwrap();
        row.0.is_some()
    };
    until("the use is noted", is_noted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_registration_is_a_small_row() {
    let world = World::start().await;
    let link = |name: &str| format!("https://{name}.example/{}", "\u{e9}".repeat(700));
    let said = json!({
        "client_name": "x".repeat(5000),
        "redirect_uris": ["https://a.example/cb"],
        "client_uri": link("a"), "logo_uri": link("b"), "policy_uri": link("c"),
        "tos_uri": link("d"), "application_type": "web", "contacts": ["z".repeat(900)],
    });
    let request = world
        .http
        .post(world.app().config.public_url.at("/oauth/register"));
    let request = request.header("content-type", "application/json");
    let answer = request.body(said.to_string()).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    let sizes = [
        "SELECT MAX(LENGTH(name) + LENGTH(redirect_uris) + LENGTH(metadata)) FROM clients",
        "SELECT MAX(LENGTH(detail)) FROM audit",
    ];
    for (sql, most) in sizes.into_iter().zip([200, 200]) {
        let (size,): (i64,) = sqlx::query_as(sql)
            .fetch_one(&mut world.database().await)
            .await
            .unwrap();
        assert!(size < most, "{size} bytes: {sql}");
    }
}

/// What a request gets, byte by byte as it is sent
async fn raw(world: &World, request: &str) -> String {
    let mut socket = TcpStream::connect(world.broker.address()).await.unwrap();
    let _ = socket.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_exactly_one_host() {
    let world = World::start().await;
    for (head, status) in [
        ("GET /healthz HTTP/1.1\r\n", 400),
        ("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n", 400),
        ("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n", 400),
        ("POST /mcp HTTP/1.1\r\n", 400),
        ("GET /healthz HTTP/1.1\r\nHost: a\r\n", 200),
        ("GET /healthz HTTP/1.0\r\n", 200),
    ] {
        let answer = raw(&world, &format!("{head}Connection: close\r\n\r\n")).await;
        let line = answer.split_whitespace().nth(1).unwrap_or_default();
        assert_eq!(line, status.to_string(), "{head}");
        // Like every other answer.
        let lower = answer.to_lowercase();
        assert!(
            lower.contains("x-request-id") && lower.contains("nosniff"),
            "{answer}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn browsers_are_told_to_stay_with_https_where_the_public_url_is() {
    let world = World::start().await;
    let plain = world.http.get(world.app().config.public_url.at("/healthz"));
    let plain = plain.send().await.unwrap();
    assert!(!plain.headers().contains_key("strict-transport-security"));
    let dir = tempfile::tempdir().unwrap();
    let forge = world.app().config.forge.url().as_str();
    let (mut config, parts) = settings(forge, dir.path(), &world.clock, &world.echo);
    config.public_url = crate::config::PublicUrl::parse("https://broker.example.org").unwrap();
    let broker = Broker::build(config, parts).await.unwrap();
    for path in ["/healthz", "/mcp", "/connections", "/nothing"] {
        let url = format!("http://{}{path}", broker.address());
        let answer = world.http.get(url).send().await.unwrap();
        let told = &answer.headers()["strict-transport-security"];
        assert_eq!(told, "max-age=31536000", "{path}");
    }
}

//! Dynamic client registration

use serde_json::{Value, json};

use crate::setup::Setup;

/// Register and give status and body
pub(crate) async fn register(setup: &Setup, body: &Value) -> (u16, Value) {
    send(setup, "application/json", body.to_string()).await
}

async fn send(setup: &Setup, kind: &str, body: String) -> (u16, Value) {
    let answer = setup
        .http
        .post(setup.at("/register"))
        .header("Content-Type", kind)
        .body(body)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.headers()["cache-control"], "no-store");
    let status = answer.status().as_u16();
    (
        status,
        serde_json::from_str(&answer.text().await.unwrap()).unwrap(),
    )
}

/// Registration of a client with a loopback redirect URI
pub(crate) fn native(name: &str, port: u16) -> Value {
    json!({
        "client_name": name,
        "redirect_uris": [format!("http://localhost:{port}/callback")],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
        "scope": "mcp offline_access",
    })
}

/// The error that the token endpoint answers to a client
pub(crate) async fn token_error(setup: &Setup, client: &str, secret: Option<&str>) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "refresh_token")
        .append_pair("refresh_token", "nothing")
        .append_pair("client_id", client);
    if let Some(secret) = secret {
        form.append_pair("client_secret", secret);
    }
    let answer = setup
        .http
        .post(setup.at("/token"))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(form.finish())
        .send()
        .await
        .unwrap();
    let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    body["error"].as_str().unwrap().to_owned()
}

fn no_null(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(list) => list.iter().all(no_null),
        Value::Object(members) => members.values().all(no_null),
        _ => true,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_client_is_known_after_it_registered() {
    let setup = Setup::start().await;
    let (status, body) = register(&setup, &native("Some client", 4711)).await;
    assert_eq!(status, 201, "{body}");
    let id = body["client_id"].as_str().unwrap();
    assert!(!id.starts_with("https://"));
    assert_eq!(body["client_name"], "Some client");
    assert_eq!(
        body["redirect_uris"],
        json!(["http://localhost:4711/callback"])
    );
    assert_eq!(body["token_endpoint_auth_method"], "none");
    assert_eq!(
        body["grant_types"],
        json!(["authorization_code", "refresh_token"])
    );
    assert_eq!(body["response_types"], json!(["code"]));
    assert_eq!(body["scope"], "mcp offline_access");
    assert_eq!(body["client_id_issued_at"], 1_800_000_000);
    assert!(
        body.get("client_secret").is_none() && no_null(&body),
        "{body}"
    );
    assert_eq!(token_error(&setup, id, None).await, "invalid_grant");
    assert_eq!(token_error(&setup, "nobody", None).await, "invalid_client");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_registration_finds_the_same_client() {
    let setup = Setup::start().await;
    let (_, first) = register(&setup, &native("Same", 1000)).await;
    // Another port, another order, and members without a meaning.
    let (_, again) = register(&setup, &native("Same", 2000)).await;
    assert_eq!(first["client_id"], again["client_id"]);
    assert_eq!(
        again["redirect_uris"],
        json!(["http://localhost:2000/callback"])
    );
    let (_, other) = register(&setup, &native("Other", 1000)).await;
    assert_ne!(first["client_id"], other["client_id"]);
    let mut path = native("Same", 1000);
    path["redirect_uris"] = json!(["http://localhost:1000/other"]);
    let (_, path) = register(&setup, &path).await;
    assert_ne!(first["client_id"], path["client_id"]);
    let setup = std::sync::Arc::new(setup);
    let race = (0..20).map(|_| {
        let setup = std::sync::Arc::clone(&setup);
        tokio::spawn(async move { register(&setup, &native("Race", 3000)).await })
    });
    let race: Vec<_> = race.collect();
    let mut ids = Vec::new();
    for one in race {
        ids.push(one.await.unwrap().1["client_id"].clone());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confidential_client_gets_a_secret_of_its_own() {
    let setup = Setup::start().await;
    for method in ["client_secret_post", "client_secret_basic"] {
        let mut body = native("Secretive", 1);
        body["token_endpoint_auth_method"] = json!(method);
        let (status, one) = register(&setup, &body).await;
        let (_, two) = register(&setup, &body).await;
        assert_eq!(status, 201, "{one}");
        assert_eq!(one["token_endpoint_auth_method"], method);
        assert_eq!(one["client_secret_expires_at"], 0);
        assert_ne!(one["client_id"], two["client_id"]);
        assert_ne!(one["client_secret"], two["client_secret"]);
        let id = one["client_id"].as_str().unwrap();
        let secret = one["client_secret"].as_str();
        assert_eq!(token_error(&setup, id, secret).await, "invalid_grant");
        assert_eq!(token_error(&setup, id, None).await, "invalid_client");
        let other = two["client_secret"].as_str();
        assert_eq!(token_error(&setup, id, other).await, "invalid_client");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_real_clients_send_is_taken() {
    let setup = Setup::start().await;
    for body in [
        // No method, as the Python SDKs have it
        json!({"redirect_uris":["http://127.0.0.1:47614/callback"],
            "grant_types":["authorization_code","refresh_token"],"response_types":["code"],
            "scope":"mcp","client_name":"Python SDK"}),
        // Three kinds of URI at once
        json!({"client_name":"Cursor","redirect_uris":[
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "https://www.cursor.com/agents/mcp/oauth/callback",
            "http://localhost:8787/callback"],"token_endpoint_auth_method":"none"}),
        json!({"client_name":"Visual Studio Code","redirect_uris":[
            "https://vscode.dev/redirect","https://insiders.vscode.dev/redirect",
            "http://127.0.0.1/","http://127.0.0.1:33418/"],
            "grant_types":["authorization_code","refresh_token",
                "urn:ietf:params:oauth:grant-type:device_code"]}),
        json!({"client_name":"OpenCode","client_uri":"https://opencode.ai",
            "redirect_uris":["http://127.0.0.1:19876/mcp/oauth/callback"],
            "logo_uri":null,"contacts":null,"software_id":"x","jwks":{"keys":[]}}),
        json!({"redirect_uris":["https://chatgpt.com/connector/oauth/abc"]}),
    ] {
        let (status, answer) = register(&setup, &body).await;
        assert_eq!(status, 201, "{body} {answer}");
        assert_eq!(answer["redirect_uris"], body["redirect_uris"]);
        assert_eq!(answer["token_endpoint_auth_method"], "none");
        assert!(no_null(&answer), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_redirects_cannot_be_registered() {
    let setup = Setup::start().await;
    for uri in [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "data:text/html,x",
        "//evil.example/cb",
        "/cb",
        "http://evil.example/cb",
        "https://good.example\\@evil.example/cb",
        "https:\\\\evil.example/cb",
        "https://good.example@evil.example/cb",
        "https://user:pw@good.example/cb",
        "https://good.example/cb#x",
        "https://*.example/cb",
        "https://Good.Example/cb",
        "HTTPS://good.example/cb",
        "https://gооd.example/cb",
        "https://good.example/\u{202e}cb",
        "http://localhost.evil.example/cb",
        "http://localhost:80@evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "unknown-app://callback",
        "",
    ] {
        let mut body = native("Evil", 1);
        body["redirect_uris"] = json!(["https://good.example/cb", uri]);
        let (status, answer) = register(&setup, &body).await;
        assert_eq!(status, 400, "{uri} {answer}");
        assert_eq!(answer["error"], "invalid_redirect_uri", "{uri}");
        assert!(
            !answer["error_description"]
                .as_str()
                .unwrap()
                .contains("evil")
        );
    }
    // Our own address would send codes to ourselves.
    let mut body = native("Evil", 1);
    body["redirect_uris"] = json!([setup.at("/oauth/callback")]);
    let (status, _) = register(&setup, &body).await;
    assert_eq!(status, 400);
}

#[expect(clippy::too_many_lines, reason = "it is a table")]
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_registration_is_told_so() {
    let setup = Setup::start().await;
    let with = |key: &str, value: Value| {
        let mut body = native("x", 1);
        body[key] = value;
        body.to_string()
    };
    let json = "application/json";
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    // Each is short enough; all together are not.
    let long = ["a", "b", "c"].map(|name| format!("https://{name}.example/{}", "x".repeat(1500)));
    let cases = [
        (json, String::new(), "invalid_client_metadata"),
        (json, "[]".to_owned(), "invalid_client_metadata"),
        (json, "{".to_owned(), "invalid_client_metadata"),
        (json, deep, "invalid_client_metadata"),
        (json, "{}".to_owned(), "invalid_redirect_uri"),
        (
            json,
            with("x", json!("y".repeat(20_000))),
            "invalid_client_metadata",
        ),
        (
            "text/plain",
            native("x", 1).to_string(),
            "invalid_client_metadata",
        ),
        (
            "application/x-www-form-urlencoded",
            "a=b".to_owned(),
            "invalid_client_metadata",
        ),
        (
            json,
            with("redirect_uris", json!([])),
            "invalid_redirect_uri",
        ),
        (
            json,
            with("redirect_uris", json!("x")),
            "invalid_redirect_uri",
        ),
        (
            json,
            with("redirect_uris", json!([7])),
            "invalid_redirect_uri",
        ),
        (
            json,
            with("redirect_uris", json!(vec!["https://a.example/"; 21])),
            "invalid_redirect_uri",
        ),
        (
            json,
            with("redirect_uris", json!(long)),
            "invalid_redirect_uri",
        ),
        (
            json,
            with("client_name", json!(["x"])),
            "invalid_client_metadata",
        ),
        (
            json,
            with("grant_types", json!(["client_credentials"])),
            "invalid_client_metadata",
        ),
        (
            json,
            with("response_types", json!(["token"])),
            "invalid_client_metadata",
        ),
        (
            json,
            with("token_endpoint_auth_method", json!("private_key_jwt")),
            "invalid_client_metadata",
        ),
        (
            json,
            with("client_uri", json!("javascript:alert(1)")),
            "invalid_client_metadata",
        ),
        (
            json,
            with("logo_uri", json!("data:image/svg+xml,<svg/>")),
            "invalid_client_metadata",
        ),
        (
            json,
            with("policy_uri", json!(" javascript:alert(1)")),
            "invalid_client_metadata",
        ),
    ];
    for (kind, body, error) in cases {
        let start: String = body.chars().take(200).collect();
        let (status, answer) = send(&setup, kind, body).await;
        assert_eq!(
            (status, answer["error"].as_str()),
            (400, Some(error)),
            "{start} {answer}"
        );
        assert!(no_null(&answer));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_text_whatever_is_in_it() {
    let setup = Setup::start().await;
    for (name, shown) in [
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("Claude\u{202e}\u{200b}\n Code", "Claude Code"),
        ("\u{0}\u{7}", "localhost"),
        ("", "localhost"),
    ] {
        let (status, body) = register(&setup, &native(name, 1)).await;
        assert_eq!((status, body["client_name"].as_str()), (201, Some(shown)));
    }
}

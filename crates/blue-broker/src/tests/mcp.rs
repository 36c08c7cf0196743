//! Authentication of `/mcp`

use std::time::Duration;

use reqwest::Method;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::World;

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_every_method_says_where_to_get_one() {
    let world = World::start().await;
    let url = world.app().config.public_url.resource();
    let metadata = world
        .app()
        .config
        .public_url
        .at("/.well-known/oauth-protected-resource/mcp");
    for method in ["GET", "HEAD", "POST", "DELETE", "PUT", "OPTIONS", "PATCH"] {
        let method: Method = method.parse().unwrap();
        let answer = world.http.request(method.clone(), &url).send().await;
        let answer = answer.unwrap();
        assert_eq!(answer.status(), 401, "{method}");
        assert_eq!(
            answer.headers()["www-authenticate"],
            format!("Bearer resource_metadata=\"{metadata}\", scope=\"mcp\""),
            "{method}"
        );
    }
    // Not in the URL, and not of another server or scheme.
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    let access = tokens["access_token"].as_str().unwrap();
    let query = world.http.post(format!("{url}?access_token={access}"));
    assert_eq!(query.send().await.unwrap().status(), 401);
    for value in [
        "Bearer",
        "Bearer x",
        "Basic eDp5",
        &format!("token {access}"),
    ] {
        let request = world.http.post(&url).header("authorization", value);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 401, "{value}");
        let challenge = answer.headers()["www-authenticate"].to_str().unwrap();
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_and_names_from_elsewhere_are_not_let_in() {
    let world = World::start().await;
    let url = world.app().config.public_url.resource();
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    let access = tokens["access_token"].as_str().unwrap();
    let with = |name: &str, value: &str| {
        let request = world.http.post(&url).bearer_auth(access);
        request.header(name, value).send()
    };
    let own = world.app().config.public_url.origin().to_owned();
    let port = world.broker.address().port();
    let (local, six) = (format!("localhost:{port}"), format!("[::1]:{port}"));
    for (name, value, status) in [
        ("origin", own.as_str(), 200),
        ("origin", "https://page.example.org", 200),
        ("origin", "https://evil.example.org", 403),
        ("origin", "null", 403),
        ("host", "evil.example.org", 403),
        ("host", "127.0.0.1.evil.example.org", 403),
        ("host", "localhost:1", 403),
        ("host", "127.0.0.1:1", 403),
        ("host", "10.0.0.1", 403),
        ("host", "[::1]:1", 403),
        ("host", "x@127.0.0.1", 403),
        // Some proxies leave out the port.
        ("host", "127.0.0.1", 200),
        ("host", "", 403),
        ("host", &local, 200),
        ("host", &six, 200),
    ] {
        let answer = with(name, value).await.unwrap();
        assert_eq!(answer.status(), status, "{name}: {value}");
        let cors = answer.headers().get("access-control-allow-origin");
        assert_eq!(cors.is_some(), name == "origin" && status == 200, "{value}");
    }
    // A target that names a host counts for more than the header.
    let elsewhere = "http://evil.example.org";
    for (target, status) in [(own.as_str(), 200), (elsewhere, 403), ("", 200)] {
        let mut socket = TcpStream::connect(world.broker.address()).await.unwrap();
        let request = format!(
            "POST {target}/mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\n\
             Authorization: Bearer {access}\r\nConnection: close\r\n\r\n"
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut said = String::new();
        socket.read_to_string(&mut said).await.unwrap();
        let line = format!("HTTP/1.1 {status} ");
        assert!(said.starts_with(&line), "{target}: {said}");
    }
    let preflight = |origin: &str| {
        let request = world.http.request(Method::OPTIONS, &url);
        let request = request.header("access-control-request-method", "POST");
        request.header("origin", origin).send()
    };
    let answer = preflight("https://page.example.org").await.unwrap();
    assert_eq!(answer.status(), 204);
    let allowed = answer.headers()["access-control-allow-headers"].to_str();
    assert!(allowed.unwrap().contains("mcp-protocol-version"));
    let answer = preflight("https://evil.example.org").await.unwrap();
    assert_eq!(answer.status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_token_ends() {
    let world = World::start().await;
    let user = world.sign_in("1").await;
    let tokens = world.tokens("tool", &user).await;
    assert_eq!(world.call(&tokens["access_token"]).await.0, 200);
    assert_eq!(tokens["expires_in"], 3600);
    // The token may have been sent in its last moment.
    world.clock.advance(Duration::from_hours(1));
    assert_eq!(world.call(&tokens["access_token"]).await.0, 200);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(world.call(&tokens["access_token"]).await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_people_have_their_own_forge_tokens() {
    let world = World::start().await;
    let alice = world.sign_in("1").await;
    *world.forge.current.lock().unwrap() = 7;
    let bob = world.sign_in("2").await;
    let (a, b) = (
        world.tokens("tool", &alice).await,
        world.tokens("tool", &bob).await,
    );
    for _ in 0..3 {
        let (_, said) = world.call(&a["access_token"]).await;
        assert_eq!(
            (&said["login"], &said["forge_token"]),
            (&"login-1".into(), &"access-0".into())
        );
        let (_, said) = world.call(&b["access_token"]).await;
        assert_eq!(
            (&said["login"], &said["forge_token"]),
            (&"login-2".into(), &"access-7".into())
        );
    }
}

use super::{
    server::{OK, Server, Then},
    *,
};
use crate::secret::Secret;

fn through(proxy: &Server, no_proxy: Option<&str>) -> Http {
    let url = Secret::new(format!("http://alice:hunter2@{}", proxy.addr));
    Http::new(HttpConfig {
        retries: 0,
        proxy: ProxyConfig {
            http: Some(url.clone()),
            https: Some(url),
            no_proxy: no_proxy.map(str::to_owned),
        },
        ..quick()
    })
}

#[tokio::test]
async fn both_schemes_go_through_their_proxy() {
    let proxy = Server::start(|n| match n {
        0 => (OK.into(), Then::Close),
        _ => (b"HTTP/1.1 403 Forbidden\r\n\r\n".to_vec(), Then::Close),
    })
    .await;
    let http = through(&proxy, None);
    let answer = http.send(get("http://forge.invalid/x")).await.unwrap();
    assert_eq!(&answer.body[..], b"fine");
    let error = http.send(get("https://forge.invalid/x")).await.unwrap_err();
    assert!(matches!(error, HttpError::Unreachable { .. }), "{error}");
    let seen = proxy.seen();
    assert!(
        seen[0].starts_with("GET http://forge.invalid/x HTTP/1.1"),
        "{}",
        seen[0]
    );
    assert!(
        seen[0]
            .to_lowercase()
            .contains("proxy-authorization: basic")
    );
    assert!(
        seen[1].starts_with("CONNECT forge.invalid:443 HTTP/1.1"),
        "{}",
        seen[1]
    );
}

#[tokio::test]
async fn the_own_machine_and_named_hosts_are_reached_directly() {
    let proxy = Server::texts(&[OK]).await;
    let server = Server::texts(&[OK]).await;
    let http = through(&proxy, Some("forge.invalid"));
    assert_eq!(http.send(get(&server.url("/"))).await.unwrap().status, 200);
    assert!(http.send(get("http://forge.invalid/")).await.is_err());
    assert!(http.send(get("http://sub.forge.invalid/")).await.is_err());
    assert!(proxy.seen().is_empty());
    assert_eq!(server.seen().len(), 1);
}

/// Run a test that needs no proxy in a process whose environment names a dead one
#[test]
fn proxies_of_the_environment_are_not_read() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args([
        "--exact",
        "http::tests::retries::unavailable_twice_then_fine",
    ]);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        child.env(name, "http://127.0.0.1:1");
        child.env(name.to_lowercase(), "http://127.0.0.1:1");
    }
    let output = child
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{text}");
}

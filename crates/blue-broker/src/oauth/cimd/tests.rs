use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use url::Url;

use super::{
    MetadataError, address, document,
    fetch::{FetchError, Fetched, Fetcher, Resolver, keep},
};
use crate::{
    config::{Config, Given},
    oauth::{clients::ClientError, trouble::Trouble},
};

const ID: &str = "https://client.example/metadata.json";

fn config(hosts: &str) -> Config {
    let vars = [
        ("PUBLIC_URL", "https://broker.example.org"),
        ("FORGE_URL", "https://forge.example.org"),
        ("CLIENT_ID", "c"),
        ("CLIENT_SECRET", "s"),
        ("METADATA_HOSTS", hosts),
    ];
    let given = Given {
        vars: vars
            .map(|(name, value)| (format!("BLUE_BROKER_{name}"), value.to_owned()))
            .to_vec(),
        ..Given::default()
    };
    Config::read(&given, std::path::Path::new("data")).unwrap()
}

/// Resolves to the given answers, one after the other
#[derive(Debug)]
struct Told {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

#[async_trait]
impl Resolver for Told {
    async fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        let at = self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.answers[at.min(self.answers.len() - 1)].clone())
    }
}

fn fetcher(answers: &[&[&str]], open: fn(IpAddr) -> bool) -> Fetcher {
    let parse = |list: &&[&str]| list.iter().map(|ip| ip.parse().unwrap()).collect();
    Fetcher {
        resolver: Arc::new(Told {
            answers: answers.iter().map(parse).collect(),
            asked: AtomicUsize::new(0),
        }),
        open,
        patience: Duration::from_millis(700),
        ..Fetcher::new(None, "test".to_owned())
    }
}

/// A server that sends `answer` to every client, then keeps the connection open for `hold`
async fn server(answer: Vec<u8>, hold: Duration) -> (Url, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut request = [0; 2048];
                let _ = socket.read(&mut request).await;
                let _ = socket.write_all(&answer).await;
                tokio::time::sleep(hold).await;
            });
        }
    });
    let url = format!("http://client.example:{port}/metadata.json");
    (Url::parse(&url).unwrap(), asked)
}

fn http(head: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

async fn fetched(answer: Vec<u8>) -> Result<Fetched, FetchError> {
    let (url, _) = server(answer, Duration::ZERO).await;
    fetcher(&[&["127.0.0.1"]], |_| true).fetch(&url).await
}

#[tokio::test]
async fn a_document_is_read_from_the_pinned_address() {
    let answer = http("200 OK\r\nContent-Type: application/json", "{}");
    assert_eq!(fetched(answer).await.unwrap().body, b"{}");
}

#[tokio::test]
async fn nothing_but_a_small_quick_200_in_json_counts() {
    let json = "Content-Type: application/json";
    let large = "x".repeat(6000);
    for (answer, why) in [
        (http(&format!("404 Not Found\r\n{json}"), "{}"), "404"),
        (http(&format!("204 No Content\r\n{json}"), ""), "204"),
        (http("200 OK\r\nContent-Type: text/html", "{}"), "JSON"),
        (http("200 OK", "{}"), "JSON"),
        (http(&format!("200 OK\r\n{json}"), &large), "larger"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: app".to_vec(), ""),
        (b"\x00\x01\x02".to_vec(), ""),
    ] {
        let error = fetched(answer).await.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let head = format!("HTTP/1.1 200 OK\r\n{json}\r\nContent-Length: 10\r\n\r\n{{");
    let (url, _) = server(head.into_bytes(), Duration::from_secs(30)).await;
    let slow = fetcher(&[&["127.0.0.1"]], |_| true).fetch(&url).await;
    assert!(matches!(slow, Err(FetchError::Slow)), "{slow:?}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (inner, asked) = server(http("200 OK", "{}"), Duration::ZERO).await;
    let place = format!("http://127.0.0.1:{}/", inner.port().unwrap());
    for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
        let answer = http(&format!("{status}\r\nLocation: {place}"), "");
        let error = fetched(answer).await;
        assert!(matches!(error, Err(FetchError::Redirect(_))), "{error:?}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

/// Status and text of the authorize page for a document that could not be read
fn shown(error: FetchError) -> (u16, String) {
    let error = ClientError::from(MetadataError::from(error));
    let (status, _, what, _) = Trouble::from(error).explain();
    (status.as_u16(), what)
}

#[tokio::test]
async fn a_document_that_its_server_does_not_serve_is_a_bad_request() {
    let json = "Content-Type: application/json";
    let large = "x".repeat(6000);
    for (answer, status, why) in [
        (
            http("302 Found\r\nLocation: https://a.example/", ""),
            400,
            "redirect",
        ),
        (
            http(&format!("200 OK\r\n{json}"), &large),
            400,
            "larger than",
        ),
        (
            http("200 OK\r\nContent-Type: text/html", "<p>"),
            400,
            "not JSON",
        ),
        (http(&format!("404 Not Found\r\n{json}"), "{}"), 400, "404"),
        (http(&format!("410 Gone\r\n{json}"), "{}"), 400, "410"),
        (http("500 Broken", ""), 503, ""),
        (http("503 Busy", ""), 503, ""),
        (b"HTTP/1.1 200 OK\r\nContent-Type: app".to_vec(), 503, ""),
    ] {
        let (found, text) = shown(fetched(answer).await.unwrap_err());
        assert_eq!(found, status, "{text}");
        assert!(text.contains(why), "{text}");
    }
    let head = format!("HTTP/1.1 200 OK\r\n{json}\r\nContent-Length: 10\r\n\r\n{{");
    let (url, _) = server(head.into_bytes(), Duration::from_secs(30)).await;
    let slow = fetcher(&[&["127.0.0.1"]], |_| true).fetch(&url).await;
    let (status, text) = shown(slow.unwrap_err());
    assert_eq!(status, 400);
    assert!(text.contains("took longer"), "{text}");
}

#[tokio::test]
async fn an_address_inside_looks_like_a_name_that_does_not_resolve() {
    let (url, _) = server(Vec::new(), Duration::ZERO).await;
    let mut pages = Vec::new();
    for resolved in [&["10.0.0.1"][..], &[]] {
        let fetched = fetcher(&[resolved], address::is_public).fetch(&url).await;
        pages.push(shown(fetched.unwrap_err()));
    }
    assert_eq!(pages[0], pages[1]);
    assert_eq!(pages[0].0, 503);
}

#[tokio::test]
async fn a_name_that_leads_inside_is_not_asked() {
    let answer = http("200 OK\r\nContent-Type: application/json", "{}");
    let (url, asked) = server(answer, Duration::ZERO).await;
    for told in [
        &["127.0.0.1"][..],
        &["8.8.8.8", "127.0.0.1"],
        &["::1"],
        &["::ffff:127.0.0.1"],
        &["10.0.0.1"],
        &["169.254.169.254"],
        &["64:ff9b::7f00:1"],
        &["fe80::1"],
    ] {
        let error = fetcher(&[told], address::is_public).fetch(&url).await;
        assert!(matches!(error, Err(FetchError::Closed(_))), "{told:?}");
    }
    let nowhere = fetcher(&[&[]], address::is_public).fetch(&url).await;
    assert!(matches!(nowhere, Err(FetchError::Nowhere)));
    assert_eq!(asked.load(Ordering::SeqCst), 0, "nobody was asked");
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_asked_for_once() {
    // First a public address, then a private one: the checked address is the one that is connected
    // to.
    let answer = http("200 OK\r\nContent-Type: application/json", "{}");
    let (url, _) = server(answer, Duration::ZERO).await;
    let told = Arc::new(Told {
        answers: vec![vec!["127.0.0.1".parse().unwrap()], vec![]],
        asked: AtomicUsize::new(0),
    });
    let fetcher = Fetcher {
        resolver: Arc::clone(&told) as _,
        ..fetcher(&[&[]], |_| true)
    };
    assert!(fetcher.fetch(&url).await.is_ok());
    assert_eq!(told.asked.load(Ordering::SeqCst), 1);
}

#[test]
fn only_addresses_of_everybody_are_public() {
    let public = |text: &str| address::is_public(text.parse().unwrap());
    for good in [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.0.1",
        "172.32.0.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450:4001::1",
        "2001:4860:4860::8888",
    ] {
        assert!(public(good), "{good}");
    }
    for bad in [
        "0.0.0.0",
        "0.1.2.3",
        "10.1.2.3",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:8.8.8.8",
        "::7f00:1",
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!public(bad), "{bad}");
    }
}

#[test]
fn an_address_has_one_spelling() {
    let any = config("any");
    for good in [
        ID,
        "https://a.client.example/x?y=1",
        "https://claude.ai/o/x",
    ] {
        assert!(address::target(&any, good).is_ok(), "{good}");
    }
    for bad in [
        "http://client.example/x",
        "HTTPS://client.example/x",
        "https://CLIENT.example/x",
        "https://client.example",
        "https://client.example/",
        "https://client.example/x#y",
        "https://client.example/x#",
        "https://u@client.example/x",
        "https://client.example@evil.example/x",
        "https://client.example/a/../x",
        "https://client.example/%2e%2e/x",
        "https://client.example/./x",
        "https://client.example:443/x",
        "https://client.example:8443/x",
        "https://client.example./x",
        "https://client.example\\x",
        "https:\\\\client.example\\x",
        "https:client.example/x",
        "https://localhost/x",
        "https://127.0.0.1/x",
        "https://0x7f.1/x",
        "https://2130706433/x",
        "https://[::1]/x",
        "https://[::ffff:127.0.0.1]/x",
        "https://10.0.0.1/x",
        "https://bücher.example/x",
        "https://ｃlient.example/x",
        "https://client.example/x y",
        " https://client.example/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "client",
        "",
    ] {
        assert!(address::target(&any, bad).is_err(), "{bad}");
    }
    let refused = address::target(&config("other.example"), ID);
    assert!(matches!(refused, Err(MetadataError::Host(_))));
    assert!(address::target(&config("none"), ID).is_err());
    assert!(address::target(&config("client.example other.example"), ID).is_ok());
}

fn read(document: &serde_json::Value) -> Result<super::super::claims::Claims, MetadataError> {
    document::read(&config("any"), ID, document.to_string().as_bytes())
}

fn good() -> serde_json::Value {
    json!({
        "client_id": ID,
        "client_name": "A client",
        "redirect_uris": ["http://127.0.0.1/cb", "https://client.example/cb"],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "unknown": { "is": ["fine"] },
    })
}

#[test]
fn a_document_speaks_for_its_own_address() {
    let claims = read(&good()).unwrap();
    assert_eq!(claims.shown_name(), "A client");
    assert_eq!(claims.redirect_uris.len(), 2);
    for (key, value) in [
        ("client_id", json!("https://client.example/other")),
        ("client_id", json!("https://client.example/metadata.json/")),
        ("client_id", json!("https://Client.example/metadata.json")),
        ("client_id", json!(null)),
        ("client_id", json!([ID])),
        ("client_name", json!(null)),
        ("client_name", json!("")),
        ("client_name", json!(7)),
        ("redirect_uris", json!([])),
        ("redirect_uris", json!("https://client.example/cb")),
        ("redirect_uris", json!(["http://evil.example/cb"])),
        (
            "redirect_uris",
            json!(["https://client.example/cb", "javascript:alert(1)"]),
        ),
        (
            "redirect_uris",
            json!(vec!["https://client.example/cb"; 21]),
        ),
        ("client_secret", json!("s")),
        ("token_endpoint_auth_method", json!("client_secret_post")),
        ("token_endpoint_auth_method", json!("client_secret_basic")),
        ("token_endpoint_auth_method", json!("client_secret_jwt")),
        ("token_endpoint_auth_method", json!("private_key_jwt")),
        ("grant_types", json!(["client_credentials"])),
        ("response_types", json!(["token"])),
        ("client_uri", json!("javascript:alert(1)")),
        ("logo_uri", json!("data:image/svg+xml,x")),
    ] {
        let mut document = good();
        document[key] = value.clone();
        assert!(read(&document).is_err(), "{key} {value}");
    }
}

#[test]
fn whatever_the_bytes_are_reading_them_ends() {
    let config = config("any");
    let whole = good().to_string().into_bytes();
    let mut seed = 7_u64;
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = usize::try_from(seed >> 33).unwrap() % bytes.len();
        match seed % 3 {
            0 => bytes.truncate(at),
            1 => bytes[at] = u8::try_from(seed >> 56).unwrap(),
            _ => bytes.extend_from_within(at..),
        }
        if let Ok(claims) = document::read(&config, ID, &bytes) {
            for uri in &claims.redirect_uris {
                let taken = crate::oauth::redirect::registrable(&config, uri);
                assert!(taken.is_ok(), "{uri}");
            }
        }
    }
    let deep = format!("{}{}", "[".repeat(2500), "]".repeat(2500));
    assert!(document::read(&config, ID, deep.as_bytes()).is_err());
}

#[test]
fn a_document_is_kept_within_bounds() {
    assert_eq!(keep(""), Duration::from_hours(1));
    assert_eq!(keep("max-age=0"), Duration::from_mins(5));
    assert_eq!(keep("public, Max-Age=7200"), Duration::from_hours(2));
    assert_eq!(keep("max-age=99999999"), Duration::from_hours(24));
    assert_eq!(keep("no-store, max-age=7200"), Duration::from_mins(5));
    assert_eq!(keep("max-age=-1"), Duration::from_hours(1));
}

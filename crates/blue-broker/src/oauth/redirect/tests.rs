use super::*;
use crate::config::Given;

fn config() -> Config {
    let vars = [
        ("PUBLIC_URL", "https://broker.example.org"),
        ("FORGE_URL", "https://forge.example.org"),
        ("CLIENT_ID", "c"),
        ("CLIENT_SECRET", "s"),
    ];
    let given = Given {
        vars: vars
            .map(|(name, value)| (format!("BLUE_BROKER_{name}"), value.to_owned()))
            .to_vec(),
        ..Given::default()
    };
    Config::read(&given, std::path::Path::new("data")).unwrap()
}

fn client(uris: &[&str]) -> Client {
    Client {
        id: "c".to_owned(),
        kind: crate::store::ClientKind::Dynamic,
        name: "c".to_owned(),
        redirect_uris: uris.iter().map(|uri| (*uri).to_owned()).collect(),
        auth_method: crate::store::AuthMethod::None,
        secret: None,
        metadata: serde_json::json!({}),
        fingerprint: None,
        created_at: jiff::Timestamp::UNIX_EPOCH,
        last_used_at: None,
    }
}

#[test]
fn what_real_clients_register_is_taken() {
    let config = config();
    for uri in [
        "https://claude.ai/api/mcp/auth_callback",
        "https://chatgpt.com/connector/oauth/abc_DEF-1",
        "https://vscode.dev/redirect",
        "https://example.org",
        "https://example.org/?x=1&y=%20",
        "https://example.org:8443/cb",
        "https://example.org:443/cb",
        "https://xn--bcher-kva.example/cb",
        "http://localhost:8787/callback",
        "http://localhost/callback",
        "http://localhost:80/callback",
        "http://127.0.0.1",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
        "http://127.0.0.1:19876/mcp/oauth/callback",
        "http://[::1]:1234/callback?x=1",
        "cursor://anysphere.cursor-mcp/oauth/callback",
    ] {
        assert_eq!(registrable(&config, uri), Ok(()), "{uri}");
        assert!(allowed(&client(&[uri]), uri), "{uri}");
    }
    for builtin in crate::oauth::builtin::all() {
        for uri in builtin.redirect_uris {
            assert_eq!(registrable(&config, uri), Ok(()), "{uri}");
        }
    }
}

#[test]
fn open_redirects_are_not_registrable() {
    let config = config();
    for uri in [
        "",
        "/callback",
        "//evil.example/cb",
        "callback",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "javascript://localhost/%0aalert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://example.org/x",
        "ftp://example.org/",
        "ws://localhost/",
        "intent://x#Intent;end",
        "myapp://callback",
        "cursor:callback",
        "Cursor://anysphere.cursor-mcp/oauth/callback",
        "http://example.org/cb",
        "http://192.168.0.1/cb",
        "http://127.0.0.2/cb",
        "http://0.0.0.0/cb",
        "http://0x7f000001/cb",
        "http://2130706433/cb",
        "http://127.1/cb",
        "http://[::ffff:127.0.0.1]/cb",
        "http://localhost.evil.example/cb",
        "http://localhost./cb",
        "http://localhost:99999/cb",
        "http://localhost:/cb",
        "http://localhost:080/cb",
        "http://localhost@evil.example/cb",
        "http://localhost:80@evil.example/cb",
        "http://user@localhost/cb",
        "http://@localhost/cb",
        "https://@example.org/cb",
        "https://u:p@example.org/cb",
        "https://example.org\\@evil.example/cb",
        "https://example.org/\\evil",
        "https:\\\\evil.example/cb",
        "https:evil.example/cb",
        "https:/evil.example/cb",
        "https:///evil.example/cb",
        "https://example.org/a/../cb",
        "https://example.org/./cb",
        "https://example.org/%2e%2e/cb",
        "HTTPS://example.org/cb",
        "https://EXAMPLE.org/cb",
        "https://example.org/cb#",
        "https://example.org/cb#x",
        "https://*.example.org/cb",
        "https://example.org/*",
        "https://bücher.example/cb",
        "https://example.org/cb\u{202e}",
        "https://example\u{3002}org/cb",
        "https://ｅxample.org/cb",
        "https://example.org/c b",
        "https://example.org/cb\n",
        "\thttps://example.org/cb",
        "https://exa\tmple.org/cb",
        "https://example.org/\"><script>",
        "https://",
        "https://broker.example.org/oauth/callback",
        "https://broker.example.org:443/connections",
        "https://example.org/cb?code=x",
        "https://example.org/cb?a=b&iss=https%3A%2F%2Fevil.example",
        "https://example.org/cb?%73tate",
        "http://localhost/cb?error=",
    ] {
        assert!(registrable(&config, uri).is_err(), "{uri}");
    }
    for uri in [
        "https://example.org/cb?app=x&code_of=y",
        "http://localhost/cb?x=code",
    ] {
        assert_eq!(registrable(&config, uri), Ok(()), "{uri}");
    }
    let long = format!("https://example.org/{}", "a".repeat(2048));
    assert_eq!(registrable(&config, &long), Err(RedirectError::Long));
}

#[test]
fn only_the_port_of_the_own_machine_is_free() {
    let local = client(&["http://localhost/callback", "http://127.0.0.1:7/cb?x=1"]);
    for good in [
        "http://localhost/callback",
        "http://localhost:1/callback",
        "http://localhost:65535/callback",
        "http://127.0.0.1/cb?x=1",
        "http://127.0.0.1:80/cb?x=1",
    ] {
        assert!(allowed(&local, good), "{good}");
    }
    for bad in [
        "http://127.0.0.1:7/callback",
        "http://[::1]/callback",
        "http://localhost:1/callback/",
        "http://localhost:1/callback?x",
        "http://localhost:1/callback#x",
        "http://localhost:1/Callback",
        "http://LOCALHOST:1/callback",
        "HTTP://localhost:1/callback",
        "https://localhost:1/callback",
        "http://localhost:1//callback",
        "http://localhost:1\\callback",
        "http://localhost:1@evil.example/callback",
        "http://localhost@evil.example/callback",
        "http://localhost.evil.example/callback",
        "http://localhost:/callback",
        "http://localhost:0/callback",
        "http://localhost:65536/callback",
        "http://localhost:+1/callback",
        "http://localhost:1/callback ",
        "http://127.0.0.1/cb",
        "http://127.0.0.1:7/cb?x=2",
        "",
    ] {
        assert!(!allowed(&local, bad), "{bad}");
    }
    let hosted = client(&["https://example.org/cb"]);
    for bad in [
        "https://example.org:443/cb",
        "https://example.org:8443/cb",
        "https://example.org/cb/",
        "https://example.org/cb?",
        "https://EXAMPLE.org/cb",
        "https://example.org/cb/../x",
        "http://example.org/cb",
    ] {
        assert!(!allowed(&hosted, bad), "{bad}");
    }
}

#[test]
fn the_free_port_makes_no_difference() {
    assert_eq!(
        without_free_port("http://localhost:5/cb"),
        "http://localhost/cb"
    );
    assert_eq!(without_free_port("http://[::1]:5"), "http://[::1]/");
    assert_eq!(without_free_port("https://a:5/cb"), "https://a:5/cb");
    assert!(is_loopback("http://127.0.0.1:5/") && is_loopback("https://localhost/"));
    assert!(!is_loopback("https://example.org/") && !is_loopback("http://localhost.evil.example/"));
}

/// Texts made of the pieces that attacks are made of, the same ones each time
fn hostile(seed: &mut u64) -> String {
    const PIECES: &[&str] = &[
        "http",
        "https",
        "HTTP",
        "javascript",
        "cursor",
        ":",
        "://",
        "//",
        "/",
        "\\",
        "@",
        "#",
        "?",
        "*",
        ".",
        "..",
        "%2f",
        "%40",
        "%00",
        "localhost",
        "127.0.0.1",
        "[::1]",
        ":80",
        ":1",
        "evil.example",
        "example.org",
        "/cb",
        "\u{202e}",
        "é",
        " ",
        "\n",
        "\t",
        "<",
        "\"",
        "x=1",
    ];
    let mut next = || {
        // xorshift: no need for good randomness, only for the same texts each time
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        usize::try_from(*seed >> 33).unwrap()
    };
    (0..=next() % 9)
        .map(|_| PIECES[next() % PIECES.len()])
        .collect()
}

#[test]
fn whatever_is_taken_leads_where_it_says() {
    let config = config();
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    let (mut taken, mut matched) = (0, 0);
    let local = client(&[
        "http://localhost/cb",
        "http://127.0.0.1/",
        "http://[::1]/cb?x=1",
    ]);
    for round in 0..200_000 {
        let text = match round % 3 {
            0 => hostile(&mut seed),
            1 => format!("http://localhost{}", hostile(&mut seed)),
            _ => format!("https://example.org{}", hostile(&mut seed)),
        };
        if registrable(&config, &text).is_ok() {
            taken += 1;
            let url = Url::parse(&text).unwrap();
            assert!(
                url.username().is_empty() && url.fragment().is_none(),
                "{text}"
            );
            assert!(
                text.is_ascii() && !text.contains(['\\', '*', '@'])
                    || !authority(&text).contains('@'),
                "{text}"
            );
            match url.scheme() {
                "https" | "cursor" => {}
                "http" => assert!(is_loopback(&text), "{text}"),
                other => panic!("{other}: {text}"),
            }
        }
        if allowed(&local, &text) {
            matched += 1;
            // A browser must read the same host as the comparison did.
            let url = Url::parse(&text).unwrap();
            assert!(
                ["localhost", "127.0.0.1", "[::1]"].contains(&url.host_str().unwrap()),
                "{text}"
            );
            assert!(["/cb", "/"].contains(&url.path()), "{text}");
        }
    }
    assert!(taken > 100 && matched > 10, "{taken} {matched}");
}

#[test]
fn the_broker_itself_is_no_client_by_any_name_of_its_machine() {
    let mut config = config();
    let own = |config: &Config, uri: &str| registrable(config, uri) == Err(RedirectError::Own);
    assert!(own(&config, "https://broker.example.org/cb"));
    assert!(!own(&config, "http://localhost/cb"));
    config.public_url = PublicUrl::parse("http://127.0.0.1:4741").unwrap();
    for uri in ["127.0.0.1", "localhost", "[::1]"] {
        assert!(own(&config, &format!("http://{uri}:4741/cb")), "{uri}");
        assert!(!own(&config, &format!("http://{uri}:4742/cb")), "{uri}");
    }
}

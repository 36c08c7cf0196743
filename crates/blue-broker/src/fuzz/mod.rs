//! Properties that hold for every input: the bodies of the fuzz targets, which also run as plain
//! tests
//!
//! Compiled only with the feature `fuzz`, which `fuzz/` enables.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderValue, header};
use url::{Url, form_urlencoded};

use crate::{
    config::{Config, Given},
    oauth::{browser, cimd, form::Params, redirect},
    store::{AuthMethod, Client, ClientKind},
};

/// The address of the document that [`document`] reads
const ID: &str = "https://client.example/metadata.json";

static CONFIG: LazyLock<Config> = LazyLock::new(|| {
    let vars = [
        ("BLUE_BROKER_PUBLIC_URL", "https://broker.example.org"),
        ("BLUE_BROKER_FORGE_URL", "https://forge.example.org"),
        ("BLUE_BROKER_CLIENT_ID", "c"),
        ("BLUE_BROKER_CLIENT_SECRET", "s"),
    ];
    let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let given = Given {
        vars: vars.to_vec(),
        ..Given::default()
    };
    let read = Config::read(&given, std::path::Path::new("data"));
    read.expect("these settings are good")
});

fn client(uris: &[&str]) -> Client {
    Client {
        id: "c".to_owned(),
        kind: ClientKind::Dynamic,
        name: "c".to_owned(),
        redirect_uris: uris.iter().map(|uri| (*uri).to_owned()).collect(),
        auth_method: AuthMethod::None,
        secret: None,
        metadata: serde_json::Value::Null,
        fingerprint: None,
        created_at: jiff::Timestamp::UNIX_EPOCH,
        last_used_at: None,
    }
}

/// Register any text as a redirect URI, and compare any text with registered ones
pub fn redirect_uri(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let taken = redirect::registrable(&CONFIG, text).is_ok();
    if taken {
        registered(text);
        assert!(redirect::allowed(&client(&[text]), text), "{text}");
    }
    let known = [
        "http://localhost/cb",
        "http://127.0.0.1/",
        "http://[::1]/cb?x=1",
        "https://example.org/cb",
        "cursor://editor.example/cb",
    ];
    if redirect::allowed(&client(&known), text) && !known.contains(&text) {
        // Only the port of a loopback address is free; a browser must read the same host.
        let url = Url::parse(text).expect("what is compared by its parts has parts");
        assert_eq!(url.scheme(), "http", "{text}");
        let host = url.host_str().unwrap_or_default();
        assert!(
            ["localhost", "127.0.0.1", "[::1]"].contains(&host),
            "{text}"
        );
        assert!(
            url.username().is_empty() && url.password().is_none(),
            "{text}"
        );
        assert!(["/cb", "/"].contains(&url.path()), "{text}");
        assert!(matches!(url.query(), None | Some("x=1")), "{text}");
        assert_eq!(url.fragment(), None, "{text}");
    }
}

/// Properties of a redirect URI that was accepted
fn registered(text: &str) {
    let url = Url::parse(text).expect("it was taken");
    assert!(
        text.is_ascii() && !text.contains(['\\', '*', ' ', '#']),
        "{text}"
    );
    assert!(
        url.username().is_empty() && url.password().is_none(),
        "{text}"
    );
    assert!(url.has_host() && url.fragment().is_none(), "{text}");
    match url.scheme() {
        "https" | "cursor" => {}
        "http" => assert!(redirect::is_loopback(text), "{text}"),
        other => panic!("{other}: {text}"),
    }
}

/// Read any bytes as a form
pub fn form(data: &[u8]) {
    let mut headers = HeaderMap::new();
    let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(header::CONTENT_TYPE, kind);
    let Ok(params) = Params::form(&headers, data) else {
        return;
    };
    // Whatever is accepted, every other parser must read alike: each name once, with this value.
    let mut seen = std::collections::BTreeSet::new();
    for (name, value) in form_urlencoded::parse(data) {
        assert!(
            seen.insert(name.clone().into_owned()),
            "{name:?} comes twice"
        );
        let expected = (!value.is_empty()).then_some(value.as_ref());
        assert_eq!(params.get(&name), expected, "{name:?}");
        assert!(!value.contains('\0'), "{name:?}");
    }
    assert!(!format!("{params:?}").contains('='), "values are not shown");
}

/// Read any bytes as a client's document
pub fn document(data: &[u8]) {
    let Some(taken) = cimd::read_document(&CONFIG, ID, data) else {
        return;
    };
    assert!(!taken.redirect_uris.is_empty());
    for uri in &taken.redirect_uris {
        registered(uri);
    }
    assert!(!taken.name.is_empty() && !taken.name.chars().any(char::is_control));
    assert!(taken.name.chars().count() <= 100);
    let hidden = ['\u{202e}', '\u{200b}', '\u{2066}', '\u{feff}'];
    assert!(!taken.name.contains(hidden), "{:?}", taken.name);
    let whole: serde_json::Value = serde_json::from_slice(data).expect("it was taken");
    assert_eq!(whole["client_id"], ID);
    for key in ["client_uri", "logo_uri", "policy_uri", "tos_uri"] {
        if let Some(link) = taken.metadata.get(key).and_then(|link| link.as_str()) {
            assert!(link.starts_with("https://"), "{link}");
        }
    }
}

/// Read any bytes as a `Cookie` header
pub fn cookies(data: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(data) else {
        return;
    };
    let headers = HeaderMap::from_iter([(header::COOKIE, value)]);
    let text = String::from_utf8_lossy(data).into_owned();
    for name in ["__Host-tx-a", "__Host-connections", "a"] {
        let Some(found) = browser::cookie(&headers, name) else {
            continue;
        };
        assert!(!found.contains(';'), "{found}");
        assert!(text.contains(&format!("{name}={found}")), "{found}");
        // It is a whole cookie, not the end of another one's name or value.
        let own = text.split(';').any(|pair| {
            let pair = pair.trim();
            pair.strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('='))
                == Some(found)
        });
        assert!(own, "{name}={found} in {text}");
    }
}

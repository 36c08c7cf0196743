//! The fuzz targets, briefly and with the same inputs each time

use super::*;

const PARTS: &[&str] = &[
    "http",
    "https",
    "cursor",
    "javascript",
    "data",
    "://",
    ":",
    "/",
    "//",
    "\\",
    "@",
    "#",
    "?",
    "*",
    "%",
    "%2f",
    "%61",
    "%00",
    "%zz",
    "%ff",
    "+",
    "&",
    "=",
    ";",
    " ",
    "\t",
    "\n",
    "\0",
    "\"",
    "<",
    ".",
    "..",
    "localhost",
    "127.0.0.1",
    "[::1]",
    "0x7f.1",
    "example.org",
    "evil.example",
    "broker.example.org",
    "editor.example",
    "cb",
    "CB",
    "x=1",
    ":80",
    ":443",
    ":4711",
    ":99999",
    "user",
    "\u{202e}",
    "\u{ff0f}",
    "\u{435}",
    "\u{3002}",
    "__Host-tx-a",
    "__Host-connections",
    "a",
    "=a",
    "; ",
    "; a=",
    "tx",
    "token",
    "answer",
    "approve",
];

/// Texts from meaningful pieces, half of them after a valid beginning
fn texts(rounds: u32, begin: &[&str], mut check: impl FnMut(&[u8])) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below
    };
    for round in 0..rounds {
        let mut text = String::new();
        if round % 2 == 0 {
            text.push_str(begin[next(begin.len())]);
        }
        for _ in 0..=next(9) {
            text.push_str(PARTS[next(PARTS.len())]);
        }
        let mut bytes = text.into_bytes();
        if round % 7 == 0 {
            let at = next(bytes.len());
            bytes[at] = u8::try_from(next(256)).unwrap();
        }
        check(&bytes);
    }
}

#[test]
fn redirect_uris_hold_for_fixed_seeds() {
    let begin = [
        "http://localhost",
        "http://127.0.0.1",
        "http://[::1]",
        "https://example.org",
        "cursor://editor.example",
        "https://",
    ];
    texts(20_000, &begin, redirect_uri);
}

#[test]
fn forms_hold_for_fixed_seeds() {
    texts(50_000, &["tx=1&token=", "a=1&", "a=%"], form);
}

#[test]
fn cookies_hold_for_fixed_seeds() {
    texts(
        50_000,
        &["a=1; __Host-tx-a=", "__Host-connections=x;", "xa="],
        cookies,
    );
}

#[test]
fn documents_hold_for_fixed_seeds() {
    let good = serde_json::json!({
        "client_id": ID,
        "client_name": "A client",
        "redirect_uris": ["https://client.example/cb", "http://127.0.0.1/cb"],
        "client_uri": "https://client.example/",
        "token_endpoint_auth_method": "none",
    });
    let good = good.to_string();
    let (mut taken, mut seen) = (0, 0);
    // A value, or a part of one, is replaced by something else.
    let places: Vec<_> = good.match_indices('"').map(|(at, _)| at).collect();
    let mut turn = 0;
    texts(
        20_000,
        &["https://client.example/", "", "\",\"x\":\""],
        |bytes| {
            turn += 1;
            let (from, to) = (
                places[turn % places.len()] + 1,
                places[(turn / 7) % places.len()],
            );
            let (from, to) = (from.min(to), from.max(to));
            let mut text = good.as_bytes()[..from].to_vec();
            text.extend(bytes);
            text.extend(&good.as_bytes()[to..]);
            seen += 1;
            taken += u32::from(cimd::read_document(&CONFIG, ID, &text).is_some());
            document(&text);
        },
    );
    assert!(taken > 20 && taken < seen, "{taken} of {seen}");
}

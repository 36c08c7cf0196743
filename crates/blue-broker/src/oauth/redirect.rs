//! Where a client may be answered

use crate::store::Client;

/// Whether a client registered this address
///
/// Byte for byte. Only a program on the person's own machine may come with another port than it
/// registered, because it takes the one that is free (RFC 8252, 7.3).
pub(crate) fn allowed(client: &Client, uri: &str) -> bool {
    let same = |registered: &String| registered == uri || same_but_port(registered, uri);
    client.redirect_uris.iter().any(same)
}

fn same_but_port(registered: &str, uri: &str) -> bool {
    match (loopback(registered), loopback(uri)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// Host and what follows the port, of an address on the own machine
fn loopback(uri: &str) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix("http://")?;
    let host = ["127.0.0.1", "[::1]", "localhost"]
        .into_iter()
        .find(|host| rest.starts_with(host))?;
    let after = &rest[host.len()..];
    let path = match after.strip_prefix(':') {
        Some(port) => {
            let digits = port.bytes().take_while(u8::is_ascii_digit).count();
            let number: u16 = port[..digits].parse().ok()?;
            (number > 0).then_some(&port[digits..])?
        }
        None => after,
    };
    let plain = path.is_empty() || path.starts_with(['/', '?']);
    plain.then_some((host, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_port_of_the_own_machine_is_free() {
        for (registered, uri, same) in [
            ("http://127.0.0.1/cb", "http://127.0.0.1:1234/cb", true),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1/cb", true),
            ("http://[::1]:1/cb", "http://[::1]:2/cb", true),
            ("http://localhost:1/cb", "http://localhost:2/cb", true),
            ("http://localhost:1/cb", "http://127.0.0.1:1/cb", false),
            ("http://localhost:1/cb", "http://localhost:2/cb/", false),
            (
                "http://localhost:1/cb",
                "http://localhost:2@evil.example/cb",
                false,
            ),
            (
                "http://localhost:1/cb",
                "http://localhost.evil.example/cb",
                false,
            ),
            ("http://localhost:1/cb", "http://localhost:99999/cb", false),
            ("http://localhost:1/cb", "https://localhost:2/cb", false),
            (
                "http://localhost:1",
                "http://localhost:2\\@evil.example",
                false,
            ),
            ("https://a.example/cb", "https://a.example:1/cb", false),
        ] {
            assert_eq!(same_but_port(registered, uri), same, "{registered} {uri}");
        }
    }
}

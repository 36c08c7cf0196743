//! The caller's address: that of the connection, or the one that a trusted proxy names
//!
//! For limits and the log alone; no URL is ever built from it.

use std::net::{IpAddr, SocketAddr};

use axum::http::{Extensions, HeaderMap};

use crate::{config::Network, limits::CountedAs};

/// The address that a request comes from; handlers take it from its extensions
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallerAddress(pub(crate) IpAddr);

/// The key that a request is counted under for limits; `None` if the address is unknown
pub(crate) fn counted(extensions: &Extensions) -> Option<CountedAs> {
    let CallerAddress(address) = extensions.get()?;
    CountedAs::address(*address)
}

/// Walks back from the connection through the forwarding header as long as each hop is a trusted
/// proxy
///
/// Whatever a client wrote into the header stands to the left of what the first trusted proxy
/// added, and is not reached.
pub(super) fn address(trusted: &[Network], connection: IpAddr, headers: &HeaderMap) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.holds(address));
    let mut caller = connection.to_canonical();
    if !is_trusted(caller) {
        return caller;
    }
    let lines = headers.get_all("x-forwarded-for").iter();
    let named: Vec<&str> = lines
        .flat_map(|line| line.to_str().unwrap_or("?").split(','))
        .collect();
    for name in named.into_iter().rev() {
        // The walk stops at an entry that cannot be parsed.
        let Some(address) = parse(name.trim()) else {
            break;
        };
        caller = address;
        if !is_trusted(caller) {
            break;
        }
    }
    caller
}

/// An address, with or without a port
fn parse(name: &str) -> Option<IpAddr> {
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let with_port = || name.parse::<SocketAddr>().ok().map(|socket| socket.ip());
    let address = bare.unwrap_or(name).parse().ok().or_else(with_port)?;
    Some(IpAddr::to_canonical(&address))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn of(connection: &str, forwarded: &[&'static str]) -> String {
        let trusted = ["127.0.0.1", "10.0.0.0/8"].map(|one| Network::parse(one).unwrap());
        let lines = forwarded.iter().map(|line| HeaderValue::from_static(line));
        let headers = lines
            .map(|line| (axum::http::HeaderName::from_static("x-forwarded-for"), line))
            .collect();
        address(&trusted, connection.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn only_what_trusted_proxies_wrote_is_believed() {
        // A client that writes the header itself.
        assert_eq!(of("203.0.113.9", &["198.51.100.1"]), "203.0.113.9");
        // The proxy's own entry is the last one; before it is what the client sent.
        assert_eq!(
            of("127.0.0.1", &["198.51.100.1, 203.0.113.9"]),
            "203.0.113.9"
        );
        assert_eq!(
            of("127.0.0.1", &["198.51.100.1", "203.0.113.9"]),
            "203.0.113.9"
        );
        assert_eq!(of("127.0.0.1", &["203.0.113.9, 10.1.2.3"]), "203.0.113.9");
        assert_eq!(of("::ffff:10.0.0.1", &["2001:db8::7"]), "2001:db8::7");
        assert_eq!(of("127.0.0.1", &["203.0.113.9:4711"]), "203.0.113.9");
        assert_eq!(of("127.0.0.1", &["[2001:db8::7]:4711"]), "2001:db8::7");
        assert_eq!(of("127.0.0.1", &["[2001:db8::7]"]), "2001:db8::7");
        // An absent or unreadable header: the last known address counts.
        assert_eq!(of("127.0.0.1", &[]), "127.0.0.1");
        assert_eq!(of("127.0.0.1", &["unknown"]), "127.0.0.1");
        assert_eq!(
            of("127.0.0.1", &["203.0.113.9, unknown, 10.1.2.3"]),
            "10.1.2.3"
        );
        assert_eq!(of("127.0.0.1", &["10.1.2.3, 10.1.2.4"]), "10.1.2.3");
    }
}

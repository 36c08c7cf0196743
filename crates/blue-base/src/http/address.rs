//! Which addresses are public, and a client that connects to no others

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Client;
use url::{Host, Url};

use super::{HttpConfig, HttpError, connect};

/// Makes a client for the host of `url`, refused unless all of its addresses are public
///
/// The addresses that were checked are the ones that are connected to: the name is not resolved
/// again. Behind a proxy for this host a name that cannot be resolved here is left to the proxy.
pub(super) async fn public_client(
    config: &HttpConfig,
    url: &Url,
    shown: &str,
) -> Result<Client, HttpError> {
    let not_public = || HttpError::NotPublic {
        host: shown.to_owned(),
    };
    let name = match url.host() {
        Some(Host::Ipv4(ip)) if is_public(ip.into()) => None,
        Some(Host::Ipv6(ip)) if is_public(ip.into()) => None,
        Some(Host::Domain(name)) => Some(name.to_owned()),
        _ => return Err(not_public()),
    };
    let Some(name) = name else {
        return connect::encrypted(config);
    };
    let port = url.port_or_known_default().unwrap_or_default();
    let found: Vec<SocketAddr> = match tokio::net::lookup_host((name.as_str(), port)).await {
        Ok(found) => found.collect(),
        Err(_) if config.proxy.https.is_some() => return connect::encrypted(config),
        Err(error) => {
            return Err(HttpError::Unreachable {
                host: shown.to_owned(),
                source: error.into(),
            });
        }
    };
    // One private address among public ones is refused too: it could be the one connected to.
    if found.is_empty() || found.iter().any(|address| !is_public(address.ip())) {
        return Err(not_public());
    }
    connect::pinned(config, &name, &found)
}

/// Whether an address is reachable from the whole internet: not loopback, private, link-local or
/// reserved (RFC 6890)
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    const CLOSED: &[([u8; 4], u32)] = &[
        ([0, 0, 0, 0], 8),
        ([10, 0, 0, 0], 8),
        ([100, 64, 0, 0], 10),
        ([127, 0, 0, 0], 8),
        ([169, 254, 0, 0], 16),
        ([172, 16, 0, 0], 12),
        ([192, 0, 0, 0], 24),
        ([192, 0, 2, 0], 24),
        ([192, 31, 196, 0], 24),
        ([192, 52, 193, 0], 24),
        ([192, 88, 99, 0], 24),
        ([192, 168, 0, 0], 16),
        ([192, 175, 48, 0], 24),
        ([198, 18, 0, 0], 15),
        ([198, 51, 100, 0], 24),
        ([203, 0, 113, 0], 24),
        ([224, 0, 0, 0], 3),
    ];
    let bits = ip.to_bits();
    !CLOSED.iter().any(|(net, length)| {
        let mask = u32::MAX << (32 - length);
        bits & mask == u32::from_be_bytes(*net)
    })
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    // Only 2000::/3 is given out. Mapped, translated, local and multicast ones lie elsewhere.
    const CLOSED: &[(u128, u32)] = &[
        // Protocols, among them Teredo, which carries an IPv4 address
        (0x2001_0000 << 96, 23),
        (0x2001_0db8 << 96, 32),
        // 6to4 carries one, too
        (0x2002_0000 << 96, 16),
        (0x2620_004f_8000 << 80, 48),
        (0x3fff_0000 << 96, 20),
    ];
    let bits = ip.to_bits();
    bits >> 125 == 1
        && !CLOSED.iter().any(|(net, length)| {
            let mask = u128::MAX << (128 - length);
            bits & mask == *net
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refused(url: &str) -> bool {
        let url = Url::parse(url).unwrap();
        let made = public_client(&HttpConfig::default(), &url, "shown").await;
        matches!(made, Err(HttpError::NotPublic { host }) if host == "shown")
    }

    #[tokio::test]
    async fn a_host_with_a_private_address_gets_no_client() {
        for url in [
            "https://127.0.0.1/log",
            "https://10.1.2.3/log",
            "https://169.254.169.254/latest/meta-data",
            "https://[::1]/log",
            "https://[::ffff:10.0.0.1]/log",
            "https://2130706433/log",
            // A name that resolves to a private address.
            "https://localhost/log",
        ] {
            assert!(refused(url).await, "{url}");
        }
        assert!(!refused("https://1.1.1.1/log").await);
    }
}

//! Which addresses may be asked

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::MetadataError;
use crate::config::{Config, MetadataHosts};

/// The address in `id`, if it is one that a document may have
pub(super) fn target(config: &Config, id: &str) -> Result<Url, MetadataError> {
    let bad = |why| Err(MetadataError::Address(why));
    let Ok(url) = Url::parse(id) else {
        return bad("not a URL");
    };
    if url.scheme() != "https" {
        return bad("not https");
    }
    if !url.username().is_empty() || url.password().is_some() || id.contains('@') {
        return bad("it must hold no user and no `@`");
    }
    if id.contains('#') {
        return bad("it must have no fragment");
    }
    // One spelling only: it is compared with the document, and no parser may read another host.
    if url.as_str() != id {
        return bad("it is not in its plain spelling");
    }
    if url.path() == "/" {
        return bad("it must have a path");
    }
    if url.port().is_some() {
        return bad("it must have no port");
    }
    let host = match url.host() {
        Some(Host::Domain(name)) if name.contains('.') && !name.ends_with('.') => name.to_owned(),
        _ => return bad("its host must be a public name"),
    };
    let known = match &config.metadata_hosts {
        MetadataHosts::Any => true,
        MetadataHosts::None => false,
        MetadataHosts::Only(hosts) => hosts.contains(&host),
    };
    if !known {
        return Err(MetadataError::Host(host));
    }
    Ok(url)
}

/// Whether an address is anybody's on the internet, and nobody's in particular here (RFC 6890)
pub(super) fn is_public(ip: IpAddr) -> bool {
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

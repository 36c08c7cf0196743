//! Addresses and networks

use std::{fmt, net::IpAddr};

/// One address, or all that begin with the same bits
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    bits: u32,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

impl Network {
    /// Read `10.0.0.0/8`, `192.0.2.7`, `fd00::/8` or `::1`
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad =
            || format!("`{text}` is not an address or a network like `192.0.2.7` or `10.0.0.0/8`");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().map_err(|_| bad())?;
        let most = width(first);
        let plain = |bits: &str| bits.bytes().all(|b| b.is_ascii_digit());
        let bits = match bits {
            None => most,
            Some(bits) if plain(bits) => bits.parse().map_err(|_| bad())?,
            Some(_) => return Err(bad()),
        };
        if bits > most {
            return Err(bad());
        }
        // An address with host bits set is ambiguous, and which proxies to trust must not be
        // guessed.
        let whole = Self { first, bits };
        if prefix(first, bits) != value(first) {
            return Err(format!("`{text}` has bits set behind the first {bits}"));
        }
        Ok(whole)
    }

    pub(crate) fn holds(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && prefix(address, self.bits) == value(self.first)
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn value(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => ip.into(),
    }
}

/// The address with all but its first bits at zero
fn prefix(address: IpAddr, bits: u32) -> u128 {
    let rest = width(address) - bits;
    let kept = u128::MAX.checked_shl(rest).unwrap_or(0);
    value(address) & kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_what_begins_alike() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.1"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
            ("192.0.2.0/25", "192.0.2.127", "192.0.2.128"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
            ("fd00::/8", "fdff::1", "fe80::1"),
            ("::/0", "2001:db8::1", "127.0.0.1"),
            ("::1", "::1", "::2"),
            ("127.0.0.0/8", "::ffff:127.0.0.1", "::1"),
        ] {
            let found = Network::parse(network).unwrap();
            assert!(found.holds(inside.parse().unwrap()), "{network} {inside}");
            assert!(
                !found.holds(outside.parse().unwrap()),
                "{network} {outside}"
            );
        }
    }

    #[test]
    fn what_is_no_network_is_told_so() {
        for bad in [
            "",
            "proxy",
            "10.0.0",
            "10.0.0.0/",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/+8",
            "10.0.0.1/8",
            "fd00::1/8",
            "10.0.0.0/8/8",
            "10.0.0.1:80",
            "[::1]",
        ] {
            assert!(Network::parse(bad).is_err(), "{bad}");
        }
    }
}

//! Where to listen

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// An address of this machine with a port; 0 takes a free one
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listen(SocketAddr);

impl Listen {
    /// Read `127.0.0.1:3000`, `[::1]:3000`, `localhost:3000`, `3000` or `0.0.0.0`
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let bad = || "an address is like `127.0.0.1:3000`, `[::1]:3000` or `3000`".to_owned();
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self(address));
        }
        if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(Self((ip, 0).into()));
        }
        let (name, port) = text.rsplit_once(':').unwrap_or(("", text));
        let (name, port) = if text == "localhost" {
            (text, "0")
        } else {
            (name, port)
        };
        if !matches!(name, "" | "localhost") || port.starts_with('+') {
            return Err(bad());
        }
        let port: u16 = port.parse().map_err(|_| bad())?;
        Ok(Self((Ipv4Addr::LOCALHOST, port).into()))
    }

    pub(crate) fn address(self) -> SocketAddr {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, address) in [
            ("127.0.0.1:3000", "127.0.0.1:3000"),
            ("[::1]:3000", "[::1]:3000"),
            ("[::1]", "[::1]:0"),
            ("::1", "[::1]:0"),
            ("0.0.0.0", "0.0.0.0:0"),
            ("localhost", "127.0.0.1:0"),
            ("localhost:80", "127.0.0.1:80"),
            (":3000", "127.0.0.1:3000"),
            ("3000", "127.0.0.1:3000"),
        ] {
            assert_eq!(Listen::parse(text).unwrap().address().to_string(), address);
        }
        for text in [
            "",
            ":",
            "example.org:80",
            "70000",
            "+1",
            "-1",
            "127.0.0.1:x",
            "a b",
        ] {
            assert!(Listen::parse(text).is_err(), "{text}");
        }
    }
}

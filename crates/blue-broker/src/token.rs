//! Tokens of the broker: a prefix, 256 random bits, a checksum; only their hash is stored

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use blue_base::secret::{Secret, constant_time_eq};
use ring::digest::{SHA256, digest};

use crate::rng::{self, Rng};

/// Kind of a token
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Access,
    Refresh,
    Code,
    ClientSecret,
    /// Session cookie of the connections page
    PageSession,
}

impl Kind {
    /// A fixed prefix, which scanners for leaked secrets look for
    const fn prefix(self) -> &'static str {
        match self {
            Self::Access => "bbat_",
            Self::Refresh => "bbrt_",
            Self::Code => "bbac_",
            Self::ClientSecret => "bbcs_",
            Self::PageSession => "bbps_",
        }
    }
}

/// A token in clear, on its way out or in
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(Secret);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    pub(crate) fn new(kind: Kind, rng: &dyn Rng) -> Self {
        Self::of(kind, rng::bytes(rng))
    }

    /// A token of given bytes, for those that are derived instead of stored
    pub(crate) fn of(kind: Kind, bytes: [u8; 32]) -> Self {
        let body = URL_SAFE_NO_PAD.encode(bytes);
        let text = format!("{}{body}", kind.prefix());
        Self(Secret::new(format!("{text}{}", checksum(&text))))
    }

    /// Parse a token; one of another kind or with a typing mistake is rejected without a database
    /// lookup
    pub(crate) fn parse(kind: Kind, text: &str) -> Option<Self> {
        let body = text.strip_prefix(kind.prefix())?;
        if !text.is_ascii() || body.len() != 43 + CHECKSUM {
            return None;
        }
        let (start, end) = text.split_at(text.len() - CHECKSUM);
        (checksum(start) == end).then(|| Self(Secret::new(text)))
    }

    pub(crate) fn expose(&self) -> &str {
        self.0.expose()
    }

    pub(crate) fn hash(&self) -> TokenHash {
        TokenHash::of(self.expose())
    }
}

const CHECKSUM: usize = 6;

fn checksum(text: &str) -> String {
    let hash = digest(&SHA256, text.as_bytes());
    let mut sum = URL_SAFE_NO_PAD.encode(&hash.as_ref()[..5]);
    sum.truncate(CHECKSUM);
    sum
}

/// SHA-256 of a token, a cookie or a state
///
/// Rows of tokens do not hold it, but a [`StoredHash`]: an attacker who can write to the database can hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TokenHash([u8; 32]);

impl fmt::Debug for TokenHash {
    // Not even the hash is for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash")
    }
}

impl TokenHash {
    pub(crate) fn of(text: &str) -> Self {
        let hash = digest(&SHA256, text.as_bytes());
        Self(hash.as_ref().try_into().expect("SHA-256 gives 32 bytes"))
    }

    /// A hash as it was stored
    pub(crate) fn stored(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The hash without a key, for rows that hold no token
    pub(crate) fn unkeyed_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Compare in constant time
    pub(crate) fn matches(&self, other: &Self) -> bool {
        constant_time_eq(self.0, other.0)
    }
}

/// Keyed hash of a token, as rows hold it: HMAC-SHA-256 over its [`TokenHash`]
///
/// Made by [`crate::crypto::TokenKey`] alone. Without that key no party can write a row that a token
/// of their own making opens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredHash([u8; 32]);

impl fmt::Debug for StoredHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredHash")
    }
}

impl StoredHash {
    /// A hash as a row holds it
    pub(crate) fn stored(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Compare in constant time
    pub(crate) fn matches(&self, other: &Self) -> bool {
        constant_time_eq(self.0, other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SystemRng;

    #[test]
    fn a_token_is_read_as_its_kind_only() {
        let token = Token::new(Kind::Access, &SystemRng::default());
        let text = token.expose().to_owned();
        assert_eq!(text.len(), 5 + 43 + 6);
        assert_eq!(Token::parse(Kind::Access, &text).unwrap(), token);
        assert!(Token::parse(Kind::Refresh, &text).is_none());
        assert!(Token::parse(Kind::Refresh, &text.replace("bbat_", "bbrt_")).is_none());
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(Token::parse(Kind::Access, &changed).is_none(), "{at}");
        }
        for bad in ["", "bbat_", "bbat_é", &text[..53], &format!("{text}A")] {
            assert!(Token::parse(Kind::Access, bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn hashes_match_themselves() {
        let (a, b) = (TokenHash::of("a"), TokenHash::of("b"));
        assert!(a.matches(&TokenHash::of("a")) && !a.matches(&b));
        assert_eq!(TokenHash::stored(a.unkeyed_bytes()), Some(a));
        assert_eq!(TokenHash::stored(b"short"), None);
    }

    #[test]
    fn debug_shows_neither_token_nor_hash() {
        let token = Token::of(Kind::Code, [1; 32]);
        assert_eq!(format!("{token:?} {:?}", token.hash()), "Token TokenHash");
    }
}

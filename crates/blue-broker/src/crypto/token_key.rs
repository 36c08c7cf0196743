//! The key of the hashes under which tokens are stored

use std::fmt;

use ring::{hkdf, hmac};

use super::seal::{Bound, DataKey};
use crate::token::{StoredHash, TokenHash};

/// Key of the hashes under which tokens are stored
///
/// It is derived from a random secret that lies in the database, wrapped by a master key. A
/// rotation of the master keys wraps that secret again and leaves it as it is, so every token stays
/// valid, and the older master key is not needed for it.
#[derive(Clone)]
pub(crate) struct TokenKey(hmac::Key);

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey")
    }
}

impl TokenKey {
    pub(crate) fn derive(secret: &DataKey) -> Self {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"blue-broker");
        let mut key = [0; 32];
        salt.extract(&secret.0)
            .expand(&[b"token-hashes-v1"], hkdf::HKDF_SHA256)
            .and_then(|okm| okm.fill(&mut key))
            .expect("32 bytes are what HKDF with SHA-256 gives");
        Self(hmac::Key::new(hmac::HMAC_SHA256, &key))
    }

    pub(crate) fn hash(&self, hash: &TokenHash) -> StoredHash {
        let tag = hmac::sign(&self.0, hash.unkeyed_bytes());
        StoredHash::stored(tag.as_ref()).expect("SHA-256 gives 32 bytes")
    }
}

/// Context that the wrapped secret is bound to, so that no user's data key opens in its place
pub(crate) fn token_key_place() -> Bound {
    Bound::to("token_keys").and("1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SystemRng;

    #[test]
    fn a_stored_hash_depends_on_token_and_key() {
        let rng = SystemRng::default();
        let (one, other) = (DataKey::new(&rng), DataKey::new(&rng));
        let (token, another) = (TokenHash::of("a"), TokenHash::of("b"));
        let stored = TokenKey::derive(&one).hash(&token);
        assert!(stored.matches(&TokenKey::derive(&one).hash(&token)));
        assert!(!stored.matches(&TokenKey::derive(&one).hash(&another)));
        assert!(!stored.matches(&TokenKey::derive(&other).hash(&token)));
        assert_ne!(stored.bytes(), token.unkeyed_bytes());
        assert_eq!(format!("{:?}", TokenKey::derive(&one)), "TokenKey");
    }
}

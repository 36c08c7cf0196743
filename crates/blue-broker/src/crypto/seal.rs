//! Sealing: XChaCha20-Poly1305, bound to the place where the sealed bytes belong

use std::fmt;

use chacha20poly1305::{
    KeyInit as _, XChaCha20Poly1305, XNonce,
    aead::{Aead as _, Payload},
};

use crate::rng::{self, Rng};

const NONCE: usize = 24;

/// Context that sealed bytes are bound to, so that they open nowhere else
///
/// Every part is prefixed with its length: no two lists of parts have the same bytes.
#[derive(Debug, Clone)]
pub(crate) struct Bound(Vec<u8>);

impl Bound {
    pub(crate) fn to(table: &str) -> Self {
        Self(Vec::new()).and("v1").and(table)
    }

    pub(crate) fn and(mut self, part: &str) -> Self {
        self.0.extend((part.len() as u64).to_be_bytes());
        self.0.extend(part.as_bytes());
        self
    }

    pub(crate) fn and_number(self, number: i64) -> Self {
        self.and(&number.to_string())
    }
}

/// The bytes were sealed for another place or with another key, or were changed
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("sealed data could not be opened")]
pub(crate) struct SealError;

/// Key for the rows of one user
#[derive(Clone)]
pub(crate) struct DataKey(pub(super) [u8; 32]);

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataKey")
    }
}

impl DataKey {
    pub(crate) fn new(rng: &dyn Rng) -> Self {
        Self(rng::bytes(rng))
    }

    /// Seal bytes; the nonce is prepended
    pub(crate) fn seal(&self, rng: &dyn Rng, plain: &[u8], bound: &Bound) -> Vec<u8> {
        seal(&self.0, rng, plain, bound)
    }

    pub(crate) fn open(&self, sealed: &[u8], bound: &Bound) -> Result<Vec<u8>, SealError> {
        open(&self.0, sealed, bound)
    }
}

pub(super) fn seal(key: &[u8; 32], rng: &dyn Rng, plain: &[u8], bound: &Bound) -> Vec<u8> {
    let nonce: [u8; NONCE] = rng::bytes(rng);
    let payload = Payload {
        msg: plain,
        aad: &bound.0,
    };
    let sealed = XChaCha20Poly1305::new(key.into())
        .encrypt(&XNonce::from(nonce), payload)
        .expect("only a message of more than 256 GiB is refused");
    [nonce.as_slice(), &sealed].concat()
}

pub(super) fn open(key: &[u8; 32], sealed: &[u8], bound: &Bound) -> Result<Vec<u8>, SealError> {
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE>().ok_or(SealError)?;
    let payload = Payload {
        msg: sealed,
        aad: &bound.0,
    };
    XChaCha20Poly1305::new(key.into())
        .decrypt(&XNonce::from(*nonce), payload)
        .map_err(|_| SealError)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SystemRng;

    #[test]
    fn what_is_sealed_opens_only_where_it_belongs() {
        let rng = SystemRng::default();
        let key = DataKey::new(&rng);
        let place = |user: &str, version| Bound::to("users").and(user).and_number(version);
        let sealed = key.seal(&rng, b"hunter2", &place("1", 7));
        assert!(!sealed.windows(7).any(|part| part == b"hunter2"));
        assert_eq!(key.open(&sealed, &place("1", 7)).unwrap(), b"hunter2");
        assert_eq!(key.open(&sealed, &place("2", 7)), Err(SealError));
        assert_eq!(key.open(&sealed, &place("1", 6)), Err(SealError));
        assert_eq!(
            DataKey::new(&rng).open(&sealed, &place("1", 7)),
            Err(SealError)
        );
        for at in [0, 24, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(key.open(&changed, &place("1", 7)), Err(SealError), "{at}");
        }
        assert_eq!(key.open(&sealed[..20], &place("1", 7)), Err(SealError));
    }

    #[test]
    fn parts_cannot_be_moved() {
        let rng = SystemRng::default();
        let key = DataKey::new(&rng);
        let sealed = key.seal(&rng, b"x", &Bound::to("t").and("ab").and("c"));
        assert!(
            key.open(&sealed, &Bound::to("t").and("a").and("bc"))
                .is_err()
        );
    }
}

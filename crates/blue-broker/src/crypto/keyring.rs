//! The master keys: the active one, and older ones that still open what they sealed

use std::fmt;

use ring::{digest, hkdf, hmac};

use super::seal::{self, Bound, DataKey, SealError};
use crate::rng::{self, Rng};

/// Purpose of a key that is derived from a master key
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Wrapping the data keys of users
    DataKeys,
    /// PKCE verifiers towards the forge
    UpstreamVerifier,
    /// States towards the forge: derived, so that a second press of the button leads to the same
    /// URL
    UpstreamState,
    /// Authorization codes, so that a page can be shown twice without the code being stored
    Code,
    /// Session cookies of the connections page: derived, so that a page can be requested twice
    PageSession,
    /// Values of forms
    Form,
}

impl Purpose {
    fn info(self) -> &'static [u8] {
        match self {
            Self::DataKeys => b"data-keys-v1",
            Self::UpstreamVerifier => b"upstream-verifier-v1",
            Self::UpstreamState => b"upstream-state-v1",
            Self::Code => b"code-v1",
            Self::PageSession => b"page-session-v1",
            Self::Form => b"form-v1",
        }
    }
}

#[derive(Clone)]
pub(super) struct MasterKey {
    id: String,
    bytes: [u8; 32],
}

impl MasterKey {
    pub(super) fn of(bytes: [u8; 32]) -> Self {
        let mut named = b"blue-broker-key-id-v1".to_vec();
        named.extend(bytes);
        let hash = digest::digest(&digest::SHA256, &named);
        let start: [u8; 4] = hash.as_ref()[..4].try_into().expect("four of 32 bytes");
        let id = format!("{:08x}", u32::from_be_bytes(start));
        Self { id, bytes }
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    #[cfg(test)]
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn derive(&self, purpose: Purpose) -> [u8; 32] {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"blue-broker");
        let mut key = [0; 32];
        salt.extract(&self.bytes)
            .expand(&[purpose.info()], hkdf::HKDF_SHA256)
            .and_then(|okm| okm.fill(&mut key))
            .expect("32 bytes are what HKDF with SHA-256 gives");
        key
    }

    fn bytes_for(&self, purpose: Purpose, context: &str) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.derive(purpose));
        let tag = hmac::sign(&key, context.as_bytes());
        tag.as_ref().try_into().expect("SHA-256 gives 32 bytes")
    }
}

/// The master keys
#[derive(Clone)]
pub(crate) struct KeyRing {
    active: MasterKey,
    previous: Vec<MasterKey>,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("ids", &self.ids()).finish()
    }
}

/// A data key as it is stored
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrappedKey {
    pub(crate) key_id: String,
    pub(crate) sealed: Vec<u8>,
}

impl KeyRing {
    pub(super) fn of(active: MasterKey, previous: Vec<MasterKey>) -> Self {
        Self { active, previous }
    }

    /// A ring with a fixed key
    #[cfg(test)]
    pub(crate) fn fixed() -> Self {
        Self::of(MasterKey::of([7; 32]), Vec::new())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &MasterKey> {
        std::iter::once(&self.active).chain(&self.previous)
    }

    /// A ring with a new active key in front of these
    pub(crate) fn rotated(&self, rng: &dyn Rng) -> Self {
        Self {
            active: MasterKey::of(rng::bytes(rng)),
            previous: self.all().cloned().collect(),
        }
    }

    /// The ring without the keys that are no longer used
    #[cfg(test)]
    pub(crate) fn only_active(&self) -> Self {
        Self {
            active: self.active.clone(),
            previous: Vec::new(),
        }
    }

    /// Ids of the keys, the active one first
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.all().map(|key| key.id.as_str()).collect()
    }

    #[cfg(test)]
    pub(crate) fn active_id(&self) -> &str {
        &self.active.id
    }

    pub(crate) fn wrap(&self, rng: &dyn Rng, key: &DataKey, bound: &Bound) -> WrappedKey {
        let master = self.active.derive(Purpose::DataKeys);
        WrappedKey {
            key_id: self.active.id.clone(),
            sealed: seal::seal(&master, rng, &key.0, bound),
        }
    }

    pub(crate) fn unwrap(&self, wrapped: &WrappedKey, bound: &Bound) -> Result<DataKey, SealError> {
        let master = self
            .all()
            .find(|key| key.id == wrapped.key_id)
            .ok_or(SealError)?
            .derive(Purpose::DataKeys);
        let key = seal::open(&master, &wrapped.sealed, bound)?;
        Ok(DataKey(key.try_into().map_err(|_| SealError)?))
    }

    /// This ring, and behind it the keys that only the `older` one has
    pub(super) fn with_older(mut self, older: &Self) -> Self {
        let gone = older
            .all()
            .filter(|key| !self.ids().contains(&key.id.as_str()));
        let gone: Vec<_> = gone.cloned().collect();
        self.previous.extend(gone);
        self
    }

    /// `id` with the id of the active key in front, by which [`Self::derived`] finds that key after
    /// a rotation
    pub(super) fn named(&self, id: &str) -> String {
        format!("{}.{id}", self.active.id)
    }

    /// Derives 32 bytes from `context` and a master key
    pub(super) fn derived(&self, purpose: Purpose, context: &str) -> [u8; 32] {
        let named = context.split_once('.').map(|(id, _)| id);
        let key = self.all().find(|key| Some(key.id.as_str()) == named);
        key.unwrap_or(&self.active).bytes_for(purpose, context)
    }

    pub(super) fn derived_by_each(&self, purpose: Purpose, context: &str) -> Vec<[u8; 32]> {
        let bytes = |key: &MasterKey| key.bytes_for(purpose, context);
        self.all().map(bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SystemRng;

    fn ring() -> KeyRing {
        KeyRing::fixed()
    }

    #[test]
    fn a_wrapped_key_opens_after_a_rotation_and_not_without_its_master() {
        let rng = SystemRng::default();
        let place = Bound::to("users").and("1");
        let wrapped = ring().wrap(&rng, &DataKey([3; 32]), &place);
        let rotated = ring().rotated(&rng);
        assert_eq!(rotated.ids()[1], ring().active_id());
        assert_eq!(rotated.unwrap(&wrapped, &place).unwrap().0, [3; 32]);
        assert!(rotated.only_active().unwrap(&wrapped, &place).is_err());
        assert!(
            ring()
                .unwrap(&wrapped, &Bound::to("users").and("2"))
                .is_err()
        );
    }

    #[test]
    fn what_is_derived_depends_on_purpose_and_context() {
        let ring = ring();
        let code = ring.derived(Purpose::Code, "a");
        assert_eq!(code, ring.derived(Purpose::Code, "a"));
        assert_ne!(code, ring.derived(Purpose::Code, "b"));
        assert_ne!(code, ring.derived(Purpose::Form, "a"));
    }

    #[test]
    fn debug_shows_no_key() {
        let shown = format!("{:?}", ring());
        assert!(!shown.contains("7, 7"), "{shown}");
    }
}

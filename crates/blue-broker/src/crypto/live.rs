//! The master keys of a running broker, while an admin may replace them
//!
//! A rotation writes the file before any row needs the new key. A broker that meets an unknown key
//! id therefore reads the file again, and needs no restart.

use std::sync::{Arc, PoisonError, RwLock};

use super::{
    file,
    keyring::{KeyRing, Purpose, WrappedKey},
    seal::{Bound, DataKey, SealError},
};
use crate::{causes, config::KeyFile, rng::Rng};

/// The keys as they were last read from the file
#[derive(Debug)]
pub(crate) struct Keys {
    file: KeyFile,
    ring: RwLock<Arc<KeyRing>>,
}

impl Keys {
    pub(crate) fn new(file: KeyFile, ring: KeyRing) -> Self {
        Self {
            file,
            ring: RwLock::new(Arc::new(ring)),
        }
    }

    fn ring(&self) -> Arc<KeyRing> {
        Arc::clone(&self.ring.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Read the file again; a fault in it is logged, and the keys stay as they were
    pub(crate) fn look_again(&self) {
        let read = match file::read(self.file.path()) {
            Ok(read) => read,
            Err(error) => {
                let error = causes::whole(&error);
                tracing::warn!(error, "the key file could not be read again");
                return;
            }
        };
        let known = self.ring();
        if read.ids() == known.ids() {
            return;
        }
        // A key that was removed from the file may still be needed by requests in progress; it is
        // dropped at the next start.
        let read = read.with_older(&known);
        tracing::info!(ids = ?read.ids(), "the master keys changed");
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(read);
    }

    /// Wrap with the key that is active in the file now: a rotation relies on no later row using an
    /// older key
    pub(crate) fn wrap(&self, rng: &dyn Rng, key: &DataKey, bound: &Bound) -> WrappedKey {
        self.look_again();
        self.ring().wrap(rng, key, bound)
    }

    pub(crate) fn unwrap(&self, wrapped: &WrappedKey, bound: &Bound) -> Result<DataKey, SealError> {
        if !self.ring().ids().contains(&wrapped.key_id.as_str()) {
            self.look_again();
        }
        self.ring().unwrap(wrapped, bound)
    }

    /// Prefixes an id with the key that [`Self::derived`] uses for it
    pub(crate) fn named(&self, id: &str) -> String {
        self.ring().named(id)
    }

    /// Derives 32 bytes from `context` and a master key
    pub(crate) fn derived(&self, purpose: Purpose, context: &str) -> [u8; 32] {
        self.ring().derived(purpose, context)
    }

    /// Like [`Self::derived`], once with each key, the active one first
    pub(crate) fn derived_by_each(&self, purpose: Purpose, context: &str) -> Vec<[u8; 32]> {
        self.ring().derived_by_each(purpose, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SystemRng;

    #[test]
    fn a_rotation_beside_a_running_broker_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, rng) = (KeyFile::Own(dir.path().join("keys")), SystemRng::default());
        let made = file::load_or_make(&file, &rng, None).unwrap();
        let keys = Keys::new(file.clone(), made.clone());
        let begun = keys.named("an-id");
        let code = keys.derived(Purpose::Code, &begun);
        let rotated = made.rotated(&rng);
        file::write(file.path(), &rotated).unwrap();
        let place = Bound::to("users").and("1");
        let wrapped = rotated.wrap(&rng, &DataKey::new(&rng), &place);
        assert!(keys.unwrap(&wrapped, &place).is_ok());
        assert_eq!(keys.ring().ids(), rotated.ids());
        // An authorization that began before the rotation goes on, and a new one uses the new key.
        assert_eq!(keys.derived(Purpose::Code, &begun), code);
        assert_ne!(keys.named("an-id"), begun);
        assert!(keys.derived_by_each(Purpose::Form, "x").len() == 2);
    }

    #[test]
    fn what_is_wrapped_after_a_rotation_does_not_need_the_old_key() {
        let dir = tempfile::tempdir().unwrap();
        let (file, rng) = (KeyFile::Own(dir.path().join("keys")), SystemRng::default());
        let made = file::load_or_make(&file, &rng, None).unwrap();
        let keys = Keys::new(file.clone(), made.clone());
        let rotated = made.rotated(&rng);
        file::write(file.path(), &rotated).unwrap();
        let place = Bound::to("users").and("1");
        let wrapped = keys.wrap(&rng, &DataKey::new(&rng), &place);
        assert!(rotated.only_active().unwrap(&wrapped, &place).is_ok());
    }

    #[test]
    fn a_file_that_is_broken_or_gone_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (file, rng) = (KeyFile::Own(dir.path().join("keys")), SystemRng::default());
        let made = file::load_or_make(&file, &rng, None).unwrap();
        let keys = Keys::new(file.clone(), made.clone());
        for text in ["", "hunter2"] {
            std::fs::write(file.path(), text).unwrap();
            keys.look_again();
            assert_eq!(keys.ring().ids(), made.ids());
        }
        std::fs::remove_file(file.path()).unwrap();
        keys.look_again();
        assert_eq!(keys.ring().ids(), made.ids());
        // Nor does a file without the active key.
        file::write(file.path(), &made.rotated(&rng).only_active()).unwrap();
        keys.look_again();
        assert_eq!(keys.ring().ids().len(), 2);
    }
}

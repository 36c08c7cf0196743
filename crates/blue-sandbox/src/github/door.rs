//! What the door remembers between requests

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{hmac, rand::SystemRandom};

use super::rate::Rates;

pub(super) struct Door {
    pub(super) rates: Rates,
    /// Signs links that need no credential
    key: hmac::Key,
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door")
            .field("rates", &self.rates)
            .finish_non_exhaustive()
    }
}

impl Door {
    pub(super) fn new() -> Self {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        Self {
            rates: Rates::default(),
            key: key.expect("the system has random bytes"),
        }
    }

    pub(super) fn sign(&self, claim: &str) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.key, claim.as_bytes()))
    }

    pub(super) fn verify(&self, claim: &str, mac: &str) -> bool {
        URL_SAFE_NO_PAD
            .decode(mac)
            .is_ok_and(|mac| hmac::verify(&self.key, claim.as_bytes(), &mac).is_ok())
    }
}

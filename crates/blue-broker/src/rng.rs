//! Randomness as a dependency

use std::fmt;

use ring::rand::{SecureRandom, SystemRandom};

/// Where random bytes come from
pub trait Rng: Send + Sync + fmt::Debug {
    fn fill(&self, bytes: &mut [u8]);
}

/// The generator of the operating system
#[derive(Debug, Clone)]
pub struct SystemRng(SystemRandom);

impl Default for SystemRng {
    fn default() -> Self {
        Self(SystemRandom::new())
    }
}

impl Rng for SystemRng {
    fn fill(&self, bytes: &mut [u8]) {
        self.0
            .fill(bytes)
            .expect("an operating system without random numbers can keep no secret");
    }
}

/// `N` random bytes
pub(crate) fn bytes<const N: usize>(rng: &dyn Rng) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill(&mut bytes);
    bytes
}

/// An unguessable id, for rows, requests and forms
pub(crate) fn id(rng: &dyn Rng) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes::<16>(rng))
}

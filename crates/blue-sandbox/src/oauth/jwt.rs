//! Tokens signed with ES256
//!
//! Gitea signs with RS256 unless told otherwise; ES256 is one of its choices, and the one
//! whose keys can be made in a millisecond.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as B64};
use ring::{
    digest,
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
        UnparsedPublicKey,
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// The key that signs every OAuth token of one sandbox
#[derive(Debug)]
pub(crate) struct SigningKey {
    pair: EcdsaKeyPair,
    rng: SystemRandom,
    kid: String,
}

/// What an access or refresh token says
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    /// Grant the token belongs to
    pub gnt: i64,
    /// 0 access, 1 refresh
    pub tt: u8,
    /// Counter of the grant when the token was made; only with rotation
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnt: Option<i64>,
    pub exp: i64,
    pub iat: i64,
}

pub(crate) const ACCESS: u8 = 0;
pub(crate) const REFRESH: u8 = 1;

impl SigningKey {
    /// Make a new key; the bytes (PKCS#8) are what [`SigningKey::load`] takes
    pub(crate) fn generate() -> Vec<u8> {
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
            .expect("the system has randomness")
            .as_ref()
            .to_vec()
    }

    /// Read a key back; `None` when the bytes are not one
    pub(crate) fn load(pkcs8: &[u8]) -> Option<Self> {
        let rng = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &rng).ok()?;
        let kid = B64.encode(digest::digest(&digest::SHA256, pair.public_key().as_ref()));
        Some(Self { pair, rng, kid })
    }

    pub(crate) fn sign(&self, claims: &impl Serialize) -> String {
        let header = json!({"alg": "ES256", "kid": self.kid, "typ": "JWT"});
        let body = serde_json::to_vec(claims).expect("claims are plain data");
        let mut token = format!("{}.{}", B64.encode(header.to_string()), B64.encode(body));
        let signature = self
            .pair
            .sign(&self.rng, token.as_bytes())
            .expect("the system has randomness");
        token.push('.');
        token.push_str(&B64.encode(signature));
        token
    }

    /// The claims of a token this key signed; whether it has expired is the caller's question
    pub(crate) fn verify<T: DeserializeOwned>(&self, token: &str) -> Option<T> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, body) = signed.split_once('.')?;
        let header: Value = serde_json::from_slice(&B64.decode(header).ok()?).ok()?;
        if header.get("alg")? != "ES256" {
            return None;
        }
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key())
            .verify(signed.as_bytes(), &B64.decode(signature).ok()?)
            .ok()?;
        serde_json::from_slice(&B64.decode(body).ok()?).ok()
    }

    /// The public half, as a JSON Web Key
    pub(crate) fn jwk(&self) -> Value {
        // 0x04, then the two coordinates.
        let point = self.pair.public_key().as_ref();
        json!({
            "alg": "ES256",
            "crv": "P-256",
            "kid": self.kid,
            "kty": "EC",
            "use": "sig",
            "x": B64.encode(&point[1..33]),
            "y": B64.encode(&point[33..65]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> Claims {
        Claims {
            gnt: 3,
            tt: ACCESS,
            cnt: None,
            exp: 20,
            iat: 10,
        }
    }

    #[test]
    fn a_signed_token_verifies_and_a_changed_one_does_not() {
        let key = SigningKey::load(&SigningKey::generate()).unwrap();
        let token = key.sign(&claims());
        assert_eq!(key.verify::<Claims>(&token), Some(claims()));

        let mut parts: Vec<_> = token.split('.').collect();
        let forged = B64.encode(r#"{"gnt":1,"tt":0,"exp":20,"iat":10}"#);
        parts[1] = &forged;
        assert_eq!(key.verify::<Claims>(&parts.join(".")), None);
        assert_eq!(key.verify::<Claims>("x"), None);
        assert_eq!(key.verify::<Claims>(""), None);

        let other = SigningKey::load(&SigningKey::generate()).unwrap();
        assert_eq!(other.verify::<Claims>(&token), None);
    }

    #[test]
    fn another_algorithm_is_refused() {
        let key = SigningKey::load(&SigningKey::generate()).unwrap();
        let token = format!(
            "{}.{}.",
            B64.encode(r#"{"alg":"none"}"#),
            B64.encode(r#"{"gnt":1,"tt":0,"exp":20,"iat":10}"#)
        );
        assert_eq!(key.verify::<Claims>(&token), None);
    }

    #[test]
    fn the_jwk_names_the_curve_and_both_coordinates() {
        let jwk = SigningKey::load(&SigningKey::generate()).unwrap().jwk();
        assert_eq!(jwk["crv"], "P-256");
        for coordinate in ["x", "y"] {
            assert_eq!(
                B64.decode(jwk[coordinate].as_str().unwrap()).unwrap().len(),
                32
            );
        }
    }
}

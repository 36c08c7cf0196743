//! Proof Key for Code Exchange (RFC 7636)

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as B64};
use ring::digest;

/// Tell whether `verifier` answers the challenge a code was made with
///
/// A code made without a method needs no verifier, as in Gitea.
pub(crate) fn answers(method: &str, challenge: &str, verifier: &str) -> bool {
    match method {
        "S256" => B64.encode(digest::digest(&digest::SHA256, verifier.as_bytes())) == challenge,
        "plain" => verifier == challenge,
        "" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert!(answers("S256", challenge, verifier));
        assert!(!answers("S256", challenge, "x"));
        assert!(!answers("plain", challenge, verifier));
        assert!(answers("plain", "abc", "abc"));
        assert!(answers("", "", "anything"));
        assert!(!answers("S512", challenge, verifier));
    }
}

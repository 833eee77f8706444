//! Agent tokens: minting one, and the digest under which it is kept.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use guildhall_domain::Fault;
use sha2::{Digest, Sha256};

/// How an agent token begins.
pub const PREFIX: &str = "gha_";

/// A token's text. It has no `Debug` and no `Display`: it is shown once, by [`Secret::reveal`].
pub struct Secret(String);

impl Secret {
    /// The text, given away for the one answer that shows it.
    pub fn reveal(self) -> String {
        self.0
    }

    /// The digest under which the token is kept.
    pub fn digest(&self) -> [u8; 32] {
        digest(&self.0)
    }
}

/// Mints a token: `gha_` and 32 random bytes in base64url, 47 characters.
///
/// # Errors
/// A fault when the machine gives no randomness.
///
/// Source: contract 1.4, "Agent tokens".
pub fn mint() -> Result<Secret, Fault> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Fault::broken("minting a token", error))?;
    Ok(Secret(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))))
}

/// SHA-256 of a token's text.
pub fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_random_and_known_by_its_digest() {
        let (one, other) = (mint().unwrap(), mint().unwrap());
        assert_ne!(one.digest(), other.digest());
        let kept = one.digest();
        let text = one.reveal();
        assert_eq!((text.len(), &text[..4]), (47, PREFIX));
        assert_eq!(digest(&text), kept);
    }
}

//! Tokens: minting the secrets that callers show, and the digest under which one is kept.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use guildhall_domain::{Fault, accounts::Password};
use sha2::{Digest, Sha256};

/// How an agent token begins.
pub const AGENT_PREFIX: &str = "gha_";
/// How a person's API key begins.
pub const KEY_PREFIX: &str = "ghk_";
/// How the token of the discovery file begins.
pub const LOCAL_PREFIX: &str = "ghl_";
/// How the value of a sign-in's cookie begins.
pub const COOKIE_PREFIX: &str = "";

/// A token's text. It has no `Debug` and no `Display`: it is shown once, by [`SecretToken::reveal`].
pub struct SecretToken(String);

impl SecretToken {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, given away for the one answer that shows it.
    pub fn reveal(self) -> String {
        self.0
    }

    /// The text as a password, on its way to be hashed.
    pub fn as_password(&self) -> Password {
        Password::new(self.0.clone())
    }

    /// The digest under which the token is kept.
    pub fn digest(&self) -> [u8; 32] {
        digest(&self.0)
    }
}

/// Mints a token: `prefix` and 32 random bytes in base64url, 43 characters.
///
/// # Errors
/// A fault when the machine gives no randomness.
///
/// Source: contract 1.4.
pub fn mint(prefix: &str) -> Result<SecretToken, Fault> {
    let text = URL_SAFE_NO_PAD.encode(random::<32>("minting a token")?);
    Ok(SecretToken(format!("{prefix}{text}")))
}

/// Random bytes.
///
/// # Errors
/// A fault met while doing `during` when the machine gives no randomness.
pub(crate) fn random<const N: usize>(during: &'static str) -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Fault::broken(during, error))?;
    Ok(bytes)
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
        let (one, other) = (mint(AGENT_PREFIX).unwrap(), mint(AGENT_PREFIX).unwrap());
        assert_ne!(one.digest(), other.digest());
        let kept = one.digest();
        let text = one.reveal();
        assert_eq!((text.len(), &text[..4]), (47, AGENT_PREFIX));
        assert_eq!(digest(&text), kept);
    }
}

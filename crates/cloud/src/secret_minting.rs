//! Minting: device codes, user codes, keys, links and cookies, and the digest each is kept under.

use guildhall_domain::Fault;
use guildhall_world::secret_tokens::{self, SecretToken};

use crate::device_grant::{USER_CODE_LEN, USER_CODE_LETTERS};

/// How the key of an instance begins.
pub(crate) const KEY_PREFIX: &str = "ghc_";
/// How a device code begins.
const DEVICE_PREFIX: &str = "ghd_";
/// How the secret of a one-time link begins.
const LINK_PREFIX: &str = "ghl_";

/// A new key of an instance.
///
/// # Errors
/// A fault when the machine gives no randomness; so for the others.
pub(crate) fn key() -> Result<SecretToken, Fault> {
    secret_tokens::mint(KEY_PREFIX)
}

/// A new device code.
pub(crate) fn device_code() -> Result<SecretToken, Fault> {
    secret_tokens::mint(DEVICE_PREFIX)
}

/// The secret of a new one-time link.
pub(crate) fn link() -> Result<SecretToken, Fault> {
    secret_tokens::mint(LINK_PREFIX)
}

/// The value of a new session's cookie.
pub(crate) fn cookie() -> Result<SecretToken, Fault> {
    secret_tokens::mint(secret_tokens::COOKIE_PREFIX)
}

/// A new user code: eight letters, each as likely as any other.
pub(crate) fn user_code() -> Result<String, Fault> {
    /// The first byte that would make some letters likelier than others.
    const UNFAIR: usize = 256 - 256 % USER_CODE_LETTERS.len();
    let mut code = String::with_capacity(USER_CODE_LEN);
    while code.len() < USER_CODE_LEN {
        let mut bytes = [0; 2 * USER_CODE_LEN];
        getrandom::fill(&mut bytes).map_err(|error| Fault::broken("minting a user code", error))?;
        let fair = bytes.iter().map(|byte| usize::from(*byte));
        let letters = fair
            .filter(|byte| *byte < UNFAIR)
            .map(|byte| char::from(USER_CODE_LETTERS[byte % USER_CODE_LETTERS.len()]));
        code.extend(letters.take(USER_CODE_LEN - code.len()));
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::device_grant::parse_user_code;

    #[test]
    fn user_codes_can_be_typed_differ_and_use_every_letter() {
        let codes: HashSet<String> = (0..200).map(|_| user_code().unwrap()).collect();
        assert_eq!(codes.len(), 200);
        assert!(
            codes
                .iter()
                .all(|code| parse_user_code(code).as_ref() == Some(code))
        );
        let letters: HashSet<char> = codes.iter().flat_map(|code| code.chars()).collect();
        assert_eq!(letters.len(), USER_CODE_LETTERS.len());
    }
}

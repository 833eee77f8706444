//! Passwords: argon2id (RFC 9106) with a salt of its own for each, kept as a PHC text.
//! A hash takes 19 MiB and some 20 ms of a processor; how many run at once is `hall::passwords`.

use argon2::{
    Algorithm, Argon2, Params, PasswordHash, PasswordHasher, PasswordVerifier, Version,
    password_hash,
};
use guildhall_domain::{Fault, accounts::Password};

use crate::secret_tokens::{self, SecretToken};

/// KiB of memory that one hash fills.
const MEMORY_KIB: u32 = 19 * 1_024;
/// How often it is filled.
const PASSES: u32 = 2;
/// Lanes filled side by side.
const LANES: u32 = 1;

/// A hash like any other, of a password that nobody has: it is verified where there is no
/// account, so that an unknown e-mail address takes as long as a known one.
const NOBODYS: &str = "$argon2id$v=19$m=19456,t=2,p=1$Z3VpbGRoYWxsIG5vYm9keQ$\
    hPWVEHCbmKE4sB0kM4wSIsBMUUXWBOgO1yCvzQ0B0uQ";

/// The hash of a password, with its salt, as text to be stored.
///
/// # Errors
/// A fault when the machine gives no randomness or memory.
///
/// Source: contract 1.4, "Passwords".
pub fn hash(password: &Password) -> Result<String, Fault> {
    let during = "hashing a password";
    let salt = secret_tokens::random::<16>(during)?;
    let hash = argon2(during)?
        .hash_password_with_salt(password.as_bytes(), &salt)
        .map_err(|error| Fault::broken(during, error))?;
    Ok(hash.to_string())
}

/// Whether `password` has the hash `stored`; with `None` it takes as long and is false.
///
/// # Errors
/// A fault when the stored text is no hash, or the machine gives no memory.
pub fn verify(password: &Password, stored: Option<&str>) -> Result<bool, Fault> {
    let during = "verifying a password";
    let hash = PasswordHash::new(stored.unwrap_or(NOBODYS))
        .map_err(|error| Fault::broken(during, error))?;
    match argon2(during)?.verify_password(password.as_bytes(), &hash) {
        Ok(()) => Ok(stored.is_some()),
        Err(password_hash::Error::PasswordInvalid) => Ok(false),
        Err(error) => Err(Fault::broken(during, error)),
    }
}

/// A password for an invitation: 20 letters and digits in four groups, 100 random bits.
///
/// # Errors
/// A fault when the machine gives no randomness.
pub fn invite() -> Result<SecretToken, Fault> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let bytes = secret_tokens::random::<20>("making a password for an invitation")?;
    let groups: Vec<String> = bytes
        .chunks(5)
        .map(|group| {
            let letters = group.iter().map(|byte| LETTERS[usize::from(byte % 32)]);
            letters.map(char::from).collect()
        })
        .collect();
    Ok(SecretToken::new(groups.join("-")))
}

fn argon2(during: &'static str) -> Result<Argon2<'static>, Fault> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None)
        .map_err(|error| Fault::broken(during, error))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> Password {
        Password::new(text.to_owned())
    }

    #[test]
    fn a_password_is_known_by_its_hash_alone() {
        let (one, other) = (password("correct horse"), password("correct horsf"));
        let (first, second) = (hash(&one).unwrap(), hash(&one).unwrap());
        assert_ne!(first, second, "each has a salt of its own");
        assert!(
            first.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{first}"
        );
        assert!(!first.contains("correct"));
        assert!(verify(&one, Some(&first)).unwrap() && verify(&one, Some(&second)).unwrap());
        assert!(!verify(&other, Some(&first)).unwrap());
        assert!(verify(&one, Some("nonsense")).is_err());
    }

    #[test]
    fn where_there_is_no_account_the_same_work_is_done_for_nothing() {
        let nobodys = PasswordHash::new(NOBODYS).unwrap();
        let somebodys = hash(&password("correct horse")).unwrap();
        let somebodys = PasswordHash::new(&somebodys).unwrap();
        let cost = |hash: &PasswordHash| {
            let lengths = (
                hash.salt.map(|salt| salt.len()),
                hash.hash.map(|hash| hash.len()),
            );
            (hash.algorithm, hash.version, hash.params.clone(), lengths)
        };
        assert_eq!(
            format!("{:?}", cost(&nobodys)),
            format!("{:?}", cost(&somebodys))
        );
        assert!(!verify(&password("correct horse"), None).unwrap());
    }

    #[test]
    fn an_invitation_has_a_password_one_may_choose() {
        let (one, other) = (invite().unwrap().reveal(), invite().unwrap().reveal());
        assert_ne!(one, other);
        assert_eq!(one.len(), 23);
        assert!(one.split('-').all(|group| group.len() == 5), "{one}");
    }
}

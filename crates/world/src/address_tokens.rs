//! Grants: the tokens in addresses of served folders and previews, and the key they are made
//! with. A token is PASETO v4.local: encrypted, so that an address tells neither folder nor
//! person. Source: contract 6.7, "Token".

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use guildhall_domain::{Fault, workbench::AddressClaims};
use pasetors::{
    Local,
    keys::SymmetricKey,
    token::UntrustedToken,
    version4::{LocalToken, V4},
};

use crate::{
    data_dir,
    host_key::{KEY_BYTES, hex, unhex},
    secret_tokens,
};

/// The file of the keys in the data folder: the present one, then the revoked ones.
const KEY_FILE: &str = "preview-keys";
/// Revoked keys that are kept, so that what was made with them is told from what never was.
const REVOKED_KEPT: usize = 8;
/// Ties tokens to this use, see PASETO's implicit assertions.
const PURPOSE: &[u8] = b"guildhall workbench 1";

/// Makes tokens and reads them. Without `Debug`, because it holds the keys.
pub struct AddressTokens {
    file: PathBuf,
    /// The present key, then the revoked ones, newest first. A std lock: held to clone alone.
    keys: RwLock<Arc<Vec<SymmetricKey<V4>>>>,
    /// Two that revoke do so one after the other. Held over the file's writing, off the executor.
    revoking: Mutex<()>,
}

/// Why a token says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressTokenError {
    /// It is none of ours, or was changed.
    Broken,
    /// It was made with a key that was revoked.
    Revoked,
}

impl AddressTokens {
    /// Reads the keys from the data folder; the first time one is made, mode 0600.
    ///
    /// # Errors
    /// A fault when the machine gives no randomness, the folder takes no file, or the file does
    /// not hold keys.
    pub fn open(data_dir: &Path) -> Result<Self, Fault> {
        let during = "reading the keys of previews";
        let file = data_dir.join(KEY_FILE);
        let keys = match std::fs::read_to_string(&file) {
            Ok(text) => read_keys(&text).ok_or_else(|| {
                Fault::broken(during, format!("{KEY_FILE} holds no keys of 64 hex digits"))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let keys = vec![new_key()?];
                write_keys(&file, &keys)?;
                keys
            }
            Err(error) => return Err(Fault::broken(during, error)),
        };
        Ok(Self {
            file,
            keys: RwLock::new(Arc::new(keys)),
            revoking: Mutex::new(()),
        })
    }

    /// The token that says `grant`.
    ///
    /// # Errors
    /// A fault when the machine gives no randomness.
    pub fn mint(&self, grant: &AddressClaims) -> Result<String, Fault> {
        let during = "making the token of an address";
        let claims = serde_json::to_vec(grant).map_err(|error| Fault::broken(during, error))?;
        let keys = self.keys();
        let key = keys
            .first()
            .ok_or_else(|| Fault::broken(during, "there is no key"))?;
        LocalToken::encrypt(key, &claims, None, Some(PURPOSE))
            .map_err(|error| Fault::broken(during, format!("{error:?}")))
    }

    /// What `token` says; its time is the caller's to check.
    ///
    /// # Errors
    /// Why it says nothing.
    pub fn read(&self, token: &str) -> Result<AddressClaims, AddressTokenError> {
        let untrusted =
            UntrustedToken::<Local, V4>::try_from(token).map_err(|_| AddressTokenError::Broken)?;
        // No footer, not even an empty one.
        if token.matches('.').count() != 2 {
            return Err(AddressTokenError::Broken);
        }
        let keys = self.keys();
        let opened = keys.iter().enumerate().find_map(|(age, key)| {
            let opened = LocalToken::decrypt(key, &untrusted, None, Some(PURPOSE));
            opened.ok().map(|opened| (age, opened))
        });
        match opened {
            Some((0, opened)) => {
                serde_json::from_str(opened.payload()).map_err(|_| AddressTokenError::Broken)
            }
            Some(_) => Err(AddressTokenError::Revoked),
            None => Err(AddressTokenError::Broken),
        }
    }

    /// Lets no token made so far count any more: makes a new key. Waits for the disk.
    ///
    /// # Errors
    /// A fault when the machine gives no randomness or the folder takes no file; then nothing is
    /// revoked.
    pub fn revoke(&self) -> Result<(), Fault> {
        let _alone = self.revoking.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keys = vec![new_key()?];
        keys.extend(self.keys().iter().take(REVOKED_KEPT).cloned());
        write_keys(&self.file, &keys)?;
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
        Ok(())
    }

    fn keys(&self) -> Arc<Vec<SymmetricKey<V4>>> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn new_key() -> Result<SymmetricKey<V4>, Fault> {
    let during = "making a key of previews";
    let bytes = secret_tokens::random::<KEY_BYTES>(during)?;
    SymmetricKey::from(&bytes).map_err(|error| Fault::broken(during, format!("{error:?}")))
}

fn read_keys(text: &str) -> Option<Vec<SymmetricKey<V4>>> {
    let keys: Vec<_> = text
        .lines()
        .map(|line| SymmetricKey::from(&unhex(line.trim())?).ok())
        .collect::<Option<_>>()?;
    (!keys.is_empty()).then_some(keys)
}

fn write_keys(file: &Path, keys: &[SymmetricKey<V4>]) -> Result<(), Fault> {
    let lines: Vec<String> = keys.iter().map(|key| hex(key.as_bytes())).collect();
    data_dir::write_private(file, &format!("{}\n", lines.join("\n")))
        .map_err(|error| Fault::broken("writing the keys of previews", error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    use guildhall_domain::{Timestamp, ids::AuthorId, workbench::AddressTarget};

    use super::*;
    use crate::scratch::Scratch;

    fn grant(target: AddressTarget) -> AddressClaims {
        AddressClaims {
            target,
            author: AuthorId::from_bytes([1; 16]),
            sign_in: None,
            key: None,
            issued_at: Timestamp::from_millis(1_790_000_000_000),
            expires_at: Timestamp::from_millis(1_790_001_800_000),
        }
    }

    fn folder() -> AddressClaims {
        grant(AddressTarget::Serve {
            cwd: "/home/olga/secret-project".to_owned(),
            dev: u64::MAX,
            ino: u64::MAX - 1,
        })
    }

    #[test]
    fn a_token_says_what_it_was_made_for_and_its_text_says_nothing() {
        let scratch = Scratch::new("grants");
        let grants = AddressTokens::open(scratch.path()).unwrap();
        for one in [folder(), grant(AddressTarget::Proxy { port: 5173 })] {
            let token = grants.mint(&one).unwrap();
            assert_eq!(grants.read(&token), Ok(one.clone()));
            assert_ne!(grants.mint(&one).unwrap(), token);
            assert!(token.starts_with("v4.local."));
            let body = token.strip_prefix("v4.local.").unwrap();
            // Its bytes are no other form of what it says either.
            let bytes = URL_SAFE_NO_PAD.decode(body).unwrap();
            let hides = |part: &[u8]| !bytes.windows(part.len()).any(|some| some == part);
            for part in ["/home/olga", "secret-project", "\"kind\"", "\"port\""] {
                assert!(!token.contains(part) && hides(part.as_bytes()), "{part}");
            }
            let author = one.author.to_string();
            assert!(!token.contains(&author) && hides(author.as_bytes()));
            assert!(hides(one.author.as_bytes()));
            let again =
                URL_SAFE_NO_PAD.decode(grants.mint(&one).unwrap().split('.').nth(2).unwrap());
            let again = again.unwrap();
            let alike = bytes.iter().zip(&again).filter(|(one, other)| one == other);
            assert!(
                alike.count() < bytes.len() / 4,
                "an encoding gives the same bytes again"
            );
            // Also after a restart.
            let again = AddressTokens::open(scratch.path()).unwrap();
            assert_eq!(again.read(&token), Ok(one));
        }
        let mode = std::fs::metadata(scratch.path().join(KEY_FILE)).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_token_with_any_changed_character_is_broken() {
        let scratch = Scratch::new("grants");
        let grants = AddressTokens::open(scratch.path()).unwrap();
        let token = grants.mint(&folder()).unwrap();
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=~";
        // Every other character at every place of a stretch at either end, and one elsewhere.
        for (at, old) in token.char_indices() {
            let is_end = at < 12 || at + 4 >= token.len();
            let others = alphabet.chars().filter(|new| *new != old);
            for new in others.take(if is_end { usize::MAX } else { 1 }) {
                let changed = format!("{}{new}{}", &token[..at], &token[at + 1..]);
                assert_eq!(
                    grants.read(&changed),
                    Err(AddressTokenError::Broken),
                    "{at} {new}"
                );
            }
            assert_eq!(
                grants.read(&token[..at]),
                Err(AddressTokenError::Broken),
                "{at}"
            );
        }
        for more in [".", ".AA", "A", "=", "."] {
            let longer = format!("{token}{more}");
            assert_eq!(
                grants.read(&longer),
                Err(AddressTokenError::Broken),
                "{more}"
            );
        }
        for nothing in ["", "x", "v4.local.", "v4.local.AAAA", "v4.public.AAAA"] {
            assert_eq!(
                grants.read(nothing),
                Err(AddressTokenError::Broken),
                "{nothing}"
            );
        }
        let other = Scratch::new("grants");
        let elsewhere = AddressTokens::open(other.path()).unwrap();
        assert_eq!(elsewhere.read(&token), Err(AddressTokenError::Broken));
    }

    #[test]
    fn what_was_revoked_is_told_from_what_never_was() {
        let scratch = Scratch::new("grants");
        let grants = AddressTokens::open(scratch.path()).unwrap();
        let old = grants.mint(&folder()).unwrap();
        grants.revoke().unwrap();
        let new = grants.mint(&folder()).unwrap();
        for grants in [grants, AddressTokens::open(scratch.path()).unwrap()] {
            assert_eq!(grants.read(&old), Err(AddressTokenError::Revoked));
            assert_eq!(grants.read(&new), Ok(folder()));
            for _ in 0..REVOKED_KEPT {
                grants.revoke().unwrap();
            }
            assert_eq!(grants.read(&new), Err(AddressTokenError::Revoked));
            let text = std::fs::read_to_string(scratch.path().join(KEY_FILE)).unwrap();
            assert_eq!(text.lines().count(), 1 + REVOKED_KEPT);
        }
    }

    #[test]
    fn broken_keys_are_not_replaced() {
        let scratch = Scratch::new("grants");
        for broken in ["", "short", "\n", &format!("{}\nx", "a".repeat(64))] {
            std::fs::write(scratch.path().join(KEY_FILE), broken).unwrap();
            assert!(AddressTokens::open(scratch.path()).is_err(), "{broken}");
        }
    }
}

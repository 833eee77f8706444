//! Sealing: secrets are kept encrypted, each bound to the place it is kept for.
//! XChaCha20-Poly1305 with a key of this host in a file of its own; what cannot be opened was
//! sealed with another key, for another place, or is broken. Source: contract 1.8, 4.3.

use std::path::Path;

use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use guildhall_domain::Fault;

use crate::{host_key::HostKey, secret_tokens};

/// The file of the key in the data folder.
const KEY_FILE: &str = "seal-key";
/// Bytes in front of what is sealed: they differ each time.
const NONCE_BYTES: usize = 24;

/// Seals and opens. Without `Debug`, because it holds the key; cheap to clone.
#[derive(Clone)]
pub struct Seal {
    key: HostKey,
}

/// Where a secret is kept: sealed for one place, it opens at no other one.
#[derive(Clone, Copy, Debug)]
pub struct SealContext<'a>(pub &'a [&'a [u8]]);

impl SealContext<'_> {
    /// The associated data: each part behind its length, so that no two places look alike.
    fn data(self) -> Vec<u8> {
        let mut data = Vec::new();
        for part in self.0 {
            data.extend_from_slice(&(part.len() as u64).to_be_bytes());
            data.extend_from_slice(part);
        }
        data
    }
}

impl Seal {
    /// Reads the key from the data folder; the first time it is made, mode 0600.
    ///
    /// # Errors
    /// A fault when the key cannot be read or made.
    pub fn open(data_dir: &Path) -> Result<Self, Fault> {
        let key = HostKey::open(data_dir, KEY_FILE)?;
        Ok(Self { key })
    }

    /// Seals `secret` for `place`.
    ///
    /// # Errors
    /// A fault when the machine gives no randomness.
    pub fn seal(&self, place: SealContext<'_>, secret: &[u8]) -> Result<Vec<u8>, Fault> {
        let during = "sealing a secret";
        let nonce: [u8; NONCE_BYTES] = secret_tokens::random(during)?;
        let payload = Payload {
            msg: secret,
            aad: &place.data(),
        };
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|error| Fault::broken(during, error.to_string()))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Opens what was sealed for `place`; `None` when it was not, or not with this key.
    pub fn unseal(&self, place: SealContext<'_>, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload {
            msg: sealed,
            aad: &place.data(),
        };
        self.cipher().decrypt(&XNonce::from(*nonce), payload).ok()
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(self.key.bytes().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn what_is_sealed_opens_at_its_place_with_its_key_and_nowhere_else() {
        let scratch = Scratch::new("seal");
        let seal = Seal::open(scratch.path()).unwrap();
        let place = SealContext(&[b"agent", b"name", b"env"]);
        let sealed = seal.seal(place, b"canary").unwrap();
        assert!(!sealed.windows(6).any(|window| window == b"canary"));
        assert_eq!(seal.unseal(place, &sealed).as_deref(), Some(&b"canary"[..]));
        // Also after a restart.
        let again = Seal::open(scratch.path()).unwrap();
        assert_eq!(
            again.unseal(place, &sealed).as_deref(),
            Some(&b"canary"[..])
        );
        for other in [
            SealContext(&[b"agent", b"name", b"headers"]),
            SealContext(&[b"agent", b"nameenv"]),
            SealContext(&[b"agentname", b"", b"env"]),
            SealContext(&[]),
        ] {
            assert_eq!(seal.unseal(other, &sealed), None, "{other:?}");
        }
        for n in 0..sealed.len() {
            let mut broken = sealed.clone();
            broken[n] ^= 1;
            assert_eq!(seal.unseal(place, &broken), None, "byte {n}");
            assert_eq!(seal.unseal(place, &sealed[..n]), None, "{n} bytes");
        }
        let other = Scratch::new("seal");
        assert_eq!(
            Seal::open(other.path()).unwrap().unseal(place, &sealed),
            None
        );
    }

    #[test]
    fn the_same_secret_looks_different_each_time() {
        let scratch = Scratch::new("seal");
        let seal = Seal::open(scratch.path()).unwrap();
        let place = SealContext(&[b"x"]);
        assert_ne!(
            seal.seal(place, b"a").unwrap(),
            seal.seal(place, b"a").unwrap()
        );
    }
}

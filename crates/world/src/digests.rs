//! Digests: the SHA-256 of bytes that come bit by bit.

use guildhall_domain::attachments::Digest;
use sha2::{Digest as _, Sha256};

/// A digest on its way.
#[derive(Clone, Debug, Default)]
pub struct Digesting(Sha256);

impl Digesting {
    /// Takes the next bytes in.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything taken in.
    pub fn finish(self) -> Digest {
        Digest::from_bytes(self.0.finalize().into())
    }
}

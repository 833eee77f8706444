//! Identity tokens: they say that a file is the same one without saying which.

use std::{fmt, path::Path};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use guildhall_domain::Fault;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::PhysicalId;
use crate::host_key::HostKey;

/// The file of the key in the data folder.
const KEY_FILE: &str = "identity-key";

/// Makes the tokens of one installation.
pub(super) struct FileIdentityTokens {
    /// With the key taken in, and nothing else.
    keyed: Hmac<Sha256>,
}

impl FileIdentityTokens {
    /// Reads the key from the data folder; the first time it is made, mode 0600.
    pub(super) fn open(data_dir: &Path) -> Result<Self, Fault> {
        let key = HostKey::open(data_dir, KEY_FILE)?;
        let keyed = Hmac::new_from_slice(key.bytes())
            .map_err(|error| Fault::broken("reading a key of this host", error))?;
        Ok(Self { keyed })
    }

    pub(super) fn token(&self, physical: PhysicalId) -> String {
        let mut mac = self.keyed.clone();
        mac.update(&physical.to_bytes());
        URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    }
}

/// Says nothing, because it holds a secret.
impl fmt::Debug for FileIdentityTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identities").finish_non_exhaustive()
    }
}

//! Keys of this host: 32 random bytes, each in a file of mode 0600 in the data folder.
//! What they are for is said where they are used.

use std::{io, path::Path, sync::Arc};

use guildhall_domain::Fault;

use crate::{data_dir, secret_tokens};

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 32;

/// A key. Without `Debug`, because it is a secret; cheap to clone.
#[derive(Clone)]
pub struct HostKey(Arc<[u8; KEY_BYTES]>);

impl HostKey {
    /// Reads the key in `file` of the data folder, 64 hex digits; the first time it is made.
    ///
    /// # Errors
    /// A fault when the machine gives no randomness, the folder takes no file, or the file does
    /// not hold a key: a broken one is not replaced, because what rests on it would be lost.
    pub fn open(data_dir: &Path, file: &str) -> Result<Self, Fault> {
        let during = "reading a key of this host";
        let path = data_dir.join(file);
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let key = unhex(text.trim()).ok_or_else(|| {
                    Fault::broken(during, format!("{file} holds no key of 64 hex digits"))
                })?;
                Ok(Self::of(key))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(&path),
            Err(error) => Err(Fault::broken(during, error)),
        }
    }

    fn make(path: &Path) -> Result<Self, Fault> {
        let during = "making a key of this host";
        let key = secret_tokens::random::<KEY_BYTES>(during)?;
        data_dir::write_private(path, &format!("{}\n", hex(&key)))
            .map_err(|error| Fault::broken(during, error))?;
        Ok(Self::of(key))
    }

    /// The key of these bytes.
    pub(crate) fn of(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Arc::new(bytes))
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

/// Bytes as hex digits, lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The key of 64 hex digits.
pub(crate) fn unhex(text: &str) -> Option<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    if text.len() != 2 * KEY_BYTES || !text.is_ascii() {
        return None;
    }
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_key_is_made_once_in_a_private_file_and_kept() {
        let scratch = Scratch::new("host-key");
        let open = |file: &str| HostKey::open(scratch.path(), file);
        let first = *open("one").ok().unwrap().bytes();
        assert_eq!(*open("one").ok().unwrap().bytes(), first);
        assert_ne!(*open("two").ok().unwrap().bytes(), first);
        let file = scratch.path().join("one");
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for broken in ["short", &"g".repeat(64), &"ü".repeat(32), ""] {
            std::fs::write(&file, broken).unwrap();
            assert!(open("one").is_err(), "{broken}");
            let kept = std::fs::read_to_string(&file).unwrap();
            assert_eq!(kept, broken, "what is there is not replaced");
        }
    }
}

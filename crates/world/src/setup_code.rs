//! The setup code: what the first account is made with, as long as there is none.

use std::{io, path::Path};

use guildhall_domain::Fault;

use crate::{
    data_dir,
    secret_tokens::{self, SecretToken},
};

/// The letters of base32 (RFC 4648).
const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// Letters of a code: 130 random bits.
const LENGTH: usize = 26;
/// The file's name in the data folder.
const FILE: &str = "setup-code";

/// Makes a code of 26 letters and keeps it in the file `setup-code` of the data folder, mode
/// 0600, for who cannot see the terminal.
///
/// # Errors
/// A fault when the machine gives no randomness or the folder takes no file.
///
/// Source: contract 1.4, "The setup code".
pub fn create(data_dir: &Path) -> Result<SecretToken, Fault> {
    let during = "making the setup code";
    let bytes = secret_tokens::random::<LENGTH>(during)?;
    let letters = bytes.map(|byte| char::from(LETTERS[usize::from(byte % 32)]));
    let text = String::from_iter(letters);
    data_dir::write_private(&data_dir.join(FILE), &format!("{text}\n"))
        .map_err(|error| Fault::broken(during, error))?;
    Ok(SecretToken::new(text))
}

/// The code that the file says, while there is one.
pub fn read(data_dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(data_dir.join(FILE)).ok()?;
    Some(text.trim().to_owned())
}

/// Removes the file of a code that no longer counts.
///
/// # Errors
/// Whatever the file system answers, but not that there is no such file.
pub fn remove(data_dir: &Path) -> io::Result<()> {
    match std::fs::remove_file(data_dir.join(FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_code_is_26_letters_in_a_private_file() {
        let scratch = Scratch::new("setup-code");
        let first = create(scratch.path()).unwrap().reveal();
        let second = create(scratch.path()).unwrap().reveal();
        assert_ne!(first, second);
        assert!(second.len() == 26 && second.bytes().all(|byte| LETTERS.contains(&byte)));
        let file = scratch.path().join(FILE);
        assert_eq!(read(scratch.path()), Some(second));
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        remove(scratch.path()).unwrap();
        remove(scratch.path()).unwrap();
        assert_eq!(read(scratch.path()), None);
    }
}

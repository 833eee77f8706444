//! What a command reads besides its arguments: texts from files and standard input, a yes, and
//! secrets, which are never arguments and never shown.

use std::{
    fs::File,
    io::{self, IsTerminal, Read, Write},
    path::Path,
};

use guildhall_domain::limits::FILE_SIZE_MAX;
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};

use super::failure::Failure;

/// Bytes of a request body that the server takes. Source: contract 1.11, `BODY_BYTES_MAX`.
const TEXT_BYTES_MAX: u64 = 1024 * 1024;
/// Bytes of one line with a secret.
const SECRET_BYTES_MAX: usize = 4096;

/// What a file says, or standard input for `-`; without the line's end that editors and `echo`
/// add.
///
/// # Errors
/// [`Failure::Usage`] when it cannot be read, is no UTF-8 text, or is longer than a request.
pub(super) fn text_of(path: &Path) -> Result<String, Failure> {
    let mut text = document_of(path)?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// What a file or standard input says, to its last byte.
///
/// # Errors
/// [`Failure::Usage`] when it cannot be read, is no UTF-8 text, or is longer than a request.
pub(super) fn document_of(path: &Path) -> Result<String, Failure> {
    if path.as_os_str() == "-" {
        return text_from(io::stdin().lock(), "standard input");
    }
    let name = path.display().to_string();
    let file = File::open(path)
        .map_err(|error| Failure::Usage(format!("{name} cannot be read: {error}.")))?;
    text_from(file, &name)
}

/// What a file or standard input says, to its last byte, as the content of a file.
///
/// # Errors
/// [`Failure::Usage`] when it cannot be read, is no UTF-8 text, or is longer than a file may be.
pub(super) fn content_of(path: &Path) -> Result<String, Failure> {
    if path.as_os_str() == "-" {
        return text_up_to(FILE_SIZE_MAX, io::stdin().lock(), "standard input");
    }
    let name = path.display().to_string();
    let file = File::open(path)
        .map_err(|error| Failure::Usage(format!("{name} cannot be read: {error}.")))?;
    text_up_to(FILE_SIZE_MAX, file, &name)
}

/// Whether a person would have to type what standard input says.
pub(super) fn is_stdin_terminal() -> bool {
    io::stdin().is_terminal()
}

fn text_from(source: impl Read, name: &str) -> Result<String, Failure> {
    text_up_to(TEXT_BYTES_MAX, source, name)
}

fn text_up_to(max: u64, source: impl Read, name: &str) -> Result<String, Failure> {
    let mut text = Vec::new();
    source
        .take(max + 1)
        .read_to_end(&mut text)
        .map_err(|error| Failure::Usage(format!("{name} cannot be read: {error}.")))?;
    if text.len() as u64 > max {
        return Err(Failure::Usage(format!(
            "{name} holds more than a request may."
        )));
    }
    String::from_utf8(text).map_err(|_| Failure::Usage(format!("{name} is no UTF-8 text.")))
}

/// Whether there is a person to ask: both ends are a terminal.
pub(super) fn is_interactive() -> bool {
    is_stdin_terminal() && io::stderr().is_terminal()
}

/// Asks a person to agree; nobody is asked unless both ends are a terminal. `option` is how the
/// command is told beforehand.
///
/// # Errors
/// [`Failure::Usage`] when there is nobody to ask, or the person does not agree.
pub(super) fn confirm(question: &str, option: &str) -> Result<(), Failure> {
    if !is_interactive() {
        return Err(Failure::Usage(format!("{question} Say so with {option}.")));
    }
    prompt(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::Usage("nothing was done.".to_owned())),
    }
}

/// A secret: typed unseen by a person, else the next line of standard input.
///
/// # Errors
/// [`Failure::Usage`] when there is none.
pub(super) fn secret(name: &str) -> Result<String, Failure> {
    let line = if is_stdin_terminal() {
        ask_unseen(name)?
    } else {
        line()?
    };
    let line = String::from_utf8(line)
        .map_err(|_| Failure::Usage(format!("the {name} is no UTF-8 text.")))?;
    if line.is_empty() {
        return Err(Failure::Usage(format!(
            "the {name} is missing: type it, or pipe it in, one line each."
        )));
    }
    Ok(line)
}

/// A new secret; a person types it twice.
///
/// # Errors
/// [`Failure::Usage`] when there is none, or the two differ.
pub(super) fn new_secret(name: &str) -> Result<String, Failure> {
    let secret_once = secret(name)?;
    if is_stdin_terminal() && secret(&format!("{name} again"))? != secret_once {
        return Err(Failure::Usage("the two are not the same.".to_owned()));
    }
    Ok(secret_once)
}

fn prompt(text: &str) -> io::Result<()> {
    let mut out = io::stderr();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The next line of standard input, byte for byte: what lies behind it stays for the next one.
fn line() -> Result<Vec<u8>, Failure> {
    let mut line = Vec::new();
    while let Some(byte) = next_byte()? {
        match byte {
            b'\n' => break,
            _ if line.len() == SECRET_BYTES_MAX => {
                return Err(Failure::Usage("this line is too long.".to_owned()));
            }
            byte => line.push(byte),
        }
    }
    if line.ends_with(b"\r") {
        line.pop();
    }
    Ok(line)
}

fn ask_unseen(name: &str) -> Result<Vec<u8>, Failure> {
    if !io::stderr().is_terminal() {
        return Err(Failure::Usage(format!(
            "there is no terminal to ask for the {name} on; pipe it in."
        )));
    }
    let _unseen = EchoOff::begin()?;
    prompt(&format!("{name}: "))?;
    let mut line = Vec::new();
    while let Some(byte) = next_byte()? {
        match byte {
            b'\r' | b'\n' => break,
            // Ctrl+C and Ctrl+D: the terminal does not act on them now.
            3 | 4 => return Err(Failure::Usage("nothing was done.".to_owned())),
            // Ctrl+U
            21 => line.clear(),
            8 | 127 => drop_character(&mut line),
            _ if line.len() == SECRET_BYTES_MAX => {
                return Err(Failure::Usage("this line is too long.".to_owned()));
            }
            byte => line.push(byte),
        }
    }
    Ok(line)
}

/// Drops the last character of UTF-8 text.
fn drop_character(line: &mut Vec<u8>) {
    while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
}

fn next_byte() -> io::Result<Option<u8>> {
    // Standard input has a buffer of its own, so this asks the kernel once a line.
    io::stdin().lock().bytes().next().transpose()
}

/// A terminal that shows nothing of what is typed, until this is dropped.
struct EchoOff(Termios);

impl EchoOff {
    fn begin() -> io::Result<Self> {
        let before = termios::tcgetattr(io::stdin())?;
        let mut unseen = before.clone();
        // Signals too: one that ended the process now would leave the terminal mute.
        unseen.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        unseen.special_codes[SpecialCodeIndex::VMIN] = 1;
        unseen.special_codes[SpecialCodeIndex::VTIME] = 0;
        termios::tcsetattr(io::stdin(), OptionalActions::Flush, &unseen)?;
        Ok(Self(before))
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        // Without a terminal there is nothing left to restore, and nobody to tell.
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        let _ = prompt("\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_loses_the_end_of_its_last_line_and_a_document_nothing() {
        let scratch = guildhall_world::scratch::Scratch::new("input");
        let file = scratch.path().join("file");
        for (given, text) in [("a\n\n", "a\n"), ("a\r\n", "a"), ("a", "a"), ("\n", "")] {
            std::fs::write(&file, given).unwrap();
            assert_eq!(text_of(&file).unwrap(), text);
            assert_eq!(document_of(&file).unwrap(), given);
        }
    }

    #[test]
    fn what_is_no_text_or_too_long_is_refused() {
        assert!(text_from(&[0xff][..], "x").is_err());
        let long = vec![b'x'; 1024 * 1024 + 1];
        assert!(text_from(&long[..1024 * 1024], "x").is_ok());
        assert!(text_from(&long[..], "x").is_err());
    }

    #[test]
    fn a_character_is_dropped_whole() {
        let mut line = "aé漢".as_bytes().to_vec();
        drop_character(&mut line);
        assert_eq!(line, "aé".as_bytes());
        drop_character(&mut line);
        drop_character(&mut line);
        drop_character(&mut line);
        assert!(line.is_empty());
    }
}

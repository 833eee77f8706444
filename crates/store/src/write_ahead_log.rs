//! The write-ahead log as the last server left it: whether it shows that changes are missing.
//!
//! The engine takes the frames of a log up to the first one that is not whole, and says nothing of
//! those behind it. Where a power cut tore the last transaction, that is right: nobody was answered.
//! A frame that is not whole in front of a later transaction was damaged, because every transaction
//! is synced before the next one begins.
//!
//! Source: SQLite's "WAL-mode File Format".

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

/// Bytes before the first frame.
const HEAD: usize = 32;
/// Bytes of a frame before its page.
const FRAME_HEAD: usize = 24;
/// What a log begins with, but for its last bit: that says in which order its checksums read bytes.
const MAGIC: u32 = 0x377f_0682;

/// Looks at the log beside the store at `database`, which nobody has open. `None` where it shows no
/// loss: also where its last transactions are missing as if they had never been.
///
/// # Errors
/// Whatever the file system answers.
pub fn loss(database: &Path) -> io::Result<Option<&'static str>> {
    match File::open(log_of(database)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => loss_in(BufReader::new(opened?)),
    }
}

fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn loss_in(mut log: impl Read) -> io::Result<Option<&'static str>> {
    const DAMAGED_HEAD: &str =
        "the head of the write-ahead log is damaged, and so nothing in it counts";
    const DAMAGED_FRAME: &str =
        "a transaction in the write-ahead log is damaged, and so nothing behind it counts";
    let mut head = [0; HEAD];
    if !fills(&mut log, &mut head)? {
        return Ok(None);
    }
    let Some(head) = Head::read(&head) else {
        // The engine syncs the head before it writes a frame: an empty log may have a torn one.
        let has_frames = fills(&mut log, &mut [0])?;
        return Ok(has_frames.then_some(DAMAGED_HEAD));
    };
    let mut frame = vec![0; FRAME_HEAD + head.page_size];
    let (mut sum, mut is_whole, mut is_commit) = (head.sum, true, false);
    while fills(&mut log, &mut frame)? {
        let follows = head.is_followed_by(sum, &frame);
        if !is_whole && is_commit && follows {
            return Ok(Some(DAMAGED_FRAME));
        }
        is_whole &= follows;
        is_commit = head.is_of_this_log(&frame) && word(&frame, 4) != 0;
        // Also that of a damaged frame, which the next one follows.
        sum = Sum(word(&frame, 16), word(&frame, 20));
    }
    Ok(None)
}

/// Fills `bytes` from what is read; false where it ends before.
fn fills(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        outcome => outcome.map(|()| true),
    }
}

/// The running checksum.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sum(u32, u32);

/// What a log says of itself.
struct Head {
    page_size: usize,
    /// What tells its frames from older ones that lie behind them.
    salt: [u8; 8],
    is_big_endian: bool,
    sum: Sum,
}

impl Head {
    /// `None` where it is no whole one.
    fn read(bytes: &[u8]) -> Option<Self> {
        let magic = word(bytes, 0);
        let page_size = usize::try_from(word(bytes, 8)).ok()?;
        let head = Self {
            page_size,
            salt: bytes.get(16..24)?.try_into().ok()?,
            is_big_endian: magic & 1 == 1,
            sum: Sum(word(bytes, 24), word(bytes, 28)),
        };
        let sum = head.add(Sum(0, 0), bytes.get(..24)?);
        let is_whole = magic & !1 == MAGIC && sum == head.sum && page_size.is_power_of_two();
        (is_whole && (512..=65_536).contains(&page_size)).then_some(head)
    }

    fn is_of_this_log(&self, frame: &[u8]) -> bool {
        frame.get(8..16) == Some(&self.salt)
    }

    /// Whether `frame` is whole behind one with that checksum.
    fn is_followed_by(&self, sum: Sum, frame: &[u8]) -> bool {
        let (Some(head), Some(page)) = (frame.get(..8), frame.get(FRAME_HEAD..)) else {
            return false;
        };
        let own = Sum(word(frame, 16), word(frame, 20));
        self.is_of_this_log(frame) && self.add(self.add(sum, head), page) == own
    }

    fn add(&self, sum: Sum, bytes: &[u8]) -> Sum {
        let read = |bytes: &[u8]| {
            let bytes = bytes.try_into().unwrap_or_default();
            match self.is_big_endian {
                true => u32::from_be_bytes(bytes),
                false => u32::from_le_bytes(bytes),
            }
        };
        bytes.chunks_exact(8).fold(sum, |Sum(first, second), pair| {
            let first = first.wrapping_add(read(&pair[..4])).wrapping_add(second);
            let second = second.wrapping_add(read(&pair[4..])).wrapping_add(first);
            Sum(first, second)
        })
    }
}

/// The number at that place, whose bytes stand in the order of the network; 0 behind the end.
fn word(bytes: &[u8], at: usize) -> u32 {
    let found = bytes.get(at..at + 4);
    let found = found.and_then(|four| four.try_into().ok());
    u32::from_be_bytes(found.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use guildhall_world::scratch::Scratch;
    use rusqlite::Connection;

    const PAGE: usize = 4_096;
    const TRANSACTIONS: u32 = 6;

    /// A log of some transactions, and where its frames begin.
    fn log() -> (Vec<u8>, Vec<usize>) {
        let scratch = Scratch::new("write-ahead-log");
        std::fs::create_dir_all(scratch.path()).unwrap();
        let path = scratch.path().join("a.sqlite");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (n)")
            .unwrap();
        for n in 0..TRANSACTIONS {
            connection
                .execute("INSERT INTO t VALUES (?1)", [n])
                .unwrap();
        }
        assert_eq!(loss(&path).unwrap(), None);
        let bytes = std::fs::read(log_of(&path)).unwrap();
        let frames = (HEAD..bytes.len()).step_by(FRAME_HEAD + PAGE).collect();
        (bytes, frames)
    }

    #[test]
    fn a_damaged_transaction_in_front_of_another_one_is_a_loss() {
        let (whole, frames) = log();
        let last = frames.len() - 1;
        for (n, frame) in frames.iter().enumerate() {
            let change = |at: usize| {
                let mut log = whole.clone();
                log[at] ^= 1;
                loss_in(&log[..]).unwrap().is_some()
            };
            for at in [frame + FRAME_HEAD + 100, frame + 4, frame + 8, frame + 16] {
                let noticed = change(at);
                // What is damaged of a frame's own head may hide one more transaction.
                assert!(noticed || n + 2 >= last, "frame {n} at {}", at - frame);
                assert!(!noticed || n < last, "frame {n} at {}", at - frame);
            }
        }
        let mut log = whole.clone();
        log[..HEAD].fill(0);
        assert!(loss_in(&log[..]).unwrap().is_some(), "a damaged head");
    }

    #[test]
    fn a_torn_end_and_a_shorter_log_are_none() {
        let (whole, frames) = log();
        for length in [
            0,
            1,
            HEAD,
            HEAD + 1,
            frames[2],
            frames[2] + 700,
            whole.len(),
        ] {
            assert_eq!(loss_in(&whole[..length]).unwrap(), None, "{length}");
        }
        let mut torn = whole.clone();
        torn[frames[frames.len() - 1] + 2_000..].fill(0);
        assert_eq!(loss_in(&torn[..]).unwrap(), None);
        // Frames of an older log behind the newer one.
        let mut older = whole;
        for frame in &frames[3..] {
            older[frame + 8] ^= 1;
        }
        assert_eq!(loss_in(&older[..]).unwrap(), None);
    }
}

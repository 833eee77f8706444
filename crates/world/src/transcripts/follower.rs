//! Reading on in a transcript that grows: each byte once, up to the last whole line.

use std::{
    fs::{File, Metadata},
    io,
    os::unix::fs::{FileExt, MetadataExt},
    path::PathBuf,
};

use guildhall_domain::{
    limits,
    session_tasks::{Task, TranscriptTaskParser},
};
use memchr::memchr_iter;

use super::TranscriptFile;
use crate::confined_fs::contained_folder::ContainedFolder;

/// Bytes read at once.
const CHUNK: usize = 1 << 20;

/// A transcript that was read up to some line, and what it said until there.
#[derive(Debug)]
pub struct TranscriptFollower {
    found: TranscriptFile,
    /// Device and inode of what was read.
    identity: Option<(u64, u64)>,
    /// Where the first line begins that was not whole; within a line that is too long, where
    /// reading stopped.
    offset: u64,
    is_in_long_line: bool,
    transcript: TranscriptTaskParser,
}

/// What reading on came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadProgress {
    /// Bytes that were read.
    pub bytes: u64,
    /// Whether it began at the front, because the file is another or shorter than before.
    pub is_anew: bool,
}

impl TranscriptFollower {
    /// Begins in front of the transcript.
    pub fn new(found: TranscriptFile) -> Self {
        Self {
            transcript: TranscriptTaskParser::new(found.dialect),
            found,
            identity: None,
            offset: 0,
            is_in_long_line: false,
        }
    }

    /// The file's absolute path.
    pub fn path(&self) -> PathBuf {
        self.found.path()
    }

    /// Reads what was added since. A last line without an end is left for the next time; lines
    /// above [`limits::TRANSCRIPT_LINE_MAX`] bytes are skipped and counted.
    ///
    /// Reads the disk, so it is no call for an async thread.
    ///
    /// # Errors
    /// Those of the file system; `NotFound` when the file is gone.
    pub fn read_new_lines(&mut self) -> io::Result<ReadProgress> {
        let file = ContainedFolder::open(&self.found.root)?.file(&self.found.path)?;
        let metadata = file.metadata()?;
        let is_anew = !self.goes_on_in(&file, &metadata)?;
        if is_anew {
            *self = Self::new(self.found.clone());
            self.identity = Some(identity(&metadata));
        }
        let bytes = self.read_to(&file, metadata.len())?;
        Ok(ReadProgress { bytes, is_anew })
    }

    /// What was said until here.
    pub fn tasks(&mut self) -> &[Task] {
        self.transcript.tasks()
    }

    /// Whether anything was said about tasks.
    pub fn has_operations(&self) -> bool {
        self.transcript.has_operations()
    }

    /// Whether tasks were dropped because there were too many.
    pub fn has_dropped(&self) -> bool {
        self.transcript.has_dropped()
    }

    /// How many lines could not be read.
    pub fn skipped(&self) -> u64 {
        self.transcript.skipped()
    }

    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        self.transcript.bytes()
    }

    /// Whether this is the file that was read before, only longer.
    fn goes_on_in(&self, file: &File, metadata: &Metadata) -> io::Result<bool> {
        if self.identity != Some(identity(metadata)) || metadata.len() < self.offset {
            return Ok(false);
        }
        if self.offset == 0 || self.is_in_long_line {
            return Ok(true);
        }
        // A file that was cut and has grown again ends its lines elsewhere.
        let mut before = [0];
        file.read_exact_at(&mut before, self.offset - 1)?;
        Ok(before == *b"\n")
    }

    /// Reads up to `end`, where the file ended when it was opened, so that a writer in a hurry
    /// keeps nobody here.
    fn read_to(&mut self, file: &File, end: u64) -> io::Result<u64> {
        let mut position = self.offset;
        let begin = position;
        let expected = usize::try_from(end.saturating_sub(begin)).unwrap_or(CHUNK);
        let mut buffer = vec![0; expected.clamp(1, CHUNK)];
        let mut held = 0;
        while position < end {
            if held == buffer.len() {
                buffer.resize(buffer.len() * 2, 0);
            }
            let read = file.read_at(&mut buffer[held..], position)?;
            if read == 0 {
                break;
            }
            position += read as u64;
            held = self.take_lines(&mut buffer, held, held + read);
            self.offset = position - held as u64;
        }
        Ok(position - begin)
    }

    /// Takes the whole lines of `buffer[..filled]`, of which the first `held` bytes hold no end
    /// of a line, and moves the rest to the front; answers how much that is.
    fn take_lines(&mut self, buffer: &mut [u8], held: usize, filled: usize) -> usize {
        let mut start = 0;
        for end in memchr_iter(b'\n', &buffer[held..filled]) {
            let line = &buffer[start..held + end];
            start = held + end + 1;
            if self.is_in_long_line || line.len() > limits::TRANSCRIPT_LINE_MAX {
                self.is_in_long_line = false;
                self.transcript.skip();
            } else {
                self.transcript.take(line);
            }
        }
        let rest = filled - start;
        if self.is_in_long_line || rest > limits::TRANSCRIPT_LINE_MAX {
            self.is_in_long_line = true;
            return 0;
        }
        buffer.copy_within(start..filled, 0);
        rest
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

//! The last words of a program's standard error, kept to explain why it failed.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes that are shown in a sentence.
const SHOWN_BYTES_MAX: usize = 600;
/// Bytes read at once.
const CHUNK_BYTES: usize = 4 * 1_024;

/// What was written last.
#[derive(Debug)]
pub(crate) struct StderrTail {
    bytes_max: usize,
    // A std mutex: held for a copy and never over an await.
    bytes: Mutex<VecDeque<u8>>,
}

impl StderrTail {
    /// An empty one that keeps the last `bytes_max` bytes.
    pub(crate) fn keeping(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            bytes: Mutex::default(),
        }
    }

    /// Reads until the end, so that the writer never waits for us.
    pub(crate) async fn follow(&self, mut source: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; CHUNK_BYTES];
        // An error is an end as well: there is nobody else to tell.
        while let Ok(count @ 1..) = source.read(&mut chunk).await {
            let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.extend(chunk.iter().take(count));
            let excess = bytes.len().saturating_sub(self.bytes_max);
            bytes.drain(..excess);
        }
    }

    /// All that is kept as plain text, or `""`.
    pub(crate) fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = bytes.iter().copied().collect();
        let text: String = String::from_utf8_lossy(&bytes)
            .chars()
            .filter(|c| !c.is_control() || *c == '\n')
            .collect();
        text.trim().to_owned()
    }

    /// The end of it as plain text, or `""`.
    pub(crate) fn plain_text(&self) -> String {
        let text = self.text();
        let start = text.ceil_char_boundary(text.len().saturating_sub(SHOWN_BYTES_MAX));
        text.get(start..).unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_end_of_a_long_story_is_kept() {
        let tail = StderrTail::keeping(8_192);
        let story = format!("{}the reason", "x".repeat(100_000));
        tail.follow(story.as_bytes()).await;
        assert_eq!(tail.bytes.lock().unwrap().len(), 8_192);
        assert_eq!(tail.plain_text().len(), SHOWN_BYTES_MAX);
        assert!(tail.plain_text().ends_with("the reason"));
    }

    #[tokio::test]
    async fn control_characters_are_not_shown() {
        let tail = StderrTail::keeping(8_192);
        tail.follow(&b"\x1b[31mred\x1b[0m\nand more\n"[..]).await;
        assert_eq!(tail.plain_text(), "[31mred[0m\nand more");
    }
}

//! Reaching people's files: off the async threads and a few at a time, so that a file system that
//! is slow, or never answers, takes these places and no others.

use std::{ops::Range, os::unix::fs::FileExt, sync::Arc, time::Duration};

use guildhall_domain::{Fault, Refusal, Result, errors::FaultKind, limits};
use guildhall_world::{
    confined_fs::{ConfinedFs, OpenFile},
    file_saving::Journals,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::Hall;

/// The way to people's files.
pub(crate) struct FileIoPool {
    confined: Arc<ConfinedFs>,
    journals: Journals,
    places: IoSlots,
    /// The same for texts on their way to a client.
    texts: IoSlots,
}

impl FileIoPool {
    pub(crate) fn new(confined: ConfinedFs, journals: Journals) -> Self {
        Self {
            confined: Arc::new(confined),
            journals,
            places: IoSlots::new(limits::FILES_AT_ONCE_MAX),
            texts: IoSlots::new(limits::FILE_TEXTS_AT_ONCE_MAX),
        }
    }
}

impl Hall {
    /// What can be asked without waiting, so without a place.
    pub(crate) fn confined(&self) -> &ConfinedFs {
        &self.inner.reaching.confined
    }

    /// Does something with people's files that may wait for the disk, in one hop.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`] when no place is free in time, and those of the deed.
    pub(crate) async fn with_files<T: Send + 'static>(
        &self,
        deed: impl FnOnce(&ConfinedFs, &Journals) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let reaching = &self.inner.reaching;
        let (confined, journals) = (Arc::clone(&reaching.confined), reaching.journals.clone());
        let deed = move || deed(&confined, &journals);
        reaching.places.run(deed).await
    }

    /// A place for a text that is read and sent.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`] when none is free in time.
    pub(crate) async fn text_read_slot(&self) -> Result<TextReadSlot> {
        let place = self.inner.reaching.texts.take().await?;
        Ok(TextReadSlot { _place: place })
    }

    /// A file that was found, to be read a part at a time.
    pub(crate) fn file_reader(&self, file: OpenFile) -> FileReader {
        let figures = file.size_and_mtime();
        let (physical, changed) = (file.physical(), file.changed());
        FileReader {
            size: figures.size,
            state: format!("{:x}-{changed:x}-{:x}", physical.ino, figures.size),
            file: Arc::new(file),
            places: self.inner.reaching.places.clone(),
        }
    }
}

/// A place among the texts that are read and sent, until dropped.
#[derive(Debug)]
pub struct TextReadSlot {
    /// It is given back by being dropped.
    _place: OwnedSemaphorePermit,
}

/// A person's file, open for reading a part at a time. Cheap to clone.
#[derive(Clone, Debug)]
pub struct FileReader {
    file: Arc<OpenFile>,
    places: IoSlots,
    /// Its bytes when it was opened.
    pub size: u64,
    /// What changes with its bytes: its number, its last change and its size.
    pub state: String,
}

impl FileReader {
    /// Some of its bytes.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`]; a fault when it cannot be read on, also because it became shorter.
    pub async fn read(&self, bytes: Range<u64>) -> Result<Vec<u8>> {
        if let Some(bytes) = self.file.read_if_cached(&bytes) {
            return Ok(bytes);
        }
        let file = Arc::clone(&self.file);
        self.places.run(move || read_part(&file, &bytes)).await
    }
}

/// Some bytes of a file.
///
/// # Errors
/// A fault when it does not give them.
pub(crate) fn read_part(file: &OpenFile, bytes: &Range<u64>) -> Result<Vec<u8>> {
    let length = usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX);
    let mut buffer = vec![0; length];
    let read = file.file().read_exact_at(&mut buffer, bytes.start);
    read.map_err(|error| Fault::new(FaultKind::FileIo, "reading a file on", error))?;
    Ok(buffer)
}

/// The places in which people's files are reached.
#[derive(Clone, Debug)]
struct IoSlots(Arc<Semaphore>);

impl IoSlots {
    fn new(count: usize) -> Self {
        Self(Arc::new(Semaphore::new(count)))
    }

    async fn run<T: Send + 'static>(
        &self,
        deed: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = self.take().await?;
        // The deed keeps its place also when nobody waits for it any more.
        let work = tokio::task::spawn_blocking(move || {
            let done = deed();
            drop(place);
            done
        });
        let done = work.await;
        done.map_err(|error| Fault::broken("reaching a file", error))?
    }

    async fn take(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let patience = Duration::from_secs(limits::FILES_WAIT_MAX_S);
        let place = timeout(patience, Arc::clone(&self.0).acquire_owned()).await;
        // The places are never closed; were they, the server would be stopping.
        place
            .map_err(|_| Refusal::Overloaded)?
            .map_err(|_| Refusal::ShuttingDown)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use guildhall_domain::Error;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_place_in_time_is_sent_away_and_any_place_that_is_free_again_is_taken() {
        let places = IoSlots::new(2);
        let held = [places.take().await.unwrap(), places.take().await.unwrap()];
        let refused = places.run(|| Ok(())).await;
        assert!(matches!(refused, Err(Error::Refusal(Refusal::Overloaded))));
        drop(held);
        assert!(matches!(places.run(|| Ok(7)).await, Ok(7)));
    }

    #[tokio::test]
    async fn a_deed_keeps_its_place_when_nobody_waits_for_it_any_more() {
        let places = IoSlots::new(1);
        let (begun, is_begun) = tokio::sync::oneshot::channel();
        let (end, is_ended) = mpsc::channel::<()>();
        let deed = move || {
            begun.send(()).unwrap();
            // As long as a file system does not answer.
            is_ended.recv().unwrap();
            Ok(())
        };
        let mut waiting = Box::pin(places.run(deed));
        tokio::select! {
            _ = &mut waiting => unreachable!("nothing has ended it"),
            begun = is_begun => begun.unwrap(),
        }
        drop(waiting);
        assert_eq!(places.0.available_permits(), 0);
        end.send(()).unwrap();
        drop(places.take().await.unwrap());
    }
}

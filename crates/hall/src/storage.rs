//! Storage: what takes how much of the disk and what bounds it, and the reserve that is given back
//! when the disk is full.

use std::{
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use guildhall_domain::{
    Fault, Result, Timestamp, callers::Owner, errors::FaultKind, limits, settings::BACKUP_BYTES_MAX,
};
use guildhall_store::events;
use guildhall_world::{
    data_dir::{DataDir, SET_ASIDE},
    disk::{self, DiskRoom, Measuring},
    reserve::{RESERVE_BYTES, Reserve},
};

use crate::Hall;

/// How often the job looks whether the reserve can be made again.
const PERIOD: Duration = Duration::from_secs(60);

/// What is kept of the disk.
#[derive(Debug)]
pub(crate) struct Storage {
    reserve: Reserve,
    /// Whether the disk was full, and the reserve is not made again yet.
    is_released: AtomicBool,
}

/// What takes the disk, and how much room there is.
#[derive(Clone, Debug)]
pub struct StorageUse {
    /// The disk that holds the data folder.
    pub disk: DiskRoom,
    /// Bytes below which nothing is added any more.
    pub free_min: u64,
    /// Whether the disk was full, so that the reserve was given back.
    pub is_reserve_released: bool,
    /// What takes it, in the data folder.
    pub areas: Vec<StorageArea>,
    /// Whether there were more files than are counted.
    pub is_partial: bool,
    /// When all attachments were last checked; `None` before the first time.
    pub attachments_checked_at: Option<Timestamp>,
    /// Digests of attachments that are damaged and could not be restored, at most a hundred.
    pub attachments_damaged: Vec<String>,
}

/// One part of the data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageArea {
    /// Its name.
    pub name: &'static str,
    /// Bytes it takes; those of the event log are in the store's.
    pub bytes: u64,
    /// Bytes it may take, where something sets that.
    pub bytes_max: Option<u64>,
    /// What bounds it or removes what is old, as a sentence.
    pub bounded_by: &'static str,
}

impl Storage {
    /// `was_released`: whether the last run gave the reserve back and did not make it again.
    pub(crate) fn new(data_dir: &Path, was_released: bool) -> Self {
        let reserve = Reserve::at(data_dir);
        Self {
            is_released: AtomicBool::new(was_released && !reserve.is_made()),
            reserve,
        }
    }
}

impl Hall {
    /// Whether the disk has room to write. Once the reserve was given back, that means room for it
    /// as well: what is added would use up the room that removing needs.
    ///
    /// # Errors
    /// A fault of kind `StorageFull`, or that the disk does not say.
    pub fn disk_has_room(&self) -> Result<(), Fault> {
        self.disk_has_room_for(0)
    }

    /// Whether the disk has room for that many bytes, and to write afterwards.
    ///
    /// # Errors
    /// As [`Self::disk_has_room`].
    pub(crate) fn disk_has_room_for(&self, bytes: u64) -> Result<(), Fault> {
        let free = disk::free_bytes(&self.inner.data_dir)?;
        let free_min = match self.is_reserve_released() {
            true => disk::DISK_FREE_MIN_BYTES + RESERVE_BYTES,
            false => disk::DISK_FREE_MIN_BYTES,
        };
        let wanted = free_min.saturating_add(bytes);
        if free < wanted {
            let why = match (self.is_reserve_released(), bytes) {
                (true, 0) => format!(
                    "the disk was full; {free} bytes are left with the reserve, which is made again \
                     when {wanted} are: free space"
                ),
                (false, 0) => format!("{free} bytes are left; free space"),
                (_, bytes) => format!(
                    "{free} bytes are left, and {wanted} are needed: {bytes} for the copy, and \
                     {free_min} that stay free; free space"
                ),
            };
            return Err(Fault::new(
                FaultKind::StorageFull,
                "looking at the disk",
                why,
            ));
        }
        Ok(())
    }

    /// Holds back what adds something while the room that is left is for removing.
    ///
    /// # Errors
    /// As [`Self::disk_has_room`].
    pub(crate) fn may_add(&self) -> Result<(), Fault> {
        match self.is_reserve_released() {
            true => self.disk_has_room(),
            false => Ok(()),
        }
    }

    fn is_reserve_released(&self) -> bool {
        self.inner.storage.is_released.load(Ordering::Acquire)
    }

    /// What takes the disk, and how much room there is.
    ///
    /// # Errors
    /// Faults alone.
    pub async fn storage(&self, _by: &Owner) -> Result<StorageUse> {
        let backups_max = self.setting(&BACKUP_BYTES_MAX).await?.number();
        let event_log = self.store().read(events::log_bytes).await?.value;
        let state = self.store_state();
        let is_reserve_released = self.is_reserve_released();
        let data_dir = self.inner.data_dir.clone();
        let measured = tokio::task::spawn_blocking(move || {
            let mut measuring = Measuring::default();
            let areas = areas(&data_dir, &mut measuring, event_log, backups_max);
            let areas = areas.map_err(|error| Fault::broken("measuring the data folder", error))?;
            Ok::<_, Fault>((disk::room(&data_dir)?, areas, measuring.is_partial()))
        });
        let measured = measured.await;
        let (disk, areas, is_partial) =
            measured.map_err(|error| Fault::broken("measuring the data folder", error))??;
        Ok(StorageUse {
            disk,
            free_min: disk::DISK_FREE_MIN_BYTES,
            is_reserve_released,
            areas,
            is_partial,
            attachments_checked_at: state.attachments_checked_at(),
            attachments_damaged: state.attachments_damaged,
        })
    }

    /// Makes the reserve where there is none and the disk has room for it.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub(crate) async fn make_reserve_if_room(&self) -> io::Result<()> {
        let (reserve, data_dir) = (
            self.inner.storage.reserve.clone(),
            self.inner.data_dir.clone(),
        );
        let making = tokio::task::spawn_blocking(move || {
            if reserve.is_made() {
                return Ok(true);
            }
            let free = disk::free_bytes(&data_dir).map_err(io::Error::other)?;
            if free < disk::DISK_FREE_MIN_BYTES + RESERVE_BYTES {
                return Ok(false);
            }
            reserve.make().map(|()| true)
        });
        let is_made = making.await.map_err(io::Error::other).flatten()?;
        if is_made && self.inner.storage.is_released.swap(false, Ordering::AcqRel) {
            self.update_health(|state| state.is_reserve_released = false);
            tracing::warn!("the disk has room again, and a reserve of it");
        }
        Ok(())
    }

    /// Gives the reserve back where there is one; without, nothing more can be removed than before,
    /// and nothing needs to be held back.
    ///
    /// # Errors
    /// Whatever the file system answers.
    pub(crate) async fn release_reserve(&self) -> io::Result<()> {
        let hall = self.clone();
        let releasing = tokio::task::spawn_blocking(move || {
            let storage = &hall.inner.storage;
            if !storage.reserve.is_made() {
                return Ok(false);
            }
            // Before there is room that what is added could take.
            storage.is_released.store(true, Ordering::Release);
            storage.reserve.release()?;
            // Now there is room for it.
            hall.update_health(|state| state.is_reserve_released = true);
            Ok(true)
        });
        if releasing.await.map_err(io::Error::other).flatten()? {
            tracing::error!(
                "the disk is full: its reserve is given back, so that things can be removed; \
                 nothing is added until there is room again"
            );
        }
        Ok(())
    }
}

/// Starts the job.
pub(crate) fn start(hall: &Hall) {
    let mut stopping = hall.tasks().stopping();
    let job = hall.clone();
    let mut full = hall.store().full();
    hall.tasks().spawn("storage", hall.now(), async move {
        // Not at the start, which it would make longer.
        let mut period = tokio::time::interval_at(tokio::time::Instant::now() + PERIOD, PERIOD);
        loop {
            let is_full = tokio::select! {
                _ = period.tick() => false,
                // An error would mean that the store is gone.
                Ok(()) = full.changed() => true,
                _ = stopping.wait_for(|stop| *stop) => return,
            };
            let done = match is_full {
                true => job.release_reserve().await,
                false => job.make_reserve_if_room().await,
            };
            match done {
                // Not every file system can promise room; the data is no worse without.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => return,
                Err(error) => tracing::warn!(%error, "the reserve could not be changed"),
                Ok(()) => {}
            }
        }
    });
}

/// What takes the disk in the data folder, the store first and what is none of the others last.
fn areas(
    data_dir: &Path,
    measuring: &mut Measuring,
    event_log: u64,
    backups_max: u64,
) -> io::Result<Vec<StorageArea>> {
    let database = DataDir::database_in(data_dir);
    let wal = PathBuf::from(format!("{}-wal", database.display()));
    let mut at = |name, path: &Path, bytes_max, bounded_by| -> io::Result<StorageArea> {
        Ok(StorageArea {
            name,
            bytes: measuring.bytes_of(path)?,
            bytes_max,
            bounded_by,
        })
    };
    let mut areas = vec![
        at(
            "store",
            &database,
            None,
            "Rooms, entries and settings stay until they are removed.",
        )?,
        StorageArea {
            name: "eventLog",
            bytes: event_log,
            bytes_max: Some(limits::EVENT_LOG_BYTES_MAX),
            bounded_by: "Events are dropped after 30 days, or earlier when the log outgrows its bound. \
                         Part of the store.",
        },
        at(
            "writeAheadLog",
            &wal,
            None,
            "Written to its place as it grows, and cut to 64 MiB.",
        )?,
        at(
            "attachments",
            &data_dir.join("blobs"),
            None,
            "Files stay until their entry or room is removed.",
        )?,
        at(
            "uploads",
            &data_dir.join("uploads"),
            None,
            "Uploads on their way; dropped at the next start.",
        )?,
        at(
            "backups",
            &data_dir.join("backups"),
            Some(backups_max),
            "Those of a day, a week and a month are kept within storage.backupBytesMax. Attachments \
             they share with the data count there.",
        )?,
        at(
            "setAside",
            &data_dir.join(SET_ASIDE),
            None,
            "Data of before a restore; never deleted by the server. Delete its folders when you need \
             them no more.",
        )?,
        at(
            "browserProfile",
            &data_dir.join("browser"),
            None,
            "Kept until the local browser's profile is removed.",
        )?,
        at(
            "reserve",
            &data_dir.join("reserve"),
            Some(RESERVE_BYTES),
            "Given back when the disk is full.",
        )?,
    ];
    let known: u64 = areas.iter().map(|area| area.bytes).sum::<u64>() - event_log;
    // Files with several names count once, so this is the rest.
    let all = Measuring::default().bytes_of(data_dir)?;
    areas.push(StorageArea {
        name: "other",
        bytes: all.saturating_sub(known),
        bytes_max: None,
        bounded_by: "Keys, records of the running server and journals of saves.",
    });
    Ok(areas)
}

#[cfg(test)]
mod tests {
    use guildhall_world::store_state::StoreState;

    use super::*;
    use crate::approvals::permits_tests::hall_with_agent::HallWithAgent;

    #[tokio::test]
    async fn what_does_not_fit_beside_the_room_that_stays_free_is_refused_with_both() {
        let t = HallWithAgent::set().await;
        t.hall.disk_has_room_for(1).unwrap();
        let free = disk::free_bytes(&t.hall.inner.data_dir).unwrap();
        let refused = t.hall.disk_has_room_for(free).unwrap_err();
        assert_eq!(refused.kind, FaultKind::StorageFull);
        let why = refused.source.to_string();
        assert!(why.contains(&format!("{free} for the copy")), "{why}");
    }

    #[tokio::test]
    async fn where_there_is_no_reserve_nothing_is_held_back() {
        let t = HallWithAgent::set().await;
        t.hall.release_reserve().await.unwrap();
        assert!(!t.hall.is_reserve_released());
    }

    #[tokio::test]
    async fn the_reserve_is_given_back_when_a_change_meets_a_full_disk_and_made_again() {
        let t = HallWithAgent::set().await;
        let (hall, storage) = (&t.hall, &t.hall.inner.storage);
        std::fs::create_dir(hall.inner.data_dir.join("run")).unwrap();
        hall.make_reserve_if_room().await.unwrap();
        assert!(storage.reserve.is_made() && !hall.is_reserve_released());
        let full = Fault::new(FaultKind::StorageFull, "writing", "no space left on device");
        let refused = hall
            .store()
            .write(move |_| -> Result<()> { Err(full.into()) });
        refused.await.unwrap_err();
        while storage.reserve.is_made() {
            tokio::task::yield_now().await;
        }
        assert!(hall.is_reserve_released());
        let is_recorded = |hall: &Hall| {
            let state = StoreState::read(&hall.inner.data_dir);
            state.is_some_and(|state| state.is_reserve_released)
        };
        while !is_recorded(hall) {
            tokio::task::yield_now().await;
        }
        hall.make_reserve_if_room().await.unwrap();
        assert!(storage.reserve.is_made() && !hall.is_reserve_released());
        assert!(!is_recorded(hall));
    }
}

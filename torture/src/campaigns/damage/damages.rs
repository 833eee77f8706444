//! The damages: what becomes of bytes of the store, of its write-ahead log and of attachments.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
};

use crate::{Result, rng::Rng, server::Installation};

/// Bytes of a page of the store.
const PAGE: usize = 4_096;
/// Bytes before a page in the write-ahead log, and before its first one.
const FRAME_HEAD: usize = 24;
const LOG_HEAD: usize = 32;
const FRAME: usize = FRAME_HEAD + PAGE;
/// The most places that one damage reaches.
const PLACES_MAX: usize = 34;

/// What is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Pages of the store.
    Pages,
    /// The write-ahead log.
    Log,
    /// A file of an attachment.
    Attachment,
}

/// A kind of damage.
pub(super) struct Damage {
    pub(super) name: &'static str,
    pub(super) target: Target,
    /// Whether a log that was damaged so may look like one that was never longer.
    pub(super) is_beyond_notice: bool,
    /// Makes it; answers the file, or `None` where there was nothing to damage.
    pub(super) make: fn(&Installation, &mut Rng) -> Result<Option<PathBuf>>,
}

const fn pages(name: &'static str, make: Make) -> Damage {
    of(name, Target::Pages, false, make)
}

const fn log(name: &'static str, is_beyond_notice: bool, make: Make) -> Damage {
    of(name, Target::Log, is_beyond_notice, make)
}

const fn attachment(name: &'static str, make: Make) -> Damage {
    of(name, Target::Attachment, false, make)
}

type Make = fn(&Installation, &mut Rng) -> Result<Option<PathBuf>>;

const fn of(name: &'static str, target: Target, is_beyond_notice: bool, make: Make) -> Damage {
    Damage {
        name,
        target,
        is_beyond_notice,
        make,
    }
}

/// All, by turns.
pub(super) const DAMAGES: [Damage; 16] = [
    pages("zeroed pages", |installation, rng| {
        some_pages(installation, rng, zero)
    }),
    log("a zeroed frame of the log", true, |installation, rng| {
        one_frame(installation, rng, zero)
    }),
    pages("overwritten pages", |installation, rng| {
        some_pages(installation, rng, overwrite)
    }),
    attachment("a zeroed attachment", |installation, rng| {
        one_attachment(installation, rng, |bytes, _| bytes.fill(0))
    }),
    pages("swapped pages", swapped_pages),
    log("swapped frames of the log", true, swapped_frames),
    pages("a truncated store", truncated_store),
    attachment("an attachment with one changed bit", |installation, rng| {
        one_attachment(installation, rng, |bytes, rng| change_bit(bytes, rng))
    }),
    pages("torn pages", |installation, rng| {
        some_pages(installation, rng, tear)
    }),
    log("a torn frame of the log", true, |installation, rng| {
        one_frame(installation, rng, tear)
    }),
    log("a truncated log", true, truncated_log),
    attachment("a truncated attachment", |installation, rng| {
        one_attachment(installation, rng, |bytes, rng| {
            let length = rng.below(bytes.len());
            bytes.truncate(length);
        })
    }),
    log("a changed bit of the log", true, |installation, rng| {
        one_frame(installation, rng, change_bit)
    }),
    log("a log without its head", true, headless_log),
    attachment("a missing attachment", missing_attachment),
    log("a missing log", true, missing_log),
];

fn zero(bytes: &mut [u8], _: &mut Rng) {
    bytes.fill(0);
}

fn overwrite(bytes: &mut [u8], rng: &mut Rng) {
    bytes.copy_from_slice(&rng.bytes(bytes.len()));
}

fn tear(bytes: &mut [u8], _: &mut Rng) {
    let half = bytes.len() / 2;
    bytes[half..].fill(0);
}

fn change_bit(bytes: &mut [u8], rng: &mut Rng) {
    let at = rng.below(bytes.len());
    bytes[at] ^= 1 << rng.below(8);
}

/// Pages of the store.
fn page_count(installation: &Installation) -> io::Result<usize> {
    let length = fs::metadata(installation.database())?.len();
    Ok(usize::try_from(length).unwrap_or_default() / PAGE)
}

fn open(path: &PathBuf) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// Changes one or more pages, until something is changed.
fn some_pages(
    installation: &Installation,
    rng: &mut Rng,
    change: fn(&mut [u8], &mut Rng),
) -> Result<Option<PathBuf>> {
    let path = installation.database();
    let pages = page_count(installation)?;
    let file = open(&path)?;
    let mut left = 1 + rng.below(PLACES_MAX);
    while left > 0 {
        let at = (rng.below(pages) * PAGE) as u64;
        let mut bytes = vec![0; PAGE];
        file.read_exact_at(&mut bytes, at)?;
        let before = bytes.clone();
        change(&mut bytes, rng);
        file.write_all_at(&bytes, at)?;
        left -= usize::from(bytes != before);
    }
    Ok(Some(path))
}

fn swapped_pages(installation: &Installation, rng: &mut Rng) -> Result<Option<PathBuf>> {
    let path = installation.database();
    let pages = page_count(installation)?;
    let file = open(&path)?;
    let mut left = 1 + rng.below(PLACES_MAX);
    while left > 0 {
        let places = [rng.below(pages) * PAGE, rng.below(pages) * PAGE];
        left -= usize::from(swap(&file, places, PAGE)?);
    }
    Ok(Some(path))
}

/// Swaps what is at two places; false where that changes nothing.
fn swap(file: &File, places: [usize; 2], length: usize) -> io::Result<bool> {
    let [first, second] = places.map(|at| at as u64);
    let (mut one, mut other) = (vec![0; length], vec![0; length]);
    file.read_exact_at(&mut one, first)?;
    file.read_exact_at(&mut other, second)?;
    file.write_all_at(&one, second)?;
    file.write_all_at(&other, first)?;
    Ok(one != other)
}

fn truncated_store(installation: &Installation, rng: &mut Rng) -> Result<Option<PathBuf>> {
    let path = installation.database();
    let pages = page_count(installation)?;
    let kept = 1 + pages / 2 + rng.below(pages / 2);
    open(&path)?.set_len((kept * PAGE) as u64)?;
    Ok(Some(path))
}

fn log_of(installation: &Installation) -> PathBuf {
    installation.data().join("guildhall.sqlite-wal")
}

/// Frames of the log that count: behind them may lie frames of an older log.
fn frames(installation: &Installation) -> usize {
    let log = fs::read(log_of(installation)).unwrap_or_default();
    let Some((head, frames)) = log.split_at_checked(LOG_HEAD) else {
        return 0;
    };
    let frames = frames.chunks_exact(FRAME);
    frames
        .take_while(|frame| frame[8..16] == head[16..24])
        .count()
}

fn one_frame(
    installation: &Installation,
    rng: &mut Rng,
    change: fn(&mut [u8], &mut Rng),
) -> Result<Option<PathBuf>> {
    let frames = frames(installation);
    if frames == 0 {
        return Ok(None);
    }
    let path = log_of(installation);
    let file = open(&path)?;
    let at = (LOG_HEAD + rng.below(frames) * FRAME) as u64;
    let mut bytes = vec![0; FRAME];
    file.read_exact_at(&mut bytes, at)?;
    change(&mut bytes, rng);
    file.write_all_at(&bytes, at)?;
    Ok(Some(path))
}

fn swapped_frames(installation: &Installation, rng: &mut Rng) -> Result<Option<PathBuf>> {
    let frames = frames(installation);
    if frames < 2 {
        return Ok(None);
    }
    let path = log_of(installation);
    let first = rng.below(frames);
    let second = (first + 1 + rng.below(frames - 1)) % frames;
    let places = [first, second].map(|frame| LOG_HEAD + frame * FRAME);
    swap(&open(&path)?, places, FRAME)?;
    Ok(Some(path))
}

fn truncated_log(installation: &Installation, rng: &mut Rng) -> Result<Option<PathBuf>> {
    let frames = frames(installation);
    if frames == 0 {
        return Ok(None);
    }
    let path = log_of(installation);
    let length = LOG_HEAD + rng.below(frames * FRAME);
    open(&path)?.set_len(length as u64)?;
    Ok(Some(path))
}

fn headless_log(installation: &Installation, _: &mut Rng) -> Result<Option<PathBuf>> {
    if frames(installation) == 0 {
        return Ok(None);
    }
    let path = log_of(installation);
    open(&path)?.write_all_at(&[0; LOG_HEAD], 0)?;
    Ok(Some(path))
}

fn missing_log(installation: &Installation, _: &mut Rng) -> Result<Option<PathBuf>> {
    let path = log_of(installation);
    if !path.exists() {
        return Ok(None);
    }
    fs::remove_file(&path)?;
    Ok(Some(path))
}

/// The file of some attachment.
fn some_attachment(installation: &Installation, rng: &mut Rng) -> Result<Option<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![installation.data().join("blobs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    Ok((!found.is_empty()).then(|| rng.pick(&found).clone()))
}

fn one_attachment(
    installation: &Installation,
    rng: &mut Rng,
    change: fn(&mut Vec<u8>, &mut Rng),
) -> Result<Option<PathBuf>> {
    let Some(path) = some_attachment(installation, rng)? else {
        return Ok(None);
    };
    let mut bytes = fs::read(&path)?;
    let before = bytes.clone();
    change(&mut bytes, rng);
    fs::write(&path, &bytes)?;
    Ok((bytes != before).then_some(path))
}

fn missing_attachment(installation: &Installation, rng: &mut Rng) -> Result<Option<PathBuf>> {
    let found = some_attachment(installation, rng)?;
    if let Some(path) = &found {
        fs::remove_file(path)?;
    }
    Ok(found)
}

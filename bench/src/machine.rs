//! The machine: what it is, how busy it is, and what its disk does by itself.

use std::{
    fs::File,
    io::{Seek, SeekFrom, Write},
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{Result, measure::Times};

/// Bytes of the file that the disk is measured with; as long as a log between two checkpoints.
const PROBE_BYTES: u64 = 8 * 1_024 * 1_024;
/// Bytes written before each sync: one page of the store.
const PAGE_BYTES: usize = 4_096;

/// How long one sync of the disk in `folder` takes: 4 KiB over an existing file, then `fdatasync`.
///
/// The file has its full length beforehand, as a log in use has, so that no sync pays for growth.
pub(crate) fn disk_syncs(folder: &Path, span: Duration) -> Result<Times> {
    let path = folder.join("sync-probe");
    let mut file = File::create(&path)?;
    file.write_all(&vec![0; usize::try_from(PROBE_BYTES)?])?;
    file.sync_all()?;
    let page = [7; PAGE_BYTES];
    let mut times = Times::default();
    let end = Instant::now() + span;
    let mut place = 0;
    while Instant::now() < end {
        let began = Instant::now();
        file.seek(SeekFrom::Start(place))?;
        file.write_all(&page)?;
        file.sync_data()?;
        times.push(began.elapsed());
        place = (place + PAGE_BYTES as u64) % PROBE_BYTES;
    }
    std::fs::remove_file(path)?;
    Ok(times)
}

/// What the figures were measured on, without the machine's name.
pub(crate) fn description(folder: &Path) -> Value {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    json!({
        "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        "kernel": first_line("/proc/sys/kernel/osrelease"),
        "processor": value_in("/proc/cpuinfo", "model name"),
        "cores": cores,
        "memory": value_in("/proc/meminfo", "MemTotal"),
        "fileSystem": file_system_of(folder),
    })
}

/// Running programs, averaged over 1, 5 and 15 minutes.
pub(crate) fn load_average() -> String {
    let line = first_line("/proc/loadavg");
    let words: Vec<&str> = line.split(' ').take(3).collect();
    words.join(" ")
}

fn first_line(path: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}

fn value_in(path: &str, key: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let value = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map_or("unknown", |(_, value)| value);
    value.trim().to_owned()
}

/// The kind of the file system that holds `folder`: the longest mount point above it.
fn file_system_of(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or(folder.to_owned());
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let kind = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            Some((words.next()?, words.next()?))
        })
        .filter(|(point, _)| folder.starts_with(point))
        .max_by_key(|(point, _)| point.len())
        .map_or("unknown", |(_, kind)| kind);
    kind.to_owned()
}

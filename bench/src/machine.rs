//! The machine: what it is, how busy it is, and what its disk does by itself.

use std::{
    fs::File,
    io::{Seek, SeekFrom, Write},
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{Result, measure::DurationSamples};

/// Bytes of the file that the disk is measured with; as long as a log between two checkpoints.
const PROBE_BYTES: u64 = 8 * 1_024 * 1_024;
/// Bytes written before each sync: one page of the store.
const PAGE_BYTES: usize = 4_096;

/// How long one sync of the disk in `folder` takes: 4 KiB over an existing file, then `fdatasync`.
///
/// The file has its full length beforehand, as a log in use has, so that no sync pays for growth.
pub(crate) fn disk_syncs(folder: &Path, span: Duration) -> Result<DurationSamples> {
    let path = folder.join("sync-probe");
    let mut file = File::create(&path)?;
    file.write_all(&vec![0; usize::try_from(PROBE_BYTES)?])?;
    file.sync_all()?;
    let page = [7; PAGE_BYTES];
    let mut times = DurationSamples::default();
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

/// How long two syncs take together: of a new file of 4 KiB in `folder`, and of the folder once the
/// file took an older one's place. Nothing else is timed.
pub(crate) fn file_and_folder_syncs(folder: &Path, span: Duration) -> Result<DurationSamples> {
    let (new, old) = (folder.join("sync-probe-new"), folder.join("sync-probe"));
    let entry = File::open(folder)?;
    let page = [7; PAGE_BYTES];
    let mut times = DurationSamples::default();
    let end = Instant::now() + span;
    while Instant::now() < end {
        let mut file = File::create(&new)?;
        file.write_all(&page)?;
        let began = Instant::now();
        file.sync_all()?;
        let of_file = began.elapsed();
        std::fs::rename(&new, &old)?;
        let began = Instant::now();
        entry.sync_all()?;
        times.push(of_file + began.elapsed());
    }
    std::fs::remove_file(old)?;
    Ok(times)
}

/// How long a process and all that descend from it had a core so far; of those that ended
/// nothing is known.
pub(crate) fn processor_time(process: u32) -> Result<Duration> {
    processor_time_of(&family(process)?)
}

/// The same without the process itself.
pub(crate) fn processor_time_of_descendants(process: u32) -> Result<Duration> {
    let mut family = family(process)?;
    family.retain(|one| *one != process);
    processor_time_of(&family)
}

/// A process and all that descend from it.
fn family(process: u32) -> Result<Vec<u32>> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        // What ended meanwhile has no parent to tell of.
        if let Some(number) = number
            && let Ok([parent, ..]) = stat(number)
        {
            parents.push((number, u32::try_from(parent)?));
        }
    }
    let mut family = vec![process];
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        let children = parents.iter().filter(|(_, of)| *of == parent);
        family.extend(children.map(|(child, _)| *child));
        next += 1;
    }
    Ok(family)
}

fn processor_time_of(processes: &[u32]) -> Result<Duration> {
    let times = processes.iter().filter_map(|one| stat(*one).ok());
    let ticks: u64 = times.map(|[_, own, system]| own + system).sum();
    let a_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_secs_f64(ticks as f64 / a_second as f64))
}

/// A process's parent, and for how many ticks its program and the system on its behalf had a core.
fn stat(process: u32) -> Result<[u64; 3]> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name in parentheses may hold anything; behind it and the state stand numbers.
    let (_, words) = line.rsplit_once(')').ok_or("a process has no name")?;
    let words: Vec<&str> = words.split_whitespace().collect();
    let number = |at: usize| -> Result<u64> {
        let word = words.get(at).ok_or("a process says too little of itself")?;
        Ok(word.parse()?)
    };
    Ok([number(1)?, number(11)?, number(12)?])
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

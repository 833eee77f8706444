//! The transcripts that agents keep on disk: finding them, reading on in them, listing them.
//! What their lines mean is `domain::session_tasks`. Source: contract 3.7.

use std::{
    io,
    path::{Path, PathBuf},
};

use guildhall_domain::{limits, session_tasks::TranscriptDialect};

use crate::{
    agent_folders::AgentFolders,
    confined_fs::{DirEntry, DirEntryKind, contained_folder::ContainedFolder},
};

mod disk_sessions;
mod follower;

pub use disk_sessions::{DiskSession, HeadCache, list};
pub use follower::{ReadProgress, TranscriptFollower};

/// Folders between `sessions` of Codex and a rollout: year, month, day.
const ROLLOUT_DEPTH: usize = 4;
/// Names of one folder that are looked at.
const FOLDER_NAMES_MAX: usize = 20_000;

/// A transcript that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptFile {
    /// Whose it is.
    pub dialect: TranscriptDialect,
    /// The folder that reading must not lead out of, without links.
    root: PathBuf,
    /// The file, beneath the root.
    path: PathBuf,
}

impl TranscriptFile {
    /// Its absolute path.
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.path)
    }
}

/// The transcript of the session that goes by one of `names`, of the dialects asked for; of
/// several the one that was written last.
///
/// Looks at [`limits::TRANSCRIPT_FILES_MAX`] places at most: project folders of Claude Code, and
/// of Codex the newest rollouts. Reads the disk, so it is no call for an async thread.
pub fn find(
    places: &AgentFolders,
    dialects: &[TranscriptDialect],
    names: &[&str],
) -> Option<TranscriptFile> {
    let names: Vec<&str> = names.iter().copied().filter(|name| is_name(name)).collect();
    dialects.iter().find_map(|dialect| {
        let root = open(places, *dialect).ok()?;
        let path = match dialect {
            TranscriptDialect::Claude => find_claude(&root, &names),
            TranscriptDialect::Codex => find_codex(&root, &names),
        }?;
        Some(TranscriptFile {
            dialect: *dialect,
            root: root.path().to_owned(),
            path,
        })
    })
}

/// The folder that a dialect's transcripts lie beneath.
fn open(places: &AgentFolders, dialect: TranscriptDialect) -> io::Result<ContainedFolder> {
    let folder = match dialect {
        TranscriptDialect::Claude => &places.claude_dir,
        TranscriptDialect::Codex => &places.codex_dir,
    };
    ContainedFolder::open(folder.as_ref().ok_or(io::ErrorKind::NotFound)?)
}

/// Whether a session's name can be part of a file's name and nothing else.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=128).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_plain)
}

fn find_claude(root: &ContainedFolder, names: &[&str]) -> Option<PathBuf> {
    let projects = projects(root);
    let candidates = projects.flat_map(|project| {
        names
            .iter()
            .map(move |name| project.join(format!("{name}.jsonl")))
    });
    let written = |path: &PathBuf| root.file(path).and_then(|file| file.metadata()?.modified());
    candidates
        .filter_map(|path| Some((written(&path).ok()?, path)))
        .max()
        .map(|(_, path)| path)
}

/// The project folders of Claude Code, as many as a look-up may try.
fn projects(root: &ContainedFolder) -> impl Iterator<Item = PathBuf> {
    let projects = Path::new("projects");
    let names = root.list(projects, limits::TRANSCRIPT_FILES_MAX);
    names
        .unwrap_or_default()
        .into_iter()
        .filter(|entry| matches!(entry.kind, DirEntryKind::Folder | DirEntryKind::Link))
        .map(|entry| projects.join(entry.name))
}

fn find_codex(root: &ContainedFolder, names: &[&str]) -> Option<PathBuf> {
    let ends: Vec<String> = names.iter().map(|name| format!("-{name}.jsonl")).collect();
    let mut found = None;
    each_rollout(root, &mut |path, name| {
        if ends.iter().any(|end| name.ends_with(end.as_str())) {
            found = Some(path.to_owned());
        }
        found.is_none()
    });
    found
}

/// Hands over the rollouts of Codex, newest day first, until `go_on` says no or a look-up's
/// bound is reached.
fn each_rollout(root: &ContainedFolder, go_on: &mut dyn FnMut(&Path, &str) -> bool) {
    let mut left = limits::TRANSCRIPT_FILES_MAX;
    let mut waiting = vec![(PathBuf::from("sessions"), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        let Ok(mut entries) = root.list(&folder, FOLDER_NAMES_MAX) else {
            continue;
        };
        // Folders are numbers of equal length and files begin with their time.
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        for DirEntry { name, kind } in entries.iter().rev() {
            if name.starts_with("rollout-") && name.ends_with(".jsonl") {
                let path = folder.join(name);
                if left == 0 || (*kind == DirEntryKind::File && !go_on(&path, name)) {
                    return;
                }
                left -= 1;
            }
        }
        let folders = entries
            .into_iter()
            .filter(|entry| entry.kind == DirEntryKind::Folder);
        if depth < ROLLOUT_DEPTH {
            waiting.extend(folders.map(|entry| (folder.join(entry.name), depth + 1)));
        }
    }
}

#[cfg(test)]
#[path = "transcripts/tests.rs"]
mod tests;

//! The sessions on disk, by the first lines of their transcripts.

use std::{
    borrow::Cow,
    collections::HashMap,
    fs::File,
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use guildhall_domain::{Timestamp, ids::SessionId, limits, session_tasks::TranscriptDialect};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{FOLDER_NAMES_MAX, each_rollout, open, projects};
use crate::{agent_folders::AgentFolders, confined_fs::contained_folder::ContainedFolder};

/// Bytes of a transcript that are read to learn what session it is.
const HEAD_BYTES: u64 = 64 << 10;

/// A session that lies on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSession {
    /// Its id.
    pub id: SessionId,
    /// Whose it is.
    pub dialect: TranscriptDialect,
    /// Its folder as the agent wrote it; `""` when the head does not say.
    pub cwd: String,
    /// The first line of the first message; `""` when the head holds none.
    pub title: String,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
}

/// What was read of transcripts before, so that each head is read once.
#[derive(Debug, Default)]
pub struct HeadCache {
    /// By device and inode. A std mutex: held for single look-ups.
    known: Mutex<HashMap<(u64, u64), CachedHead>>,
}

#[derive(Clone, Debug)]
struct CachedHead {
    /// Size and time of writing when it was read.
    stamp: (u64, i64),
    head: TranscriptHead,
}

/// What the first lines say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct TranscriptHead {
    cwd: String,
    title: String,
    created_at: Option<Timestamp>,
}

impl TranscriptHead {
    fn is_whole(&self) -> bool {
        !self.cwd.is_empty() && !self.title.is_empty() && self.created_at.is_some()
    }
}

/// A transcript, before it is known what it says.
struct TranscriptCandidate {
    dialect: TranscriptDialect,
    path: PathBuf,
    id: SessionId,
    identity: (u64, u64),
    stamp: (u64, i64),
}

/// The sessions on disk, the one written last first, [`limits::TRANSCRIPT_FILES_MAX`] at most.
///
/// Of a transcript no more than its beginning is read, and that once. Reads the disk, so it is no
/// call for an async thread.
pub fn list(places: &AgentFolders, heads: &HeadCache) -> Vec<DiskSession> {
    let mut candidates = Vec::new();
    let claude = open(places, TranscriptDialect::Claude).ok();
    let codex = open(places, TranscriptDialect::Codex).ok();
    if let Some(root) = &claude {
        each_claude(root, &mut candidates);
    }
    if let Some(root) = &codex {
        each_rollout(root, &mut |path, name| {
            // The id's 36 characters stand behind the time.
            let stem = name.strip_suffix(".jsonl").unwrap_or(name);
            let id = stem.len().checked_sub(36).and_then(|at| stem.get(at..));
            candidates.extend(candidate(
                root,
                path,
                TranscriptDialect::Codex,
                id.unwrap_or_default(),
            ));
            true
        });
    }
    candidates.sort_unstable_by_key(|candidate| std::cmp::Reverse(candidate.stamp.1));
    candidates.truncate(limits::TRANSCRIPT_FILES_MAX);
    heads.read(candidates, |candidate| {
        let root = match candidate.dialect {
            TranscriptDialect::Claude => claude.as_ref(),
            TranscriptDialect::Codex => codex.as_ref(),
        };
        read_head(root?.file(&candidate.path).ok()?, candidate.dialect).ok()
    })
}

fn each_claude(root: &ContainedFolder, candidates: &mut Vec<TranscriptCandidate>) {
    let mut left = FOLDER_NAMES_MAX;
    for project in projects(root) {
        let entries = root.list(&project, left).unwrap_or_default();
        left -= entries.len();
        for entry in entries {
            // A sub-agent's own transcript is named otherwise.
            let Some(id) = entry.name.strip_suffix(".jsonl") else {
                continue;
            };
            let path = project.join(&entry.name);
            candidates.extend(candidate(root, &path, TranscriptDialect::Claude, id));
        }
    }
}

fn candidate(
    root: &ContainedFolder,
    path: &Path,
    dialect: TranscriptDialect,
    id: &str,
) -> Option<TranscriptCandidate> {
    let id = SessionId::parse(id)?;
    let metadata = root.file(path).ok()?.metadata().ok()?;
    let written_ms = metadata.mtime() * 1_000 + metadata.mtime_nsec() / 1_000_000;
    Some(TranscriptCandidate {
        dialect,
        path: path.to_owned(),
        id,
        identity: (metadata.dev(), metadata.ino()),
        stamp: (metadata.len(), written_ms),
    })
}

impl HeadCache {
    fn read(
        &self,
        candidates: Vec<TranscriptCandidate>,
        read: impl Fn(&TranscriptCandidate) -> Option<TranscriptHead>,
    ) -> Vec<DiskSession> {
        let mut fresh = HashMap::with_capacity(candidates.len());
        let mut sessions = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            // What cannot be read any more says nothing.
            let known = self.known(&candidate);
            let head = known.or_else(|| read(&candidate)).unwrap_or_default();
            let updated_at = Timestamp::from_millis(candidate.stamp.1);
            sessions.push(DiskSession {
                id: candidate.id,
                dialect: candidate.dialect,
                cwd: head.cwd.clone(),
                title: head.title.clone(),
                created_at: head.created_at.unwrap_or(updated_at),
                updated_at,
            });
            let stamp = candidate.stamp;
            fresh.insert(candidate.identity, CachedHead { stamp, head });
        }
        // What is no longer there is forgotten.
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        sessions
    }

    /// What was read of it before, unless more may be known of it now.
    fn known(&self, candidate: &TranscriptCandidate) -> Option<TranscriptHead> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let CachedHead { stamp, head } = known.get(&candidate.identity)?;
        // A transcript grows at its end alone.
        let is_grown = head.is_whole() && stamp.0 <= candidate.stamp.0;
        (is_grown || *stamp == candidate.stamp).then(|| head.clone())
    }
}

fn read_head(file: File, dialect: TranscriptDialect) -> io::Result<TranscriptHead> {
    let mut bytes = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut bytes)?;
    let mut head = TranscriptHead::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        // What cannot be read, or is cut by the bound, says nothing.
        let Ok(line) = serde_json::from_slice::<TranscriptLine<'_>>(line) else {
            continue;
        };
        match dialect {
            TranscriptDialect::Claude => line.tell_claude(&mut head),
            TranscriptDialect::Codex => line.tell_codex(&mut head),
        }
        if head.is_whole() {
            break;
        }
    }
    Ok(head)
}

/// The members of a line of either dialect that say what session it is.
#[derive(Deserialize)]
struct TranscriptLine<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    timestamp: Option<Timestamp>,
    cwd: Option<String>,
    #[serde(rename = "isSidechain")]
    is_sidechain: Option<bool>,
    #[serde(rename = "isMeta")]
    is_meta: Option<bool>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct LinePayload<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    cwd: Option<String>,
    role: Option<String>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TextBlock {
    #[serde(default)]
    text: String,
}

impl TranscriptLine<'_> {
    fn tell_claude(self, head: &mut TranscriptHead) {
        if self.is_sidechain == Some(true) || (self.kind != "user" && self.kind != "assistant") {
            return;
        }
        head.created_at = head.created_at.or(self.timestamp);
        if head.cwd.is_empty() {
            head.cwd = self.cwd.unwrap_or_default();
        }
        if self.kind == "user" && self.is_meta != Some(true) && head.title.is_empty() {
            let payload = self.message.and_then(read::<LinePayload<'_>>);
            head.title = title(payload.and_then(|payload| payload.content));
        }
    }

    fn tell_codex(self, head: &mut TranscriptHead) {
        head.created_at = head.created_at.or(self.timestamp);
        let Some(payload) = self.payload.and_then(read::<LinePayload<'_>>) else {
            return;
        };
        match (&*self.kind, &*payload.kind) {
            ("session_meta", _) if head.cwd.is_empty() => {
                head.cwd = payload.cwd.unwrap_or_default();
            }
            ("event_msg", "user_message") if head.title.is_empty() => {
                head.title = title(payload.message);
            }
            ("response_item", "message")
                if payload.role.as_deref() == Some("user") && head.title.is_empty() =>
            {
                head.title = title(payload.content);
            }
            _ => {}
        }
    }
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// The first line of a person's words; `""` for what the agent's program put in their place.
fn title(content: Option<&RawValue>) -> String {
    let Some(content) = content else {
        return String::new();
    };
    let texts = match read::<String>(content) {
        Some(text) => vec![text],
        None => {
            let blocks: Vec<&RawValue> = read(content).unwrap_or_default();
            let words = blocks.into_iter().filter_map(read::<TextBlock>);
            words.map(|words| words.text).collect()
        }
    };
    let is_said = |text: &&str| {
        !text.is_empty() && !text.starts_with('<') && !text.starts_with("# AGENTS.md ")
    };
    let said = texts.iter().map(|text| text.trim()).find(is_said);
    let line = said
        .and_then(|text| text.lines().next())
        .unwrap_or_default();
    let line = line.chars().filter(|c| !c.is_control());
    line.take(*limits::SESSION_TITLE_CHARS.end()).collect()
}

//! History: what the agent remembers of its sessions, so that they go on after its process died.
//! One JSON file a session, replaced as a whole; nothing is kept without a folder.

use std::{fs, io, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most updates that are kept of a session; older ones go first.
const UPDATES_MAX: usize = 10_000;
/// The most unanswered calls that are remembered.
const UNANSWERED_MAX: usize = 50;

/// A call as it is remembered: what it was, and how it was called on the card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordedCall {
    /// The tool.
    pub(crate) tool: String,
    /// Exactly what it was called with.
    pub(crate) arguments: Map<String, Value>,
    /// Its title.
    pub(crate) title: String,
}

/// A session as it is stored.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SessionRecord {
    /// Its id.
    pub(crate) id: String,
    /// Its folder.
    pub(crate) cwd: PathBuf,
    /// How many calls were made; the next one's id follows.
    pub(crate) calls: u64,
    /// How many tasks were created.
    pub(crate) tasks: u64,
    /// Tokens of all turns.
    pub(crate) tokens: u64,
    /// Cost of all turns, in US dollars.
    pub(crate) cost: f64,
    /// The conversation as session updates, the person's words included.
    pub(crate) updates: Vec<Value>,
    /// Calls that were asked about and never allowed, the oldest first.
    pub(crate) unanswered: Vec<RecordedCall>,
    /// Calls that may always happen.
    pub(crate) always: Vec<RecordedCall>,
}

impl SessionRecord {
    /// Keeps an update for the next replay.
    pub(crate) fn note(&mut self, update: Value) {
        self.updates.push(update);
        let surplus = self.updates.len().saturating_sub(UPDATES_MAX);
        self.updates.drain(..surplus);
    }

    /// Remembers that a person is asked about `call`.
    pub(crate) fn add_unanswered(&mut self, call: RecordedCall) {
        self.remove_unanswered(&call);
        self.unanswered.push(call);
        let surplus = self.unanswered.len().saturating_sub(UNANSWERED_MAX);
        self.unanswered.drain(..surplus);
    }

    /// Forgets that `call` was asked about.
    pub(crate) fn remove_unanswered(&mut self, call: &RecordedCall) {
        self.unanswered.retain(|other| other != call);
    }
}

/// The folder that holds the stored sessions.
#[derive(Clone, Debug)]
pub(crate) struct HistoryFolder {
    folder: Option<PathBuf>,
}

impl HistoryFolder {
    /// Sessions below `state_dir`, or none at all.
    pub(crate) fn in_folder(state_dir: Option<PathBuf>) -> Self {
        Self {
            folder: state_dir.map(|dir| dir.join("sessions")),
        }
    }

    /// Stores `record` in place of what was stored of its session.
    pub(crate) fn save(&self, record: &SessionRecord) -> io::Result<()> {
        let Some(file) = self.file(&record.id) else {
            return Ok(());
        };
        if let Some(folder) = &self.folder {
            fs::create_dir_all(folder)?;
        }
        let unfinished = file.with_extension("new");
        fs::write(&unfinished, serde_json::to_vec(record)?)?;
        fs::rename(unfinished, file)
    }

    /// The session `id` as it was stored last; `None` when it never was, or cannot be read.
    pub(crate) fn find(&self, id: &str) -> Option<SessionRecord> {
        let bytes = fs::read(self.file(id)?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Where a session stands; `None` for an id that could not be one of ours.
    fn file(&self, id: &str) -> Option<PathBuf> {
        let own = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let is_id = !id.is_empty() && id.len() <= 64 && id.chars().all(own);
        let folder = self.folder.as_ref().filter(|_| is_id)?;
        Some(folder.join(format!("{id}.json")))
    }
}

/// A fresh session id, `rehearsal-` and 32 hex digits.
pub(crate) fn fresh_id() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("rehearsal-{digits}"))
}

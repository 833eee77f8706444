//! The ledger: what was asked of the server, and what it acknowledged. It is kept in this process,
//! outside everything that a campaign harms.
//!
//! Whatever is asked for has a label or a version, and its text follows from that: what is found
//! later shows by itself whether it is whole.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{comparison::Finding, http::Answer, rng::Rng};

/// The longest file that is uploaded, in bytes.
const UPLOAD_BYTES_MAX: usize = 96 * 1_024;
/// The most words that follow a label in a post.
const WORDS_MAX: usize = 120;
/// The most lines that follow the first one in a file.
const LINES_MAX: usize = 200;

/// What a post is called where it is refused.
pub(crate) const POST: &str = "a post";

/// How far a fault has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing is wrong yet.
    Working,
    /// The fault is being made.
    Breaking,
    /// The fault is there.
    Broken,
}

/// What the server was asked for and what it acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    pub(crate) phase: Phase,
    /// Whether an acknowledgement that comes while the fault is made counts: a killed process
    /// still sent it before its end, and of a disk that is being cut nobody can tell.
    pub(crate) counts_while_breaking: bool,
    /// Codes of refusals that may come while nothing is wrong yet.
    pub(crate) tolerated: &'static [&'static str],
    /// Posts by their label.
    pub(crate) posts: BTreeMap<String, Post>,
    /// Uploaded files by their label, with their id once acknowledged.
    pub(crate) uploads: BTreeMap<String, Option<String>>,
    /// Documents of the canvas by their label.
    pub(crate) documents: BTreeMap<String, Versioned>,
    /// Files of the working folder by their name.
    pub(crate) files: BTreeMap<String, Versioned>,
    /// Approvals by their label.
    pub(crate) approvals: BTreeMap<String, Approval>,
    /// Events that a live reader was sent: seq and fingerprint, in their order.
    pub(crate) heard: Vec<(u64, u64)>,
    /// Changes that were acknowledged.
    pub(crate) acknowledgements: u64,
    /// Changes that were refused with a tolerated code.
    pub(crate) refusals: u64,
    /// Those of them that were posts: uploads are refused before a disk is full.
    pub(crate) posts_refused: u64,
    /// What went wrong while it was asked.
    findings: Vec<Finding>,
    labels: u64,
}

/// A post.
#[derive(Clone, Debug, Default)]
pub(crate) struct Post {
    /// Id and seq in its room, once acknowledged.
    pub(crate) acknowledged: Option<(String, u64)>,
    /// The id of the file it was posted with.
    pub(crate) attachment: Option<String>,
}

/// Something that is changed again and again, each time as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versioned {
    /// The server's id, where it has one.
    pub(crate) id: Option<String>,
    /// The version that was acknowledged last; `None` before the first.
    pub(crate) acknowledged: Option<u64>,
    /// Versions asked for since, of which nobody knows yet.
    pub(crate) asked: Vec<u64>,
    newest: u64,
}

impl Versioned {
    /// The next version, which is now asked for.
    pub(crate) fn next(&mut self) -> u64 {
        self.newest += 1;
        self.asked.push(self.newest);
        self.newest
    }

    /// Notes which version there is.
    pub(crate) fn settle(&mut self, version: Option<u64>) {
        self.acknowledged = version;
        self.asked.clear();
    }

    /// Whether that version may be there.
    pub(crate) fn may_be(&self, version: Option<u64>) -> bool {
        self.acknowledged == version || version.is_some_and(|found| self.asked.contains(&found))
    }
}

/// An approval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Approval {
    pub(crate) id: Option<String>,
    /// The state that was acknowledged last.
    pub(crate) acknowledged: Option<&'static str>,
    /// The state that was asked for since.
    pub(crate) asked: Option<&'static str>,
}

impl Ledger {
    pub(crate) fn new(counts_while_breaking: bool) -> Mutex<Self> {
        Mutex::new(Self {
            phase: Phase::Working,
            counts_while_breaking,
            tolerated: &[],
            posts: BTreeMap::new(),
            uploads: BTreeMap::new(),
            documents: BTreeMap::new(),
            files: BTreeMap::new(),
            approvals: BTreeMap::new(),
            heard: Vec::new(),
            acknowledgements: 0,
            refusals: 0,
            posts_refused: 0,
            findings: Vec::new(),
            labels: 0,
        })
    }

    /// A label that nothing else has.
    pub(crate) fn new_label(&mut self, kind: &str) -> String {
        self.labels += 1;
        format!("{kind}-{}", self.labels)
    }

    /// Whether an acknowledgement that comes now counts, of a change that was asked for in `begun`.
    pub(crate) fn counts(&self, begun: Phase) -> bool {
        match self.phase {
            Phase::Working => true,
            // A disk that is gone acknowledges nothing that is asked for after its end.
            Phase::Breaking | Phase::Broken => self.counts_while_breaking || begun == Phase::Broken,
        }
    }

    /// Notes a refusal; it is held against the server where nothing was wrong yet.
    pub(crate) fn refused(&mut self, what: &str, answer: &Answer) {
        let code = answer.json()["code"].as_str().unwrap_or("").to_owned();
        if self.tolerated.contains(&code.as_str()) {
            self.refusals += 1;
            self.posts_refused += u64::from(what == POST);
        } else if self.phase == Phase::Working {
            let body = String::from_utf8_lossy(&answer.body).into_owned();
            self.found(format!("{what} was answered {}: {body}", answer.status));
        }
    }

    /// Notes that no answer came; it is held against the server where nothing was wrong yet.
    pub(crate) fn unanswered(&mut self, error: &std::io::Error) {
        if self.phase == Phase::Working {
            self.found(format!("a request had no answer: {error}"));
        }
    }

    /// Holds something against the server.
    pub(crate) fn found(&mut self, what: String) {
        self.findings.push(Finding::Violation(what));
    }

    /// What went wrong since the last call.
    pub(crate) fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }
}

impl Ledger {
    /// This ledger as far as it holds for a backup, which was begun when the ledger was `then`:
    /// what was acknowledged later may be in it or not.
    pub(crate) fn as_of(&self, then: &Self) -> Self {
        let mut held = self.clone();
        for (label, post) in &mut held.posts {
            let known = then.posts.get(label);
            post.acknowledged = known.and_then(|post| post.acknowledged.clone());
        }
        for (label, id) in &mut held.uploads {
            *id = then.uploads.get(label).cloned().flatten();
        }
        for (label, document) in &mut held.documents {
            let known = then.documents.get(label).cloned().unwrap_or_default();
            document.asked = (known.acknowledged.unwrap_or(0)..=document.newest).collect();
            document.acknowledged = known.acknowledged;
        }
        for (label, approval) in &mut held.approvals {
            let known = then.approvals.get(label).cloned().unwrap_or_default();
            approval.asked = approval.acknowledged.or(approval.asked);
            (approval.id, approval.acknowledged) = (known.id, known.acknowledged);
        }
        held
    }
}

/// The ledger, also after a client panicked: what it noted until then is true.
pub(crate) fn locked(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The text of a post.
pub(crate) fn post_text(label: &str) -> String {
    let words = Rng::of_attempt(number_of(label), 1).below(WORDS_MAX);
    format!("{label}{}", " needle".repeat(words))
}

/// The bytes of an uploaded file.
pub(crate) fn upload_bytes(label: &str) -> Vec<u8> {
    let mut rng = Rng::of_attempt(number_of(label), 2);
    let length = 1 + rng.below(UPLOAD_BYTES_MAX);
    rng.bytes(length)
}

/// The text of a file or document in a version.
pub(crate) fn version_text(name: &str, version: u64) -> String {
    let lines = Rng::of_attempt(number_of(name), version).below(LINES_MAX);
    format!(
        "{name} {version}\n{}",
        format!("line of version {version}\n").repeat(lines)
    )
}

/// The version that a text of [`version_text`] is; `None` where it is no whole one.
pub(crate) fn version_in(name: &str, text: &str) -> Option<u64> {
    let first = text.lines().next()?;
    let version = first.strip_prefix(name)?.trim().parse().ok()?;
    (version_text(name, version) == text).then_some(version)
}

/// A number that follows from a text (FNV-1a).
pub(crate) fn number_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |number, byte| {
        (number ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_shows_its_version_only_as_a_whole() {
        let text = version_text("notes.md", 7);
        assert_eq!(version_in("notes.md", &text), Some(7));
        assert_eq!(version_in("notes.md", &format!("{text}more")), None);
        assert_eq!(version_in("other.md", &text), None);
        assert_eq!(post_text("post-1"), post_text("post-1"));
        assert_eq!(upload_bytes("upload-1"), upload_bytes("upload-1"));
    }

    #[test]
    fn of_versions_asked_for_each_may_be_there_until_one_is_seen() {
        let mut notes = Versioned::default();
        let (first, second) = (notes.next(), notes.next());
        assert!(notes.may_be(None) && notes.may_be(Some(first)) && notes.may_be(Some(second)));
        notes.settle(Some(second));
        assert!(!notes.may_be(Some(first)) && notes.may_be(Some(second)));
    }

    #[test]
    fn an_acknowledgement_counts_before_the_cut_and_when_it_was_asked_for_after_it() {
        let ledger = Ledger::new(false);
        let mut ledger = locked(&ledger);
        assert!(ledger.counts(Phase::Working));
        ledger.phase = Phase::Breaking;
        assert!(!ledger.counts(Phase::Working));
        ledger.phase = Phase::Broken;
        assert!(!ledger.counts(Phase::Breaking) && ledger.counts(Phase::Broken));
        ledger.counts_while_breaking = true;
        assert!(ledger.counts(Phase::Working));
    }
}

//! What becomes of a save that a crash interrupted. Source: contract 6.6, "restart with an intent
//! row".

use super::{Digest, FileIdentity};

/// Which file or folder it is, also after the machine was started anew: without the device, whose
/// number may be another one then. Opaque, equal for the same one alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistentInode(String);

impl PersistentInode {
    /// The one with this written form.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Its written form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a save meant to do, as it was noted before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveIntent {
    /// Which file it was to replace, as clients know it.
    pub identity: FileIdentity,
    /// The same file, as it is known again after a start.
    pub inode: PersistentInode,
    /// The folder it lies in.
    pub folder: PersistentInode,
    /// What it held.
    pub old: Digest,
    /// What it was to hold.
    pub new: Digest,
}

/// What lies under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// Which one it is.
    pub inode: PersistentInode,
    /// The hash of what it holds; `None` for what is no file, or larger than any that is saved.
    pub hash: Option<Digest>,
}

/// What was set aside of a file that was to be written in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalState {
    /// Nothing, or not all of it; then nothing was written yet.
    None,
    /// All of it, and the file may be what a write that was cut off leaves; see [`is_torn`].
    OfTorn,
    /// All of it, and the file is something else.
    OfOther,
}

/// What is found of a save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveRemains {
    /// What the path leads to; `None` when nothing is there.
    pub target: Option<FoundFile>,
    /// What lies at the name for the exchange, where nothing comes that is half written.
    pub temp: Option<FoundFile>,
    /// What was set aside.
    pub journal: JournalState,
}

/// What is done with what lies at the name for the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TempFileAction {
    /// There is none.
    None,
    /// It is ours, or what we meant to replace: it is removed.
    Remove,
    /// Somebody else's file was displaced: it gets its place back, and ours is removed.
    GiveBack,
    /// The same, and its place is another's by now: both stay.
    Leave,
}

/// How a save ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveResolution {
    /// It counts as done.
    Done,
    /// Nothing of it remains.
    Undone,
    /// What it set aside or displaced is still needed, so that it is looked at again.
    Open,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryPlan {
    /// With what lies at the name for the exchange.
    pub temp: TempFileAction,
    /// Whether the old bytes are written back into the file.
    pub restores: bool,
    /// And then.
    pub end: SaveResolution,
}

/// Decides what is done with a save that was interrupted.
pub fn plan_recovery(meant: &SaveIntent, left: &SaveRemains) -> RecoveryPlan {
    let is_new = |found: &FoundFile| found.hash == Some(meant.new);
    let is_old = |found: &FoundFile| found.hash == Some(meant.old);
    let is_meant = |found: &FoundFile| found.inode == meant.inode;
    let target = left.target.as_ref();
    let is_ours_there = target.is_some_and(|target| is_new(target) && !is_meant(target));
    let temp = match &left.temp {
        None => TempFileAction::None,
        Some(temp) if is_new(temp) || (is_meant(temp) && is_old(temp)) => TempFileAction::Remove,
        Some(_) if is_ours_there => TempFileAction::GiveBack,
        Some(_) => TempFileAction::Leave,
    };
    let is_whole = target.is_some_and(|target| is_new(target) || is_old(target));
    let restores =
        left.journal == JournalState::OfTorn && !is_whole && target.is_some_and(is_meant);
    let needs_journal = left.journal != JournalState::None && !is_whole && !restores;
    let end = match temp {
        TempFileAction::Leave => SaveResolution::Open,
        TempFileAction::None | TempFileAction::Remove if needs_journal => SaveResolution::Open,
        TempFileAction::None | TempFileAction::Remove if target.is_some_and(is_new) => {
            SaveResolution::Done
        }
        TempFileAction::None | TempFileAction::Remove | TempFileAction::GiveBack => {
            SaveResolution::Undone
        }
    };
    RecoveryPlan {
        temp,
        restores,
        end,
    }
}

/// Whether `found` may be what a write of `new` over `old` leaves that was cut off: at each place
/// the byte of one of them, or the hole of one that is not there yet. What others wrote since
/// hardly ever is.
pub fn is_torn(found: &[u8], old: &[u8], new: &[u8]) -> bool {
    let (least, most) = (old.len().min(new.len()), old.len().max(new.len()));
    let fits = |(place, byte): (usize, &u8)| {
        *byte == 0 || old.get(place) == Some(byte) || new.get(place) == Some(byte)
    };
    (least..=most).contains(&found.len()) && found.iter().enumerate().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::digest;

    fn at(inode: &str, content: &str) -> Option<FoundFile> {
        Some(FoundFile {
            inode: PersistentInode::new(inode),
            hash: Some(digest(content.as_bytes())),
        })
    }

    /// A link or a folder.
    fn no_file(inode: &str) -> Option<FoundFile> {
        let inode = PersistentInode::new(inode);
        Some(FoundFile { inode, hash: None })
    }

    #[test]
    fn a_save_that_was_interrupted_is_done_undone_or_looked_at_again() {
        use SaveResolution::{Done, Open, Undone};
        let meant = SaveIntent {
            identity: FileIdentity::new("id0"),
            inode: PersistentInode::new("0"),
            folder: PersistentInode::new("f"),
            old: digest(b"old"),
            new: digest(b"new"),
        };
        let (no, yes) = (false, true);
        for (case, target, temp, journal, expected) in [
            // By exchange.
            (
                "nothing yet",
                at("0", "old"),
                None,
                JournalState::None,
                (TempFileAction::None, no, Undone),
            ),
            (
                "written",
                at("0", "old"),
                at("t", "new"),
                JournalState::None,
                (TempFileAction::Remove, no, Undone),
            ),
            (
                "exchanged",
                at("t", "new"),
                at("0", "old"),
                JournalState::None,
                (TempFileAction::Remove, no, Done),
            ),
            (
                "unlinked",
                at("t", "new"),
                None,
                JournalState::None,
                (TempFileAction::None, no, Done),
            ),
            (
                "another's was displaced",
                at("t", "new"),
                at("s", "theirs"),
                JournalState::None,
                (TempFileAction::GiveBack, no, Undone),
            ),
            (
                "another's link was displaced",
                at("t", "new"),
                no_file("s"),
                JournalState::None,
                (TempFileAction::GiveBack, no, Undone),
            ),
            (
                "it was written in place meanwhile",
                at("t", "new"),
                at("0", "theirs"),
                JournalState::None,
                (TempFileAction::GiveBack, no, Undone),
            ),
            (
                "replaced before the exchange",
                at("s", "theirs"),
                at("t", "new"),
                JournalState::None,
                (TempFileAction::Remove, no, Undone),
            ),
            (
                "replaced by a link before the exchange",
                no_file("s"),
                at("t", "new"),
                JournalState::None,
                (TempFileAction::Remove, no, Undone),
            ),
            (
                "replaced after the exchange",
                at("s", "theirs"),
                at("0", "old"),
                JournalState::None,
                (TempFileAction::Remove, no, Undone),
            ),
            (
                "another's was displaced, and ours written since",
                at("t", "edited"),
                at("s", "theirs"),
                JournalState::None,
                (TempFileAction::Leave, no, Open),
            ),
            (
                "another's was displaced, and ours removed since",
                None,
                at("s", "theirs"),
                JournalState::None,
                (TempFileAction::Leave, no, Open),
            ),
            (
                "gone",
                None,
                at("0", "old"),
                JournalState::None,
                (TempFileAction::Remove, no, Undone),
            ),
            (
                "gone for good",
                None,
                None,
                JournalState::None,
                (TempFileAction::None, no, Undone),
            ),
            // In place.
            (
                "set aside",
                at("0", "old"),
                None,
                JournalState::OfTorn,
                (TempFileAction::None, no, Undone),
            ),
            (
                "torn",
                at("0", "nld"),
                None,
                JournalState::OfTorn,
                (TempFileAction::None, yes, Undone),
            ),
            (
                "written",
                at("0", "new"),
                None,
                JournalState::OfTorn,
                (TempFileAction::None, no, Done),
            ),
            (
                "setting aside torn, and written by others",
                at("0", "theirs"),
                None,
                JournalState::None,
                (TempFileAction::None, no, Undone),
            ),
            (
                "torn, and mended by others",
                at("0", "mended"),
                None,
                JournalState::OfOther,
                (TempFileAction::None, no, Open),
            ),
            (
                "torn, and another file since",
                at("s", "nld"),
                None,
                JournalState::OfTorn,
                (TempFileAction::None, no, Open),
            ),
            (
                "torn, and gone since",
                None,
                None,
                JournalState::OfOther,
                (TempFileAction::None, no, Open),
            ),
        ] {
            let left = SaveRemains {
                target,
                temp,
                journal,
            };
            let found = plan_recovery(&meant, &left);
            let (temp, restores, end) = expected;
            let expected = RecoveryPlan {
                temp,
                restores,
                end,
            };
            assert_eq!(found, expected, "{case}");
        }
    }

    #[test]
    fn what_a_write_that_was_cut_off_leaves_is_told_from_what_others_wrote() {
        let (old, new) = (&b"what it held"[..], &b"and what it is to hold"[..]);
        for (old, new) in [(old, new), (new, old)] {
            for place in 0..=new.len() {
                let mut torn = new[..place].to_vec();
                torn.extend(old.iter().skip(place));
                assert!(is_torn(&torn, old, new), "{place} bytes");
            }
        }
        assert!(is_torn(b"and what it \0\0\0\0\0 hold", old, new), "a hole");
        for theirs in [
            &b"what it hold"[..],
            b"What it held",
            b"",
            b"and what it is to hold, and more",
        ] {
            assert!(!is_torn(theirs, old, new), "{theirs:?}");
        }
    }
}

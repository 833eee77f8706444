//! Pins: what of a tool server a person approved, and whether what is there now is that.
//! Pure: files are found and hashed by `world::server_programs`. Source: contract 4.6.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Timestamp;

/// A program as it was found on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFiles {
    /// The regular file, links followed.
    pub executable_path: String,
    /// Its SHA-256, 64 hex digits.
    pub executable_sha256: String,
    /// The script an interpreter is given, with its SHA-256.
    pub script: Option<(String, String)>,
}

impl ProgramFiles {
    /// What of it goes into a digest, so that another file is another action.
    pub fn facts(found: Option<&Self>) -> Value {
        let script = found.and_then(|found| found.script.as_ref());
        json!({
            "executablePath": found.map(|found| &found.executable_path),
            "executableSha256": found.map(|found| &found.executable_sha256),
            "scriptPath": script.map(|(path, _)| path),
            "scriptSha256": script.map(|(_, sha256)| sha256),
        })
    }
}

/// What a person approved. Each is `None` until it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// The program's file.
    pub executable_path: Option<String>,
    /// Its SHA-256.
    pub executable_sha256: Option<String>,
    /// The script it is given.
    pub script_path: Option<String>,
    /// Its SHA-256.
    pub script_sha256: Option<String>,
    /// The SHA-256 of the list of tools.
    pub tools_sha256: Option<String>,
    /// When it was last set.
    pub pinned_at: Option<Timestamp>,
}

impl Pin {
    /// The pin of what was found at `now`; nothing is pinned of what is not there. The tools are
    /// pinned when they are first listed.
    pub fn of(found: Option<&ProgramFiles>, now: Timestamp) -> Self {
        let Some(found) = found else {
            return Self::default();
        };
        let script = found.script.clone().unzip();
        Self {
            executable_path: Some(found.executable_path.clone()),
            executable_sha256: Some(found.executable_sha256.clone()),
            script_path: script.0,
            script_sha256: script.1,
            tools_sha256: None,
            pinned_at: Some(now),
        }
    }

    /// The program that is pinned.
    pub fn program(&self) -> Option<ProgramFiles> {
        Some(ProgramFiles {
            executable_path: self.executable_path.clone()?,
            executable_sha256: self.executable_sha256.clone()?,
            script: self.script_path.clone().zip(self.script_sha256.clone()),
        })
    }

    /// Whether a program is pinned.
    pub fn has_program(&self) -> bool {
        self.executable_sha256.is_some()
    }

    /// Whether nothing is pinned.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Holds what is found now, right before it is started, against the pin.
    pub fn compare(&self, found: Option<&ProgramFiles>) -> PinComparison {
        let Some(found) = found else {
            return PinComparison::Missing;
        };
        if !self.has_program() {
            return PinComparison::Unseen;
        }
        let now = Self::of(Some(found), Timestamp::from_millis(0));
        let program = |pin: &Self| {
            (
                pin.executable_path.clone(),
                pin.executable_sha256.clone(),
                pin.script_path.clone(),
                pin.script_sha256.clone(),
            )
        };
        if program(self) == program(&now) {
            PinComparison::Same
        } else {
            PinComparison::Differs
        }
    }
}

/// What comes of holding a program against its pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinComparison {
    /// It may be started.
    Same,
    /// There is no such program: `commandMissing`.
    Missing,
    /// Nobody has seen this file yet: `needsApproval`.
    Unseen,
    /// It is not what was approved: `needsApproval`.
    Differs,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(path: &str, hash: &str, script: Option<(&str, &str)>) -> ProgramFiles {
        ProgramFiles {
            executable_path: path.to_owned(),
            executable_sha256: hash.to_owned(),
            script: script.map(|(path, hash)| (path.to_owned(), hash.to_owned())),
        }
    }

    #[test]
    fn only_exactly_what_was_approved_is_the_same() {
        let now = Timestamp::from_millis(7);
        let pinned = program("/bin/node", "aa", Some(("/w/s.js", "bb")));
        let pin = Pin::of(Some(&pinned), now);
        for (found, expected) in [
            (Some(pinned.clone()), PinComparison::Same),
            (None, PinComparison::Missing),
            (
                Some(program("/opt/node", "aa", Some(("/w/s.js", "bb")))),
                PinComparison::Differs,
            ),
            (
                Some(program("/bin/node", "ab", Some(("/w/s.js", "bb")))),
                PinComparison::Differs,
            ),
            (
                Some(program("/bin/node", "aa", Some(("/w/t.js", "bb")))),
                PinComparison::Differs,
            ),
            (
                Some(program("/bin/node", "aa", Some(("/w/s.js", "bc")))),
                PinComparison::Differs,
            ),
            (
                Some(program("/bin/node", "aa", None)),
                PinComparison::Differs,
            ),
        ] {
            assert_eq!(pin.compare(found.as_ref()), expected, "{found:?}");
        }
        let none = Pin::of(None, now);
        assert!(none.is_empty());
        assert_eq!(none.compare(Some(&pinned)), PinComparison::Unseen);
        assert_eq!(none.compare(None), PinComparison::Missing);
    }

    #[test]
    fn another_file_gives_other_facts() {
        let one = program("/bin/node", "aa", None);
        let facts = [
            ProgramFiles::facts(None),
            ProgramFiles::facts(Some(&one)),
            ProgramFiles::facts(Some(&program("/bin/node", "ab", None))),
            ProgramFiles::facts(Some(&program("/bin/node", "aa", Some(("/s", "b"))))),
        ];
        for (n, fact) in facts.iter().enumerate() {
            assert!(!facts[..n].contains(fact), "{fact}");
        }
    }
}

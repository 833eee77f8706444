//! What the run counts, what it holds against the server, and the words it closes with.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Bytes of a request that are shown.
const SHOWN_BYTES_MAX: usize = 1_500;
/// Failures that are shown whole; all are counted.
const SHOWN_MAX: usize = 12;

/// One answer in so many may be late once.
const LATE_ONCE_IN: u64 = 10_000;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FailureKind {
    /// An answer of 500 or above that is not one of the documented ones.
    ServerError,
    /// No answer in time.
    Hang,
    /// The connection was closed in place of an answer, or the answer is no HTTP.
    NoAnswer,
    /// The server wrote of a panic.
    Panic,
    /// The server ended.
    Ended,
    /// A figure grew.
    Growth,
    /// The fuzzer did not reach what it is there for.
    TooLittle,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ServerError => "5xx",
            Self::Hang => "hang",
            Self::NoAnswer => "no answer",
            Self::Panic => "panic",
            Self::Ended => "server ended",
            Self::Growth => "growth",
            Self::TooLittle => "too little",
        })
    }
}

/// Everything that is told at the end.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Requests sent, by what they are for.
    attempts: BTreeMap<&'static str, u64>,
    /// Answers by status; 0 where none had to come.
    statuses: BTreeMap<u16, u64>,
    /// Answers by caller: how many there were, and how many were granted.
    callers: BTreeMap<&'static str, (u64, u64)>,
    /// The operations that somebody was granted.
    granted: BTreeSet<String>,
    /// What was late once and not when it was asked for again.
    late_once: Vec<String>,
    failures: BTreeMap<(FailureKind, String), Failures>,
}

/// Failures of one kind at one place.
#[derive(Debug)]
struct Failures {
    count: u64,
    /// The first one, with the request that shows it.
    first: String,
}

impl Findings {
    /// Counts a request.
    pub(crate) fn attempted(&mut self, what: &'static str) {
        *self.attempts.entry(what).or_default() += 1;
    }

    /// Counts an answer to a caller of that kind.
    pub(crate) fn answered(&mut self, status: u16, who: &'static str, operation: Option<&str>) {
        *self.statuses.entry(status).or_default() += 1;
        let (answers, granted) = self.callers.entry(who).or_default();
        *answers += 1;
        if (200..300).contains(&status) {
            *granted += 1;
            self.granted.extend(operation.map(str::to_owned));
        }
    }

    /// Whether somebody was granted that operation.
    pub(crate) fn was_granted(&self, operation: &str) -> bool {
        self.granted.contains(operation)
    }

    /// Notes that an answer was late and came in time when it was asked for again; too many of
    /// them are a hang.
    pub(crate) fn record_late(&mut self, place: &str) {
        self.late_once.push(place.to_owned());
        let allowed = self.attempts() / LATE_ONCE_IN + 1;
        if u64::try_from(self.late_once.len()).is_ok_and(|late| late > allowed) {
            let all = self.late_once.join(", ");
            self.failed(FailureKind::Hang, "too many answers were late once", || all);
        }
    }

    /// Holds a failure against the server; `place` is what failures are told apart by.
    pub(crate) fn failed(
        &mut self,
        kind: FailureKind,
        place: &str,
        details: impl FnOnce() -> String,
    ) {
        let failures = self.failures.entry((kind, place.to_owned()));
        let failures = failures.or_insert_with(|| Failures {
            count: 0,
            first: details(),
        });
        failures.count += 1;
    }

    /// All requests.
    pub(crate) fn attempts(&self) -> u64 {
        self.attempts.values().sum()
    }

    /// Whether nothing went wrong.
    pub(crate) fn is_clean(&self) -> bool {
        self.failures.is_empty()
    }

    fn count(&self, kind: FailureKind) -> u64 {
        let of_kind = self
            .failures
            .iter()
            .filter(|((found, _), _)| *found == kind);
        of_kind.map(|(_, failures)| failures.count).sum()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((kind, place), failures) in self.failures.iter().take(SHOWN_MAX) {
            writeln!(
                f,
                "✗ {kind}, {} times: {place}\n{}\n",
                failures.count, failures.first
            )?;
        }
        if let Some(more @ 1..) = self.failures.len().checked_sub(SHOWN_MAX) {
            writeln!(f, "and {more} more places")?;
        }
        let attempts = self
            .attempts
            .iter()
            .map(|(what, count)| format!("{count} {what}"));
        let attempts = attempts.collect::<Vec<_>>().join(", ");
        let statuses = self
            .statuses
            .iter()
            .map(|(status, count)| format!("{status}×{count}"));
        writeln!(f, "answers: {}", statuses.collect::<Vec<_>>().join(" "))?;
        writeln!(f, "attempts: {} ({attempts})", self.attempts())?;
        let callers = self.callers.iter();
        let callers =
            callers.map(|(who, (answers, granted))| format!("{who} {granted} of {answers}"));
        writeln!(f, "granted: {}", callers.collect::<Vec<_>>().join(", "))?;
        let kinds = [
            FailureKind::ServerError,
            FailureKind::Hang,
            FailureKind::NoAnswer,
            FailureKind::Panic,
            FailureKind::Ended,
        ];
        let counts = kinds.map(|kind| format!("{kind}: {}", self.count(kind)));
        write!(
            f,
            "{}, late once: {}",
            counts.join(", "),
            self.late_once.len()
        )
    }
}

/// A request or an answer as text that can be typed again, cut to a length that can be read.
pub(crate) fn summary(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN_BYTES_MAX)];
    let mut text = String::new();
    for part in cut.utf8_chunks() {
        for sign in part.valid().chars() {
            match sign {
                '\n' => text.push('\n'),
                '\r' => {}
                sign if sign.is_control() => text.push_str(&sign.escape_default().to_string()),
                sign => text.push(sign),
            }
        }
        for byte in part.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    if bytes.len() > cut.len() {
        text.push_str(&format!("… ({} bytes in all)", bytes.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_one_place_are_told_once_and_counted() {
        let mut findings = Findings::default();
        assert!(findings.is_clean());
        for number in 0..3 {
            findings.attempted("requests");
            findings.failed(FailureKind::ServerError, "listRooms 500", || {
                format!("request {number}")
            });
        }
        let told = findings.to_string();
        assert!(
            told.contains("5xx, 3 times: listRooms 500\nrequest 0"),
            "{told}"
        );
        assert!(told.contains("attempts: 3 (3 requests)"), "{told}");
        assert!(told.contains("5xx: 3, hang: 0"), "{told}");
    }

    #[test]
    fn bytes_are_shown_as_text_and_cut() {
        assert_eq!(summary(b"GET / \xff\x00\r\n"), "GET / \\xff\\u{0}\n");
        assert!(summary(&[b'a'; 2_000]).ends_with("(2000 bytes in all)"));
    }
}

//! Moments: wall-clock time in whole milliseconds, written as RFC 3339 in UTC.
//! Reading the clock is `world::clock`; order is always by sequence number, never by time.

use jiff::fmt::temporal::DateTimePrinter;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

static PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// A moment in UTC, milliseconds since 1970, written `2026-11-21T03:37:32.114Z`.
///
/// Source: contract 1.1, "Times".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `ms` milliseconds after 1970-01-01T00:00:00Z.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339 with any offset; `None` for every other text.
    pub fn parse(text: &str) -> Option<Self> {
        let moment: jiff::Timestamp = text.parse().ok()?;
        Some(Self(moment.as_millisecond()))
    }

    /// The moment `seconds` later.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000)))
    }

    /// Whole seconds until `later`, rounded up; 0 when it is not later.
    pub const fn seconds_until(self, later: Self) -> u64 {
        let ms = later.0.saturating_sub(self.0);
        if ms > 0 {
            ms.unsigned_abs().div_ceil(1_000)
        } else {
            0
        }
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let moment = jiff::Timestamp::from_millisecond(self.0).map_err(|_| std::fmt::Error)?;
        PRINTER
            .print_timestamp(&moment, jiff::fmt::StdFmtWrite(f))
            .map_err(|_| std::fmt::Error)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let moment: jiff::Timestamp = text.parse().map_err(de::Error::custom)?;
        Ok(Self(moment.as_millisecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_with_milliseconds_and_z() {
        let moment = Timestamp::from_millis(1_795_232_252_114);
        assert_eq!(moment.to_string(), "2026-11-21T03:37:32.114Z");
        assert_eq!(
            Timestamp::from_millis(0).to_string(),
            "1970-01-01T00:00:00.000Z"
        );
        let read: Timestamp = serde_json::from_str("\"2026-11-21T05:37:32.114+02:00\"").unwrap();
        assert_eq!(read, moment);
    }
}

//! Backups: what is known of one, and which ones are kept.
//! Pure: making one is `hall::backups`, its files are `world::backups`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    ids::{BackupId, LogId},
};

/// Why a backup was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BackupReason {
    /// Something was written since the one before.
    Scheduled,
    /// Somebody asked for it.
    Manual,
    /// A newer guildhall is about to change the schema.
    BeforeMigration,
}

impl BackupReason {
    /// Its word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Manual => "manual",
            Self::BeforeMigration => "beforeMigration",
        }
    }
}

/// What a copy of the store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotContents {
    /// The event log it continues.
    pub log_id: Option<LogId>,
    /// The schema's version.
    pub schema_version: u32,
    /// Seq of its newest event.
    pub event_seq: u64,
    /// Entries of all rooms.
    pub entries: u64,
}

/// A backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backup {
    /// Its id.
    pub id: BackupId,
    /// When it was begun; it holds what was committed until then.
    pub created_at: Timestamp,
    /// Why it was made.
    pub reason: BackupReason,
    /// Bytes of its compressed file.
    pub bytes: u64,
    /// The SHA-256 of its compressed file, in hexadecimal digits.
    pub sha256: String,
    /// Attachments it names; their files are kept once beside all backups.
    pub attachments: u64,
    /// What it holds.
    pub holds: SnapshotContents,
}

/// What verifying a backup found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedBackup {
    /// The backup.
    pub backup: Backup,
    /// What is wrong with its copy of the store; `None` when that is whole.
    pub problem: Option<String>,
    /// Attachments it names, each of which was looked for and read.
    pub attachments_checked: u64,
    /// Those whose files are missing or hold other bytes.
    pub attachments_damaged: u64,
    /// Those whose files are missing.
    pub attachments_missing: u64,
}

impl VerifiedBackup {
    /// Whether the backup can be restored with all it names.
    pub fn is_whole(&self) -> bool {
        self.problem.is_none() && self.attachments_damaged == 0
    }
}

/// Seconds for which every backup is kept.
const EVERY_S: i64 = 24 * 3_600;
const DAY_S: i64 = 24 * 3_600;
/// Days of which the newest backup is kept.
const DAYS: i64 = 7;
/// Weeks of which the newest backup is kept.
const WEEKS: i64 = 4;

/// Which of these backups are kept, the newest first: all of the last 24 hours, the newest of
/// each of the last 7 days and of each of the last 4 weeks, in `bytes_max` bytes together.
///
/// Where that is too little, those of days and weeks come before the others, so that a busy day
/// does not displace the week. The newest one is always kept.
pub fn backups_to_keep(backups: &[Backup], now: Timestamp, bytes_max: u64) -> Vec<BackupId> {
    let mut newest_first: Vec<&Backup> = backups.iter().collect();
    newest_first.sort_by_key(|backup| std::cmp::Reverse((backup.created_at, backup.id)));
    let (mut periods, mut of_periods, mut others) = (BTreeSet::new(), Vec::new(), Vec::new());
    for (number, backup) in newest_first.into_iter().enumerate() {
        let age_s = (now.as_millis() - backup.created_at.as_millis()) / 1_000;
        let (day, week) = (age_s.div_euclid(DAY_S), age_s.div_euclid(7 * DAY_S));
        let opens_day = day < DAYS && periods.insert((DAY_S, day));
        let opens_week = week < WEEKS && periods.insert((7 * DAY_S, week));
        if number == 0 || opens_day || opens_week {
            of_periods.push(backup);
        } else if age_s < EVERY_S {
            others.push(backup);
        }
    }
    let mut bytes = 0_u64;
    let mut kept: Vec<&Backup> = Vec::new();
    for backup in of_periods.into_iter().chain(others) {
        let with_it = bytes.saturating_add(backup.bytes);
        if kept.is_empty() || with_it <= bytes_max {
            bytes = with_it;
            kept.push(backup);
        }
    }
    kept.sort_by_key(|backup| std::cmp::Reverse((backup.created_at, backup.id)));
    kept.into_iter().map(|backup| backup.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);
    const HOUR_S: i64 = 3_600;

    fn backup(hours_ago: i64, bytes: u64) -> Backup {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&hours_ago.to_be_bytes());
        Backup {
            id: BackupId::from_bytes(id),
            created_at: NOW.plus_seconds(-hours_ago * HOUR_S),
            reason: BackupReason::Scheduled,
            bytes,
            sha256: String::new(),
            attachments: 0,
            holds: SnapshotContents {
                log_id: None,
                schema_version: 1,
                event_seq: 1,
                entries: 1,
            },
        }
    }

    /// How many hours ago those were made that are kept.
    fn hours_kept(hours: impl IntoIterator<Item = i64>, bytes: u64, bytes_max: u64) -> Vec<i64> {
        let backups: Vec<Backup> = hours.into_iter().map(|hour| backup(hour, bytes)).collect();
        let hours_of = |id: BackupId| {
            let found = backups.iter().find(|backup| backup.id == id).unwrap();
            (NOW.as_millis() - found.created_at.as_millis()) / (HOUR_S * 1_000)
        };
        let kept = backups_to_keep(&backups, NOW, bytes_max).into_iter();
        kept.map(hours_of).collect()
    }

    #[test]
    fn a_day_whole_a_week_by_days_and_a_month_by_weeks() {
        let all = 0..24 * 60;
        let mut expected: Vec<i64> = (0..24).collect();
        expected.extend([24, 48, 72, 96, 120, 144, 168, 336, 504]);
        assert_eq!(hours_kept(all, 1, u64::MAX), expected);
    }

    #[test]
    fn in_little_room_days_and_weeks_come_before_hours_and_the_newest_before_all() {
        let some = [0, 1, 2, 30, 60, 200];
        for (bytes_max, expected) in [
            (6, &[0, 1, 2, 30, 60, 200][..]),
            (5, &[0, 1, 30, 60, 200]),
            (4, &[0, 30, 60, 200]),
            (2, &[0, 30]),
            (1, &[0]),
            (0, &[0]),
        ] {
            assert_eq!(hours_kept(some, 1, bytes_max), expected, "{bytes_max}");
        }
    }

    #[test]
    fn without_any_backup_of_late_the_old_ones_go_but_for_the_newest() {
        assert_eq!(hours_kept([24 * 40, 24 * 41], 1, 10), [24 * 40]);
        assert_eq!(hours_kept([24 * 27, 24 * 26], 1, 10), [24 * 26]);
        assert_eq!(hours_kept([], 1, 10), [] as [i64; 0]);
    }

    #[test]
    fn a_clock_that_went_back_loses_nothing() {
        assert_eq!(hours_kept([-3, -2, 1], 1, 10), [-3, -2, 1]);
    }
}

//! Usage: sums over the turns of sessions, as they were written when each ended.
//! Source: contract 3.10.

use guildhall_domain::{
    Result, Timestamp,
    ids::{AgentId, RoomId, SessionId},
    usage::{Cost, GroupBy, TimeRange, Usage, UsageTotal},
};
use rusqlite::{Row, types::ValueRef};

use crate::{
    ReadTx,
    transactions::{count, unreadable},
};

/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 3_600 * 1_000;

/// What is read of turns that are summed up, behind their key.
///
/// `SUM` fails where a sum leaves the engine's integers; `TOTAL` does not, is exact up to 2^53 and
/// off by less than a part in 10^15 beyond, and the cast ends at the greatest integer.
const SUMS: &str = "currency, COUNT(*), CAST(TOTAL(input_tokens) AS INTEGER),
    CAST(TOTAL(output_tokens) AS INTEGER), CAST(TOTAL(cached_read_tokens) AS INTEGER),
    CAST(TOTAL(cached_write_tokens) AS INTEGER), CAST(TOTAL(thought_tokens) AS INTEGER),
    CAST(TOTAL(total_tokens) AS INTEGER), CAST(TOTAL(cost_nanos) AS INTEGER), MIN(reported)";

/// What the ended turns of a session used together.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn of_session(db: &ReadTx<'_>, session: SessionId) -> Result<UsageTotal> {
    let sql = format!(
        "SELECT session_id, {SUMS} FROM session_turns
         WHERE session_id = $1 AND ended_at IS NOT NULL GROUP BY session_id, currency"
    );
    let parts = db.all(&sql, [session.as_bytes()], read)?;
    Ok(parts.iter().collect())
}

/// The usage of the turns that ended in `span`, one part for each key and currency.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn parts(db: &ReadTx<'_>, span: TimeRange, by: GroupBy) -> Result<Vec<(String, Usage)>> {
    let key = match by {
        GroupBy::Day => "ended_at / 86400000",
        GroupBy::Session => "session_id",
        GroupBy::Agent => "agent_id",
        GroupBy::Runtime => "runtime",
        GroupBy::Model => "model",
        GroupBy::Room => "room_id",
    };
    let sql = format!(
        "SELECT {key}, {SUMS}
         FROM session_turns WHERE ended_at >= $1 AND ended_at < $2
         GROUP BY {key}, currency"
    );
    let span = (span.from.as_millis(), span.to.as_millis());
    db.all(&sql, span, |row| Ok((key_of(row, by)?, read(row)?)))
}

fn key_of(row: &Row<'_>, by: GroupBy) -> rusqlite::Result<String> {
    let bytes = || -> rusqlite::Result<[u8; 16]> { row.get(0) };
    Ok(match by {
        GroupBy::Day => {
            let day: i64 = row.get(0)?;
            let moment = Timestamp::from_millis(day.saturating_mul(DAY_MS)).to_string();
            let date = moment.split('T').next().unwrap_or_default();
            date.to_owned()
        }
        GroupBy::Session => SessionId::from_bytes(bytes()?).to_string(),
        GroupBy::Agent => AgentId::from_bytes(bytes()?).to_string(),
        GroupBy::Runtime | GroupBy::Model => row.get(0)?,
        GroupBy::Room => match row.get_ref(0)? {
            ValueRef::Null => String::new(),
            _ => RoomId::from_bytes(bytes()?).to_string(),
        },
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Usage> {
    let currency: Option<String> = row.get(1)?;
    let nanos: i64 = row.get(9)?;
    let reported: i64 = row.get(10)?;
    if !(0..=1).contains(&reported) {
        return Err(unreadable(10, "neither yes nor no"));
    }
    Ok(Usage {
        turns: count(row, 2)?,
        input_tokens: count(row, 3)?,
        output_tokens: count(row, 4)?,
        cached_read_tokens: count(row, 5)?,
        cached_write_tokens: count(row, 6)?,
        thought_tokens: count(row, 7)?,
        total_tokens: count(row, 8)?,
        cost: currency.map(|currency| Cost { nanos, currency }),
        complete: reported == 1,
        ..Usage::default()
    })
}

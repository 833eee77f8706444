//! Rows: running a statement and reading what it gives.
//! The only place that touches the engine's connection on behalf of the queries.

use std::cell::Cell;

use guildhall_domain::{
    Error, Fault, Result, Timestamp, errors::FaultKind, events::Event, ids::AuthorId,
};
use rusqlite::{Connection, Params, Row, types::Type};

use crate::{entries, events, sqlite_faults};

/// A reading transaction.
pub struct ReadTx<'a> {
    connection: &'a Connection,
    /// What the engine said of damage to the file, whatever the job made of it.
    damage: Cell<Option<String>>,
}

impl<'a> ReadTx<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Self {
        Self {
            connection,
            damage: Cell::default(),
        }
    }

    /// What the engine said of damage to the file, if it did.
    pub(crate) fn take_damage(&self) -> Option<String> {
        self.damage.take()
    }

    /// The fault of the engine's `error`; damage is remembered, so that no job can swallow it.
    fn failed(&self, during: &'static str, error: rusqlite::Error) -> Error {
        let fault = sqlite_faults::fault(during, error);
        if fault.kind == FaultKind::StoreDamaged {
            self.damage.set(Some(fault.source.to_string()));
        }
        fault.into()
    }

    /// Every row of the answer.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        debug_assert!(in_order(sql), "{sql}");
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(params, read)?.collect())
            .map_err(|error| self.failed("reading the store", error))
    }

    /// The rows of the answer up to the first one that `is_enough` says is the last.
    pub(crate) fn until<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        mut is_enough: impl FnMut(&T) -> bool,
    ) -> Result<Vec<T>> {
        debug_assert!(in_order(sql), "{sql}");
        let some = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(params)?;
            let mut values = Vec::new();
            while let Some(row) = rows.next()? {
                let value = read(row)?;
                let is_last = is_enough(&value);
                values.push(value);
                if is_last {
                    break;
                }
            }
            Ok(values)
        };
        some().map_err(|error| self.failed("reading the store", error))
    }

    /// The first row of the answer, if there is one.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        debug_assert!(in_order(sql), "{sql}");
        let first = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(params)?;
            rows.next()?.map(read).transpose()
        };
        first().map_err(|error| self.failed("reading the store", error))
    }

    /// The one row of an answer that cannot be empty.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.first(sql, params, read)?.ok_or_else(|| {
            Fault::broken("reading the store", "a row that must exist is missing").into()
        })
    }
}

/// A writing transaction, one savepoint of a group.
pub struct Tx<'a> {
    rx: ReadTx<'a>,
    log: &'a mut events::LogEnd,
    forgets_pages: bool,
}

impl<'a> std::ops::Deref for Tx<'a> {
    type Target = ReadTx<'a>;

    fn deref(&self) -> &Self::Target {
        &self.rx
    }
}

impl<'a> Tx<'a> {
    pub(crate) fn new(connection: &'a Connection, log: &'a mut events::LogEnd) -> Self {
        Self {
            rx: ReadTx::new(connection),
            log,
            forgets_pages: false,
        }
    }

    /// Runs a change and says how many rows it touched.
    pub(crate) fn run(&mut self, sql: &str, params: impl Params) -> Result<usize> {
        debug_assert!(in_order(sql), "{sql}");
        self.rx
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params))
            .map_err(|error| self.rx.failed("writing to the store", error))
    }

    /// The seq the next event gets.
    pub fn next_event(&self) -> u64 {
        self.log.seq + 1
    }

    /// Gives a new entry its place among all entries of the house, from 1.
    pub(crate) fn number_entry(&mut self) -> u64 {
        self.log.entry_number += 1;
        self.log.entry_number
    }

    /// The newest entry that stands in the index of words.
    pub(crate) fn indexed_to(&self) -> u64 {
        self.log.indexed_to
    }

    /// Asks that no page remembers, once this is committed, what it held before.
    pub(crate) fn forget_pages(&mut self) {
        self.forgets_pages = true;
    }

    /// Whether that was asked for.
    pub(crate) fn forgets_pages(&self) -> bool {
        self.forgets_pages
    }

    /// Appends `event` to the log and answers its seq; nobody hears of it before the commit.
    ///
    /// `actor` is the author who caused it, `None` for the server itself.
    ///
    /// # Errors
    /// A fault when the engine refuses the row.
    pub fn append(&mut self, at: Timestamp, actor: Option<AuthorId>, event: &Event) -> Result<u64> {
        let mut log = *self.log;
        events::append(self, &mut log, at, actor, event)?;
        *self.log = log;
        debug_assert!(
            entries::is_told_in(self, event, log.seq).unwrap_or(true),
            "an entry's event comes right behind its row, which says where a redaction finds it"
        );
        Ok(log.seq)
    }
}

/// Whether the parameters of a statement first appear in the order of their numbers: this
/// engine counts them by appearance, so that any other order would mix them up.
fn in_order(sql: &str) -> bool {
    let mut highest = 0;
    sql.split('$').skip(1).all(|rest| {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let number: u32 = rest[..digits].parse().unwrap_or(0);
        let fits = (1..=highest + 1).contains(&number);
        highest = highest.max(number);
        fits
    })
}

/// Reads a column that holds one of an enum's words.
pub(crate) fn enum_column<T: Copy>(
    row: &Row<'_>,
    column: usize,
    words: &[(T, &str)],
) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    words
        .iter()
        .find_map(|(value, word)| (*word == text).then_some(*value))
        .ok_or_else(|| unreadable(column, "a word this version does not know"))
}

/// The word under which an enum's value is stored.
pub(crate) fn enum_text<T: Copy + PartialEq>(
    value: T,
    words: &[(T, &'static str)],
) -> &'static str {
    words
        .iter()
        .find_map(|(known, word)| (*known == value).then_some(*word))
        .unwrap_or_default()
}

/// Reads an id column.
pub(crate) fn id<T>(row: &Row<'_>, column: usize, make: fn([u8; 16]) -> T) -> rusqlite::Result<T> {
    row.get(column).map(make)
}

/// Reads an id column that may be null.
pub(crate) fn maybe_id<T>(
    row: &Row<'_>,
    column: usize,
    make: fn([u8; 16]) -> T,
) -> rusqlite::Result<Option<T>> {
    Ok(row.get::<_, Option<[u8; 16]>>(column)?.map(make))
}

/// Reads a time column.
pub(crate) fn moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::from_millis)
}

/// Reads a time column that may be null.
pub(crate) fn maybe_moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row
        .get::<_, Option<i64>>(column)?
        .map(Timestamp::from_millis))
}

/// Reads a counter; stored counters are never negative.
pub(crate) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::unsigned_abs)
}

/// A counter as the engine keeps it.
pub(crate) fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The error of a column whose value cannot be read.
pub(crate) fn unreadable(
    column: usize,
    why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into())
}

/// An error that broke the reading of stored text.
pub(crate) fn broken(during: &'static str, error: serde_json::Error) -> Error {
    Fault::broken(during, error).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_first_appear_in_the_order_of_their_numbers() {
        assert!(in_order("SELECT $1, $2, $1, $3"));
        assert!(in_order("SELECT 1"));
        assert!(!in_order("UPDATE x SET a = $2 WHERE b = $1"));
        assert!(!in_order("SELECT $1, $3"));
    }
}

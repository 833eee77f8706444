//! Answers kept for posts that may come again.

use guildhall_domain::{
    Moment, Result,
    repeats::{Answered, AnsweredBody, Claim},
};

use crate::{Rx, Tx};

/// What was answered to a claim, and the fingerprint of what it asked.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(
    db: &Rx<'_>,
    claim: &[u8; 32],
    not_before: Moment,
) -> Result<Option<([u8; 32], Answered)>> {
    db.first(
        "SELECT fingerprint, status, body, secret_of FROM repeats
         WHERE claim = $1 AND created_at > $2",
        (claim, not_before.as_millis()),
        |row| {
            let body = match row.get(2)? {
                Some(bytes) => AnsweredBody::Json(bytes),
                None => AnsweredBody::Secret(row.get(3)?),
            };
            Ok((
                row.get(0)?,
                Answered {
                    status: row.get(1)?,
                    body,
                },
            ))
        },
    )
}

/// Keeps what is answered to a claim; one too old to count makes room.
///
/// # Errors
/// A fault when the engine refuses the row.
pub fn keep(tx: &mut Tx<'_>, claim: &Claim, answered: &Answered, now: Moment) -> Result<()> {
    let (body, secret_of) = match &answered.body {
        AnsweredBody::Json(bytes) => (Some(bytes), ""),
        AnsweredBody::Secret(id) => (None, id.as_str()),
    };
    tx.run(
        "INSERT OR REPLACE INTO repeats (claim, fingerprint, status, body, secret_of, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        (
            &claim.id,
            &claim.fingerprint,
            answered.status,
            body,
            secret_of,
            now.as_millis(),
        ),
    )?;
    Ok(())
}

/// Drops at most `batch` answers of before `moment`; says how many.
///
/// # Errors
/// A fault when the engine refuses.
pub fn drop_before(tx: &mut Tx<'_>, moment: Moment, batch: u32) -> Result<usize> {
    tx.run(
        "DELETE FROM repeats WHERE claim IN
           (SELECT claim FROM repeats WHERE created_at <= $1 ORDER BY created_at LIMIT $2)",
        (moment.as_millis(), batch),
    )
}

//! Answers kept for posts that may come again.

use guildhall_domain::{
    Result, Timestamp,
    idempotency::{IdempotencyClaim, RecordedBody, RecordedResponse},
    ids::{AttachmentId, EntryId},
};

use serde_json::Value;

use crate::{ReadTx, Tx, transactions};

/// What was answered to a claim, and the fingerprint of what it asked.
///
/// # Errors
/// A fault when the engine cannot read.
pub fn find(
    db: &ReadTx<'_>,
    claim: &[u8; 32],
    not_before: Timestamp,
) -> Result<Option<([u8; 32], RecordedResponse)>> {
    db.first(
        "SELECT fingerprint, status, body, secret_of, is_sealed FROM repeats
         WHERE claim = $1 AND created_at > $2",
        (claim, not_before.as_millis()),
        |row| {
            let body = match (row.get(2)?, row.get(4)?) {
                (Some(bytes), false) => RecordedBody::Json(bytes),
                (Some(bytes), true) => RecordedBody::Private(bytes),
                (None, _) => RecordedBody::Secret(row.get(3)?),
            };
            Ok((
                row.get(0)?,
                RecordedResponse {
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
pub fn keep(
    tx: &mut Tx<'_>,
    claim: &IdempotencyClaim,
    answered: &RecordedResponse,
    now: Timestamp,
) -> Result<()> {
    let (body, secret_of, is_sealed) = match &answered.body {
        RecordedBody::Json(bytes) => (Some(bytes), "", false),
        RecordedBody::Private(bytes) => (Some(bytes), "", true),
        RecordedBody::Secret(id) => (None, id.as_str(), false),
    };
    tx.run(
        "INSERT INTO repeats (claim, fingerprint, status, body, secret_of, created_at,
           is_sealed)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (claim) DO UPDATE SET fingerprint = excluded.fingerprint,
           status = excluded.status, body = excluded.body, secret_of = excluded.secret_of,
           created_at = excluded.created_at, is_sealed = excluded.is_sealed",
        (
            &claim.id,
            &claim.fingerprint,
            answered.status,
            body,
            secret_of,
            now.as_millis(),
            is_sealed,
        ),
    )?;
    Ok(())
}

/// Drops the oldest answers until all bodies together have at most `bytes_max`, some at once.
///
/// # Errors
/// A fault when the engine refuses.
pub fn make_room(tx: &mut Tx<'_>, bytes_max: u64) -> Result<()> {
    /// Answers one call drops at most: a store above its bound comes back to it call by call.
    const BATCH: u32 = 16;
    let bytes = tx.one("SELECT bytes FROM repeats_size", [], |row| {
        transactions::count(row, 0)
    })?;
    if bytes > bytes_max {
        tx.run(
            "DELETE FROM repeats WHERE claim IN
               (SELECT claim FROM repeats ORDER BY created_at LIMIT $1)",
            [BATCH],
        )?;
    }
    Ok(())
}

/// Takes an entry's text out of the answer to the post that wrote it, at `written_at`.
///
/// The answer stays, so that a repeat still does nothing; it shows the entry as it is now.
pub(crate) fn redact_entry(
    tx: &mut Tx<'_>,
    entry: EntryId,
    written_at: Timestamp,
    now: Timestamp,
) -> Result<()> {
    let name = entry.to_string();
    amend(tx, written_at, |answer| {
        let shown = answer.get_mut("entry");
        let Some(shown) = shown.filter(|shown| shown["id"] == name) else {
            return false;
        };
        shown["text"] = "".into();
        shown["mentionSpans"] = Value::Array(Vec::new());
        shown["attachments"] = Value::Array(Vec::new());
        shown["redactedAt"] = now.to_string().into();
        true
    })
}

/// Takes an attachment that is gone out of the answer to its upload, at `uploaded_at`.
pub(crate) fn forget_attachment(
    tx: &mut Tx<'_>,
    attachment: AttachmentId,
    uploaded_at: Timestamp,
) -> Result<()> {
    let name = attachment.to_string();
    amend(tx, uploaded_at, |answer| {
        let files = answer.get_mut("attachments").and_then(Value::as_array_mut);
        files.is_some_and(|files| {
            let before = files.len();
            files.retain(|file| file["id"] != name);
            files.len() < before
        })
    })
}

/// Writes those answers of one moment anew that `change` says it changed.
fn amend(
    tx: &mut Tx<'_>,
    answered_at: Timestamp,
    mut change: impl FnMut(&mut Value) -> bool,
) -> Result<()> {
    let answers = tx.all(
        "SELECT claim, body FROM repeats WHERE created_at = $1 AND body IS NOT NULL
           AND NOT is_sealed",
        [answered_at.as_millis()],
        |row| Ok((row.get::<_, [u8; 32]>(0)?, row.get::<_, Vec<u8>>(1)?)),
    )?;
    for (claim, body) in answers {
        let Ok(mut answer) = serde_json::from_slice::<Value>(&body) else {
            continue;
        };
        if change(&mut answer) {
            tx.run(
                "UPDATE repeats SET body = $1 WHERE claim = $2",
                (answer.to_string().into_bytes(), claim),
            )?;
        }
    }
    Ok(())
}

/// Drops at most `batch` answers of before `moment`; says how many.
///
/// # Errors
/// A fault when the engine refuses.
pub fn drop_before(tx: &mut Tx<'_>, moment: Timestamp, batch: u32) -> Result<usize> {
    tx.run(
        "DELETE FROM repeats WHERE claim IN
           (SELECT claim FROM repeats WHERE created_at <= $1 ORDER BY created_at LIMIT $2)",
        (moment.as_millis(), batch),
    )
}

//! Writing down a save whose effect is on the disk: one transaction with all that follows from it.
//! Source: contract 6.6, step 8.

use guildhall_domain::{
    Result, Timestamp,
    events::Event,
    files::{
        FileIdentity, LastSave, SaveEffect,
        document_saves::{CompletedSave, ReceiptStatus, SaveReceipt},
        recovery::SaveIntent,
    },
};
use guildhall_store::{
    Tx, canvas,
    files::{self, SaveIntentRow},
};

use super::save::{DocumentSaveRequest, SaveOutcome};

/// A save whose effect is on the disk.
pub(super) struct WrittenSave {
    pub(super) intent: SaveIntentRow,
    /// Which file it is now.
    pub(super) identity: FileIdentity,
    /// Whether the client is answered with it.
    pub(super) is_told: bool,
}

/// Writes down a save with all that follows from it.
pub(super) fn record_save(
    tx: &mut Tx<'_>,
    done: &WrittenSave,
    now: Timestamp,
) -> Result<SaveOutcome> {
    let WrittenSave {
        intent, identity, ..
    } = done;
    let SaveIntent {
        identity: before,
        old,
        new,
        ..
    } = &intent.meant;
    files::add_identity(tx, before, identity, now)?;
    canvas::follow(tx, before, identity)?;
    let last = LastSave {
        request: intent.document.is_none().then_some(intent.request),
        hash: *new,
    };
    files::put_last_save(tx, &intent.path, &last, now)?;
    files::remove_intent(tx, &intent.mark)?;
    let saved = Event::FileSaved {
        path: intent.path.clone(),
        previous_hash: *old,
        hash: *new,
        size: intent.size,
        by: intent.author,
        via: intent.via,
    };
    tx.append(now, Some(intent.author), &saved)?;
    Ok(SaveOutcome {
        hash: *new,
        effect: SaveEffect::Changed,
        identity: identity.clone(),
        receipt: record_document_save(tx, done, now)?,
    })
}

/// The same for the document the save was of; `None` when there is none any more that shows the
/// file.
fn record_document_save(
    tx: &mut Tx<'_>,
    done: &WrittenSave,
    now: Timestamp,
) -> Result<Option<SaveReceipt>> {
    let Some((document, event)) = &done.intent.document else {
        return Ok(None);
    };
    let Some(kept) = canvas::by_id(tx, *document, now)? else {
        return Ok(None);
    };
    let scope = kept.document.scope;
    let Some(mut binding) = kept.binding.filter(|kept| kept.path == done.intent.path) else {
        return Ok(None);
    };
    binding.doc_seq += 1;
    canvas::bind(tx, *document, Some(&binding))?;
    let completion = CompletedSave {
        request: done.intent.request,
        incarnation: binding.incarnation,
        doc_seq: binding.doc_seq,
        file_hash: done.intent.meant.new,
        identity: done.identity.clone(),
        is_told: done.is_told,
    };
    files::insert_completion(tx, *document, event, &completion)?;
    let saved = Event::DocSaved {
        scope,
        document_id: *document,
        event_id: event.clone(),
        doc_seq: completion.doc_seq,
        incarnation: completion.incarnation.clone(),
        previous_file_hash: done.intent.meant.old,
        file_hash: completion.file_hash,
    };
    tx.append(now, Some(done.intent.author), &saved)?;
    Ok(Some(SaveReceipt {
        document_id: *document,
        event_id: event.clone(),
        incarnation: completion.incarnation,
        doc_seq: completion.doc_seq,
        file_hash: completion.file_hash,
        status: ReceiptStatus::Accepted,
    }))
}

/// What a client is given for a save that was written down.
pub(super) fn receipt(
    save: &DocumentSaveRequest,
    done: &CompletedSave,
    status: ReceiptStatus,
) -> SaveReceipt {
    SaveReceipt {
        document_id: save.document,
        event_id: save.event.clone(),
        incarnation: done.incarnation.clone(),
        doc_seq: done.doc_seq,
        file_hash: done.file_hash,
        status,
    }
}

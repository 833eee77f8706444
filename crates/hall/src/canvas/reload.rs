//! Reloading: reading a document's file anew, and binding the document to the file that is there
//! now. Source: contract 6.5.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    callers::{Caller, Gate, Owner},
    canvas::{CanvasChange, CanvasDocument, CanvasScope},
    files::{Digest, FileIdentity, document_saves::Incarnation},
    ids::DocumentId,
};
use guildhall_store::{
    ReadTx, Tx,
    canvas::{self, CanvasDocumentRow},
};

use super::{bound, existing, store_document};
use crate::{
    Hall,
    files::{FileLockGuard, TextFile},
    idempotency::IdempotentWrite,
    visibility,
};

/// A document with its file as it is now.
#[derive(Clone, Debug)]
pub struct DocumentReload {
    /// The document.
    pub document: CanvasDocument,
    /// What its file holds.
    pub content: String,
    /// The SHA-256 of that.
    pub hash: Digest,
    /// Which file it is.
    pub identity: FileIdentity,
    /// The binding that saves name from now on.
    pub incarnation: Incarnation,
}

impl Hall {
    /// Reads the file of a document anew and binds the document to it; the binding stays when it
    /// is still the same file, or one that our own saves made of it.
    ///
    /// # Errors
    /// In this order: `NotFound` for room or session, then for the document,
    /// [`Refusal::DocumentNotChat`], [`Refusal::RoomArchived`], [`Refusal::NotAMember`]; the
    /// refusals of the gate of its saves, of a file, and of one that is no text.
    pub async fn reload_document(
        &self,
        by: &Owner,
        scope: CanvasScope,
        id: DocumentId,
        once: IdempotentWrite<DocumentReload>,
    ) -> Result<DocumentReload> {
        let (by, now) = (*by.caller(), self.now());
        // A repeat is answered as before, whatever became of the file.
        let found = self.read_of_document(by, scope, id).await;
        let rebind = move |tx: &mut Tx<'_>| {
            let ReadDocumentFile {
                path,
                file,
                text,
                held: _held,
            } = found?;
            let (mut kept, still) = reloadable(tx, &by, scope, id, now)?;
            if still != path {
                // It shows another file since; who asked decides anew.
                return Err(Refusal::DocumentFileMismatch.into());
            }
            let (current, path) = (file.current, file.target.file.path().to_owned());
            kept.document.content = kept.document.content.at(path);
            let before = kept.binding.take();
            let was = before.as_ref().map(|binding| binding.incarnation.clone());
            let identity = Some(current.identity.clone());
            let binding = bound(tx, &kept.document, before, identity, now)?;
            let binding = binding.ok_or(Refusal::DocumentNotChat)?;
            canvas::bind(tx, id, Some(&binding))?;
            if was.as_ref() != Some(&binding.incarnation) {
                kept.document.rebind(&binding);
                store_document(tx, &by, &kept, CanvasChange::Updated, now)?;
            }
            Ok(DocumentReload {
                document: kept.document,
                content: text,
                hash: current.hash,
                identity: current.identity,
                incarnation: binding.incarnation,
            })
        };
        self.store()
            .write(move |tx| once.run(tx, now, rebind))
            .await
    }

    /// The file of a document the caller may reload.
    async fn read_of_document(
        &self,
        by: Caller,
        scope: CanvasScope,
        id: DocumentId,
    ) -> Result<ReadDocumentFile> {
        let now = self.now();
        let may = move |db: &ReadTx<'_>| {
            let (_, path) = reloadable(db, &by, scope, id, now)?;
            Ok((path, visibility::file_scope(db, &by)?))
        };
        let (path, reach) = self.store().read(may).await?.value;
        let held = self.lock_file(&path).await?;
        self.with_files(move |confined, _| {
            let mut file = TextFile::within(confined, &reach, &path)?;
            let text = file.take_text()?;
            Ok(ReadDocumentFile {
                path,
                file,
                text,
                held,
            })
        })
        .await
    }
}

/// The file of a document.
struct ReadDocumentFile {
    /// Its path, as the document had it.
    path: String,
    file: TextFile,
    text: String,
    /// The lock of its saves.
    held: FileLockGuard,
}

/// A document the caller may reload, and the path of its file.
fn reloadable(
    db: &ReadTx<'_>,
    by: &Caller,
    scope: CanvasScope,
    id: DocumentId,
    now: Timestamp,
) -> Result<(CanvasDocumentRow, String)> {
    let sight = visibility::canvas(db, by, scope)?;
    let kept = existing(db, scope, id, now)?;
    let path = kept.document.content.path().map(str::to_owned);
    let path = path.ok_or(Refusal::DocumentNotChat)?;
    sight.require_writable()?;
    Ok((kept, path))
}

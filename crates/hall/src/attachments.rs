//! Attachments: sending files to a room, and reading what was sent.
//! A file is on the disk before its row is written, and its row is gone before the file is.

use std::{ops::Range, sync::Arc};

use guildhall_domain::{
    Error, Fault, Refusal, Result, Timestamp,
    attachments::{Attachment, AttachmentLimits, ImageFormat, stored_media_type, stored_name},
    callers::{AnyCaller, Caller, Gate},
    errors::ResourceKind,
    ids::{AttachmentId, RoomId},
};
use guildhall_store::{
    ReadTx, Tx,
    attachments::{self, AttachmentRow, NewAttachment},
    settings,
};
use guildhall_world::blobs::{BlobDraft, Blobs, OpenBlob, StoredBlob};

use crate::{Hall, callers, idempotency::IdempotentWrite, visibility};

/// Files on their way into a room: all of them arrive, or none. Dropping it forgets them.
pub struct Upload {
    hall: Hall,
    by: Caller,
    room: RoomId,
    limits: AttachmentLimits,
    files: Vec<IncomingFile>,
}

struct IncomingFile {
    name: String,
    mime_type: String,
    draft: BlobDraft,
}

/// A stored file, open for reading.
#[derive(Clone)]
pub struct StoredAttachment {
    hall: Hall,
    /// What it is.
    pub attachment: Attachment,
    /// What its bytes are, when they are a picture.
    pub picture: Option<ImageFormat>,
    blob: Arc<OpenBlob>,
}

impl Hall {
    /// Opens the way for files into a room, before anything of them is read.
    ///
    /// # Errors
    /// `NotFound`, [`Refusal::RoomArchived`], [`Refusal::NotAMember`].
    pub async fn begin_upload(&self, by: &AnyCaller, room: RoomId) -> Result<Upload> {
        let by = *by.caller();
        let read = self.store().read(move |db| {
            visibility::room(db, &by, room)?.require_writable()?;
            settings::attachment_limits(db)
        });
        let limits = read.await?.value;
        Ok(Upload {
            hall: self.clone(),
            by,
            room,
            limits,
            files: Vec::new(),
        })
    }

    /// A file of a room: an uploaded one for its uploader alone, a posted one for whoever may
    /// read its entry.
    ///
    /// # Errors
    /// `NotFound` of the attachment, whatever is missing or hidden.
    ///
    /// Source: contract 2.4.
    pub async fn attachment(
        &self,
        by: &AnyCaller,
        room: RoomId,
        id: AttachmentId,
    ) -> Result<StoredAttachment> {
        let by = *by.caller();
        let read = self.store().read(move |db| visible(db, &by, room, id));
        let known = read.await.map_err(as_missing_attachment)?.value;
        let digest = known.attachment.sha256;
        let blob = self.with_blobs(move |blobs| blobs.read(digest)).await?;
        // Its entry may have been redacted since the row was read.
        let blob = blob.ok_or(Refusal::NotFound(ResourceKind::Attachment))?;
        Ok(StoredAttachment {
            hall: self.clone(),
            attachment: known.attachment,
            picture: known.picture,
            blob: Arc::new(blob),
        })
    }
}

impl Upload {
    /// How much may be sent.
    pub fn limits(&self) -> AttachmentLimits {
        self.limits
    }

    /// Begins the next file.
    ///
    /// # Errors
    /// [`Refusal::TooManyAttachments`]; a fault of kind `StorageFull` when the disk is.
    pub async fn begin_file(&mut self, name: &str, media_type: Option<&str>) -> Result<()> {
        let most = self.limits.per_entry_max;
        if self.files.len() >= most {
            return Err(Refusal::TooManyAttachments(most).into());
        }
        let hall = self.hall.clone();
        let begin = self.hall.with_blobs(move |blobs| {
            hall.disk_has_room()?;
            blobs.draft()
        });
        let draft = begin.await?;
        self.files.push(IncomingFile {
            name: stored_name(name),
            mime_type: stored_media_type(media_type),
            draft,
        });
        Ok(())
    }

    /// Takes the next bytes of the file begun last.
    ///
    /// # Errors
    /// [`Refusal::AttachmentTooLarge`]; a fault of kind `StorageFull` when the disk is full.
    pub async fn write(&mut self, bytes: impl AsRef<[u8]> + Send + 'static) -> Result<()> {
        let Some(mut file) = self.files.pop() else {
            return Err(Refusal::AttachmentMissing.into());
        };
        if file.draft.size() + bytes.as_ref().len() as u64 > self.limits.bytes_max {
            return Err(Refusal::AttachmentTooLarge(self.limits.bytes_max).into());
        }
        let write = self.hall.with_blobs(move |_| {
            file.draft.write(bytes.as_ref())?;
            Ok(file)
        });
        self.files.push(write.await?);
        Ok(())
    }

    /// Keeps the files: they wait for an entry, for a day.
    ///
    /// # Errors
    /// [`Refusal::AttachmentMissing`], [`Refusal::AttachmentStoreFull`], and again the refusals
    /// of [`Hall::begin_upload`], because the room may have changed meanwhile.
    pub async fn finish(self, once: IdempotentWrite<Vec<Attachment>>) -> Result<Vec<Attachment>> {
        let Self {
            hall,
            by,
            room,
            limits,
            files,
        } = self;
        if files.is_empty() {
            return Err(Refusal::AttachmentMissing.into());
        }
        let keep = hall.with_blobs(move |blobs| Ok(store_all(blobs, files)));
        let (kept, failure) = keep.await?;
        let digests = kept.iter().map(|(kept, _)| kept.digest).collect();
        if let Some(fault) = failure {
            drop(kept);
            hall.drop_blobs(digests).await;
            return Err(fault.into());
        }
        let now = hall.now();
        let noted = hall.store().write(move |tx| {
            callers::require_live_credential(tx, &by, now)?;
            let noted = once.run(tx, now, |tx| {
                visibility::room(tx, &by, room)?.require_writable()?;
                let mut noted = Vec::with_capacity(kept.len());
                for (blob, file) in &kept {
                    noted.push(insert_attachment(tx, &by, room, blob, file, now)?);
                }
                if attachments::bytes_stored(tx)? > limits.store_bytes_max {
                    return Err(Refusal::AttachmentStoreFull(limits.store_bytes_max).into());
                }
                Ok(noted)
            })?;
            // The claims on the blobs go with the answer, so that they outlast the commit also
            // when nobody waits for it any more.
            Ok((noted, kept))
        });
        match noted.await {
            Ok((noted, _claims)) => Ok(noted),
            Err(error) => {
                hall.drop_blobs(digests).await;
                Err(error)
            }
        }
    }
}

impl StoredAttachment {
    /// Reads `length` bytes from `offset`, which must lie in the file.
    ///
    /// # Errors
    /// A fault when the disk does not answer.
    pub async fn read(&self, bytes: Range<u64>) -> Result<Vec<u8>> {
        let blob = Arc::clone(&self.blob);
        // A part that is read at once fits into memory, so its length fits into a usize.
        let length = usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX);
        let read = self
            .hall
            .with_blobs(move |_| blob.read(bytes.start, length));
        read.await
    }
}

/// Puts files in their places, as many as the disk takes.
fn store_all(
    blobs: &Arc<Blobs>,
    files: Vec<IncomingFile>,
) -> (Vec<(StoredBlob, IncomingFile)>, Option<Fault>) {
    let mut kept = Vec::with_capacity(files.len());
    for file in files {
        match blobs.store(&file.draft) {
            Ok(blob) => kept.push((blob, file)),
            Err(fault) => return (kept, Some(fault)),
        }
    }
    (kept, None)
}

fn insert_attachment(
    tx: &mut Tx<'_>,
    by: &Caller,
    room: RoomId,
    blob: &StoredBlob,
    file: &IncomingFile,
    now: Timestamp,
) -> Result<Attachment> {
    let new = NewAttachment {
        id: Hall::new_id(AttachmentId::from_bytes),
        room,
        uploader: by.author,
        name: file.name.clone(),
        mime_type: file.mime_type.clone(),
        picture: blob.picture,
        size: blob.size,
        sha256: blob.digest,
        now,
    };
    attachments::insert(tx, new)
}

fn visible(db: &ReadTx<'_>, by: &Caller, room: RoomId, id: AttachmentId) -> Result<AttachmentRow> {
    let floor = visibility::room(db, by, room)?.floor;
    let known = attachments::find(db, room, id)?;
    let known = known.filter(|known| match known.entry_seq {
        Some(seq) => seq > floor,
        None => known.uploader == by.author,
    });
    Ok(known.ok_or(Refusal::NotFound(ResourceKind::Attachment))?)
}

/// A room that is missing or hidden reads as a missing attachment: one answer for all of it.
fn as_missing_attachment(error: Error) -> Error {
    match error {
        Error::Refusal(Refusal::NotFound(_)) => Refusal::NotFound(ResourceKind::Attachment).into(),
        other => other,
    }
}

/// Holds back a post with more files than an entry takes.
///
/// # Errors
/// [`Refusal::Validation`] on `attachmentIds`.
pub(crate) fn require_count_allowed(db: &ReadTx<'_>, ids: &[AttachmentId]) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let most = settings::attachment_limits(db)?.per_entry_max;
    if ids.len() > most {
        return Err(Refusal::field("attachmentIds", format!("at most {most}")).into());
    }
    Ok(())
}

/// The files that a post brings along.
///
/// # Errors
/// `NotFound` for one that is not in this room or not the caller's own.
pub(crate) fn attachments_to_post(
    db: &ReadTx<'_>,
    by: &Caller,
    room: RoomId,
    ids: &[AttachmentId],
) -> Result<Vec<AttachmentRow>> {
    let mut files = Vec::with_capacity(ids.len());
    for id in ids {
        let known = attachments::find(db, room, *id)?;
        let own = known.filter(|known| known.uploader == by.author);
        files.push(own.ok_or(Refusal::NotFound(ResourceKind::Attachment))?);
    }
    Ok(files)
}

/// The same files, once nothing but their own state can be against it.
///
/// # Errors
/// [`Refusal::AttachmentAlreadyPosted`].
pub(crate) fn unposted(files: Vec<AttachmentRow>) -> Result<Vec<Attachment>, Refusal> {
    if files.iter().any(|known| known.entry_seq.is_some()) {
        return Err(Refusal::AttachmentAlreadyPosted);
    }
    Ok(files.into_iter().map(|known| known.attachment).collect())
}

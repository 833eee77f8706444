//! Saving: from what was asked to what was committed.
//! Source: contract 6.4, "Check order and answers", and 6.6, "Steps".

use std::os::fd::AsFd;

use guildhall_domain::{
    Error, Fault, Refusal, Result, Timestamp,
    callers::{AnyCaller, Caller, Gate as _, Owner},
    errors::{FaultKind, ResourceKind},
    files::{
        self as rules, Digest, FileIdentity, SaveConflict, SaveEffect, SaveVerdict, TextError,
        checkbox::{self, CheckboxError},
        document_saves::{IncarnationClaim, ReceiptStatus, ReplayOutcome, SaveReceipt},
        recovery::PersistentInode,
    },
    ids::DocumentId,
    limits,
};
use guildhall_store::{
    ReadTx, Tx,
    canvas::{self, CanvasDocumentRow},
    files::{self, SaveIntentRow},
};
use guildhall_world::{
    confined_fs::FileScope,
    file_saving::{self, FileLocation, PlannedSave, SaveError, SaveId, SaveStep},
};

use super::{
    commit::{WrittenSave, receipt, record_save},
    file_locks::LockKey,
    save_job::{SaveAction, SaveJob},
    text_file::TextFile,
};
use crate::{
    Hall,
    idempotency::{IdempotentWrite, ReplayCheck},
    visibility,
};

/// A file that is to be given other content.
#[derive(Clone, Debug)]
pub struct SaveFile {
    /// A folder: absolute, `~` or `~/x`.
    pub cwd: String,
    /// A file in it.
    pub path: String,
    /// All of the new content.
    pub content: String,
    /// What the file is to hold before; `None` overwrites it.
    pub baseline: Option<Digest>,
    /// Which file is meant.
    pub identity: Option<FileIdentity>,
    /// Whether it is the file of a canvas document.
    pub document: Option<DocumentSaveRequest>,
}

/// A save of a canvas document's file, which the owner alone makes.
#[derive(Clone, Debug)]
pub struct DocumentSaveRequest {
    /// The owner.
    pub by: Owner,
    /// The document.
    pub document: DocumentId,
    /// The client's id of the save.
    pub event: String,
    /// What the file is to hold before.
    pub expected: Digest,
    /// The incarnation that is meant.
    pub claimed: IncarnationClaim,
}

/// One checkbox of a Markdown file that is to be set.
#[derive(Clone, Debug)]
pub struct SetCheckbox {
    /// A folder: absolute, `~` or `~/x`.
    pub cwd: String,
    /// A file in it.
    pub path: String,
    /// The line, from 1.
    pub line: u64,
    /// The whole line without its ending.
    pub expected_line: String,
    /// Whether it is to be checked.
    pub checked: bool,
}

/// What came of a save. Source: contract 6.4, "200 body".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveOutcome {
    /// The SHA-256 of what the file holds; of a repeat, what it held then.
    pub hash: Digest,
    /// Whether this save wrote.
    pub effect: SaveEffect,
    /// Which file it is now.
    pub identity: FileIdentity,
    /// For a committed save of a document.
    pub receipt: Option<SaveReceipt>,
}

impl Hall {
    /// Gives a file that is there other content.
    ///
    /// # Errors
    /// In the order of contract 6.4: [`Refusal::NullByte`], [`Refusal::FileTooLarge`];
    /// [`Refusal::DocEventIdConflict`]; the refusals of 6.1 and, of a document, `NotFound`,
    /// [`Refusal::DocumentNotChat`], [`Refusal::RoomArchived`], [`Refusal::NotAMember`];
    /// [`Refusal::NotAFile`], [`Refusal::BinaryFile`], [`Refusal::NotUtf8`]; those of the gate;
    /// [`Refusal::FileIdentityChanged`], [`Refusal::DocumentFileMismatch`],
    /// [`Refusal::DocumentIncarnationChanged`], [`Refusal::FileConflict`]; faults of writing.
    pub async fn save_file(
        &self,
        by: &AnyCaller,
        ask: SaveFile,
        once: IdempotentWrite<SaveOutcome>,
    ) -> Result<SaveOutcome> {
        no_null(&ask.cwd, &ask.path)?;
        if ask.content.len() as u64 > limits::FILE_SIZE_MAX {
            return Err(Refusal::FileTooLarge.into());
        }
        self.check_repeat(once.replay_check()).await?;
        let content = rules::digest(ask.content.as_bytes());
        let baseline = match &ask.document {
            Some(save) => Some(save.expected),
            None => ask.baseline,
        };
        let written = baseline.map(|baseline| *baseline.as_bytes());
        let request = rules::fingerprint(&[
            b"save",
            ask.cwd.as_bytes(),
            ask.path.as_bytes(),
            content.as_bytes(),
            written.as_ref().map_or(&[][..], |written| written),
        ]);
        let job = SaveJob {
            by: *by.caller(),
            cwd: ask.cwd,
            path: ask.path,
            request,
            deed: SaveAction::Save {
                content: ask.content,
                baseline,
                identity: ask.identity,
                document: ask.document.map(Box::new),
            },
        };
        self.run_save(job, once).await
    }

    /// Sets one checkbox of a Markdown file; every other byte stays.
    ///
    /// # Errors
    /// Those of [`Hall::save_file`], and [`Refusal::NotACheckbox`].
    ///
    /// Source: contract 6.6, "checkbox".
    pub async fn set_checkbox(
        &self,
        by: &AnyCaller,
        ask: SetCheckbox,
        once: IdempotentWrite<SaveOutcome>,
    ) -> Result<SaveOutcome> {
        no_null(&ask.cwd, &ask.path)?;
        self.check_repeat(once.replay_check()).await?;
        let request = rules::fingerprint(&[
            b"checkbox",
            ask.cwd.as_bytes(),
            ask.path.as_bytes(),
            &ask.line.to_be_bytes(),
            ask.expected_line.as_bytes(),
            &[u8::from(ask.checked)],
        ]);
        let job = SaveJob {
            by: *by.caller(),
            cwd: ask.cwd,
            path: ask.path,
            request,
            deed: SaveAction::Checkbox {
                line: ask.line,
                expected: ask.expected_line,
                checked: ask.checked,
            },
        };
        self.run_save(job, once).await
    }

    /// Holds back what was done under its key before.
    async fn check_repeat(&self, before: ReplayCheck) -> Result<()> {
        let now = self.now();
        let answered = move |db: &ReadTx<'_>| before.check(db, now);
        self.store().read(answered).await?;
        Ok(())
    }

    /// Keeps what came of a job that wrote nothing now.
    async fn store_response(
        &self,
        once: IdempotentWrite<SaveOutcome>,
        saved: SaveOutcome,
    ) -> Result<SaveOutcome> {
        if once.claim().is_none() {
            return Ok(saved);
        }
        let now = self.now();
        let keep = move |tx: &mut Tx<'_>| once.run(tx, now, |_| Ok(saved));
        self.store().write(keep).await
    }

    /// Admits a job and carries it out, also when nobody waits for it any more.
    async fn run_save(
        &self,
        job: SaveJob,
        once: IdempotentWrite<SaveOutcome>,
    ) -> Result<SaveOutcome> {
        if let Some(saved) = self.replay_save(&job).await? {
            return self.store_response(once, saved).await;
        }
        let (reach, seen) = self.admit(&job).await?;
        file_saving::at(SaveStep::Admitted).map_err(failed)?;
        let keys = vec![
            LockKey::Inode(seen.dev, seen.ino),
            LockKey::Path(seen.path.clone()),
        ];
        let locked = self.inner.gate.lock(keys, self.tasks().stopping()).await?;
        let hall = self.clone();
        let work = async move {
            let _locked = locked;
            hall.save_locked(job, &reach, &seen, once).await
        };
        let done = self.tasks().finish(work).await;
        done.unwrap_or_else(|| Err(Fault::broken("saving a file", "it panicked").into()))
    }

    /// What is answered to a save of a document that was made before; row 5.
    async fn replay_save(&self, job: &SaveJob) -> Result<Option<SaveOutcome>> {
        let SaveAction::Save {
            document: Some(save),
            ..
        } = &job.deed
        else {
            return Ok(None);
        };
        let (document, event) = (save.document, save.event.clone());
        let found = self
            .store()
            .read(move |db| files::completion(db, document, &event))
            .await?;
        let Some(done) = found.value else {
            return Ok(None);
        };
        let (effect, status) = match done.replay(&job.request) {
            ReplayOutcome::Conflict => return Err(Refusal::DocEventIdConflict.into()),
            ReplayOutcome::Duplicate => (SaveEffect::NoOp, ReceiptStatus::Duplicate),
            ReplayOutcome::First => {
                let event = save.event.clone();
                let is_first = self
                    .store()
                    .write(move |tx| files::mark_completion_announced(tx, document, &event))
                    .await?;
                match is_first {
                    true => (SaveEffect::Changed, ReceiptStatus::Accepted),
                    false => (SaveEffect::NoOp, ReceiptStatus::Duplicate),
                }
            }
        };
        Ok(Some(SaveOutcome {
            hash: done.file_hash,
            effect,
            identity: done.identity.clone(),
            receipt: Some(receipt(save, &done, status)),
        }))
    }

    /// Row 6: whether the caller may reach the file, and which locks it has.
    async fn admit(&self, job: &SaveJob) -> Result<(FileScope, AdmittedFile)> {
        let (by, now) = (job.by, self.now());
        let document = job.deed.document().map(|save| save.document);
        let known = self.store().read(move |db| {
            let reach = visibility::file_scope(db, &by)?;
            Ok((reach, document.map(|id| may_save(db, &by, id, now))))
        });
        let (reach, may) = known.await?.value;
        let found = self.find_file(&reach, job).await;
        let admitted = match found {
            // Said after what is said of the document.
            Err(Error::Refusal(why @ Refusal::NotAFile)) => Err(why),
            found => Ok(found?),
        };
        may.transpose()?;
        let admitted = admitted?;
        if admitted.size > limits::FILE_SIZE_MAX {
            // It is never written, so that no lock is needed to say why.
            let most = job.deed.looked_at_max();
            let opened = self.open_file(&reach, job, most).await?;
            self.decide_save(job, opened, &admitted).await?;
            return Err(Refusal::FileTooLarge.into());
        }
        Ok((reach, admitted))
    }

    /// Finds the file; what it holds is read once its locks are held.
    async fn find_file(&self, reach: &FileScope, job: &SaveJob) -> Result<AdmittedFile> {
        let (reach, cwd, path) = (reach.clone(), job.cwd.clone(), job.path.clone());
        self.with_files(move |confined, _| {
            let file = confined.open_folder(&reach, &cwd)?.file(&path)?;
            let physical = file.physical();
            Ok(AdmittedFile {
                dev: physical.dev,
                ino: physical.ino,
                path: file.path().to_owned(),
                size: file.size_and_mtime().size,
                identity: FileIdentity::new(confined.identity(physical)),
            })
        })
        .await
    }

    /// The job's file as it is now, while it has at most `most` bytes.
    async fn open_file(&self, reach: &FileScope, job: &SaveJob, most: u64) -> Result<OpenedFile> {
        let (reach, cwd, path) = (reach.clone(), job.cwd.clone(), job.path.clone());
        self.with_files(move |confined, _| {
            let target = confined.open_folder(&reach, &cwd)?.target(&path)?;
            let file = TextFile::of(confined, target, most)?;
            let folder = file.target.parent.identity()?.to_inode();
            Ok(OpenedFile { file, folder })
        })
        .await
    }

    /// The rest, while the file's locks are held.
    async fn save_locked(
        &self,
        job: SaveJob,
        reach: &FileScope,
        seen: &AdmittedFile,
        once: IdempotentWrite<SaveOutcome>,
    ) -> Result<SaveOutcome> {
        self.recover_saves_of(&seen.path).await?;
        if let Some(saved) = self.replay_save(&job).await? {
            return self.store_response(once, saved).await;
        }
        let most = job.deed.looked_at_max();
        let opened = self.open_file(reach, &job, most).await?;
        // Row 7, before it is asked which file it is; who said what the file is to hold hears that
        // it holds something else.
        if let Err(why @ (TextError::Binary | TextError::NotUtf8)) = &opened.file.text
            && !job.deed.has_baseline()
        {
            return Err(Refusal::from(*why).into());
        }
        let (opened, content) = match self.decide_save(&job, opened, seen).await? {
            SaveDecision::Left(saved) => return self.store_response(once, saved).await,
            SaveDecision::Write(opened, content) => (opened, content),
        };
        let intent = job.intent(&opened, &content)?;
        let noted = intent.clone();
        let now = self.now();
        self.store()
            .write(move |tx| files::insert_intent(tx, &noted, now))
            .await?;
        match self.write_file(&intent, opened.file, content).await {
            Ok(identity) => self.commit_save(intent, identity, once).await,
            Err(error) => {
                // What is left of it is undone, or stays noted for the next start.
                self.recover_saves_of(&intent.path).await?;
                match error {
                    WriteError::Rewritten => {
                        let most = limits::FILE_HASHED_MAX;
                        let now = self.open_file(reach, &job, most).await?.file.now();
                        Err(Refusal::FileConflict(Box::new(now)).into())
                    }
                    WriteError::Refused(error) => Err(error),
                }
            }
        }
    }

    /// Rows 9 to 12; first of all, whether it is still the file that was `seen` at admission and
    /// whose locks are held, or one that another save of ours made of it meanwhile.
    async fn decide_save(
        &self,
        job: &SaveJob,
        opened: OpenedFile,
        seen: &AdmittedFile,
    ) -> Result<SaveDecision> {
        let now = self.now();
        let file = &opened.file;
        let path = file.target.file.path().to_owned();
        let current = file.current.clone();
        let (identity, admitted) = (job.deed.identity(), seen.identity.clone());
        let document = job.deed.document().map(|save| save.document);
        let known = self.store().read(move |db| {
            let kept = match document {
                Some(id) => canvas::by_id(db, id, now)?,
                None => None,
            };
            let binding = kept.and_then(|kept| kept.binding);
            let bound = binding.iter().map(|binding| binding.identity.clone());
            let asked: Vec<_> = identity
                .into_iter()
                .chain([admitted])
                .chain(bound)
                .collect();
            let lineage = files::lineage(db, &current.identity, &asked)?;
            Ok((files::last_save(db, &path)?, lineage, binding))
        });
        let (last, lineage, binding) = known.await?.value;
        let is_seen = file.target.file.path() == seen.path
            && lineage.holds(&file.current.identity, &seen.identity);
        if !is_seen {
            return Err(Refusal::FileIdentityChanged.into());
        }
        let content = match &job.deed {
            SaveAction::Save { content, .. } => content.clone(),
            SaveAction::Checkbox {
                line,
                expected,
                checked,
            } => {
                let is_retry = last.as_ref().is_some_and(|last| {
                    last.request == Some(job.request) && last.hash == file.current.hash
                });
                if is_retry {
                    return Ok(SaveDecision::Left(unchanged(file)));
                }
                let text = file.text.as_ref().map_err(|why| Refusal::from(*why))?;
                match checkbox::set(text, *line, expected, *checked) {
                    Ok(text) => text,
                    Err(CheckboxError::LineChanged) => {
                        return Err(Refusal::FileConflict(Box::new(opened.file.now())).into());
                    }
                    Err(CheckboxError::NotACheckbox) => return Err(Refusal::NotACheckbox.into()),
                }
            }
        };
        let asked = job.facts_for_decision(&content, file, binding);
        match rules::decide(&asked, &file.current, last.as_ref(), &lineage) {
            Ok(SaveVerdict::Same | SaveVerdict::Retried) => Ok(SaveDecision::Left(unchanged(file))),
            Ok(SaveVerdict::Write) => match &file.text {
                Ok(_) => Ok(SaveDecision::Write(opened, content)),
                Err(why) => Err(Refusal::from(*why).into()),
            },
            Err(stale) => Err(refused(stale, opened.file).into()),
        }
    }

    /// Steps 4 to 7; answers which file it is then.
    async fn write_file(
        &self,
        intent: &SaveIntentRow,
        file: TextFile,
        content: String,
    ) -> Result<FileIdentity, WriteError> {
        let _names = self.inner.gate.shared().await?;
        let (mark, meant) = (SaveId::kept(intent.mark.clone()), intent.meant.clone());
        let written = self.with_files(move |confined, journals| {
            let save = PlannedSave {
                place: FileLocation {
                    folder: file.target.parent.as_fd(),
                    name: &file.target.name,
                },
                file: file.target.file.file(),
                old: meant.old,
                content: content.as_bytes(),
                new: meant.new,
                mark: &mark,
                journals,
            };
            let written = file_saving::at(SaveStep::Intended)
                .map_err(SaveError::from)
                .and_then(|()| file_saving::replace(&save, &file_saving::at))
                .map(|physical| FileIdentity::new(confined.identity(physical)));
            Ok(written)
        });
        written.await?.map_err(unwritten)
    }

    /// SaveStep 8.
    async fn commit_save(
        &self,
        intent: SaveIntentRow,
        identity: FileIdentity,
        once: IdempotentWrite<SaveOutcome>,
    ) -> Result<SaveOutcome> {
        let done = WrittenSave {
            intent,
            identity,
            is_told: true,
        };
        let now = self.now();
        file_saving::at(SaveStep::Saved).map_err(failed)?;
        let saved = self
            .store()
            .write(move |tx| once.run(tx, now, |tx| record_save(tx, &done, now)))
            .await?;
        file_saving::at(SaveStep::Committed).map_err(failed)?;
        Ok(saved)
    }
}

fn no_null(cwd: &str, path: &str) -> Result<(), Refusal> {
    match cwd.contains('\0') || path.contains('\0') {
        true => Err(Refusal::NullByte),
        false => Ok(()),
    }
}

/// A file whose locks are held, with its folder.
pub(super) struct OpenedFile {
    pub(super) file: TextFile,
    pub(super) folder: PersistentInode,
}

/// A file as it was at admission.
struct AdmittedFile {
    dev: u64,
    ino: u64,
    /// Its canonical path.
    path: String,
    /// Bytes.
    size: u64,
    identity: FileIdentity,
}

/// What is to be done with a file.
enum SaveDecision {
    /// Nothing.
    Left(SaveOutcome),
    /// It is given this content.
    Write(OpenedFile, String),
}

/// Why a file was not written.
enum WriteError {
    /// Somebody wrote into it meanwhile.
    Rewritten,
    /// Anything else.
    Refused(Error),
}

impl<E: Into<Error>> From<E> for WriteError {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

fn unwritten(failure: SaveError) -> WriteError {
    match failure {
        SaveError::Rewritten => WriteError::Rewritten,
        SaveError::Replaced => Refusal::FileIdentityChanged.into(),
        SaveError::Io(error) => failed(error).into(),
    }
}

/// Why the system did not let a file be written.
fn failed(error: std::io::Error) -> Error {
    use std::io::ErrorKind;
    let during = "saving a file";
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Fault::new(FaultKind::StorageFull, during, error).into()
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Refusal::PermissionDenied.into()
        }
        _ => Fault::new(FaultKind::FileSave, during, error).into(),
    }
}

/// A file that is left as it is.
fn unchanged(file: &TextFile) -> SaveOutcome {
    SaveOutcome {
        hash: file.current.hash,
        effect: SaveEffect::NoOp,
        identity: file.current.identity.clone(),
        receipt: None,
    }
}

fn refused(stale: SaveConflict, file: TextFile) -> Refusal {
    match stale {
        SaveConflict::IdentityChanged => Refusal::FileIdentityChanged,
        SaveConflict::DocumentFileMismatch => Refusal::DocumentFileMismatch,
        SaveConflict::IncarnationChanged => Refusal::DocumentIncarnationChanged,
        SaveConflict::Conflict => Refusal::FileConflict(Box::new(file.now())),
    }
}

/// Whether the caller may save a document: it shows a file, on a canvas the caller writes on.
fn may_save(db: &ReadTx<'_>, by: &Caller, id: DocumentId, now: Timestamp) -> Result<()> {
    let CanvasDocumentRow { document, .. } =
        canvas::by_id(db, id, now)?.ok_or(Refusal::NotFound(ResourceKind::Document))?;
    if document.content.path().is_none() {
        return Err(Refusal::DocumentNotChat.into());
    }
    Ok(visibility::canvas(db, by, document.scope)?.require_writable()?)
}

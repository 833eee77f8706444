//! Repeats: a change asked for twice with one idempotency key has one effect.
//! The answer is kept in the transaction of the change, so that a repeat after a crash finds
//! both or neither.

use guildhall_domain::{
    Fault, Refusal, Result, Timestamp,
    errors::Error,
    idempotency::{IdempotencyClaim, RecordedBody, RecordedResponse},
};
use guildhall_store::{ReadTx, Tx, idempotency};
use guildhall_world::{
    digests::DigestBuilder,
    seal::{Seal, SealContext},
};

/// Seconds an answer is kept for repeats: 24 hours. Source: contract 1.7, `IDEMPOTENCY_TTL`.
pub const IDEMPOTENCY_TTL_S: i64 = 24 * 3_600;

/// Bytes of all kept answers together; the oldest go first.
const KEPT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Kept answers one chore's job drops, so that writers never wait long.
const BATCH: u32 = 100;

/// A change that happens once: under a claim, or without one each time it is asked for.
pub struct IdempotentWrite<T>(Option<KeyedWrite<T>>);

struct KeyedWrite<T> {
    claim: IdempotencyClaim,
    answer: RecordResponse<T>,
    /// Keeps an answer that holds secrets; without it there is none to keep.
    seal: Option<Seal>,
}

/// A look at what was answered before, without doing anything.
#[derive(Clone)]
pub(crate) struct ReplayCheck(Option<(IdempotencyClaim, Option<Seal>)>);

impl ReplayCheck {
    /// Holds back a change that was done before. Only what follows from the request alone may be
    /// asked before this. Source: contract 1.3, check 9.
    ///
    /// # Errors
    /// Those of [`IdempotentWrite::run`] without its job's.
    pub(crate) fn check(&self, db: &ReadTx<'_>, now: Timestamp) -> Result<()> {
        let Some((claim, seal)) = &self.0 else {
            return Ok(());
        };
        let not_before = now.plus_seconds(-IDEMPOTENCY_TTL_S);
        match idempotency::find(db, &claim.id, not_before)? {
            Some((fingerprint, answered)) => {
                Err(replay(claim, fingerprint, answered, seal.as_ref()))
            }
            None => Ok(()),
        }
    }
}

/// What an outcome is answered with.
type RecordResponse<T> = Box<dyn FnOnce(&T) -> Result<RecordedResponse> + Send>;

impl<T> IdempotentWrite<T> {
    /// A change without a key: asked twice, done twice.
    pub fn without_key() -> Self {
        Self(None)
    }

    /// A change under `claim`; `answer` is what its outcome is answered with.
    pub fn with_key(
        claim: IdempotencyClaim,
        answer: impl FnOnce(&T) -> Result<RecordedResponse> + Send + 'static,
    ) -> Self {
        Self(Some(KeyedWrite {
            claim,
            answer: Box::new(answer),
            seal: None,
        }))
    }

    /// The same, for an answer that may hold secrets: it is kept sealed. `reads_secrets` says
    /// whether the caller is shown them: those who are not are never answered what was answered
    /// to those who are, although they may be the same author.
    pub(crate) fn sealed(mut self, seal: &Seal, reads_secrets: bool) -> Self {
        if let Some(claimed) = &mut self.0 {
            claimed.seal = Some(seal.clone());
            if reads_secrets {
                let mut apart = DigestBuilder::default();
                apart.add(b"with secrets");
                apart.add(&claimed.claim.id);
                claimed.claim.id = *apart.finish().as_bytes();
            }
        }
        self
    }

    /// The key it is asked for under, and what was asked.
    pub(crate) fn claim(&self) -> Option<IdempotencyClaim> {
        self.0.as_ref().map(|claimed| claimed.claim)
    }

    /// A look at what was answered before.
    pub(crate) fn replay_check(&self) -> ReplayCheck {
        let claimed = self.0.as_ref();
        ReplayCheck(claimed.map(|claimed| (claimed.claim, claimed.seal.clone())))
    }

    /// Runs `job`, unless it was done under this claim before.
    ///
    /// # Errors
    /// [`Error::Repeated`] with the answer of then, [`Refusal::SecretAlreadyShown`] when that
    /// held one, [`Refusal::IdempotencyKeyReused`] when another request used the key; else
    /// whatever the job answers.
    ///
    /// Source: contract 1.7.
    pub(crate) fn run(
        self,
        tx: &mut Tx<'_>,
        now: Timestamp,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T>,
    ) -> Result<T> {
        let Some(KeyedWrite {
            claim,
            answer,
            seal,
        }) = self.0
        else {
            return job(tx);
        };
        let not_before = now.plus_seconds(-IDEMPOTENCY_TTL_S);
        if let Some((fingerprint, answered)) = idempotency::find(tx, &claim.id, not_before)? {
            return Err(replay(&claim, fingerprint, answered, seal.as_ref()));
        }
        let outcome = job(tx)?;
        let answered = response_to_store(&claim, answer(&outcome)?, seal.as_ref())?;
        idempotency::keep(tx, &claim, &answered, now)?;
        idempotency::make_room(tx, KEPT_BYTES_MAX)?;
        Ok(outcome)
    }
}

fn replay(
    claim: &IdempotencyClaim,
    fingerprint: [u8; 32],
    answered: RecordedResponse,
    seal: Option<&Seal>,
) -> Error {
    if fingerprint != claim.fingerprint {
        return Refusal::IdempotencyKeyReused.into();
    }
    let RecordedResponse { status, body } = answered;
    let body = match body {
        RecordedBody::Secret(id) => return Refusal::SecretAlreadyShown(id).into(),
        RecordedBody::Json(body) => Some(body),
        RecordedBody::Private(sealed) => seal.and_then(|seal| {
            let parts = seal_context(claim);
            seal.unseal(SealContext(&parts), &sealed)
        }),
    };
    match body {
        Some(body) => Error::Repeated(Box::new(RecordedResponse {
            status,
            body: RecordedBody::Json(body),
        })),
        // The key it was sealed with is lost.
        None => Refusal::SecretAlreadyShown(String::new()).into(),
    }
}

/// The answer as it is kept.
fn response_to_store(
    claim: &IdempotencyClaim,
    answered: RecordedResponse,
    seal: Option<&Seal>,
) -> Result<RecordedResponse, Fault> {
    let RecordedBody::Private(body) = answered.body else {
        return Ok(answered);
    };
    let seal = seal.ok_or_else(|| Fault::broken("keeping an answer", "there is no seal for it"))?;
    let parts = seal_context(claim);
    Ok(RecordedResponse {
        status: answered.status,
        body: RecordedBody::Private(seal.seal(SealContext(&parts), &body)?),
    })
}

/// Where an answer with secrets is kept.
fn seal_context(claim: &IdempotencyClaim) -> [&[u8]; 2] {
    [b"repeats", &claim.id]
}

/// Drops answers that no longer count; says whether there may be more.
pub(crate) fn drop_due(tx: &mut Tx<'_>, now: Timestamp) -> Result<bool> {
    let before = now.plus_seconds(-IDEMPOTENCY_TTL_S);
    Ok(idempotency::drop_before(tx, before, BATCH)? == BATCH as usize)
}

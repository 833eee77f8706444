//! Repeats: a change asked for twice with one idempotency key has one effect.
//! The answer is kept in the transaction of the change, so that a repeat after a crash finds
//! both or neither.

use guildhall_domain::{
    Moment, Refusal, Result,
    outcome::Error,
    repeats::{Answered, AnsweredBody, Claim},
};
use guildhall_store::{Tx, repeats};

/// Seconds an answer is kept for repeats: 24 hours. Source: contract 1.7, `IDEMPOTENCY_TTL`.
pub const IDEMPOTENCY_TTL_S: i64 = 24 * 3_600;

/// Bytes of all kept answers together; the oldest go first.
const KEPT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Kept answers one chore's job drops, so that writers never wait long.
const BATCH: u32 = 100;

/// A change that happens once: under a claim, or without one each time it is asked for.
pub struct Once<T>(Option<Claimed<T>>);

struct Claimed<T> {
    claim: Claim,
    answer: Answer<T>,
}

/// What an outcome is answered with.
type Answer<T> = Box<dyn FnOnce(&T) -> Result<Answered> + Send>;

impl<T> Once<T> {
    /// A change without a key: asked twice, done twice.
    pub fn without_key() -> Self {
        Self(None)
    }

    /// A change under `claim`; `answer` is what its outcome is answered with.
    pub fn claimed(
        claim: Claim,
        answer: impl FnOnce(&T) -> Result<Answered> + Send + 'static,
    ) -> Self {
        Self(Some(Claimed {
            claim,
            answer: Box::new(answer),
        }))
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
        now: Moment,
        job: impl FnOnce(&mut Tx<'_>) -> Result<T>,
    ) -> Result<T> {
        let Some(Claimed { claim, answer }) = self.0 else {
            return job(tx);
        };
        let not_before = now.plus_seconds(-IDEMPOTENCY_TTL_S);
        if let Some((fingerprint, answered)) = repeats::find(tx, &claim.id, not_before)? {
            return Err(again(&claim, fingerprint, answered));
        }
        let outcome = job(tx)?;
        repeats::keep(tx, &claim, &answer(&outcome)?, now)?;
        repeats::make_room(tx, KEPT_BYTES_MAX)?;
        Ok(outcome)
    }
}

fn again(claim: &Claim, fingerprint: [u8; 32], answered: Answered) -> Error {
    if fingerprint != claim.fingerprint {
        return Refusal::IdempotencyKeyReused.into();
    }
    match answered.body {
        AnsweredBody::Secret(id) => Refusal::SecretAlreadyShown(id).into(),
        AnsweredBody::Json(_) => Error::Repeated(Box::new(answered)),
    }
}

/// Drops answers that no longer count; says whether there may be more.
pub(crate) fn drop_due(tx: &mut Tx<'_>, now: Moment) -> Result<bool> {
    let before = now.plus_seconds(-IDEMPOTENCY_TTL_S);
    Ok(repeats::drop_before(tx, before, BATCH)? == BATCH as usize)
}

//! Permits: the proof that a gated deed may happen, and how a request comes by one.

use guildhall_domain::{
    Fault, Moment, Result,
    approvals::{self as rules, Wanted},
    callers::Caller,
    ids::ApprovalId,
};
use guildhall_store::Tx;
use tokio::sync::watch;

use crate::{Hall, callers};

/// What a gated request brings along.
#[derive(Clone, Default)]
pub struct Presented {
    /// The token of an approval, from the header or the argument.
    pub token: Option<String>,
    /// Seconds the request may be held; `None` for the usual time.
    pub wait: Option<u32>,
    /// Whether somebody still waits for the answer.
    pub listening: Listening,
}

/// Whether somebody still waits for an answer; always, unless it is told otherwise.
#[derive(Clone, Debug, Default)]
#[expect(dead_code, reason = "requests are not held yet")]
pub struct Listening(Option<watch::Receiver<()>>);

impl Listening {
    /// As long as the sender of `line` lives.
    pub fn on(line: watch::Receiver<()>) -> Self {
        Self(Some(line))
    }
}

/// Proof that a gated deed may happen. Only [`Hall::permit`] makes one.
#[derive(Debug)]
pub enum Permit {
    /// The request of a person is the decision itself.
    Person,
    /// A person approved the request.
    Approved(Approved),
}

/// A granted approval on its way to be used.
#[derive(Debug)]
pub struct Approved {
    #[expect(dead_code, reason = "rows are not written yet")]
    id: ApprovalId,
    by: Caller,
}

impl Hall {
    /// Lets a gated deed of `by` through.
    ///
    /// # Errors
    /// `ApprovalRequired`, `ApprovalDenied`, `TooManyApprovals`.
    ///
    /// Source: contract 4.5, "Answer to a gated request".
    pub async fn permit(
        &self,
        by: &Caller,
        _wanted: Wanted,
        _presented: Presented,
    ) -> Result<Permit> {
        if rules::is_person(by) {
            return Ok(Permit::Person);
        }
        Err(Fault::broken(
            "asking a person",
            "programs and agents cannot be let in yet",
        )
        .into())
    }
}

impl Permit {
    /// Uses it up, in the transaction of the deed.
    ///
    /// # Errors
    /// `ApprovalExpired`, `ApprovalNotPending` when it counts no more.
    pub fn spend(self, tx: &mut Tx<'_>, now: Moment) -> Result<()> {
        match self {
            Self::Person => Ok(()),
            Self::Approved(Approved { id: _, by }) => callers::require(tx, &by, now),
        }
    }
}

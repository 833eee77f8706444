//! Usage: what was attempted, without arguments and results. Source: contract 5.6.

use guildhall_domain::{
    Result,
    approvals::{Requester, is_person},
    callers::{Gate, Owner},
    connectors::usage::{ConnectorUsageQuery, ExecutionAttempt},
};
use guildhall_store::{ReadSnapshot, connectors::executions};

use crate::Hall;

/// A page of attempts.
#[derive(Clone, Debug)]
pub struct UsagePage {
    /// Newest first.
    pub attempts: Vec<ExecutionAttempt>,
    /// Before which one the next page begins; `None` when there is none.
    pub next: Option<u64>,
}

impl Hall {
    /// What was attempted, newest first; to a program what it asked for itself.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    ///
    /// Source: contract 5.2 and 5.6.
    pub async fn connector_usage(
        &self,
        by: &Owner,
        ask: ConnectorUsageQuery,
    ) -> Result<ReadSnapshot<UsagePage>> {
        let caller = *by.caller();
        let ask = ConnectorUsageQuery {
            requester: (!is_person(&caller)).then(|| Requester::of(&caller)),
            ..ask
        };
        let limit = ask.limit as usize;
        let found = self.store().read(move |db| executions::usage(db, &ask));
        Ok(found.await?.map(|mut attempts| {
            let has_more = attempts.len() > limit;
            attempts.truncate(limit);
            let last = attempts.last().map(|last| last.number);
            UsagePage {
                next: last.filter(|_| has_more),
                attempts,
            }
        }))
    }
}

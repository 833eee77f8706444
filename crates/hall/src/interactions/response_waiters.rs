//! Waiting: the asks somebody waits for, each with the way its answer goes.
//! The rows are durable, this is not: it dies with the process that would hear the answer.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use guildhall_domain::{ids::ApprovalId, interactions::InteractionResponse};
use tokio::sync::oneshot;

/// The asks somebody waits for.
#[derive(Debug, Default)]
pub(crate) struct ResponseWaiters {
    /// A std mutex: held for one look-up, never over an await.
    parked: Mutex<HashMap<ApprovalId, oneshot::Sender<InteractionResponse>>>,
}

impl ResponseWaiters {
    /// Begins to wait for the answer to `id`. It is parked before its row is written, so that no
    /// decision finds a row without anybody to tell.
    ///
    /// Dropping the receiver ends the waiting.
    pub(crate) fn register(&self, id: ApprovalId) -> oneshot::Receiver<InteractionResponse> {
        let (sender, answer) = oneshot::channel();
        let mut parked = self.lock();
        parked.retain(|_, sender| !sender.is_closed());
        parked.insert(id, sender);
        answer
    }

    /// Gives whoever waits for `id` its answer; answers whether somebody did.
    pub(crate) fn deliver(&self, id: ApprovalId, answer: InteractionResponse) -> bool {
        let sender = self.lock().remove(&id);
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ApprovalId, oneshot::Sender<InteractionResponse>>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_reaches_whoever_waits_for_it_and_nobody_else() {
        let waiting = ResponseWaiters::default();
        let ids = (
            ApprovalId::from_bytes([1; 16]),
            ApprovalId::from_bytes([2; 16]),
        );
        let answer = waiting.register(ids.0);
        drop(waiting.register(ids.1));
        assert!(
            !waiting.deliver(ids.1, InteractionResponse::Cancelled),
            "nobody waits"
        );
        assert!(waiting.deliver(ids.0, InteractionResponse::Declined));
        assert!(
            !waiting.deliver(ids.0, InteractionResponse::Cancelled),
            "it has one"
        );
        assert_eq!(answer.await.unwrap(), InteractionResponse::Declined);
        drop(waiting.register(ids.1));
        drop(waiting.register(ids.0));
        assert_eq!(waiting.lock().len(), 1, "what nobody waits for is dropped");
    }
}

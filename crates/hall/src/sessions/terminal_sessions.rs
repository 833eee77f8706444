//! Sessions of the agents' own command lines: people read them, and nobody changes them.
//! Source: contract 3.5, 3.7.

use guildhall_domain::{
    Error, Refusal, Result,
    callers::{AnyCaller, Caller, Gate, Human},
    errors::ResourceKind,
    ids::SessionId,
    revisions::Revised,
    sessions::Session,
};
use guildhall_store::ReadSnapshot;

use super::without_known;
use crate::Hall;

impl Hall {
    /// The answer to a change, which a session on disk refuses.
    ///
    /// # Errors
    /// Those of `answer`; [`Refusal::SessionReadOnly`] where it is `NotFound` and the session lies
    /// on disk.
    pub async fn refuse_terminal<T>(
        &self,
        by: &Human,
        id: SessionId,
        answer: Result<T>,
    ) -> Result<T> {
        self.refuse_of_terminal(*by.caller(), id, answer).await
    }

    /// The answer to a reader, with nothing in it for a session on disk: what was said there
    /// stands in its transcript alone.
    ///
    /// # Errors
    /// Those of `answer`.
    pub async fn or_empty<T: Default + Send + 'static>(
        &self,
        by: &AnyCaller,
        id: SessionId,
        answer: Result<ReadSnapshot<T>>,
    ) -> Result<ReadSnapshot<T>> {
        self.or_of_terminal(*by.caller(), id, answer, |_| T::default())
            .await
    }

    pub(super) async fn refuse_of_terminal<T>(
        &self,
        by: Caller,
        id: SessionId,
        answer: Result<T>,
    ) -> Result<T> {
        let error = match answer {
            Err(error) if is_not_found(&error) => error,
            answer => return answer,
        };
        match self.of_terminal(by, id).await? {
            Some(_) => Err(Refusal::SessionReadOnly.into()),
            None => Err(error),
        }
    }

    /// The answer to a reader, or what a session on disk makes of it.
    pub(super) async fn or_of_terminal<T: Send + 'static>(
        &self,
        by: Caller,
        id: SessionId,
        answer: Result<ReadSnapshot<T>>,
        otherwise: impl FnOnce(Session) -> T,
    ) -> Result<ReadSnapshot<T>> {
        let error = match answer {
            Err(error) if is_not_found(&error) => error,
            answer => return answer,
        };
        let Some(session) = self.of_terminal(by, id).await? else {
            return Err(error);
        };
        let value = otherwise(session);
        self.store().read(move |_| Ok(value)).await
    }

    /// The session on disk that is none of ours; none for an agent.
    async fn of_terminal(&self, by: Caller, id: SessionId) -> Result<Option<Session>> {
        let mut on_disk = self.terminal_sessions(&AnyCaller::admit(by)?).await?;
        on_disk.retain(|session| session.id == id);
        let left = self
            .store()
            .read(move |db| without_known(db, on_disk))
            .await?;
        Ok(left.value.into_iter().next())
    }
}

/// A session on disk with a revision: when its transcript was last written.
pub(super) fn with_file_revision(session: Session) -> Revised<Session> {
    Revised {
        rev: session.updated_at.as_millis().unsigned_abs(),
        value: session,
    }
}

fn is_not_found(error: &Error) -> bool {
    matches!(
        error,
        Error::Refusal(Refusal::NotFound(ResourceKind::Session))
    )
}

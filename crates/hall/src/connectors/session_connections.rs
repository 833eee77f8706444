//! What a session says of the connections that its agent can reach.

use guildhall_domain::{
    Refusal, Result, callers::Owner, connectors::reviews::ConnectionAccess, errors::ResourceKind,
    ids::SessionId,
};
use guildhall_store::{
    ReadSnapshot,
    connectors::{grants, session_connections},
    sessions,
};

use crate::Hall;

/// A connection that a session's agent can reach.
#[derive(Clone, Debug)]
pub struct SessionConnectionState {
    /// The connection.
    pub connection: ConnectionAccess,
    /// What the session says of it; `None` where it says nothing.
    pub on: Option<bool>,
}

impl Hall {
    /// The connections with which a session's agent may run something, also those that the
    /// session turned off, in the order they were made.
    ///
    /// # Errors
    /// `NotFound` of the session.
    pub async fn session_connections(
        &self,
        _by: &Owner,
        session: SessionId,
    ) -> Result<ReadSnapshot<Vec<SessionConnectionState>>> {
        self.store()
            .read(move |db| {
                let agent = sessions::agent(db, session)?;
                let agent = agent.ok_or(Refusal::NotFound(ResourceKind::Session))?;
                let said = session_connections::of_session(db, session)?;
                let all = grants::accessible(db, agent)?;
                let one = |connection: ConnectionAccess| SessionConnectionState {
                    on: said.get(&connection.connection_id).copied(),
                    connection,
                };
                Ok(all.into_iter().map(one).collect())
            })
            .await
    }
}

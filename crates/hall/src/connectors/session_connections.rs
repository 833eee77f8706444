//! What a session says of the connections that its agent can reach.

use guildhall_domain::{
    Refusal, Result, callers::Owner, connectors::reviews::Accessible, errors::Thing, ids::SessionId,
};
use guildhall_store::{
    Seen,
    connectors::{grants, session_connections},
    sessions,
};

use crate::Hall;

/// A connection that a session's agent can reach.
#[derive(Clone, Debug)]
pub struct Reachable {
    /// The connection.
    pub connection: Accessible,
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
    ) -> Result<Seen<Vec<Reachable>>> {
        self.store()
            .read(move |db| {
                let agent = sessions::agent(db, session)?;
                let agent = agent.ok_or(Refusal::NotFound(Thing::Session))?;
                let said = session_connections::of_session(db, session)?;
                let all = grants::accessible(db, agent)?;
                let one = |connection: Accessible| Reachable {
                    on: said.get(&connection.connection_id).copied(),
                    connection,
                };
                Ok(all.into_iter().map(one).collect())
            })
            .await
    }
}

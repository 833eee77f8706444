//! What the store keeps of a session that its tasks follow from.

use guildhall_domain::{
    Result,
    ids::{AgentId, SessionId},
    transcript::Message,
};
use guildhall_store::{ReadTx, messages, sessions};

/// A session of ours.
#[derive(Clone, Debug)]
pub(super) struct StoredSession {
    /// Whose it is.
    pub(super) agent: AgentId,
    /// The runtime's type.
    pub(super) runtime: String,
    /// The runtime's own id of it; `""` until it was opened.
    pub(super) runtime_session_id: String,
}

/// The session with this id; `None` when it is not ours.
pub(super) fn session(db: &ReadTx<'_>, id: SessionId) -> Result<Option<StoredSession>> {
    Ok(sessions::by_id(db, id)?.map(|session| StoredSession {
        agent: session.agent_id,
        runtime: session.runtime,
        runtime_session_id: session.runtime_session_id,
    }))
}

/// The messages of one of our sessions that hold tool calls or plans, oldest first.
pub(super) fn messages(db: &ReadTx<'_>, id: SessionId) -> Result<Vec<Message>> {
    messages::with_work(db, id)
}

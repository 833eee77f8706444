//! What the store keeps of a session that its tasks follow from.

use guildhall_domain::{
    Result,
    ids::{AgentId, SessionId},
    transcript::Message,
};
use guildhall_store::Rx;

/// A session of ours.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// Whose it is.
    pub(super) agent: AgentId,
    /// The runtime's type.
    pub(super) runtime: String,
    /// The runtime's own id of it; `""` until it was opened.
    pub(super) runtime_session_id: String,
}

/// The session with this id; `None` when it is not ours.
///
/// The store keeps no sessions yet, so none is.
pub(super) fn session(_db: &Rx<'_>, _id: SessionId) -> Result<Option<Kept>> {
    Ok(None)
}

/// The messages of one of our sessions that hold tool calls or plans, oldest first.
///
/// The store keeps no messages yet, so there are none.
pub(super) fn messages(_db: &Rx<'_>, _id: SessionId) -> Result<Vec<Message>> {
    Ok(Vec::new())
}

//! STUB
use crate::{
    Hall,
    sessions::{Filter, Place},
};
use guildhall_domain::{Result, sessions::Session, transcript::ToolCall};
use guildhall_store::Rx;
pub(crate) fn is_task_tool(_: &ToolCall) -> bool {
    false
}
pub(crate) fn unknown(_: &Rx<'_>, s: Vec<Session>) -> Result<Vec<Session>> {
    Ok(s)
}
impl Hall {
    pub(crate) async fn terminal_sessions(
        &self,
        _: &Filter,
        _: Option<Place>,
    ) -> Result<Vec<Session>> {
        Ok(vec![])
    }
    pub(crate) async fn terminal_session(
        &self,
        _: guildhall_domain::ids::SessionId,
    ) -> Result<Option<Session>> {
        Ok(None)
    }
    pub(crate) async fn note_agent_commands(
        &self,
        _: guildhall_domain::ids::SessionId,
        _: &str,
        _: &str,
        _: &[guildhall_world::acp::AgentCommand],
    ) {
    }
}

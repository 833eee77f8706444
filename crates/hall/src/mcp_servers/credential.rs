//! Credentials: what a server is shown of a sign-in when it is connected to.

use guildhall_domain::{Fault, ids::AgentId, mcp_servers::McpServer};

use crate::Hall;

impl Hall {
    /// The token of the sign-in at `server`, which goes to its exact address alone; `None` where
    /// nobody signed in.
    ///
    /// # Errors
    /// Faults alone.
    ///
    /// Source: contract 4.8, "outgoing header".
    #[expect(
        clippy::unused_async,
        reason = "a token may have to be renewed before it is shown"
    )]
    pub(crate) async fn credential_of(
        &self,
        _agent: AgentId,
        _server: &McpServer,
    ) -> Result<Option<String>, Fault> {
        Ok(None)
    }
}

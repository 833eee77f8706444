//! Credentials: what a server is shown of a sign-in when it is connected to.

use guildhall_domain::{Error, Fault, ids::AgentId, mcp_servers::McpServer};

use crate::Hall;

impl Hall {
    /// The token of the sign-in at `server`, which goes to its exact address alone, fresh for a
    /// minute at least where it can be replaced; `None` where nobody signed in.
    ///
    /// # Errors
    /// Faults alone.
    ///
    /// Source: contract 4.8, "outgoing header".
    pub(crate) async fn credential_of(
        &self,
        agent: AgentId,
        server: &McpServer,
    ) -> Result<Option<String>, Fault> {
        match self.mcp_bearer(agent, server).await {
            Ok(bearer) => Ok(bearer),
            Err(Error::Fault(fault)) => Err(fault),
            // The agent or entry went meanwhile: nobody is signed in there.
            Err(Error::Refusal(_) | Error::Repeated(_)) => Ok(None),
        }
    }
}

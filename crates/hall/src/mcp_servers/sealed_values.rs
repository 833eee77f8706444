//! Values of env and headers: sealed in the store, each entry's for itself. Source: contract 4.3.

use std::collections::BTreeMap;

use guildhall_domain::{
    Fault,
    ids::AgentId,
    mcp_servers::{McpServer, SecretText},
};
use guildhall_store::mcp_servers::McpServerRow;
use guildhall_world::seal::{Seal, SealContext};

/// An entry with its values; those that cannot be read stay hidden.
pub(super) fn unseal(seal: &Seal, agent: AgentId, mut kept: McpServerRow) -> McpServerRow {
    let Some(sealed) = &kept.sealed else {
        return kept;
    };
    let place = seal_context(&agent, &kept.server);
    let opened = seal.unseal(SealContext(&place), sealed);
    let known: Option<BTreeMap<String, String>> =
        opened.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(mut known) = known {
        let names = kept.server.connection.values().keys();
        let values = names.map(|name| {
            let value = known.remove(name).map(SecretText::sent);
            (name.clone(), value.unwrap_or_else(SecretText::redacted))
        });
        let values = values.collect();
        kept.server.connection = kept.server.connection.with_values(values);
    }
    kept
}

/// The values of an entry, sealed; `None` when it has none.
///
/// # Errors
/// A fault when they cannot be sealed.
pub(super) fn seal(
    seal: &Seal,
    agent: AgentId,
    server: &McpServer,
) -> Result<Option<Vec<u8>>, Fault> {
    let values = server.connection.values();
    if values.is_empty() {
        return Ok(None);
    }
    let known: BTreeMap<&str, &str> = values
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.reveal()?)))
        .collect();
    let text = serde_json::to_vec(&known)
        .map_err(|error| Fault::broken("sealing the values of a tool server", error))?;
    let place = seal_context(&agent, server);
    seal.seal(SealContext(&place), &text).map(Some)
}

/// Agent, name and field: what was sealed for one entry opens at no other one.
fn seal_context<'a>(agent: &'a AgentId, server: &'a McpServer) -> [&'a [u8]; 4] {
    [
        b"mcp_servers",
        agent.as_bytes(),
        server.name.as_str().as_bytes(),
        server.connection.values_field().as_bytes(),
    ]
}

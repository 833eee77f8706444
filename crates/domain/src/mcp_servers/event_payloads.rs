//! What is told of an entry: the payloads of its events, and which a change has.
//! None can hold a value of env or headers. Source: contract 4.7.

use serde::{Deserialize, Serialize};

use super::{AuthStatus, McpServer, Pin, ServerName, ServerStatus};
use crate::{
    events::Event,
    ids::{AgentId, AuthorId},
};

/// An entry was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Added {
    /// Whose it is.
    pub agent_id: AgentId,
    /// As it is now.
    pub server: McpServer,
    /// Who asked for it.
    pub by: AuthorId,
}

/// An entry's fields changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Updated {
    /// Whose it is.
    pub agent_id: AgentId,
    /// As it is now.
    pub server: McpServer,
    /// Who changed it.
    pub by: AuthorId,
    /// The fields that changed.
    pub changed: Vec<String>,
}

/// An entry is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// Whose it was.
    pub agent_id: AgentId,
    /// Its name.
    pub name: ServerName,
    /// Who removed it.
    pub by: AuthorId,
}

/// An entry stands otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusChanged {
    /// Whose it is.
    pub agent_id: AgentId,
    /// Its name.
    pub name: ServerName,
    /// How it stands.
    pub status: ServerStatus,
    /// One sentence for people.
    pub status_detail: Option<String>,
    /// How its sign-in stands.
    pub auth_status: Option<AuthStatus>,
}

/// Something else of an entry is pinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pinned {
    /// Whose it is.
    pub agent_id: AgentId,
    /// Its name.
    pub name: ServerName,
    /// As it is now.
    pub pin: Pin,
    /// Whether nothing was pinned before.
    pub first: bool,
}

/// The events of a new entry.
pub fn of_added(agent_id: AgentId, server: &McpServer) -> Vec<Event> {
    let mut events = vec![Event::McpServerAdded(Added {
        agent_id,
        server: server.clone().redacted(),
        by: server.added_by,
    })];
    events.extend(of_pin(agent_id, &Pin::default(), server));
    events
}

/// The events of an entry that changed; `by` is who changed it, `None` for the server itself.
pub fn of_change(
    agent_id: AgentId,
    before: &McpServer,
    after: &McpServer,
    by: Option<AuthorId>,
) -> Vec<Event> {
    let mut events = Vec::new();
    let changed = before.changed(after);
    if let Some(by) = by
        && !changed.is_empty()
    {
        events.push(Event::McpServerUpdated(Updated {
            agent_id,
            server: after.clone().redacted(),
            by,
            changed,
        }));
    }
    let standing = |server: &McpServer| {
        (
            server.status,
            server.status_detail.clone(),
            server.auth_status,
        )
    };
    if standing(before) != standing(after) {
        events.push(Event::McpServerStatusChanged(StatusChanged {
            agent_id,
            name: after.name.clone(),
            status: after.status,
            status_detail: after.status_detail.clone(),
            auth_status: after.auth_status,
        }));
    }
    events.extend(of_pin(agent_id, &before.pin, after));
    events
}

fn of_pin(agent_id: AgentId, before: &Pin, after: &McpServer) -> Option<Event> {
    (*before != after.pin).then(|| {
        Event::McpServerPinned(Pinned {
            agent_id,
            name: after.name.clone(),
            pin: after.pin.clone(),
            first: before.is_empty(),
        })
    })
}

//! Filing: in which scopes each event stands, and who may hear of it.

use std::collections::BTreeSet;

use super::Event;
use crate::{
    browser::event_payloads as browser,
    connectors::event_payloads as connectors,
    ids::{AgentId, AuthorId, RoomId, SessionId},
    mcp_servers::event_payloads,
    mcp_signins,
};

/// Where an event belongs. Source: contract 1.10, "Log".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventScope {
    /// The installation.
    Hall,
    /// One room.
    Room(RoomId),
    /// One agent.
    Agent(AgentId),
    /// One session.
    Session(SessionId),
}

impl EventScope {
    /// Reads `hall`, `room:<id>`, `agent:<id>` or `session:<id>`; `None` when it has another form.
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':') {
            None if text == "hall" => Some(Self::Hall),
            Some(("room", id)) if !id.is_empty() => Some(Self::Room(RoomId::named(id))),
            Some(("agent", id)) if !id.is_empty() => Some(Self::Agent(AgentId::named(id))),
            Some(("session", id)) if !id.is_empty() => Some(Self::Session(SessionId::named(id))),
            _ => None,
        }
    }
}

impl std::fmt::Display for EventScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hall => f.write_str("hall"),
            Self::Room(room) => write!(f, "room:{room}"),
            Self::Agent(agent) => write!(f, "agent:{agent}"),
            Self::Session(session) => write!(f, "session:{session}"),
        }
    }
}

/// Who may hear of an event, beyond what its scopes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventAudience {
    /// Whoever sees one of its scopes.
    Scope,
    /// The owner; in its own scope an agent, and in a session's whoever sees the session.
    Owner,
    /// This author alone.
    Author(AuthorId),
}

/// Where an event is filed and who may hear of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventVisibility {
    /// Its main scope, the one the frame names.
    pub scope: EventScope,
    /// Further scopes whose streams bring it.
    pub also: Vec<EventScope>,
    /// Who may hear of it.
    pub audience: EventAudience,
}

impl Event {
    /// Files the event; `rooms` are the rooms an author is seen in, for `author_updated` alone.
    ///
    /// Source: contract 1.10 and the event tables of 2.10, 3.6 and 4.7.
    pub fn visibility(&self, rooms: &[RoomId]) -> EventVisibility {
        let filed = |scope, also| EventVisibility {
            scope,
            also,
            audience: EventAudience::Scope,
        };
        let owners = |agent: Option<AgentId>| EventVisibility {
            scope: EventScope::Hall,
            also: agent.map(EventScope::Agent).into_iter().collect(),
            audience: EventAudience::Owner,
        };
        let of_browser = |session: Option<SessionId>| EventVisibility {
            scope: EventScope::Hall,
            also: session.map(EventScope::Session).into_iter().collect(),
            audience: EventAudience::Owner,
        };
        let of_agents = |agents: &mut dyn Iterator<Item = &AgentId>| {
            let agents: BTreeSet<AgentId> = agents.copied().collect();
            EventVisibility {
                scope: EventScope::Hall,
                also: agents.into_iter().map(EventScope::Agent).collect(),
                audience: EventAudience::Owner,
            }
        };
        match self {
            Self::AuthorUpdated { .. } => filed(
                EventScope::Hall,
                rooms.iter().copied().map(EventScope::Room).collect(),
            ),
            Self::AgentCreated { agent }
            | Self::AgentUpdated { agent }
            | Self::AgentRetired { agent } => filed(EventScope::Agent(agent.id), Vec::new()),
            Self::AgentTokenCreated { agent_id, .. } | Self::AgentTokenRevoked { agent_id, .. } => {
                owners(Some(*agent_id))
            }
            Self::SettingsChanged { .. } => owners(None),
            Self::RoomCreated { room } | Self::RoomUpdated { room } => {
                filed(EventScope::Room(room.id), vec![EventScope::Hall])
            }
            Self::RoomMemberAdded { member } | Self::RoomMemberUpdated { member } => {
                filed(EventScope::Room(member.room_id), Vec::new())
            }
            Self::RoomMemberRemoved { room_id, .. } => {
                filed(EventScope::Room(*room_id), Vec::new())
            }
            Self::EntryAdded { entry } | Self::EntryRedacted { entry } => {
                filed(EventScope::Room(entry.room_id), Vec::new())
            }
            Self::EntryReactions { room_id, .. } => filed(EventScope::Room(*room_id), Vec::new()),
            Self::ReadCursor(cursor) => EventVisibility {
                scope: EventScope::Hall,
                also: vec![EventScope::Room(cursor.room_id)],
                audience: EventAudience::Author(cursor.author_id),
            },
            Self::SessionCreated { session }
            | Self::SessionUpdated { session }
            | Self::SessionClosed { session } => filed(EventScope::Session(session.id), Vec::new()),
            Self::MessageQueued { session_id, .. }
            | Self::MessageRemoved { session_id, .. }
            | Self::TurnStarted { session_id, .. }
            | Self::TextAppended { session_id, .. }
            | Self::ToolCallUpdated { session_id, .. }
            | Self::TasksChanged { session_id, .. }
            | Self::CommandsChanged { session_id, .. }
            | Self::InteractionResolved { session_id, .. }
            | Self::SessionModeChanged { session_id, .. }
            | Self::SessionModeRefused { session_id, .. }
            | Self::SessionNotice { session_id, .. }
            | Self::TurnEnded { session_id, .. } => {
                filed(EventScope::Session(*session_id), Vec::new())
            }
            Self::InteractionOpened { interaction }
            | Self::InteractionParked { interaction }
            | Self::InteractionDetached { interaction } => {
                filed(EventScope::Session(interaction.session_id), Vec::new())
            }
            Self::ApprovalRequested { approval } => owners(approval.notified_agent()),
            Self::ApprovalDecided { agent, .. }
            | Self::ApprovalConsumed { agent, .. }
            | Self::ApprovalExpired { agent, .. }
            | Self::ApprovalWithdrawn { agent, .. } => owners(*agent),
            Self::TurnUpdated { turn } => filed(EventScope::Room(turn.room_id), Vec::new()),
            Self::RuntimeChanged { .. } => filed(EventScope::Hall, Vec::new()),
            // Of the hall's events agents hear those that concern them alone.
            Self::PreviewOpened { .. } | Self::PreviewClosed { .. } => {
                filed(EventScope::Hall, Vec::new())
            }
            Self::McpServerAdded(event_payloads::Added { agent_id, .. })
            | Self::McpServerUpdated(event_payloads::Updated { agent_id, .. })
            | Self::McpServerRemoved(event_payloads::Removed { agent_id, .. })
            | Self::McpServerStatusChanged(event_payloads::StatusChanged { agent_id, .. })
            | Self::McpServerPinned(event_payloads::Pinned { agent_id, .. }) => {
                filed(EventScope::Agent(*agent_id), Vec::new())
            }
            Self::McpSigninRequired(mcp_signins::SigninRequired {
                agent_id, session, ..
            })
            | Self::McpSigninResolved(mcp_signins::SigninResolved {
                agent_id, session, ..
            }) => {
                let agent = EventScope::Agent(*agent_id);
                filed(session.map_or(agent, EventScope::Session), Vec::new())
            }
            Self::BrowserOpened(_)
            | Self::BrowserConnected(_)
            | Self::BrowserClosed(_)
            | Self::BrowserFailed(_) => of_browser(None),
            Self::BrowserShared(browser::Shared { session_id, .. })
            | Self::BrowserUnshared(browser::Unshared { session_id, .. }) => {
                of_browser(Some(*session_id))
            }
            Self::BrowserPaused(browser::Paused { session_id, .. })
            | Self::BrowserAgentAction(browser::AgentAction { session_id, .. }) => {
                of_browser(*session_id)
            }
            Self::ConnectorProviderChanged(_)
            | Self::ConnectorFlowChanged(_)
            | Self::CloudLinkChanged(_)
            | Self::CloudHeartbeatChanged(_)
            | Self::CloudBillingOpened(_) => owners(None),
            Self::ConnectorConnectionChanged(connectors::ConnectionChanged { agents, .. }) => {
                of_agents(&mut agents.iter())
            }
            Self::ConnectorGrantsChanged(connectors::GrantsChanged {
                agent_ids,
                agents_before,
                ..
            }) => of_agents(&mut agent_ids.iter().chain(agents_before)),
            Self::ConnectorExecutionStarted(connectors::ExecutionStarted { agent_id, .. })
            | Self::ConnectorExecutionFinished(connectors::ExecutionFinished {
                agent_id, ..
            }) => owners(Some(*agent_id)),
            Self::CanvasDocument { document, .. } => filed(document.scope.into(), Vec::new()),
            Self::CanvasDocumentClosed { scope, .. } => filed((*scope).into(), Vec::new()),
            Self::DocSaved { scope, .. } => filed((*scope).into(), Vec::new()),
            Self::FileSaved { .. }
            | Self::DirectoryCreated { .. }
            | Self::AccountCreated { .. }
            | Self::AccountRemoved { .. } => owners(None),
            Self::PasswordChanged { author_id }
            | Self::SignedOut { author_id }
            | Self::ApiKeyCreated { author_id, .. }
            | Self::ApiKeyRevoked { author_id, .. } => EventVisibility {
                scope: EventScope::Hall,
                also: Vec::new(),
                audience: EventAudience::Author(*author_id),
            },
        }
    }
}

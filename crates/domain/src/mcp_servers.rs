//! Managed tool servers of an agent: what an entry is, and what somebody may make of it.
//! Pure: rows are `store::mcp_servers`, files and programs are `world::server_programs`, deeds are
//! `hall::mcp_servers`. Source: contract 4.2 to 4.6.

pub mod approval_card;
pub mod connection_config;
pub mod event_payloads;
pub mod pin;
pub mod project_servers;
pub mod repin;
pub mod server_test;
pub mod status;

use serde::{Deserialize, Serialize};

use crate::{
    Refusal, Timestamp,
    field_validation::FieldValidator,
    ids::{AgentId, ApprovalId, AuthorId},
    limits,
};

pub use approval_card::{CardSubject, ServerApprovalCard};
pub use connection_config::{
    ConnectionConfig, RemoteConfig, SecretText, ServerAuthKind, StdioConfig, Transport,
};
pub use pin::{Pin, PinComparison, ProgramFiles};
pub use repin::PinDifference;
pub use server_test::{ServerTestResult, TestBlocker};
pub use status::{ServerStatus, StatusFacts, StatusTrigger, next};

/// The name of our own server, which every agent has and no entry may take.
pub const RESERVED_NAME: &str = "guildhall";

/// The name of an entry: 1..=64 of `[A-Za-z0-9._-]`, neither `.` nor `..`; stored as sent.
///
/// Two names are the same when they fold to the same text. Source: contract 4.2.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServerName(String);

impl ServerName {
    /// Reads a name; `None` for a text that is none.
    pub fn parse(text: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_name = limits::MCP_SERVER_NAME_CHARS.contains(&text.len())
            && text.bytes().all(is_allowed)
            && !matches!(text, "." | "..");
        is_name.then(|| Self(text.to_owned()))
    }

    /// As it was sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form under which it is unique: ASCII letters have no case.
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// Whether it is our own server's.
    pub fn is_reserved(&self) -> bool {
        self.0.eq_ignore_ascii_case(RESERVED_NAME)
    }
}

impl std::fmt::Display for ServerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a sign-in stands. Source: contract 4.2, `authStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthStatus {
    /// A token is kept, and the server takes it.
    Connected,
    /// Somebody has to sign in.
    NeedsAuth,
}

impl AuthStatus {
    /// Every state with its word.
    pub const WORDS: [(Self, &str); 2] = [
        (Self::Connected, "connected"),
        (Self::NeedsAuth, "needs-auth"),
    ];
}

/// Where the client registration of a sign-in comes from. Source: contract 4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthClientOrigin {
    /// Dynamic registration (RFC 7591).
    Registered,
    /// A client id metadata document.
    Metadata,
    /// A person typed it.
    Manual,
}

impl AuthClientOrigin {
    /// Every origin with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Registered, "registered"),
        (Self::Metadata, "metadata"),
        (Self::Manual, "manual"),
    ];
}

/// An entry of an agent, as events tell it: values of env and headers are written `"***"`.
///
/// Source: contract 4.2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// Unique for the agent.
    pub name: ServerName,
    /// Whether it is used.
    pub enabled: bool,
    /// How it is reached.
    pub connection: ConnectionConfig,
    /// When it was added.
    pub added_at: Timestamp,
    /// Who asked for it.
    pub added_by: AuthorId,
    /// How often name, connection or `enabled` changed, from 1.
    pub rev: u64,
    /// How it stands.
    pub status: ServerStatus,
    /// One sentence for people, at most 400 characters.
    pub status_detail: Option<String>,
    /// How its sign-in stands; `None` when none is known to be wanted.
    pub auth_status: Option<AuthStatus>,
    /// Where its client registration comes from.
    pub auth_client_origin: Option<AuthClientOrigin>,
    /// The question that waits while the status is `needsApproval`.
    pub approval_id: Option<ApprovalId>,
    /// `None` until its tools were listed once.
    pub tool_count: Option<u32>,
    /// What a person approved.
    pub pin: Pin,
}

impl McpServer {
    /// The facts its status follows from.
    pub fn facts(&self) -> StatusFacts {
        StatusFacts {
            is_missing: self.connection.transport() == Transport::Stdio && !self.pin.has_program(),
            wants_sign_in: self.auth_status == Some(AuthStatus::NeedsAuth),
            was_listed: self.tool_count.is_some(),
        }
    }

    /// Whether a token is kept that it takes.
    pub fn is_signed_in(&self) -> bool {
        self.auth_status == Some(AuthStatus::Connected)
    }

    /// The same with every value of env and headers hidden.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        self.connection = self.connection.redacted();
        self
    }

    /// The same as it has to be shown while values of it cannot be read, because the key they
    /// were sealed with is lost. Source: contract 4.11.
    #[must_use]
    pub fn with_lost_values(mut self) -> Self {
        let lost = self.connection.lost_values();
        if lost.is_empty() {
            return self;
        }
        let names: String = lost.join(", ").chars().take(300).collect();
        self.status_detail = Some(format!(
            "The key for its secrets is lost; enter these again: {names}."
        ));
        if self.enabled {
            self.status = ServerStatus::Failing;
        }
        self
    }

    /// The fields of contract 4.2 that a person or agent changed between two states of an entry.
    pub fn changed(&self, after: &Self) -> Vec<String> {
        let mut fields = Vec::new();
        let mut note = |is_other: bool, field: &str| {
            if is_other {
                fields.push(field.to_owned());
            }
        };
        note(self.enabled != after.enabled, "enabled");
        note(self.connection != after.connection, "connection");
        fields
    }
}

/// An entry, as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMcpServer {
    /// The agent that the body names, if it names one.
    pub agent_id: Option<AgentId>,
    /// As it was sent.
    pub name: String,
    /// How it is reached.
    pub connection: ConnectionConfig,
}

impl NewMcpServer {
    /// Checks everything that can be decided from the request alone, in the order of contract
    /// 4.4, rows 3 to 5; answers the name.
    ///
    /// # Errors
    /// [`Refusal::Validation`], [`Refusal::AgentIdMismatch`], [`Refusal::ReservedName`].
    pub fn check(&self, agent: AgentId) -> Result<ServerName, Refusal> {
        let mut check = FieldValidator::new();
        let name = check_name(&mut check, &self.name);
        self.connection.check(&mut check, "connection");
        self.connection.check_nothing_kept(&mut check, "connection");
        check.finish()?;
        if self.agent_id.is_some_and(|named| named != agent) {
            return Err(Refusal::AgentIdMismatch);
        }
        not_reserved(name)
    }
}

/// Reads the name of an entry that a request wants made.
///
/// # Errors
/// [`Refusal::Validation`], [`Refusal::ReservedName`].
pub fn name_to_make(text: &str) -> Result<ServerName, Refusal> {
    let mut check = FieldValidator::new();
    let name = check_name(&mut check, text);
    check.finish()?;
    not_reserved(name)
}

fn check_name(check: &mut FieldValidator, text: &str) -> Option<ServerName> {
    let name = ServerName::parse(text);
    if name.is_none() {
        let rule = "must be 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen, and not . or ..";
        check.fail("name", rule);
    }
    name
}

fn not_reserved(name: Option<ServerName>) -> Result<ServerName, Refusal> {
    name.filter(|name| !name.is_reserved())
        .ok_or(Refusal::ReservedName)
}

/// What may change of an entry; absent leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpServerPatch {
    /// How it is reached; a value of `"***"` keeps the stored one.
    pub connection: Option<ConnectionConfig>,
    /// Whether it is used.
    pub enabled: Option<bool>,
}

impl McpServerPatch {
    /// A change of `enabled` alone.
    pub fn enabled(enabled: bool) -> Self {
        Self {
            connection: None,
            enabled: Some(enabled),
        }
    }

    /// Checks the shape of every given field.
    ///
    /// # Errors
    /// [`Refusal::Validation`].
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        if let Some(connection) = &self.connection {
            connection.check(&mut check, "connection");
        }
        check.finish()
    }

    /// Whether the change is one that needs a card: another connection, and switching on.
    ///
    /// A connection counts also when it is the stored one: an answer that told them apart would
    /// tell whoever may not read the stored values whether a guess is right.
    ///
    /// Source: contract 4.4, "Routes".
    pub fn needs_card(&self, stored: &McpServer) -> bool {
        let switches_on = self.enabled == Some(true) && !stored.enabled;
        self.connection.is_some() || switches_on
    }
}

#[cfg(test)]
#[path = "mcp_server_test_tests.rs"]
mod tested_tests;
#[cfg(test)]
#[path = "mcp_servers_tests.rs"]
mod tests;

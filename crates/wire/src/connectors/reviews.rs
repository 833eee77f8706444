//! Reviews, revisions and grants on the wire. Source: contract 5.5.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_domain::{
    Timestamp,
    connectors::{
        classification as classes, operation_revisions as rules, reviews::GrantSelection,
        toolkits::ToolkitSlug,
    },
    ids::{AgentId, ConnectorConnectionId, OperationRevisionId, ProviderId, ReviewId, SessionId},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::connections::Connection;
use crate::{
    approvals::wire_enums,
    request_fields::{Fields, FromFields},
};

wire_enums! {
    /// What an operation does to its service.
    OperationClassification = classes::Classification {
        /// It reads only.
        Read,
        /// It changes something.
        Write,
        /// It destroys, or nobody says what it does.
        Destructive,
    }
    /// Whether an operation may be sent a second time when its first attempt failed.
    OperationRetryPolicy = classes::RetryPolicy {
        /// Never, unless it reads only.
        Never,
        /// The service takes a key by which it knows a repeat.
        ProviderIdempotencyKey,
    }
}

/// An operation as it was when it was reviewed. It never changes: where the service lists another
/// version, schema or class, that is another revision, which needs another grant.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationRevision {
    /// Its id, by which it is granted and run.
    #[schema(value_type = String)]
    pub id: OperationRevisionId,
    /// The instance.
    #[schema(value_type = String)]
    pub provider_instance_id: ProviderId,
    /// The service.
    #[schema(value_type = String, example = "rehearsal")]
    pub toolkit: ToolkitSlug,
    /// The operation's name inside its toolkit.
    #[schema(example = "add_note")]
    pub operation_slug: String,
    /// What people call it.
    pub title: String,
    /// What it does.
    pub description: String,
    /// The toolkit's version when it was reviewed.
    pub toolkit_version: String,
    /// SHA-256 of the canonical input schema, 64 hex digits.
    pub schema_hash: String,
    /// What it does to the service.
    pub classification: OperationClassification,
    /// Whether it may be sent a second time.
    pub retry_policy: OperationRetryPolicy,
    /// What its arguments look like; JSON Schema 2020-12.
    #[schema(value_type = Object)]
    pub input_schema: Value,
    /// When it was first reviewed.
    #[schema(value_type = String, format = DateTime)]
    pub discovered_at: Timestamp,
}

impl From<rules::OperationRevision> for OperationRevision {
    fn from(revision: rules::OperationRevision) -> Self {
        let identity = revision.identity;
        Self {
            id: revision.id,
            provider_instance_id: identity.provider_id,
            toolkit: identity.toolkit,
            operation_slug: identity.operation_slug,
            title: revision.title,
            description: revision.description,
            toolkit_version: identity.toolkit_version,
            schema_hash: identity.schema_hash,
            classification: identity.classification.into(),
            retry_policy: identity.retry_policy.into(),
            input_schema: revision.input_schema,
            discovered_at: revision.discovered_at,
        }
    }
}

/// What one agent is granted.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorGrant {
    /// The agent.
    #[schema(value_type = String)]
    pub agent_id: AgentId,
    /// What it may run.
    #[schema(value_type = Vec<String>)]
    pub operation_revision_ids: Vec<OperationRevisionId>,
}

/// What is granted with a connection.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorGrants {
    /// To single agents.
    pub grants: Vec<ConnectorGrant>,
    /// To every agent.
    #[schema(value_type = Vec<String>)]
    pub every_agent: Vec<OperationRevisionId>,
}

/// An agent to whom something can be granted.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct GrantableAgent {
    /// The agent.
    #[schema(value_type = String)]
    pub id: AgentId,
    /// What people call it.
    pub name: String,
}

/// What a connection can do, for the owner to grant from.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorReview {
    /// The review.
    #[schema(value_type = String)]
    pub review_id: ReviewId,
    /// The connection.
    pub connection: Connection,
    /// What it can do.
    pub operations: Vec<OperationRevision>,
    /// To whom it can be granted.
    pub agents: Vec<GrantableAgent>,
    /// What is granted to single agents now, also of what is not listed any more.
    pub current_grants: Vec<ConnectorGrant>,
    /// What is granted to every agent now.
    #[schema(value_type = Vec<String>)]
    pub every_agent: Vec<OperationRevisionId>,
    /// Until when it can be applied.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

/// Opens a review; asks for nothing but the deed of the address.
#[derive(Clone, Copy, Debug)]
pub struct OpenReview;

impl FromFields for OpenReview {
    fn read(fields: &mut Fields) -> Self {
        fields.fail_others();
        Self
    }
}

/// What is to be granted to one agent.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentGrant {
    /// The agent.
    pub agent_id: String,
    /// What it may run, out of the review.
    pub operation_revision_ids: Vec<String>,
}

/// Puts what is granted in the place of all that was granted with the connection.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"grants": [], "everyAgent": []}))]
pub struct ApplyReview {
    /// To single agents.
    pub grants: Vec<AgentGrant>,
    /// To every agent there is and will be; nothing when it is absent.
    #[schema(required = false)]
    pub every_agent: Vec<String>,
}

impl FromFields for ApplyReview {
    fn read(fields: &mut Fields) -> Self {
        let grants = fields.objects("grants", |fields| AgentGrant {
            agent_id: fields.text("agentId"),
            operation_revision_ids: fields.texts("operationRevisionIds"),
        });
        Self {
            grants,
            every_agent: fields.texts("everyAgent"),
        }
    }
}

impl From<ApplyReview> for GrantSelection {
    fn from(ask: ApplyReview) -> Self {
        let named = |ids: Vec<String>| -> BTreeSet<OperationRevisionId> {
            let ids = ids.iter().map(|id| OperationRevisionId::named(id));
            ids.collect()
        };
        let mut grants: BTreeMap<AgentId, BTreeSet<OperationRevisionId>> = BTreeMap::new();
        for grant in ask.grants {
            let of_agent = grants.entry(AgentId::named(&grant.agent_id)).or_default();
            of_agent.extend(named(grant.operation_revision_ids));
        }
        Self {
            grants,
            every_agent: named(ask.every_agent),
        }
    }
}

/// Says whether a session's agent may use a connection in it.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(example = json!({"on": false}))]
pub struct SetSessionConnection {
    /// False turns it off, true says that it stays on, null takes back what was said.
    #[schema(required = true)]
    pub on: Option<bool>,
}

impl FromFields for SetSessionConnection {
    fn read(fields: &mut Fields) -> Self {
        let on = match fields.any("on") {
            Value::Null => None,
            Value::Bool(on) => Some(on),
            _ => {
                fields.fail_field("on", "must be true, false or null");
                None
            }
        };
        fields.fail_others();
        Self { on }
    }
}

/// What a session says of a connection.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConnectionSetting {
    /// The session.
    #[schema(value_type = String)]
    pub session_id: SessionId,
    /// The connection.
    #[schema(value_type = String)]
    pub connection_id: ConnectorConnectionId,
    /// What it says; null where it says nothing.
    #[schema(required = true)]
    pub on: Option<bool>,
}

/// A connection that a session's agent can reach, and what the session says of it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConnection {
    /// The connection.
    #[schema(value_type = String)]
    pub connection_id: ConnectorConnectionId,
    /// Its service.
    #[schema(value_type = String, example = "rehearsal")]
    pub toolkit: ToolkitSlug,
    /// What people call it.
    pub label: String,
    /// False where the session turned it off; true or null where its agent may use it.
    #[schema(required = true)]
    pub on: Option<bool>,
}

/// The connections that a session's agent can reach.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SessionConnections {
    /// In the order they were made.
    pub connections: Vec<SessionConnection>,
}

/// A connection with which an agent may run something.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessibleConnection {
    /// The connection.
    #[schema(value_type = String)]
    pub connection_id: ConnectorConnectionId,
    /// Its service.
    #[schema(value_type = String, example = "rehearsal")]
    pub toolkit: ToolkitSlug,
    /// What people call it.
    pub label: String,
    /// How many operations the agent may run.
    pub operation_count: usize,
}

/// The connections with which an agent may run something.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AccessibleConnections {
    /// In the order they were made.
    pub connections: Vec<AccessibleConnection>,
}

/// What an agent may run with a connection.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AccessibleOperations {
    /// In the order of their discovery.
    pub operations: Vec<OperationRevision>,
}

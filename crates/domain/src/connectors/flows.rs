//! Auth flows: the way from a person's wish to a connection, which a restart may cut anywhere.
//! Source: spec, "Connector auth flow"; contract 5.4.

use serde::{Deserialize, Serialize};

use super::toolkits::Slug;
use crate::{
    Moment,
    ids::{AuthFlowId, ConnectorConnectionId, ProviderId},
};

/// Where a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowState {
    /// Its row is written, the provider not yet asked or its answer not yet recorded.
    Starting,
    /// It waits for the person.
    Pending,
    /// Its connection stands.
    Connected,
    /// It was refused, cancelled, or its configuration changed.
    Failed,
    /// Its time is over.
    Expired,
    /// The provider was or may have been asked, and nobody knows what came of it.
    StartUnknown,
}

impl FlowState {
    /// Every state with its word.
    pub const WORDS: [(Self, &str); 6] = [
        (Self::Starting, "starting"),
        (Self::Pending, "pending"),
        (Self::Connected, "connected"),
        (Self::Failed, "failed"),
        (Self::Expired, "expired"),
        (Self::StartUnknown, "start_unknown"),
    ];

    /// Whether nothing follows it.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Starting | Self::Pending => false,
            Self::Connected | Self::Failed | Self::Expired | Self::StartUnknown => true,
        }
    }
}

/// What the person has to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Nothing.
    None,
    /// Follow a link.
    Browser,
    /// Type a code elsewhere.
    Device,
    /// Type a key here.
    Credential,
}

impl StepKind {
    /// Every step with its word.
    pub const WORDS: [(Self, &str); 4] = [
        (Self::None, "none"),
        (Self::Browser, "browser"),
        (Self::Device, "device"),
        (Self::Credential, "credential"),
    ];
}

/// A flow as it stands, without what is secret of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its id.
    pub id: AuthFlowId,
    /// The instance.
    pub provider_id: ProviderId,
    /// The service.
    pub toolkit: Slug,
    /// What the connection is to be called, where the person said it.
    pub label: Option<String>,
    /// The connection that is signed in anew, if it is one.
    pub reconnect_of: Option<ConnectorConnectionId>,
    /// The generation of the instance when the flow began.
    pub generation: u64,
    /// Where it is.
    pub state: FlowState,
    /// Counts the moves that were written: each move names the count it follows.
    pub attempt: u32,
    /// What the person has to do now.
    pub step: StepKind,
    /// What came of it.
    pub connection_id: Option<ConnectorConnectionId>,
    /// Why it ended without a connection; at most 1000 characters.
    pub reason: Option<String>,
    /// When it was opened.
    pub created_at: Moment,
    /// Until when it can go on.
    pub expires_at: Moment,
    /// When it ended.
    pub completed_at: Option<Moment>,
}

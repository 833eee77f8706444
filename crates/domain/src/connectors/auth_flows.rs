//! Auth flows: the way from a person's wish to a connection, which a restart may cut anywhere.
//! Source: spec, "Connector auth flow"; contract 5.4.

use serde::{Deserialize, Serialize};

use super::{event_payloads::FlowChanged, toolkits::ToolkitSlug};
use crate::{
    Refusal, Timestamp,
    field_validation::FieldValidator,
    ids::{AuthFlowId, ConnectorConnectionId, ProviderId},
    limits::connectors as limits,
};

/// Why a flow ended that somebody cancelled.
pub const CANCELLED: &str = "cancelled";
/// Why a flow ended whose connection is gone.
pub const CONNECTION_GONE: &str = "The connection that was to be signed in anew is gone.";
/// Why a flow ended whose instance is not what it was.
pub const CONFIGURATION_CHANGED: &str =
    "The provider instance was changed or removed. Start the sign-in again.";
/// Why a flow ended whose time is over.
pub const EXPIRED: &str = "Nobody finished this sign-in in time. Start it again.";
/// Why a flow ended that nobody knows the beginning of.
pub const START_UNKNOWN: &str = "guildhall or the service stopped while this sign-in was started, \
    so that nobody knows how far it came. Start it again.";
/// Why a flow ended that signed in with another account than the connection is of.
pub const ANOTHER_ACCOUNT: &str = "This is another account than the connection is of.";

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
pub enum FlowStepKind {
    /// Nothing.
    None,
    /// Follow a link.
    Browser,
    /// Type a code elsewhere.
    Device,
    /// Type a key here.
    Credential,
}

impl FlowStepKind {
    /// Every step with its word.
    pub const WORDS: [(Self, &str); 4] = [
        (Self::None, "none"),
        (Self::Browser, "browser"),
        (Self::Device, "device"),
        (Self::Credential, "credential"),
    ];
}

/// A flow as it stands, without what is secret of it.
///
/// It moves by [`Flow::next`] alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its id.
    pub id: AuthFlowId,
    /// The instance.
    pub provider_id: ProviderId,
    /// The service.
    pub toolkit: ToolkitSlug,
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
    pub step: FlowStepKind,
    /// What came of it.
    pub connection_id: Option<ConnectorConnectionId>,
    /// Why it ended without a connection; at most 1000 characters.
    pub reason: Option<String>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// Until when it can go on.
    pub expires_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
}

/// What somebody asks for who wants a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionRequest {
    /// The instance, as it was named.
    pub provider: String,
    /// The service, as it was named.
    pub toolkit: String,
    /// The key under which the same wish is met once.
    pub key: String,
    /// What the connection is to be called.
    pub label: Option<String>,
}

impl ConnectionRequest {
    /// Checks its limits.
    ///
    /// # Errors
    /// [`Refusal::Validation`].
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        if self.provider.is_empty() {
            check.fail("providerInstanceId", "must not be empty");
        }
        let (min, max) = limits::TOOLKIT_NAMED_CHARS.into_inner();
        check.chars("toolkit", &self.toolkit, min, max);
        if let Some(label) = &self.label {
            let (min, max) = limits::CONNECTOR_LABEL_CHARS.into_inner();
            check.chars("label", label, min, max);
            check.one_line("label", label);
        }
        key(&mut check, &self.key);
        check.finish()
    }
}

/// Checks the key of a flow.
///
/// # Errors
/// [`Refusal::Validation`].
pub fn check_key(text: &str) -> Result<(), Refusal> {
    let mut check = FieldValidator::new();
    key(&mut check, text);
    check.finish()
}

fn key(check: &mut FieldValidator, text: &str) {
    let (min, max) = limits::FLOW_KEY_CHARS.into_inner();
    check.chars("idempotencyKey", text, min, max);
    check.one_line("idempotencyKey", text);
}

/// What can happen to a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowEvent {
    /// The service is ready for the person, who has this to do.
    Prepared(FlowStepKind),
    /// It could not begin, and nothing was sent that begins anything.
    NotSent(String),
    /// Something was sent, and no answer came.
    Lost,
    /// This server ended and began again.
    Restarted,
    /// The account was read; its connection is to stand under this id.
    SignedIn(ConnectorConnectionId),
    /// The service, or the account it named, was a no.
    Refused(String),
    /// Somebody cancelled it.
    Cancelled,
    /// The connection to be signed in anew is gone.
    ConnectionGone,
    /// Nothing but time, and perhaps a change of the instance.
    Looked,
}

/// What is true of the world when something happens to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowContext {
    /// Now.
    pub now: Timestamp,
    /// The generation of the instance; `None` when it or its toolkit is gone.
    pub generation: Option<u64>,
}

impl Flow {
    /// As it stands at `now`: one whose time is over has expired, whether or not that is written.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Self {
        match !self.state.is_final() && now >= self.expires_at {
            // It ended when its time did, so that every reading says the same.
            true => {
                let ended = self.expires_at;
                self.moved(FlowState::Expired, Some(EXPIRED.to_owned()), ended)
            }
            false => self,
        }
    }

    /// What it becomes by what happened; `None` where that changes nothing: it is over, or what
    /// happened comes too late.
    ///
    /// After its time a flow only expires. Source: contract 5.4, the table of transitions.
    #[must_use]
    pub fn next(&self, happening: FlowEvent, around: FlowContext) -> Option<Self> {
        use FlowEvent as H;
        use FlowState as S;
        let FlowContext { now, generation } = around;
        if self.state.is_final() {
            return None;
        }
        if now >= self.expires_at {
            return Some(self.clone().at(now).counted());
        }
        let is_same = generation == Some(self.generation);
        let because = |why: &str| Some(changed_event(why));
        let ended = |state, why| Some(self.clone().moved(state, why, now).counted());
        match (self.state, happening) {
            (S::Starting | S::Pending, H::Cancelled) => ended(S::Failed, because(CANCELLED)),
            (S::Starting | S::Pending, H::ConnectionGone) => {
                ended(S::Failed, because(CONNECTION_GONE))
            }
            (S::Starting | S::Pending, H::Refused(why)) => ended(S::Failed, because(&why)),
            (S::Starting, H::NotSent(why)) => ended(S::Failed, because(&why)),
            (S::Starting, H::Lost | H::Restarted) => ended(S::StartUnknown, because(START_UNKNOWN)),
            (S::Starting, H::Prepared(_)) if !is_same => {
                ended(S::StartUnknown, because(CONFIGURATION_CHANGED))
            }
            (S::Starting, H::Prepared(step)) => {
                let mut flow = self.clone();
                (flow.state, flow.step) = (S::Pending, step);
                Some(flow.counted())
            }
            (S::Pending, H::SignedIn(_) | H::Looked) if !is_same => {
                ended(S::Failed, because(CONFIGURATION_CHANGED))
            }
            (S::Pending, H::SignedIn(id)) => {
                let mut flow = self.clone();
                flow.connection_id = Some(id);
                Some(flow.moved(S::Connected, None, now).counted())
            }
            (S::Starting, H::SignedIn(_) | H::Looked)
            | (S::Pending, H::Prepared(_) | H::NotSent(_) | H::Lost | H::Restarted | H::Looked) => {
                None
            }
            (S::Connected | S::Failed | S::Expired | S::StartUnknown, _) => None,
        }
    }

    /// What is told of it.
    pub fn changed_event(&self) -> FlowChanged {
        FlowChanged {
            flow_id: self.id,
            state: self.state,
            step: self.step,
            connection_id: self.connection_id,
            reason: self.reason.clone(),
        }
    }

    /// At its end.
    fn moved(mut self, state: FlowState, reason: Option<String>, at: Timestamp) -> Self {
        self.state = state;
        self.step = FlowStepKind::None;
        self.reason = reason;
        self.completed_at = Some(at);
        self
    }

    fn counted(mut self) -> Self {
        self.attempt = self.attempt.saturating_add(1);
        self
    }
}

/// A reason within its limit.
fn changed_event(why: &str) -> String {
    why.chars()
        .filter(|c| !c.is_control())
        .take(limits::CONNECTOR_REASON_CHARS_MAX)
        .collect()
}

/// What a person needs for the step a flow waits with; of what is over, nothing. Without `Debug`,
/// because a link and a code are for the owner's eyes.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FlowInstructions {
    /// Step `browser`: the link to follow.
    pub authorize_url: Option<String>,
    /// Step `device`: the code to type.
    pub user_code: Option<String>,
    /// Where to type it.
    pub verification_uri: Option<String>,
    /// The same with the code in it.
    pub verification_uri_complete: Option<String>,
}

#[cfg(test)]
#[path = "auth_flows_tests.rs"]
mod tests;

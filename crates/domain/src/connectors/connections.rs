//! Connections: external accounts that are signed in, and whether they can be used.
//! Source: contract 5.4, the fields of a connection.

use serde::{Deserialize, Serialize};

use super::{ConnectorRefusal, event_payloads::ConnectionChanged, toolkits::ToolkitSlug};
use crate::{
    Refusal, Timestamp,
    field_validation::FieldValidator,
    ids::{AgentId, ConnectorConnectionId, ProviderId},
    limits::connectors as limits,
};

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionLifecycle {
    /// It can be used, unless something else stands against it.
    Connected,
    /// A person holds it.
    Paused,
    /// Its secrets are erased; what remains is a stone with its name.
    Disconnected,
}

impl ConnectionLifecycle {
    /// Every place with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Connected, "connected"),
        (Self::Paused, "paused"),
        (Self::Disconnected, "disconnected"),
    ];
}

/// What people do with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionAction {
    /// Hold it.
    Pause,
    /// Go on with it.
    Resume,
    /// Begin to sign in anew: it is held until that is done.
    Reconnect,
    /// Have signed in anew.
    SignedIn,
    /// Give it up.
    Disconnect,
}

impl ConnectionLifecycle {
    /// Where it is after `deed`. What is given up once is given up for good.
    ///
    /// # Errors
    /// [`ConnectorRefusal::Disconnected`].
    pub const fn on(self, deed: ConnectionAction) -> Result<Self, ConnectorRefusal> {
        match (self, deed) {
            (_, ConnectionAction::Disconnect) => Ok(Self::Disconnected),
            (Self::Disconnected, _) => Err(ConnectorRefusal::Disconnected),
            (
                Self::Connected | Self::Paused,
                ConnectionAction::Pause | ConnectionAction::Reconnect,
            ) => Ok(Self::Paused),
            (
                Self::Connected | Self::Paused,
                ConnectionAction::Resume | ConnectionAction::SignedIn,
            ) => Ok(Self::Connected),
        }
    }
}

/// What the service last said of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountStatus {
    /// It takes the credentials.
    Active,
    /// They ran out and could not be renewed.
    Expired,
    /// It no longer takes them.
    Revoked,
}

impl AccountStatus {
    /// Every status with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Active, "active"),
        (Self::Expired, "expired"),
        (Self::Revoked, "revoked"),
    ];
}

/// What became of the credentials at the service after they were erased here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExternalCleanup {
    /// There is nothing to give back.
    NotRequired,
    /// They are being given back.
    Pending,
    /// The service took them back.
    Complete,
    /// It could not be reached, or said no.
    Failed,
}

impl ExternalCleanup {
    /// Every outcome with its word.
    pub const WORDS: [(Self, &str); 4] = [
        (Self::NotRequired, "not_required"),
        (Self::Pending, "pending"),
        (Self::Complete, "complete"),
        (Self::Failed, "failed"),
    ];
}

/// Whether a connection can be used, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadinessState {
    /// Now.
    Ready,
    /// When somebody resumes it.
    Paused,
    /// When a person has signed in again.
    NeedsYou,
    /// When its provider instance is back.
    Unavailable,
    /// Never again.
    Gone,
}

impl ReadinessState {
    /// Every state with its word.
    pub const WORDS: [(Self, &str); 5] = [
        (Self::Ready, "ready"),
        (Self::Paused, "paused"),
        (Self::NeedsYou, "needs_you"),
        (Self::Unavailable, "unavailable"),
        (Self::Gone, "gone"),
    ];
}

/// Whether a connection can be used, why not, and the one thing that mends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    /// In one word.
    pub state: ReadinessState,
    /// Why not; `None` when it is ready.
    pub reason: Option<String>,
    /// What to do about it; `None` where nothing helps or nothing is needed.
    pub fix: Option<String>,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its id.
    pub id: ConnectorConnectionId,
    /// The instance it goes through.
    pub provider_id: ProviderId,
    /// The service.
    pub toolkit: ToolkitSlug,
    /// What people call it.
    pub label: String,
    /// What the service calls the account, where it says so.
    pub account_label: Option<String>,
    /// Where it is in its life.
    pub lifecycle: ConnectionLifecycle,
    /// What the service last said of the account.
    pub account_status: AccountStatus,
    /// Whether it is switched on.
    pub enabled: bool,
    /// What became of its credentials at the service.
    pub external_cleanup: ExternalCleanup,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl Readiness {
    /// Whether a connection can be used whose instance cannot for the reason `unavailable`.
    ///
    /// Of several reasons the one is told that has to be mended first.
    pub fn of(connection: &Connection, unavailable: Option<&str>) -> Self {
        use ReadinessState as S;
        let because = |state, reason: &str, fix: Option<&str>| Self {
            state,
            reason: Some(reason.to_owned()),
            fix: fix.map(str::to_owned),
        };
        let sign_in = Some("Reconnect it and sign in again.");
        match (connection.lifecycle, connection.account_status) {
            (ConnectionLifecycle::Disconnected, _) => because(
                S::Gone,
                "It is disconnected, and its credentials are erased.",
                None,
            ),
            (_, AccountStatus::Expired) => because(
                S::NeedsYou,
                "Its credentials ran out and could not be renewed.",
                sign_in,
            ),
            (_, AccountStatus::Revoked) => because(
                S::NeedsYou,
                "The service no longer takes its credentials.",
                sign_in,
            ),
            (ConnectionLifecycle::Paused, AccountStatus::Active) => {
                because(S::Paused, "It is paused.", Some("Resume it."))
            }
            (ConnectionLifecycle::Connected, AccountStatus::Active) if !connection.enabled => {
                because(S::Paused, "It is switched off.", Some("Switch it on."))
            }
            (ConnectionLifecycle::Connected, AccountStatus::Active) => match unavailable {
                Some(why) => because(S::Unavailable, why, Some("Mend the provider instance.")),
                None => Self {
                    state: S::Ready,
                    reason: None,
                    fix: None,
                },
            },
        }
    }
}

impl Connection {
    /// What is told of it to `agents`, besides the owner.
    pub fn changed_event(
        &self,
        unavailable: Option<&str>,
        agents: Vec<AgentId>,
    ) -> ConnectionChanged {
        ConnectionChanged {
            connection_id: self.id,
            lifecycle: self.lifecycle,
            account_status: self.account_status,
            enabled: self.enabled,
            readiness: Readiness::of(self, unavailable),
            agents,
        }
    }
}

/// What of a connection is to be otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionPatch {
    /// What people call it.
    pub label: Option<String>,
    /// Whether it is switched on.
    pub enabled: Option<bool>,
}

impl ConnectionPatch {
    /// Checks its limits.
    ///
    /// # Errors
    /// [`Refusal::Validation`].
    pub fn check(&self) -> Result<(), Refusal> {
        let mut check = FieldValidator::new();
        if let Some(label) = &self.label {
            let (min, max) = limits::CONNECTOR_LABEL_CHARS.into_inner();
            check.chars("label", label, min, max);
            check.one_line("label", label);
        }
        check.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn connection(lifecycle: ConnectionLifecycle, account_status: AccountStatus) -> Connection {
        Connection {
            id: ConnectorConnectionId::new(Uuid::nil()),
            provider_id: ProviderId::new(Uuid::nil()),
            toolkit: ToolkitSlug::parse("mail").unwrap(),
            label: "Mail".to_owned(),
            account_label: None,
            lifecycle,
            account_status,
            enabled: true,
            external_cleanup: ExternalCleanup::NotRequired,
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn what_is_disconnected_stays_so() {
        use ConnectionAction as D;
        use ConnectionLifecycle as L;
        for deed in [D::Pause, D::Resume, D::Reconnect, D::SignedIn] {
            assert_eq!(
                L::Disconnected.on(deed),
                Err(ConnectorRefusal::Disconnected)
            );
        }
        for from in [L::Connected, L::Paused] {
            assert_eq!(from.on(D::Pause), Ok(L::Paused));
            assert_eq!(from.on(D::Reconnect), Ok(L::Paused));
            assert_eq!(from.on(D::Resume), Ok(L::Connected));
            assert_eq!(from.on(D::SignedIn), Ok(L::Connected));
        }
        for from in [L::Connected, L::Paused, L::Disconnected] {
            assert_eq!(from.on(D::Disconnect), Ok(L::Disconnected));
        }
    }

    #[test]
    fn a_connection_is_ready_when_nothing_stands_against_it() {
        use AccountStatus as A;
        use ConnectionLifecycle as L;
        use ReadinessState as R;
        let states = [
            (L::Connected, A::Active, true, None, R::Ready),
            (L::Connected, A::Active, false, None, R::Paused),
            (L::Connected, A::Active, false, Some("down"), R::Paused),
            (L::Connected, A::Active, true, Some("down"), R::Unavailable),
            (L::Paused, A::Active, true, Some("down"), R::Paused),
            (L::Paused, A::Expired, true, None, R::NeedsYou),
            (L::Connected, A::Expired, false, Some("down"), R::NeedsYou),
            (L::Connected, A::Revoked, true, None, R::NeedsYou),
            (L::Disconnected, A::Active, true, None, R::Gone),
            (L::Disconnected, A::Revoked, true, Some("down"), R::Gone),
        ];
        for (lifecycle, account, enabled, unavailable, expected) in states {
            let connection = Connection {
                enabled,
                ..connection(lifecycle, account)
            };
            let readiness = Readiness::of(&connection, unavailable);
            assert_eq!(readiness.state, expected, "{connection:?} {unavailable:?}");
            assert_eq!(readiness.reason.is_none(), expected == R::Ready);
            let is_mendable = !matches!(expected, R::Ready | R::Gone);
            assert_eq!(readiness.fix.is_some(), is_mendable);
        }
    }
}

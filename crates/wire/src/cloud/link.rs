//! The link to the cloud service, as people see it. Source: spec, "Cloud link state"; contract
//! 5.10.

use guildhall_domain::{
    Moment,
    cloud::link::{Code, Link, LinkState, RelinkOutcome},
};
use serde::Serialize;
use utoipa::ToSchema;

/// Whether this instance is linked to an account of the cloud service. Without `Debug`, because
/// its codes are for the owner's eyes.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudLink {
    /// Where the link is.
    #[schema(inline, value_type = StateWord, example = "idle")]
    pub state: LinkState,
    /// Whose the key is that is held, as the service says.
    #[schema(required = true)]
    pub account_label: Option<String>,
    /// When the service last took the key.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_heartbeat_at: Option<Moment>,
    /// How the last attempt to link anew ended, where it brought no key: a note for the owner to
    /// dismiss.
    #[schema(required = true, inline, value_type = Option<OutcomeWord>)]
    pub relink_outcome: Option<RelinkOutcome>,
    /// The code that waits to be typed; null for anyone but the interactive owner.
    #[schema(required = true)]
    pub pending: Option<CloudCode>,
    /// The code whose typing brought the key; null for anyone but the interactive owner.
    #[schema(required = true)]
    pub approved_code: Option<String>,
}

impl CloudLink {
    /// The link for somebody who may or may not see its codes.
    pub fn new(link: Link, has_codes: bool) -> Self {
        let pending = link.pending().filter(|_| has_codes).cloned();
        Self {
            state: link.state(),
            account_label: link.account_label,
            last_heartbeat_at: link.last_heartbeat_at,
            relink_outcome: link.relink_outcome,
            pending: pending.map(CloudCode::from),
            approved_code: link.approved_code.filter(|_| has_codes),
        }
    }
}

/// What a person types, and where. Without `Debug`.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudCode {
    /// What is typed.
    #[schema(example = "BCDF-GHJK")]
    pub user_code: String,
    /// Where.
    #[schema(example = "https://cloud.example/activate")]
    pub verification_uri: String,
    /// The same with the code in it.
    #[schema(example = "https://cloud.example/activate?user_code=BCDF-GHJK")]
    pub verification_uri_complete: String,
    /// Until when the code counts.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Moment,
}

impl From<Code> for CloudCode {
    fn from(code: Code) -> Self {
        Self {
            user_code: code.user_code,
            verification_uri: code.verification_uri,
            verification_uri_complete: code.verification_uri_complete,
            expires_at: code.expires_at,
        }
    }
}

/// Whether the service takes the key.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudCheck {
    /// Whether a key is held.
    pub linked: bool,
    /// Whose it is.
    #[schema(required = true)]
    pub account_label: Option<String>,
    /// When the service last took it.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_heartbeat_at: Option<Moment>,
}

/// No key is held any more.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Unlinked {
    /// Always true.
    #[schema(example = true)]
    pub ok: bool,
}

/// Whether there is a cloud service at all, and whether this instance is linked.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudStatus {
    /// Whether a service is set up.
    pub configured: bool,
    /// Whether a key is held.
    pub linked: bool,
    /// Whose it is.
    #[schema(required = true)]
    pub account_label: Option<String>,
    /// When the service last took it.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_heartbeat_at: Option<Moment>,
}

/// The words of [`LinkState`], for the interface's document.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "the interface's document alone reads it")]
enum StateWord {
    Idle,
    Pending,
    Linked,
    Expired,
    Denied,
    Unlinked,
}

/// The words of [`RelinkOutcome`], for the interface's document.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "the interface's document alone reads it")]
enum OutcomeWord {
    Denied,
    Expired,
    Failed,
}

//! The link to the cloud service, as people see it. Source: spec, "Cloud link state"; contract
//! 5.10.

use guildhall_domain::{
    Timestamp,
    cloud::link::{self as rules, Link, LinkCode},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::approvals::wire_enums;

wire_enums! {
    /// Where the link to the cloud service is.
    CloudLinkState = rules::LinkState {
        /// No key is held, and nobody is asked for one.
        Idle,
        /// A code waits for a person; a key may be held meanwhile.
        Pending,
        /// A key is held.
        Linked,
        /// The last code was not typed in time, and no key is held.
        Expired,
        /// The last code was refused, and no key is held.
        Denied,
        /// The service no longer takes the key that was held.
        Unlinked,
    }
    /// How an attempt to link anew ended that brought no key.
    CloudRelinkOutcome = rules::RelinkOutcome {
        /// Somebody refused the code.
        Denied,
        /// Nobody typed the code in time.
        Expired,
        /// The service refused for another reason.
        Failed,
    }
}

/// Whether this instance is linked to an account of the cloud service. Without `Debug`, because
/// its codes are for the owner's eyes.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudLink {
    /// Where the link is.
    pub state: CloudLinkState,
    /// Whose the key is that is held, as the service says.
    #[schema(required = true)]
    pub account_label: Option<String>,
    /// When the service last took the key.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    pub last_heartbeat_at: Option<Timestamp>,
    /// How the last attempt to link anew ended, where it brought no key: a note for the owner to
    /// dismiss.
    #[schema(required = true)]
    pub relink_outcome: Option<CloudRelinkOutcome>,
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
            state: link.state().into(),
            account_label: link.account_label,
            last_heartbeat_at: link.last_heartbeat_at,
            relink_outcome: link.relink_outcome.map(Into::into),
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
    pub expires_at: Timestamp,
}

impl From<LinkCode> for CloudCode {
    fn from(code: LinkCode) -> Self {
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
    pub last_heartbeat_at: Option<Timestamp>,
}

/// No key is held any more.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct UnlinkResult {
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
    pub last_heartbeat_at: Option<Timestamp>,
}

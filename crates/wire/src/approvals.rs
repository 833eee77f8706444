//! Approvals on the wire. Source: contract 4.5.

use guildhall_domain::{
    Timestamp, approvals as rules,
    ids::{AgentId, ApprovalId, RoomId, SessionId},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    authors::AuthorSummary,
    request_fields::{Fields, FromFields},
};

macro_rules! wire_enums {
    ($($(#[$doc:meta])* $name:ident = $from:path { $($(#[$inner:meta])* $variant:ident,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Serialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$inner])* $variant,)+
        }

        impl From<$from> for $name {
            fn from(word: $from) -> Self {
                use $from as From;
                match word {
                    $(From::$variant => Self::$variant,)+
                }
            }
        }

        impl From<$name> for $from {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$variant => Self::$variant,)+
                }
            }
        }
    )+};
}

pub(crate) use wire_enums;

wire_enums! {
    /// What an approval is about.
    ApprovalKind = rules::ApprovalKind {
        /// A deed that a program or an agent asked for.
        Capability,
        /// What was allowed before looks different now.
        Repin,
        /// An agent wants to use a connector.
        Access,
        /// A tool call of a session.
        ToolCall,
        /// A question of a session.
        Question,
    }
    /// Where it stands.
    ApprovalState = rules::ApprovalState {
        /// A person must decide.
        Pending,
        /// Allowed, and not used yet.
        Granted,
        /// Refused.
        Denied,
        /// Nobody decided in time, or it was not used in time.
        Expired,
        /// It no longer matters.
        Withdrawn,
        /// Allowed and used.
        Consumed,
    }
    /// What a deed costs if it was wrong.
    RiskTier = rules::RiskTier {
        /// It reads only.
        Observe,
        /// It can be undone.
        Act,
        /// It runs foreign code, spends, or cannot be undone.
        Destructive,
    }
    /// Why a gated request does not run now.
    ApprovalRequiredReason = rules::ApprovalRequiredReason {
        /// It was not asked for before.
        NoApproval,
        /// A person has yet to decide.
        AwaitingDecision,
        /// It was allowed, and the token is missing.
        GrantedUnused,
        /// The token is of another request.
        WrongAction,
        /// The token's time is over.
        Expired,
        /// The token was used.
        AlreadyUsed,
        /// The token is none of this requester.
        UnknownToken,
    }
}

/// What a person must decide, or decided.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its id.
    #[schema(value_type = String)]
    pub id: ApprovalId,
    /// What it is about.
    pub kind: ApprovalKind,
    /// Where it stands.
    pub state: ApprovalState,
    /// The deed, or the kind where a session asks.
    #[schema(example = "mcp.add")]
    pub capability: String,
    /// One line above the card.
    pub title: String,
    /// What the deed costs if it was wrong.
    pub tier: RiskTier,
    /// One line of this very deed, at most 500 characters.
    pub summary: String,
    /// What is to be shown; of a session's ask its members.
    #[schema(value_type = Object)]
    pub card: Value,
    /// The rules that led to the question, strictest last.
    pub why: Vec<String>,
    /// 64 hex digits over what is asked; a yes names it.
    pub digest: String,
    /// Who asks; the system author for a `repin`.
    pub requested_by: AuthorSummary,
    /// The agent it is about.
    #[schema(required = true, value_type = Option<String>)]
    pub agent_id: Option<AgentId>,
    /// The session that asks.
    #[schema(required = true, value_type = Option<String>)]
    pub session_id: Option<SessionId>,
    /// The room whose turns run in that session.
    #[schema(required = true, value_type = Option<String>)]
    pub room_id: Option<RoomId>,
    /// When it was asked.
    #[schema(value_type = String, format = DateTime)]
    pub requested_at: Timestamp,
    /// Until when it may be decided, and once it is granted used.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// When nobody had answered for a while.
    #[schema(required = true, value_type = Option<String>)]
    pub parked_at: Option<Timestamp>,
    /// When a person decided.
    #[schema(required = true, value_type = Option<String>)]
    pub decided_at: Option<Timestamp>,
    /// When a yes was used.
    #[schema(required = true, value_type = Option<String>)]
    pub consumed_at: Option<Timestamp>,
    /// Who decided.
    #[schema(required = true)]
    pub decided_by: Option<AuthorSummary>,
    /// Why a person said no.
    #[schema(required = true)]
    pub deny_reason: Option<String>,
}

impl From<rules::Approval> for Approval {
    fn from(approval: rules::Approval) -> Self {
        Self {
            id: approval.id,
            kind: approval.kind.into(),
            state: approval.state.into(),
            capability: approval.capability,
            title: approval.title,
            tier: approval.tier.into(),
            summary: approval.summary,
            card: approval.card,
            why: approval.why,
            digest: approval.digest,
            requested_by: approval.requested_by.into(),
            agent_id: approval.agent_id,
            session_id: approval.session_id,
            room_id: approval.room_id,
            requested_at: approval.requested_at,
            expires_at: approval.expires_at,
            parked_at: approval.parked_at,
            decided_at: approval.decided_at,
            consumed_at: approval.consumed_at,
            decided_by: approval.decided_by.map(Into::into),
            deny_reason: approval.deny_reason,
        }
    }
}

/// A page of approvals.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approvals {
    /// Oldest first.
    pub approvals: Vec<Approval>,
    /// Where the next page begins.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
}

/// An approval after a decision.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DecidedApproval {
    /// Always true.
    #[schema(example = true)]
    pub ok: bool,
    /// As it is now.
    pub approval: Approval,
}

impl From<rules::Approval> for DecidedApproval {
    fn from(approval: rules::Approval) -> Self {
        Self {
            ok: true,
            approval: approval.into(),
        }
    }
}

/// Says yes to what was shown.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct GrantApproval {
    /// The digest of the card that was drawn, 64 hex digits.
    #[schema(example = "5f1d8c0f4a2be6973cd08e41b7a95d2263f0c4e8a91b7d56e20f3c8495a7b1d6")]
    pub digest: String,
}

impl FromFields for GrantApproval {
    fn read(fields: &mut Fields) -> Self {
        Self {
            digest: fields.text("digest"),
        }
    }
}

/// Says no.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DenyApproval {
    /// Why, at most 1000 characters; the requester reads it.
    #[schema(nullable = false)]
    pub reason: Option<String>,
}

impl FromFields for DenyApproval {
    fn read(fields: &mut Fields) -> Self {
        Self {
            reason: fields.maybe_text("reason"),
        }
    }
}

/// Withdraws; nothing is to be said.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct WithdrawApproval {}

impl FromFields for WithdrawApproval {
    fn read(_fields: &mut Fields) -> Self {
        Self {}
    }
}

/// Always `approval_required`.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalRequiredStatus {
    /// A person must allow it first.
    ApprovalRequired,
}

/// How a gated request is sent again.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RetryInstructions {
    /// The header that carries the token.
    #[schema(example = "X-Service-Approval")]
    pub header: &'static str,
    /// The argument of a tool that carries it.
    #[schema(example = "approvalToken")]
    pub argument: &'static str,
    /// In words.
    pub instructions: &'static str,
}

/// What a gated request is answered until a person has allowed it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequired {
    /// Always `approval_required`.
    pub status: ApprovalRequiredStatus,
    /// The deed.
    #[schema(example = "mcp.add")]
    pub capability: String,
    /// One line for people.
    pub title: String,
    /// What the deed costs if it was wrong.
    pub tier: RiskTier,
    /// What the person decides on.
    #[schema(value_type = String)]
    pub approval_id: ApprovalId,
    /// With which the same request is sent again; of no use for any other.
    pub approval_token: String,
    /// Until when it may be decided, and once it is granted used.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// Why it does not run now.
    pub reason: ApprovalRequiredReason,
    /// The same in a sentence.
    pub message: &'static str,
    /// How to go on.
    pub retry: RetryInstructions,
}

impl From<rules::ApprovalRequirement> for ApprovalRequired {
    fn from(required: rules::ApprovalRequirement) -> Self {
        let rules::ApprovalRequirement {
            approval,
            token,
            reason,
        } = required;
        Self {
            status: ApprovalRequiredStatus::ApprovalRequired,
            capability: approval.capability,
            title: approval.title,
            tier: approval.tier.into(),
            approval_id: approval.id,
            approval_token: token.reveal().to_owned(),
            expires_at: approval.expires_at,
            reason: reason.into(),
            message: reason.message(),
            retry: RetryInstructions {
                header: "X-Service-Approval",
                argument: "approvalToken",
                instructions: "Send exactly the same request again with this token once a person has approved it; a request that is held is answered as soon as they decide.",
            },
        }
    }
}

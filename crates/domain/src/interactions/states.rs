//! Where an interaction stands: its row without what it shows, and the way it goes through the
//! states. Every read and check goes by the effective state, which a deadline changes at once;
//! the row follows when the chore comes by. Source: contract 3.8.2, 3.8.3, 4.5.

use super::{
    ApprovalState, DecisionReply, Interaction, InteractionCard, InteractionKind, PermissionChoice,
    Resolution,
};
use crate::{
    Timestamp,
    ids::{AgentId, ApprovalId, AuthorId, RoomId, SessionId, TurnId},
    limits,
};

/// What happens to an interaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InteractionTrigger {
    /// A person says yes.
    Approve,
    /// A person says no, or does not want to answer.
    Deny,
    /// A person answers a question.
    Answer,
    /// Its deadline, or that of its grant, has passed.
    Expire,
    /// The turn was cancelled, the session closed, the agent retired, or for a grant the mode
    /// changed.
    Withdraw,
    /// The agent asks for what was granted.
    Spend,
    /// A yes reached nobody, because the agent's process had ended.
    Undelivered,
}

impl InteractionTrigger {
    /// Every trigger.
    pub const ALL: [Self; 7] = [
        Self::Approve,
        Self::Deny,
        Self::Answer,
        Self::Expire,
        Self::Withdraw,
        Self::Spend,
        Self::Undelivered,
    ];
}

impl ApprovalState {
    /// Where `trigger` leads; `None` where it changes nothing.
    ///
    /// `is_detached` says whether the agent that asked is gone, so that a yes must wait for it.
    pub fn after(self, trigger: InteractionTrigger, is_detached: bool) -> Option<Self> {
        match (self, trigger) {
            (Self::Pending, InteractionTrigger::Approve) if is_detached => Some(Self::Granted),
            (Self::Pending, InteractionTrigger::Approve | InteractionTrigger::Answer) => {
                Some(Self::Consumed)
            }
            (Self::Pending, InteractionTrigger::Deny) => Some(Self::Denied),
            (Self::Pending | Self::Granted, InteractionTrigger::Expire) => Some(Self::Expired),
            (Self::Pending | Self::Granted, InteractionTrigger::Withdraw) => Some(Self::Withdrawn),
            (Self::Granted, InteractionTrigger::Spend) => Some(Self::Consumed),
            (Self::Consumed, InteractionTrigger::Undelivered) => Some(Self::Granted),
            (Self::Pending, InteractionTrigger::Spend | InteractionTrigger::Undelivered)
            | (
                Self::Granted,
                InteractionTrigger::Approve
                | InteractionTrigger::Deny
                | InteractionTrigger::Answer
                | InteractionTrigger::Undelivered,
            )
            | (
                Self::Consumed,
                InteractionTrigger::Approve
                | InteractionTrigger::Deny
                | InteractionTrigger::Answer
                | InteractionTrigger::Expire
                | InteractionTrigger::Withdraw
                | InteractionTrigger::Spend,
            )
            | (Self::Denied | Self::Expired | Self::Withdrawn, _) => None,
        }
    }

    /// How a person reads it; `None` while nobody decided.
    pub fn resolution(self, kind: InteractionKind) -> Option<Resolution> {
        match (self, kind) {
            (Self::Pending, _) => None,
            (Self::Granted, _) | (Self::Consumed, InteractionKind::ToolCall) => {
                Some(Resolution::Approved)
            }
            (Self::Consumed, InteractionKind::Question) => Some(Resolution::Answered),
            (Self::Denied, _) => Some(Resolution::Denied),
            (Self::Expired, _) => Some(Resolution::Expired),
            (Self::Withdrawn, _) => Some(Resolution::Cancelled),
        }
    }
}

/// An interaction's row without what it shows, so that deciding reads no diffs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InteractionRecord {
    /// The row.
    pub id: ApprovalId,
    /// Whose session asks.
    pub agent_id: AgentId,
    /// The session that asks.
    pub session_id: SessionId,
    /// The room whose turns run in it.
    pub room_id: Option<RoomId>,
    /// The call it is about; the row's id for a question without one.
    pub tool_call_id: String,
    /// What answer is wanted.
    pub kind: InteractionKind,
    /// The stored state; see [`InteractionRecord::state_at`].
    pub state: ApprovalState,
    /// 64 hex digits over what is asked.
    pub digest: String,
    /// The answers the agent offers.
    pub options: Vec<PermissionChoice>,
    /// When it was asked.
    pub opened_at: Timestamp,
    /// When it is parked.
    pub parks_at: Timestamp,
    /// When it is refused for want of an answer.
    pub expires_at: Timestamp,
    /// When it was parked.
    pub parked_at: Option<Timestamp>,
    /// Since when the agent that asked is gone.
    pub detached_at: Option<Timestamp>,
    /// When a person decided.
    pub decided_at: Option<Timestamp>,
    /// Who decided.
    pub decided_by: Option<AuthorId>,
    /// When it was withdrawn.
    pub withdrawn_at: Option<Timestamp>,
    /// Who withdrew it; `None` for the server.
    pub withdrawn_by: Option<AuthorId>,
    /// Until when a yes to an agent that was gone may be used.
    pub grant_expires_at: Option<Timestamp>,
    /// The room's turn that asked.
    pub room_turn: Option<TurnId>,
}

/// Why an interaction is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolutionRecord {
    /// In a word.
    pub resolution: Resolution,
    /// Who ended it; `None` for the clock and the server.
    pub by: Option<AuthorId>,
    /// When.
    pub at: Timestamp,
}

impl InteractionRecord {
    /// A new row, asked at `now`, with the deadlines that follow.
    pub fn asked(
        id: ApprovalId,
        whose: (AgentId, SessionId, Option<RoomId>),
        kind: InteractionKind,
        tool_call_id: String,
        now: Timestamp,
    ) -> Self {
        let (agent_id, session_id, room_id) = whose;
        Self {
            id,
            agent_id,
            session_id,
            room_id,
            tool_call_id,
            kind,
            state: ApprovalState::Pending,
            digest: String::new(),
            options: Vec::new(),
            opened_at: now,
            parks_at: now.plus_seconds(limits::APPROVAL_PARK_S),
            expires_at: now.plus_seconds(limits::APPROVAL_EXPIRE_S),
            parked_at: None,
            detached_at: None,
            decided_at: None,
            decided_by: None,
            withdrawn_at: None,
            withdrawn_by: None,
            grant_expires_at: None,
            room_turn: None,
        }
    }

    /// The state that counts at `now`: past its deadline a row is expired before anybody writes
    /// it down. Source: contract 4.5.
    pub fn state_at(&self, now: Timestamp) -> ApprovalState {
        let is_over = match self.state {
            ApprovalState::Pending => now >= self.expires_at,
            ApprovalState::Granted => self.grant_expires_at.is_some_and(|end| now >= end),
            ApprovalState::Denied
            | ApprovalState::Expired
            | ApprovalState::Withdrawn
            | ApprovalState::Consumed => false,
        };
        if is_over {
            ApprovalState::Expired
        } else {
            self.state
        }
    }

    /// Whether a person may still decide at `now`.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.state_at(now) == ApprovalState::Pending
    }

    /// Whether the agent that asked is gone.
    pub fn is_detached(&self) -> bool {
        self.detached_at.is_some()
    }

    /// The option of this id that the agent offered.
    pub fn option(&self, id: &str) -> Option<&PermissionChoice> {
        self.options.iter().find(|option| option.option_id == id)
    }

    /// Whether nobody answered for a while.
    pub fn is_parked(&self, now: Timestamp) -> bool {
        self.parked_at.is_some() || (self.state == ApprovalState::Pending && now >= self.parks_at)
    }

    /// Why it is over at `now`; `None` while it is not.
    pub fn resolved(&self, now: Timestamp) -> Option<ResolutionRecord> {
        let state = self.state_at(now);
        let resolution = state.resolution(self.kind)?;
        let (by, at) = match state {
            ApprovalState::Expired => (None, self.grant_expires_at.or(Some(self.expires_at))),
            ApprovalState::Withdrawn => (self.withdrawn_by, self.withdrawn_at),
            ApprovalState::Granted
            | ApprovalState::Consumed
            | ApprovalState::Denied
            | ApprovalState::Pending => (self.decided_by, self.decided_at),
        };
        Some(ResolutionRecord {
            resolution,
            by,
            // A row that is over has its time; a broken one reads as long ago.
            at: at.unwrap_or(self.opened_at),
        })
    }

    /// Moves it along and notes when and by whom; answers the state it was in, `None` when
    /// `trigger` changes nothing.
    ///
    /// A yes that waits for the agent, and one that reached nobody, may be used for
    /// [`limits::GRANT_TTL_S`]; one whose turn was cancelled meanwhile is not kept.
    pub fn take(
        &mut self,
        trigger: InteractionTrigger,
        by: Option<AuthorId>,
        now: Timestamp,
    ) -> Option<ApprovalState> {
        let is_cancelled = self.withdrawn_at.is_some();
        if trigger == InteractionTrigger::Undelivered
            && (is_cancelled || self.kind == InteractionKind::Question)
        {
            return None;
        }
        let before = self.state;
        self.state = before.after(trigger, self.is_detached())?;
        match trigger {
            InteractionTrigger::Approve | InteractionTrigger::Deny | InteractionTrigger::Answer => {
                (self.decided_at, self.decided_by) = (Some(now), by);
            }
            InteractionTrigger::Withdraw => {
                (self.withdrawn_at, self.withdrawn_by) = (Some(now), by);
            }
            InteractionTrigger::Undelivered => self.detached_at = Some(now),
            InteractionTrigger::Expire | InteractionTrigger::Spend => {}
        }
        if self.state == ApprovalState::Granted {
            self.grant_expires_at = Some(now.plus_seconds(limits::GRANT_TTL_S));
        }
        Some(before)
    }

    /// As the interface shows it at `now`; `reply` is what a person decided with.
    pub fn shown(
        &self,
        card: InteractionCard,
        reply: Option<DecisionReply>,
        now: Timestamp,
    ) -> Interaction {
        let resolved = self.resolved(now);
        let remaining_ms = self.expires_at.as_millis().saturating_sub(now.as_millis());
        Interaction {
            id: self.id,
            session_id: self.session_id,
            tool_call_id: self.tool_call_id.clone(),
            kind: self.kind,
            state: self.state_at(now),
            title: card.title,
            tool_name: card.tool_name,
            tool_kind: card.tool_kind,
            input: card.input,
            input_truncated: card.input_truncated,
            content: card.content,
            locations: card.locations,
            cwd: card.cwd,
            mode: card.mode,
            options: self.options.clone(),
            questions: card.questions,
            digest: self.digest.clone(),
            opaque: card.opaque,
            opened_at: self.opened_at,
            parks_at: self.parks_at,
            expires_at: self.expires_at,
            remaining_ms: if resolved.is_some() {
                0
            } else {
                remaining_ms.max(0)
            },
            parked: self.is_parked(now),
            detached: self.is_detached(),
            resolution: resolved.map(|resolved| resolved.resolution),
            resolved_by: resolved.and_then(|resolved| resolved.by),
            resolved_at: resolved.map(|resolved| resolved.at),
            reply,
        }
    }
}

#[cfg(test)]
#[path = "states_tests.rs"]
mod tests;

//! The link: whether this instance holds a key of the cloud service, and the flow by which it
//! gets one. A restart, a lost answer or a person's change of mind may come at any point.
//! Source: spec, "Cloud link state"; contract 5.10.

use serde::{Deserialize, Serialize};

use super::event_payloads::LinkChanged;
use crate::{
    Timestamp,
    device_grant::{PollStatus, PollingPace},
};

/// Where the link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkState {
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

impl LinkState {
    /// Every state with its word.
    pub const WORDS: [(Self, &str); 6] = [
        (Self::Idle, "idle"),
        (Self::Pending, "pending"),
        (Self::Linked, "linked"),
        (Self::Expired, "expired"),
        (Self::Denied, "denied"),
        (Self::Unlinked, "unlinked"),
    ];
}

/// How a flow ended that was to bring another key while one was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelinkOutcome {
    /// Somebody refused the code.
    Denied,
    /// Nobody typed the code in time.
    Expired,
    /// The service refused for another reason.
    Failed,
}

impl RelinkOutcome {
    /// Every outcome with its word.
    pub const WORDS: [(Self, &str); 3] = [
        (Self::Denied, "denied"),
        (Self::Expired, "expired"),
        (Self::Failed, "failed"),
    ];
}

/// Why no key is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnlinkedState {
    /// For no reason that anybody needs to know.
    #[default]
    Idle,
    /// The last code was not typed in time.
    Expired,
    /// The last code was refused.
    Denied,
    /// The service no longer took the key.
    Unlinked,
}

impl UnlinkedState {
    const fn state(self) -> LinkState {
        match self {
            Self::Idle => LinkState::Idle,
            Self::Expired => LinkState::Expired,
            Self::Denied => LinkState::Denied,
            Self::Unlinked => LinkState::Unlinked,
        }
    }
}

/// What a person types, and where. Without `Debug`: a code is for the owner's eyes.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkCode {
    /// What is typed.
    pub user_code: String,
    /// Where.
    pub verification_uri: String,
    /// The same with the code in it; the same without, where the service names none.
    pub verification_uri_complete: String,
    /// Until when the code counts.
    pub expires_at: Timestamp,
}

/// What is to become of a key that the flow's request brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyDisposition {
    /// The person wants it.
    Link,
    /// Somebody cancelled while a request was on its way: a key that it brings is kept, and
    /// no other is asked for.
    Settle,
    /// Somebody unlinked: a key that comes is given back. Nobody sees this flow any more.
    GiveBack,
}

/// What is known of the last time the service was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PollState {
    /// It was answered, or there was none.
    Settled,
    /// It is on its way.
    OnItsWay,
    /// Nobody answered, so that it may have brought a key that never arrived.
    InDoubt,
}

/// A code that waits to be typed.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkFlow {
    /// The code.
    pub code: LinkCode,
    /// How often the service is asked.
    pub pace: PollingPace,
    /// The last time it was asked.
    pub request: PollState,
    /// What for.
    pub aim: KeyDisposition,
}

impl LinkFlow {
    /// Whether a request is on its way.
    pub fn is_asking(&self) -> bool {
        self.request == PollState::OnItsWay
    }
}

/// The link as it stands, without its secrets. It moves by [`Link::next`] alone.
#[derive(Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// The number of the key that is held: each that is kept gets the next one, so that what is
    /// heard of an old one says nothing of its successor.
    pub held: Option<u64>,
    /// How many keys were kept so far.
    pub kept: u64,
    /// Why none is held.
    pub rest: UnlinkedState,
    /// How the last flow ended, where a key was held all along.
    pub relink_outcome: Option<RelinkOutcome>,
    /// The code whose typing brought the key that is held.
    pub approved_code: Option<String>,
    /// Whose the key is, as the service says.
    pub account_label: Option<String>,
    /// When the service last took the key.
    pub last_heartbeat_at: Option<Timestamp>,
    /// Whether the last heartbeat was answered well; `None` before the first one of a key.
    pub is_heard: Option<bool>,
    /// The flow.
    pub flow: Option<LinkFlow>,
}

/// What the service said when it was asked whether the code was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkPollResult {
    /// It was; here is a key.
    Key,
    /// A person said no (`access_denied`).
    Denied,
    /// The code counts no more (`expired_token`, `invalid_grant`), or what it brought was given
    /// back.
    Over,
    /// Any other error, or an answer of no use.
    Failed,
    /// Ask again.
    Again(PollStatus),
}

/// What the service said of the key that is held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HeartbeatResult {
    /// It takes it, and says whose it is.
    Taken {
        /// Whose.
        account_label: Option<String>,
    },
    /// It takes it no more (401).
    NotTaken,
    /// It said nothing, or nothing of use.
    Nothing,
}

/// What can happen to the link.
#[derive(Clone, PartialEq, Eq)]
pub enum LinkEvent {
    /// The service gave a code.
    Started(LinkCode, PollingPace),
    /// It is about to be asked whether the code was typed.
    Asking,
    /// It said so, or nothing.
    Answered(LinkPollResult),
    /// Somebody cancels.
    Cancelled,
    /// Who cancelled has waited for the request on its way for as long as they have to.
    Abandoned,
    /// Somebody unlinks.
    Unlinked,
    /// The service said something of the key with this number.
    Heartbeat(u64, HeartbeatResult),
    /// This server ended and began again.
    Restarted,
    /// Nothing but time.
    Looked,
}

/// What is to be done with the keys, in the transaction that writes the move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyEffect {
    /// Keep the key that just came, in the place of any other.
    Keep,
    /// Give back the key that just came: nobody wants it. What comes of that is the next answer:
    /// over, or that nobody was told.
    GiveBackNew,
    /// Erase the key that was held, and give it back.
    GiveBackHeld,
    /// Erase the key that was held: the service knows that it counts no more.
    EraseHeld,
}

/// A move of the link.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkTransition {
    /// As it stands after.
    pub link: Link,
    /// What is to be done, in this order.
    pub effects: Vec<KeyEffect>,
}

impl Link {
    /// Where it is.
    pub fn state(&self) -> LinkState {
        match (self.pending(), self.held) {
            (Some(_), _) => LinkState::Pending,
            (None, Some(_)) => LinkState::Linked,
            (None, None) => self.rest.state(),
        }
    }

    /// The code that a person is to type, while there is one.
    pub fn pending(&self) -> Option<&LinkCode> {
        let seen = self
            .flow
            .as_ref()
            .filter(|flow| flow.aim != KeyDisposition::GiveBack);
        seen.map(|flow| &flow.code)
    }

    /// Whether the service is being asked by a request whose answer still decides something.
    pub fn is_asking(&self) -> bool {
        self.flow.as_ref().is_some_and(LinkFlow::is_asking)
    }

    /// What is told of it.
    pub fn changed_event(&self) -> LinkChanged {
        LinkChanged {
            state: self.state(),
            relink_outcome: self.relink_outcome,
            account_label: self.account_label.clone(),
        }
    }

    /// What it becomes by what happened; `None` where that changes nothing. The deadline of a
    /// code is never met while a request is on its way: its answer decides.
    ///
    /// Source: contract 5.10, the table of transitions.
    #[must_use]
    pub fn next(&self, happening: LinkEvent, now: Timestamp) -> Option<LinkTransition> {
        let mut link = self.clone();
        let effects = match happening {
            LinkEvent::Started(code, pace) => link.started(code, pace),
            LinkEvent::Asking => link.asking(),
            LinkEvent::Answered(answer) => link.answered(answer, now),
            LinkEvent::Cancelled => link.cancelled(),
            LinkEvent::Abandoned => link.abandoned(),
            LinkEvent::Unlinked => link.unlinked(),
            LinkEvent::Heartbeat(key, heard) => link.heard(key, heard, now),
            LinkEvent::Restarted => link.restarted(now),
            LinkEvent::Looked => link.looked(now),
        };
        (link != *self || !effects.is_empty()).then_some(LinkTransition { link, effects })
    }

    /// A flow begins. One on whose answer something still hangs is settled before (see
    /// `hall::cloud`), so that none is replaced here while it asks.
    fn started(&mut self, code: LinkCode, pace: PollingPace) -> Vec<KeyEffect> {
        if !self.is_asking() {
            self.relink_outcome = None;
            self.flow = Some(LinkFlow {
                code,
                pace,
                request: PollState::Settled,
                aim: KeyDisposition::Link,
            });
        }
        Vec::new()
    }

    fn asking(&mut self) -> Vec<KeyEffect> {
        if let Some(flow) = &mut self.flow {
            flow.request = PollState::OnItsWay;
        }
        Vec::new()
    }

    fn answered(&mut self, answer: LinkPollResult, now: Timestamp) -> Vec<KeyEffect> {
        let Some(mut flow) = self.flow.take_if(|flow| flow.is_asking()) else {
            return Vec::new();
        };
        match (answer, flow.aim) {
            (LinkPollResult::Key, KeyDisposition::GiveBack) => {
                // The code stays until the key is given back: who asks with it once more after a
                // loss makes the key worthless.
                self.flow = Some(flow);
                return vec![KeyEffect::GiveBackNew];
            }
            (LinkPollResult::Key, KeyDisposition::Link | KeyDisposition::Settle) => {
                return self.keep(flow.code.user_code);
            }
            (LinkPollResult::Again(_), KeyDisposition::Settle) => self.forget_end(),
            (
                LinkPollResult::Again(polled),
                aim @ (KeyDisposition::Link | KeyDisposition::GiveBack),
            ) => {
                flow.pace = flow.pace.after(polled);
                flow.request = match polled {
                    PollStatus::Waiting | PollStatus::TooOften => PollState::Settled,
                    PollStatus::Nobody(_) => PollState::InDoubt,
                };
                self.flow = Some(flow);
                if aim == KeyDisposition::GiveBack {
                    self.dismiss();
                }
                return self.looked(now);
            }
            (LinkPollResult::Denied, KeyDisposition::Link) => {
                self.ended(RelinkOutcome::Denied, UnlinkedState::Denied);
            }
            (LinkPollResult::Over, KeyDisposition::Link) => {
                self.ended(RelinkOutcome::Expired, UnlinkedState::Expired);
            }
            (LinkPollResult::Failed, KeyDisposition::Link) => {
                self.ended(RelinkOutcome::Failed, UnlinkedState::Idle);
            }
            (
                LinkPollResult::Denied | LinkPollResult::Over | LinkPollResult::Failed,
                KeyDisposition::Settle,
            ) => self.forget_end(),
            (
                LinkPollResult::Denied | LinkPollResult::Over | LinkPollResult::Failed,
                KeyDisposition::GiveBack,
            ) => {}
        }
        Vec::new()
    }

    /// Nothing more is asked from here on; a request on its way alone may still bring a key.
    fn cancelled(&mut self) -> Vec<KeyEffect> {
        match &mut self.flow {
            // Somebody unlinked before, so that this is no flow that anybody sees.
            Some(flow) if flow.aim == KeyDisposition::GiveBack => {}
            Some(flow) if flow.is_asking() => {
                flow.aim = KeyDisposition::Settle;
                return Vec::new();
            }
            _ => self.flow = None,
        }
        self.forget_end();
        Vec::new()
    }

    fn abandoned(&mut self) -> Vec<KeyEffect> {
        if self
            .flow
            .take_if(|flow| flow.aim == KeyDisposition::Settle)
            .is_some()
        {
            self.forget_end();
        }
        Vec::new()
    }

    fn unlinked(&mut self) -> Vec<KeyEffect> {
        self.dismiss();
        let held = self.drop_key();
        held.then_some(KeyEffect::GiveBackHeld)
            .into_iter()
            .collect()
    }

    fn heard(&mut self, key: u64, heard: HeartbeatResult, now: Timestamp) -> Vec<KeyEffect> {
        if self.held != Some(key) {
            return Vec::new();
        }
        match heard {
            HeartbeatResult::Taken { account_label } => {
                self.account_label = account_label;
                self.last_heartbeat_at = Some(now);
                self.is_heard = Some(true);
                Vec::new()
            }
            HeartbeatResult::Nothing => {
                self.is_heard = Some(false);
                Vec::new()
            }
            HeartbeatResult::NotTaken => {
                self.drop_key();
                self.relink_outcome = None;
                self.rest = UnlinkedState::Unlinked;
                vec![KeyEffect::EraseHeld]
            }
        }
    }

    /// A request that was on its way is lost with the server that sent it.
    fn restarted(&mut self, now: Timestamp) -> Vec<KeyEffect> {
        if let Some(flow) = self.flow.as_mut().filter(|flow| flow.is_asking()) {
            flow.request = PollState::InDoubt;
        }
        self.abandoned();
        self.looked(now)
    }

    fn looked(&mut self, now: Timestamp) -> Vec<KeyEffect> {
        let over = |flow: &mut LinkFlow| !flow.is_asking() && now >= flow.code.expires_at;
        if let Some(flow) = self.flow.take_if(over)
            && flow.aim == KeyDisposition::Link
        {
            self.ended(RelinkOutcome::Expired, UnlinkedState::Expired);
        }
        Vec::new()
    }

    /// Nobody wants the flow any more. Where a request may have brought a key, the flow goes on
    /// unseen until that is known.
    fn dismiss(&mut self) {
        self.flow.take_if(|flow| flow.request == PollState::Settled);
        if let Some(flow) = &mut self.flow {
            flow.aim = KeyDisposition::GiveBack;
        }
        self.forget_end();
    }

    /// Nobody needs to know any more how the last flow ended.
    fn forget_end(&mut self) {
        self.rest = UnlinkedState::Idle;
        self.relink_outcome = None;
    }

    /// A flow ended without a key.
    fn ended(&mut self, outcome: RelinkOutcome, rest: UnlinkedState) {
        match self.held {
            Some(_) => self.relink_outcome = Some(outcome),
            None => self.rest = rest,
        }
    }

    /// A flow ended with a key.
    fn keep(&mut self, user_code: String) -> Vec<KeyEffect> {
        let before = self.drop_key().then_some(KeyEffect::GiveBackHeld);
        self.kept = self.kept.saturating_add(1);
        self.held = Some(self.kept);
        self.rest = UnlinkedState::Idle;
        self.relink_outcome = None;
        self.approved_code = Some(user_code);
        before.into_iter().chain([KeyEffect::Keep]).collect()
    }

    /// Forgets the key with all that was known of it; answers whether there was one.
    fn drop_key(&mut self) -> bool {
        self.approved_code = None;
        self.account_label = None;
        self.last_heartbeat_at = None;
        self.is_heard = None;
        self.held.take().is_some()
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;

//! Addressing: which agents of a room a post means. Source: contract 2.6, step 2.

use super::TurnRule;
use crate::{
    Timestamp,
    agents::ResponseMode,
    ids::{AuthorId, EntryId},
    limits,
    rooms::RoomKind,
};

/// A post as the agents of its room hear it.
#[derive(Clone, Copy, Debug)]
pub struct PostAudience<'a> {
    /// What kind of room it was written in.
    pub room: RoomKind,
    /// Who wrote it.
    pub author: AuthorId,
    /// Whether that is an agent.
    pub by_agent: bool,
    /// Whom it names.
    pub names: &'a [AuthorId],
}

/// An agent that belongs to the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressableAgent {
    /// Its author.
    pub author: AuthorId,
    /// How it answers here.
    pub mode: ResponseMode,
    /// Whether it answers what addresses no other agent.
    pub is_seat: bool,
    /// Whether it was named a short while ago, see [`is_engaged`].
    pub is_engaged: bool,
}

/// Whether a post means an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    /// It does.
    Addressed,
    /// It does not, by this rule.
    NotAddressed(TurnRule),
}

/// Considers every listener but the author of the post, in the order given.
///
/// The fallback seat is asked last: it answers a person's post that names no other agent and
/// addresses none by its mode.
///
/// Source: contract 2.2 "fallbackSeatAuthorId", 2.6.
pub fn address_agents(
    post: &PostAudience<'_>,
    listeners: &[AddressableAgent],
) -> Vec<(AuthorId, Addressing)> {
    let others = listeners.iter().filter(|agent| agent.author != post.author);
    let by_mode: Vec<(&AddressableAgent, Addressing)> =
        others.map(|agent| (agent, by_mode(post, agent))).collect();
    let is_for_another = |seat: AuthorId| {
        by_mode.iter().any(|(agent, addressing)| {
            agent.author != seat
                && (*addressing == Addressing::Addressed || post.names.contains(&agent.author))
        })
    };
    by_mode
        .iter()
        .map(|(agent, addressing)| {
            let steps_in = agent.is_seat
                && agent.mode != ResponseMode::Silent
                && *addressing != Addressing::Addressed;
            let addressing = match (steps_in, post.by_agent || is_for_another(agent.author)) {
                (false, _) => *addressing,
                (true, true) => Addressing::NotAddressed(TurnRule::SeatStoodDown),
                (true, false) => Addressing::Addressed,
            };
            (agent.author, addressing)
        })
        .collect()
}

/// What an agent's own mode says.
fn by_mode(post: &PostAudience<'_>, agent: &AddressableAgent) -> Addressing {
    let unless = |means: bool, rule| {
        if means {
            Addressing::Addressed
        } else {
            Addressing::NotAddressed(rule)
        }
    };
    let is_named = post.names.contains(&agent.author);
    let is_direct = post.room == RoomKind::Dm;
    match agent.mode {
        ResponseMode::Silent => Addressing::NotAddressed(TurnRule::Silent),
        _ if is_direct && post.by_agent => unless(is_named, TurnRule::NotNamed),
        ResponseMode::Always => Addressing::Addressed,
        ResponseMode::MentionOnly => unless(is_named, TurnRule::NotNamed),
        ResponseMode::Engaged => unless(is_named || agent.is_engaged, TurnRule::NotEngaged),
        ResponseMode::DirectOnly => unless(is_named || is_direct, TurnRule::NotDirect),
    }
}

/// An earlier post, as far as it engages somebody.
#[derive(Clone, Debug)]
pub struct EarlierPost {
    /// The post.
    pub id: EntryId,
    /// Who wrote it.
    pub author: AuthorId,
    /// Whom it names.
    pub names: Vec<AuthorId>,
    /// The thread it lies in.
    pub thread_root: Option<EntryId>,
    /// When it was written.
    pub at: Timestamp,
}

impl EarlierPost {
    /// Whether it lies where a post of `thread` lies; the root of a thread lies in it too.
    pub fn is_in(&self, thread: Option<EntryId>) -> bool {
        self.thread_root == thread || Some(self.id) == thread
    }
}

/// Whether `agent` is engaged by a post at `at` in `thread`: one before it, at most ten minutes
/// and four other posts of others ago, named the agent in the same thread scope.
///
/// `before` are the posts before it, newest first.
///
/// Source: contract 2.6, "engaged".
pub fn is_engaged<'a>(
    agent: AuthorId,
    at: Timestamp,
    thread: Option<EntryId>,
    before: impl IntoIterator<Item = &'a EarlierPost>,
) -> bool {
    // The post itself is the first of others since.
    let mut others = 1;
    for said in before {
        if said.at.plus_seconds(limits::ENGAGED_S) < at {
            return false;
        }
        if !said.is_in(thread) || said.author == agent {
            continue;
        }
        if said.names.contains(&agent) {
            return true;
        }
        others += 1;
        if others > limits::ENGAGED_POSTS {
            return false;
        }
    }
    false
}

//! Considering: which agents of a room a new post means, and what the ledger records of it.

use std::collections::HashSet;

use guildhall_domain::{
    Result, Timestamp,
    agents::ResponseMode,
    entries::{Entry, EntryKind},
    ids::{AuthorId, TurnId},
    limits,
    rooms::Room,
    turns::{
        AddressableAgent, Addressing, EarlierPost, PostAudience, Turn, TurnCounts, TurnRule,
        TurnState, address_agents, is_engaged,
    },
};
use guildhall_store::{
    ReadTx, Tx, rooms,
    turns::{self, RoomAgent, TurnRow},
};

use super::ledger;
use crate::Hall;

/// Considers every agent of the room but the author for a post just written; answers one turn
/// for each, stored for those it means.
///
/// # Errors
/// A fault when the engine refuses a row.
///
/// Source: contract 2.6, steps 1 to 4.
pub(crate) fn record_addressed_turns(
    tx: &mut Tx<'_>,
    entry: &Entry,
    now: Timestamp,
) -> Result<Vec<Turn>> {
    let agents = turns::attendants(tx, entry.room_id)?;
    if entry.kind != EntryKind::Post || agents.iter().all(|agent| agent.author == entry.author_id) {
        return Ok(Vec::new());
    }
    let Some(room) = rooms::by_id(tx, entry.room_id)? else {
        return Ok(Vec::new());
    };
    let wants_past = agents.iter().any(|agent| {
        agent.mode == ResponseMode::Engaged && !entry.mentions.contains(&agent.author)
    });
    let before = if wants_past {
        let since = entry.created_at.plus_seconds(-limits::ENGAGED_S);
        let (thread, most) = (entry.thread_root_entry_id, limits::ENGAGED_LOOK_BACK);
        turns::earlier_posts(tx, room.id, thread, entry.seq, since, most)?
    } else {
        Vec::new()
    };
    let by_agent = agents.iter().any(|agent| agent.author == entry.author_id);
    let mut turns = Vec::new();
    for (author, addressing) in apply_rules(&room, entry, by_agent, &agents, &before.iter()) {
        let agent = agents.iter().find(|agent| agent.author == author);
        turns.push(match (addressing, agent) {
            (Addressing::Addressed, Some(agent)) => address(tx, &room, agent, entry, now)?,
            (Addressing::Addressed, None) => continue,
            (Addressing::NotAddressed(rule), _) => unaddressed_turn(entry, author, rule),
        });
    }
    Ok(turns)
}

/// What the rules say of a post to these agents; `before` are earlier posts, newest first.
pub(super) fn apply_rules<'a>(
    room: &Room,
    entry: &Entry,
    by_agent: bool,
    agents: &[RoomAgent],
    before: &(impl Iterator<Item = &'a EarlierPost> + Clone),
) -> Vec<(AuthorId, Addressing)> {
    let listener = |agent: &RoomAgent| AddressableAgent {
        author: agent.author,
        mode: agent.mode,
        is_seat: room.fallback_seat_author_id == Some(agent.author),
        is_engaged: agent.mode == ResponseMode::Engaged
            && is_engaged(
                agent.author,
                entry.created_at,
                entry.thread_root_entry_id,
                before.clone(),
            ),
    };
    let listeners: Vec<AddressableAgent> = agents.iter().map(listener).collect();
    let post = PostAudience {
        room: room.kind,
        author: entry.author_id,
        by_agent,
        names: &entry.mentions,
    };
    address_agents(&post, &listeners)
}

/// Records that a post means an agent: it joins the turn that has yet to start in its thread,
/// begins one, or meets a limit.
fn address(
    tx: &mut Tx<'_>,
    room: &Room,
    agent: &RoomAgent,
    entry: &Entry,
    now: Timestamp,
) -> Result<Turn> {
    let thread = entry.thread_root_entry_id;
    let pending = turns::pending_of(tx, room.id, agent.author, thread)?
        .filter(|kept| kept.turn.trigger_entry_ids.len() < limits::COLLECT_MAX);
    let own = pending.as_ref().map_or(0, |kept| kept.number);
    let cascade = entry.cascade_root_id;
    let used = TurnCounts {
        depth: entry.cascade_depth,
        repeat: turns::in_cascade(tx, cascade, room.id, agent.author, own, u64::MAX)?,
        ..ledger::hours_used(tx, room.id, now)?
    };
    let refusal = if agent.is_retired {
        Some((TurnRule::AgentGone, None))
    } else {
        let met = ledger::bounds(tx, room)?.reached_limit(&used);
        met.map(|(rule, limit)| (rule, Some(limit)))
    };
    match (refusal, pending) {
        (Some((rule, limit)), _) => {
            let mut kept = recorded(entry, agent.author, now);
            kept.turn.state = TurnState::Refused;
            kept.turn.rule = rule;
            kept.turn.limit = limit;
            let kept = turns::insert(tx, kept)?;
            ledger::append_changed(tx, &kept.turn, now)?;
            ledger::notice_refusal(tx, &kept, now)?;
            Ok(kept.turn)
        }
        (None, Some(kept)) => join(tx, kept, entry, now),
        (None, None) => {
            let mut kept = recorded(entry, agent.author, now);
            kept.due_at = Some(soon(now));
            let kept = turns::insert(tx, kept)?;
            ledger::append_changed(tx, &kept.turn, now)?;
            Ok(kept.turn)
        }
    }
}

/// Has a turn that has yet to start answer one more post.
///
/// It belongs to the post with the fewest replies behind it, the newest of several: a person
/// who joins in begins a cascade anew.
fn join(tx: &mut Tx<'_>, mut kept: TurnRow, entry: &Entry, now: Timestamp) -> Result<Turn> {
    if entry.cascade_depth < kept.turn.depth {
        kept.turn.depth = entry.cascade_depth + 1;
        kept.turn.cascade_root_id = entry.cascade_root_id;
    }
    let is_full = kept.turn.trigger_entry_ids.len() + 1 >= limits::COLLECT_MAX;
    if kept.turn.state == TurnState::Collecting {
        kept.due_at = Some(if is_full { now } else { soon(now) });
    }
    turns::add_trigger(tx, &mut kept, entry.id)?;
    ledger::append_changed(tx, &kept.turn, now)?;
    Ok(kept.turn)
}

fn soon(now: Timestamp) -> Timestamp {
    Timestamp::from_millis(now.as_millis() + limits::COLLECT_DEBOUNCE_MS)
}

/// A new turn that answers a post and collects.
fn recorded(entry: &Entry, agent: AuthorId, now: Timestamp) -> TurnRow {
    let id = Hall::new_id(TurnId::from_bytes);
    let mut turn = unaddressed_turn(entry, agent, TurnRule::Addressed);
    turn.id = Some(id);
    turn.state = TurnState::Collecting;
    turn.created_at = now;
    TurnRow {
        turn,
        id,
        seq: entry.seq,
        thread_root: entry.thread_root_entry_id,
        by_person: false,
        due_at: None,
        taken_at: None,
        clock: Default::default(),
        is_late: false,
        has_asked: false,
        to_cancel: false,
        posts: 0,
        canvas_ops: 0,
        number: 0,
    }
}

/// The turn of an agent that a post does not mean; it is never stored.
pub(super) fn unaddressed_turn(entry: &Entry, agent: AuthorId, rule: TurnRule) -> Turn {
    Turn {
        id: None,
        room_id: entry.room_id,
        agent_author_id: agent,
        trigger_entry_ids: vec![entry.id],
        cascade_root_id: entry.cascade_root_id,
        depth: entry.cascade_depth + 1,
        state: TurnState::NotAddressed,
        rule,
        limit: None,
        session_id: None,
        reply_entry_id: None,
        created_at: entry.created_at,
        started_at: None,
        ended_at: None,
    }
}

/// The authors of `posts` that are agents, whether or not they still belong to the room.
pub(super) fn agents_among(db: &ReadTx<'_>, room: &Room) -> Result<HashSet<AuthorId>> {
    turns::agents_that_wrote(db, room.id)
}

//! Ending: what sessions tell of their turns, and everything that ends one from outside.

use std::collections::{BTreeMap, HashSet};

use guildhall_domain::{
    Result, Timestamp,
    entries::NoticeCode,
    ids::{AuthorId, EntryId, RoomId, TurnId},
    limits,
    sessions::TurnOutcome,
    turns::{Turn, TurnClock, TurnRule, TurnState},
};
use guildhall_store::{
    Tx,
    entries::{self, Cascade, NewPost},
    rooms,
    turns::{self, TurnRow},
};
use guildhall_world::acp;
use serde_json::json;

use super::ledger;
use crate::Hall;

/// Notes that a turn's message was handed to the agent: its clock begins now, and one that waited
/// in its session's queue runs from now on.
pub(crate) fn record_begun(tx: &mut Tx<'_>, turn: TurnId, now: Timestamp) -> Result<()> {
    let Some(mut kept) = turns::by_id(tx, turn)? else {
        return Ok(());
    };
    if kept.is_dispatched() {
        kept.taken_at = Some(now);
        ledger::resume(tx, &mut kept, now)?;
    }
    if kept.turn.state != TurnState::Running {
        return Ok(());
    }
    kept.clock = TurnClock::default();
    kept.clock.run(now);
    turns::update(tx, &kept)
}

/// Notes that a turn waits for a person; its clock stands, and the room is told once.
pub(crate) fn record_waiting(tx: &mut Tx<'_>, turn: TurnId, now: Timestamp) -> Result<()> {
    let Some(mut kept) = turns::by_id(tx, turn)? else {
        return Ok(());
    };
    if !ledger::apply_rule(tx, &mut kept, TurnRule::AwaitingPerson, now)? || kept.has_asked {
        return Ok(());
    }
    kept.has_asked = true;
    turns::update(tx, &kept)?;
    let agent = kept.turn.agent_author_id;
    let text = format!("{} waits for a person.", ledger::name_of(tx, agent)?);
    let data = ledger::notice_data(&kept.turn, json!({"sessionId": kept.turn.session_id}));
    let (room, code) = (kept.turn.room_id, NoticeCode::AwaitingApproval);
    ledger::notice(tx, room, code, Some(agent), text, data, now)
}

/// Notes that a turn no longer waits.
pub(crate) fn record_resumed(tx: &mut Tx<'_>, turn: TurnId, now: Timestamp) -> Result<()> {
    let kept = turns::by_id(tx, turn)?;
    if let Some(mut kept) = kept.filter(|kept| kept.turn.state == TurnState::Waiting) {
        ledger::resume(tx, &mut kept, now)?;
    }
    Ok(())
}

/// Ends a turn as its session says, and posts the reply in the turn's thread.
///
/// A turn that ended before takes nothing any more. Text cut off by the model's limits is
/// posted; without any text such a turn failed, while one the agent ended itself is silent.
///
/// Source: contract 2.6, step 6.
pub(crate) fn record_ended(
    tx: &mut Tx<'_>,
    turn: TurnId,
    outcome: TurnOutcome,
    reply: &str,
    error: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    // What the agent wrote to its standard error is for those who may see its session.
    let error = error.map(acp::in_short);
    let kept = turns::by_id(tx, turn)?;
    let Some(mut kept) = kept.filter(|kept| kept.turn.state.is_live() || kept.is_dispatched())
    else {
        return Ok(());
    };
    let has_begun = kept.turn.state != TurnState::Held || outcome != TurnOutcome::Cancelled;
    if kept.turn.state != TurnState::Running && has_begun {
        ledger::resume(tx, &mut kept, now)?;
    }
    let says_nothing = reply.trim().is_empty();
    match outcome {
        TurnOutcome::Cancelled => {
            ledger::apply_rule(tx, &mut kept, TurnRule::Halted, now)?;
            Ok(())
        }
        TurnOutcome::Interrupted | TurnOutcome::Failed => fail(
            tx,
            kept,
            TurnRule::Error,
            error.unwrap_or("it broke off"),
            now,
        ),
        TurnOutcome::MaxTokens | TurnOutcome::MaxTurnRequests | TurnOutcome::Refusal
            if says_nothing =>
        {
            let why = match outcome {
                TurnOutcome::Refusal => "the agent refused",
                _ => "the agent met a limit of its model",
            };
            fail(tx, kept, TurnRule::Error, error.unwrap_or(why), now)
        }
        _ if says_nothing => {
            ledger::apply_rule(tx, &mut kept, TurnRule::Done, now)?;
            Ok(())
        }
        _ => post_reply(tx, kept, reply, now),
    }
}

/// Posts a turn's reply; other agents hear it as any post.
fn post_reply(tx: &mut Tx<'_>, mut kept: TurnRow, reply: &str, now: Timestamp) -> Result<()> {
    let turn = &kept.turn;
    let room = turn.room_id;
    let text: String = reply
        .chars()
        .filter(|c| *c != '\0')
        .take(*limits::ENTRY_CHARS.end())
        .collect();
    let thread_root = match kept.thread_root {
        Some(root) => entries::find(tx, room, 0, root)?,
        None => None,
    };
    let id = Hall::new_id(EntryId::from_bytes);
    let post = NewPost {
        id,
        room,
        author: turn.agent_author_id,
        mention_spans: crate::entries::resolve_mentions(tx, room, &text)?,
        text,
        thread_root,
        cascade: Cascade {
            root: Some(turn.cascade_root_id),
            depth: turn.depth,
            turn: turn.id,
            session: turn.session_id,
        },
        now,
    };
    crate::entries::publish_post(tx, post, Vec::new())?;
    kept.turn.reply_entry_id = Some(id);
    ledger::apply_rule(tx, &mut kept, TurnRule::Done, now)?;
    Ok(())
}

/// Fails a turn and tells the room why.
pub(super) fn fail(
    tx: &mut Tx<'_>,
    mut kept: TurnRow,
    rule: TurnRule,
    why: &str,
    now: Timestamp,
) -> Result<()> {
    if !ledger::apply_rule(tx, &mut kept, rule, now)? {
        return Ok(());
    }
    let agent = kept.turn.agent_author_id;
    let why = ledger::short(why);
    let text = format!("{}'s turn failed: {why}.", ledger::name_of(tx, agent)?);
    let data = ledger::notice_data(&kept.turn, json!({"rule": rule, "error": why}));
    let (room, code) = (kept.turn.room_id, NoticeCode::TurnFailed);
    ledger::notice(tx, room, code, Some(agent), text, data, now)
}

/// Opens a turn anew for what a person says to what its agent asked in `asked`: in the same
/// room, thread and cascade, for the message that tells the agent. `None` when the agent can no
/// longer write there.
///
/// An agent has one live turn a room: while it has another one there, this one is held, and runs
/// when its session takes the message up.
///
/// Source: contract 2.10, "Restart", and 3.8.3.
pub(crate) fn reopen_by_person(
    tx: &mut Tx<'_>,
    asked: TurnId,
    now: Timestamp,
) -> Result<Option<Turn>> {
    let Some(before) = turns::by_id(tx, asked)? else {
        return Ok(None);
    };
    let turn = &before.turn;
    let agents = turns::attendants(tx, turn.room_id)?;
    let is_here = agents
        .iter()
        .any(|agent| agent.author == turn.agent_author_id);
    let room = rooms::by_id(tx, turn.room_id)?;
    let is_open = room.is_some_and(|room| !room.archived);
    if !is_here || !is_open {
        return Ok(None);
    }
    let id = Hall::new_id(TurnId::from_bytes);
    let (_, is_busy) = turns::at_work(tx, turn.agent_author_id, turn.room_id)?;
    let (state, rule) = if is_busy {
        (TurnState::Held, TurnRule::AgentBusy)
    } else {
        (TurnState::Running, TurnRule::ByPerson)
    };
    let begun = (!is_busy).then_some(now);
    let turn = Turn {
        id: Some(id),
        state,
        rule,
        limit: None,
        reply_entry_id: None,
        created_at: now,
        started_at: begun,
        ended_at: None,
        ..before.turn
    };
    let kept = TurnRow {
        turn,
        id,
        by_person: true,
        due_at: None,
        taken_at: begun,
        clock: TurnClock {
            spent_ms: 0,
            since: begun,
        },
        is_late: false,
        has_asked: false,
        to_cancel: false,
        posts: 0,
        canvas_ops: 0,
        number: 0,
        ..before
    };
    let kept = turns::insert(tx, kept)?;
    ledger::append_changed(tx, &kept.turn, now)?;
    Ok(Some(kept.turn))
}

/// Stops what is open in a room, or of one agent there; answers how many turns that were.
pub(super) fn halt(
    tx: &mut Tx<'_>,
    by: AuthorId,
    room: RoomId,
    agent: Option<AuthorId>,
    now: Timestamp,
) -> Result<u64> {
    let open = turns::open(tx, room, agent)?;
    if open.is_empty() {
        return Ok(0);
    }
    let stopped = open.len() as u64;
    for kept in open {
        stop(tx, kept, now)?;
    }
    let text = match agent {
        Some(agent) => format!("{} was stopped.", ledger::name_of(tx, agent)?),
        None => "Every agent here was stopped.".to_owned(),
    };
    let data = json!({"stopped": stopped, "byAuthorId": by});
    ledger::notice(tx, room, NoticeCode::Halted, agent, text, data, now)?;
    Ok(stopped)
}

/// Stops one turn; its session is told by the dispatcher, after the commit.
fn stop(tx: &mut Tx<'_>, mut kept: TurnRow, now: Timestamp) -> Result<()> {
    kept.to_cancel = kept.turn.session_id.is_some();
    ledger::apply_rule(tx, &mut kept, TurnRule::Halted, now)?;
    Ok(())
}

/// Ends turns whose agent or room is no longer there: what runs is stopped, what has yet to
/// start is refused by `rule`.
fn end(tx: &mut Tx<'_>, open: Vec<TurnRow>, rule: TurnRule, now: Timestamp) -> Result<()> {
    for mut kept in open {
        if kept.turn.state.is_live() || kept.is_dispatched() {
            stop(tx, kept, now)?;
        } else {
            ledger::refuse(tx, &mut kept, rule, None, now)?;
        }
    }
    Ok(())
}

/// Ends the turns of an agent that leaves a room.
pub(crate) fn dismiss(
    tx: &mut Tx<'_>,
    room: RoomId,
    agent: AuthorId,
    now: Timestamp,
) -> Result<()> {
    let open = turns::open(tx, room, Some(agent))?;
    end(tx, open, TurnRule::NotAMember, now)
}

/// Ends the turns of a room that is archived.
pub(crate) fn dismiss_room(tx: &mut Tx<'_>, room: RoomId, now: Timestamp) -> Result<()> {
    let open = turns::open(tx, room, None)?;
    end(tx, open, TurnRule::RoomArchived, now)
}

/// Ends the turns of an agent that is taken off the registry, before it leaves its rooms, and
/// tells each room that loses one.
pub(crate) fn dismiss_agent(tx: &mut Tx<'_>, agent: AuthorId, now: Timestamp) -> Result<()> {
    let open = turns::open_of_agent(tx, agent)?;
    let mut rooms: Vec<RoomId> = open.iter().map(|kept| kept.turn.room_id).collect();
    rooms.sort_unstable();
    rooms.dedup();
    end(tx, open, TurnRule::AgentGone, now)?;
    let name = ledger::name_of(tx, agent)?;
    for room in rooms {
        let text = format!("{name} was taken off the registry.");
        let (code, data) = (NoticeCode::AgentGone, json!({}));
        ledger::notice(tx, room, code, Some(agent), text, data, now)?;
    }
    Ok(())
}

/// Drops the turns that have yet to start of a member that shall be silent from now on.
pub(crate) fn drop_silenced(
    tx: &mut Tx<'_>,
    room: RoomId,
    agent: AuthorId,
    now: Timestamp,
) -> Result<()> {
    for kept in turns::open(tx, room, Some(agent))? {
        if kept.turn.state.is_pending() {
            stop(tx, kept, now)?;
        }
    }
    Ok(())
}

/// Fails what ran when the server ended, with one notice for each room; the rest resumes, and so
/// do those of `resumed`, whose messages no agent has been handed.
///
/// Source: contract 2.10, "Restart".
pub(crate) fn recover(tx: &mut Tx<'_>, resumed: &HashSet<TurnId>, now: Timestamp) -> Result<()> {
    for mut kept in turns::to_cancel(tx)? {
        // Its session ended with the server.
        kept.to_cancel = false;
        turns::update(tx, &kept)?;
    }
    let mut rooms: BTreeMap<RoomId, Vec<Turn>> = BTreeMap::new();
    for mut kept in turns::live(tx)? {
        if resumed.contains(&kept.id) {
            continue;
        }
        ledger::apply_rule(tx, &mut kept, TurnRule::ServerRestart, now)?;
        rooms.entry(kept.turn.room_id).or_default().push(kept.turn);
    }
    for (room, turns) in rooms {
        let ids: Vec<_> = turns.iter().map(|turn| turn.id).collect();
        let agent = match turns.as_slice() {
            [one] => Some(one.agent_author_id),
            _ => None,
        };
        let text = match agent {
            Some(agent) => {
                let name = ledger::name_of(tx, agent)?;
                format!("{name}'s turn ended because the server started again.")
            }
            None => format!(
                "{} turns ended because the server started again.",
                ids.len()
            ),
        };
        let data = json!({"rule": TurnRule::ServerRestart, "turnIds": ids});
        ledger::notice(tx, room, NoticeCode::TurnFailed, agent, text, data, now)?;
    }
    Ok(())
}

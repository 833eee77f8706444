//! Starting: what is checked once more, what the agent is told, and the unit of the hour.

use crate::runtimes::Registry;
use guildhall_domain::{
    Error, Fault, Refusal, Result, Timestamp,
    authors::AuthorKind,
    entries::{Entry, NoticeCode},
    ids::{AuthorId, EntryId, MessageId, SessionId},
    limits,
    members::AuthorSummary,
    rooms::{Room, RoomKind},
    settings::MAX_CONCURRENT_TURNS_PER_AGENT,
    turns::{
        PromptEntry, PromptMember, ReachedLimit, TurnCounts, TurnPrompt, TurnRule, TurnState,
        written,
    },
};
use guildhall_store::{
    ReadTx, Tx, entries, members, read_cursors, rooms, settings,
    turns::{self, RoomAgent, TurnRow},
};
use serde_json::json;

use super::{
    ledger,
    session_dispatch::{self, SessionDispatch},
};
use crate::Hall;

/// Starts a due turn, holds it while its agent is busy, or refuses it; answers the session that
/// was handed it.
///
/// Source: contract 2.6, steps 4 to 6.
pub(super) fn when_due(
    tx: &mut Tx<'_>,
    registry: &Registry,
    kept: &mut TurnRow,
    now: Timestamp,
) -> Result<Option<SessionId>> {
    let (room, agent) = match checked(tx, registry, kept, now)? {
        Ok(fit) => fit,
        Err((rule, limit)) => {
            ledger::refuse(tx, kept, rule, limit, now)?;
            return Ok(None);
        }
    };
    let most = settings::small(tx, &MAX_CONCURRENT_TURNS_PER_AGENT)?;
    let (at_work, is_here) = turns::at_work(tx, agent.author, room.id)?;
    if is_here || at_work >= u64::from(most) {
        if kept.turn.state == TurnState::Collecting {
            ledger::apply_rule(tx, kept, TurnRule::AgentBusy, now)?;
        }
        return Ok(None);
    }
    match begin(tx, kept, &room, &agent, now) {
        Ok(session) => Ok(Some(session)),
        Err(Error::Refusal(refusal)) => {
            kept.turn.session_id = None;
            (kept.taken_at, kept.turn.limit) = (None, None);
            ledger::apply_rule(tx, kept, TurnRule::RuntimeUnavailable, now)?;
            tracing::warn!(turn = %kept.id, ?refusal, "a session did not take a turn");
            if ledger::was_unavailable(tx, kept)? {
                return Ok(None);
            }
            let text = format!("{} could not be handed its turn.", agent.name);
            let data = ledger::notice_data(&kept.turn, json!({"rule": kept.turn.rule}));
            let code = NoticeCode::AgentUnavailable;
            ledger::notice(tx, room.id, code, Some(agent.author), text, data, now)?;
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

/// Starts a turn because a person says so.
///
/// # Errors
/// [`Refusal::RoomArchived`], [`Refusal::TurnNotRunnable`] for an agent that cannot work here,
/// [`Refusal::TurnBudgetReached`].
pub(super) fn start_by_person(
    tx: &mut Tx<'_>,
    registry: &Registry,
    kept: &mut TurnRow,
    now: Timestamp,
) -> Result<()> {
    let room = existing(tx, kept)?;
    if room.archived {
        return Err(Refusal::RoomArchived.into());
    }
    let agent = attendant(tx, kept)?
        .filter(|agent| !agent.is_retired && registry.find(&agent.runtime).is_ok());
    let agent = agent.ok_or(Refusal::TurnNotRunnable)?;
    let used = ledger::hours_used(tx, room.id, now)?;
    if let Some((rule, _)) = ledger::bounds(tx, &room)?.reached_hourly_limit(&used) {
        let scope = (rule == TurnRule::HourRoom).then_some(room.id);
        let (_, first) = turns::started_since(tx, scope, super::window(now))?;
        let free = first.map_or(now, |first| first.plus_seconds(limits::TURN_WINDOW_S));
        return Err(Refusal::TurnBudgetReached(now.seconds_until(free).max(1)).into());
    }
    kept.by_person = true;
    begin(tx, kept, &room, &agent, now).map(|_| ())
}

/// Hands a turn to its session and takes its unit of the hour.
fn begin(
    tx: &mut Tx<'_>,
    kept: &mut TurnRow,
    room: &Room,
    agent: &RoomAgent,
    now: Timestamp,
) -> Result<SessionId> {
    let handing = dispatch_message(tx, kept, room, agent)?;
    let session = session_dispatch::dispatch_to_session(tx, &handing, now)?;
    read_cursors::set(tx, room.id, agent.author, u64::MAX, false, now)?;
    kept.turn.session_id = Some(session);
    kept.taken_at = Some(now);
    ledger::resume(tx, kept, now)?;
    Ok(session)
}

/// What a turn's session would be handed now; `None` when its agent is not there.
pub(super) fn preview(db: &ReadTx<'_>, kept: &TurnRow) -> Result<Option<SessionDispatch>> {
    let room = existing(db, kept)?;
    match attendant(db, kept)? {
        Some(agent) => dispatch_message(db, kept, &room, &agent).map(Some),
        None => Ok(None),
    }
}

/// Whether a turn that was addressed a while ago may still start.
#[expect(
    clippy::type_complexity,
    reason = "what fits, or by which rule it does not"
)]
fn checked(
    db: &ReadTx<'_>,
    registry: &Registry,
    kept: &TurnRow,
    now: Timestamp,
) -> Result<Result<(Room, RoomAgent), (TurnRule, Option<ReachedLimit>)>> {
    let room = existing(db, kept)?;
    if room.archived {
        return Ok(Err((TurnRule::RoomArchived, None)));
    }
    let Some(agent) = attendant(db, kept)? else {
        return Ok(Err((TurnRule::NotAMember, None)));
    };
    if agent.is_retired {
        return Ok(Err((TurnRule::AgentGone, None)));
    }
    if registry.find(&agent.runtime).is_err() {
        return Ok(Err((TurnRule::RuntimeUnavailable, None)));
    }
    let (cascade, own) = (kept.turn.cascade_root_id, kept.number);
    let used = TurnCounts {
        depth: kept.turn.depth.saturating_sub(1),
        repeat: turns::in_cascade(db, cascade, room.id, agent.author, own, own)?,
        ..ledger::hours_used(db, room.id, now)?
    };
    Ok(match ledger::bounds(db, &room)?.reached_limit(&used) {
        Some((rule, limit)) => Err((rule, Some(limit))),
        None => Ok((room, agent)),
    })
}

fn existing(db: &ReadTx<'_>, kept: &TurnRow) -> Result<Room> {
    let room = rooms::by_id(db, kept.turn.room_id)?;
    Ok(room.ok_or_else(|| Fault::broken("starting a turn", "its room is missing"))?)
}

fn attendant(db: &ReadTx<'_>, kept: &TurnRow) -> Result<Option<RoomAgent>> {
    let agents = turns::attendants(db, kept.turn.room_id)?;
    let own = kept.turn.agent_author_id;
    Ok(agents.into_iter().find(|agent| agent.author == own))
}

/// The message of a turn: the last post's text byte-exact, and everything else beside it.
fn dispatch_message(
    db: &ReadTx<'_>,
    kept: &TurnRow,
    room: &Room,
    agent: &RoomAgent,
) -> Result<SessionDispatch> {
    let mut posts = turns::by_ids(db, room.id, &kept.turn.trigger_entry_ids)?;
    let last = posts
        .pop()
        .ok_or_else(|| Fault::broken("starting a turn", "it answers no post"))?;
    let people: Vec<AuthorSummary> = members::summaries(db, room.id)?;
    let names = |author: AuthorId| {
        let known = people.iter().find(|known| known.id == author);
        known.map_or_else(|| "somebody who left".to_owned(), display_line)
    };
    let line = |entry: &Entry| PromptEntry {
        seq: entry.seq,
        author: names(entry.author_id),
        text: entry.text.clone(),
        in_thread: entry.thread_root_entry_id.is_some(),
        files: entry
            .attachments
            .iter()
            .map(|file| file.name.clone())
            .collect(),
    };
    let handed: Vec<EntryId> = kept.turn.trigger_entry_ids.clone();
    let (unseen, left_out) = unseen(db, room, agent, &handed)?;
    let root = match kept.thread_root {
        Some(root) if !handed.contains(&root) => entries::find(db, room.id, 0, root)?,
        _ => None,
    };
    let frame = TurnPrompt {
        own_name: called_by(&agent.name, agent.handle.as_ref().map(ToString::to_string)),
        room: room.title.clone(),
        is_direct: room.kind == RoomKind::Dm,
        topic: room.topic.clone(),
        members: people
            .iter()
            .filter(|member| member.id != agent.author)
            .map(|member| PromptMember {
                name: display_line(member),
                is_agent: member.kind == AuthorKind::Agent,
            })
            .collect(),
        thread_root: root.as_ref().map(line),
        unseen: unseen.iter().map(line).collect(),
        left_out,
        earlier: posts.iter().map(line).collect(),
        last: line(&last),
    };
    let content = if last.text.is_empty() {
        "(no words, see the files)".to_owned()
    } else {
        last.text
    };
    Ok(SessionDispatch {
        id: Hall::new_id(MessageId::from_bytes),
        turn: kept.id,
        room: room.id,
        agent: agent.agent,
        author: last.author_id,
        content,
        context: written(&frame),
    })
}

/// What the agent has not seen beside the posts it answers, and how many older ones are dropped.
fn unseen(
    db: &ReadTx<'_>,
    room: &Room,
    agent: &RoomAgent,
    handed: &[EntryId],
) -> Result<(Vec<Entry>, u64)> {
    let most = room.ambient_max_entries;
    if most == 0 {
        return Ok((Vec::new(), 0));
    }
    let Some(member) = members::find(db, room.id, agent.author)? else {
        return Ok((Vec::new(), 0));
    };
    let above = member.joined_seq.max(member.last_read_seq);
    // The posts it answers are unseen too and told apart, so that as many more are read.
    let wide = most.saturating_add(u32::try_from(handed.len()).unwrap_or(u32::MAX));
    let (mut found, all) = turns::unseen_entries(db, room.id, agent.author, above, wide)?;
    let read = found.len();
    found.retain(|entry| !handed.contains(&entry.id));
    let told_apart = (read - found.len()) as u64;
    let surplus = found.len().saturating_sub(most as usize);
    found.drain(..surplus);
    let left_out = all.saturating_sub(told_apart + found.len() as u64);
    Ok((found, left_out))
}

fn display_line(author: &AuthorSummary) -> String {
    let handle = author.handle.as_ref().map(ToString::to_string);
    called_by(&author.display_name, handle)
}

fn called_by(name: &str, handle: Option<String>) -> String {
    match handle {
        Some(handle) => format!("@{handle} ({name})"),
        None => name.to_owned(),
    }
}

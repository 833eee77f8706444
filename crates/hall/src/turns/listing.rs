//! Listing: a page of a room's ledger, with the turns of agents that posts did not mean.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    entries::Entry,
    errors::ResourceKind,
    ids::RoomId,
    limits,
    rooms::Room,
    turns::{
        Addressing, EarlierPost, Turn, TurnBudget, TurnCursor, TurnState, TurnsPage, TurnsQuery,
    },
};
use guildhall_store::{ReadTx, rooms, turns};

use super::{addressing, ledger};

/// The turns above `floor` that are asked for, newest first.
pub(super) fn page(
    db: &ReadTx<'_>,
    room: RoomId,
    floor: u64,
    ask: &TurnsQuery,
    now: Timestamp,
) -> Result<TurnsPage> {
    let room = rooms::by_id(db, room)?.ok_or(Refusal::NotFound(ResourceKind::Room))?;
    let mut found: Vec<(TurnCursor, Turn)> = Vec::new();
    if ask.state != Some(TurnState::NotAddressed) {
        let stored = turns::list(db, room.id, floor, ask)?;
        found.extend(stored.into_iter().map(|kept| (kept.place(), kept.turn)));
    }
    if ask
        .state
        .is_none_or(|state| state == TurnState::NotAddressed)
    {
        let unmeant = unaddressed_turns(db, &room, floor)?.into_iter();
        found.extend(unmeant.filter(|(place, turn)| is_asked(ask, *place, turn)));
    }
    found.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(*place));
    let has_more = found.len() > ask.limit as usize;
    found.truncate(ask.limit as usize);
    let last = found.last().map(|(place, _)| *place);
    Ok(TurnsPage {
        next: last.filter(|_| has_more),
        turns: found.into_iter().map(|(_, turn)| turn).collect(),
        budget: budget(db, &room, now)?,
    })
}

fn is_asked(ask: &TurnsQuery, place: TurnCursor, turn: &Turn) -> bool {
    ask.entry
        .is_none_or(|entry| turn.trigger_entry_ids.contains(&entry))
        && ask.agent.is_none_or(|agent| turn.agent_author_id == agent)
        && ask.below.is_none_or(|below| place < below)
}

/// Of the newest posts, the agents they do not mean by the members and modes of now, as far as
/// no stored turn says otherwise.
fn unaddressed_turns(db: &ReadTx<'_>, room: &Room, floor: u64) -> Result<Vec<(TurnCursor, Turn)>> {
    let agents = turns::attendants(db, room.id)?;
    if agents.is_empty() {
        return Ok(Vec::new());
    }
    let posts = turns::newest_posts(db, room.id, floor, limits::LEDGER_POSTS)?;
    let first = posts.first().map_or(0, |post| post.seq);
    let answered = turns::answered_from(db, room.id, first)?;
    let agent_authors = addressing::agents_among(db, room)?;
    let said: Vec<EarlierPost> = posts.iter().map(as_domain_post).collect();
    let mut found = Vec::new();
    for (at, post) in posts.iter().enumerate() {
        let before = said.get(..at).unwrap_or_default().iter().rev();
        let by_agent = agent_authors.contains(&post.author_id);
        let heard = addressing::apply_rules(room, post, by_agent, &agents, &before);
        for (n, (agent, addressing)) in (1..).zip(heard) {
            let Addressing::NotAddressed(rule) = addressing else {
                continue;
            };
            if answered.contains(&(post.id, agent)) {
                continue;
            }
            let place = TurnCursor {
                seq: post.seq,
                within: MADE_UP_BELOW - n,
            };
            found.push((place, addressing::unaddressed_turn(post, agent, rule)));
        }
    }
    Ok(found)
}

/// Made-up turns of a post stand behind its stored ones.
const MADE_UP_BELOW: u64 = 1 << 32;

fn as_domain_post(post: &Entry) -> EarlierPost {
    EarlierPost {
        id: post.id,
        author: post.author_id,
        names: post.mentions.clone(),
        thread_root: post.thread_root_entry_id,
        at: post.created_at,
    }
}

fn budget(db: &ReadTx<'_>, room: &Room, now: Timestamp) -> Result<TurnBudget> {
    let since = super::window(now);
    let (room_used, _) = turns::started_since(db, Some(room.id), since)?;
    let (global_used, first) = turns::started_since(db, None, since)?;
    let bounds = ledger::bounds(db, room)?;
    Ok(TurnBudget {
        room_used,
        room_max: bounds.in_force().max_auto_turns_per_hour,
        global_used,
        global_max: bounds.total_per_hour,
        resets_at: first.map(|first| first.plus_seconds(limits::TURN_WINDOW_S)),
    })
}

//! The ledger: how a turn goes on, told in the transaction that has it go, and the notices that
//! tell a room what people would miss.

use guildhall_domain::{
    Result, Timestamp,
    entries::NoticeCode,
    events::Event,
    ids::{AuthorId, RoomId},
    limits,
    turns::{ReachedLimit, Turn, TurnBounds, TurnCounts, TurnRule, TurnState},
};
use guildhall_store::{
    ReadTx, Tx, authors, settings,
    turns::{self, TurnRow},
};
use serde_json::{Value, json};

/// Has a turn go the way of `rule`, and tells; nothing happens where the ledger knows no way.
pub(super) fn apply_rule(
    tx: &mut Tx<'_>,
    kept: &mut TurnRow,
    rule: TurnRule,
    now: Timestamp,
) -> Result<bool> {
    if !kept.turn.apply_rule(rule, now) {
        return Ok(false);
    }
    if rule == TurnRule::Done && kept.turn.reply_entry_id.is_none() {
        kept.turn.state = TurnState::Silent;
    }
    if kept.turn.state == TurnState::Running {
        kept.clock.run(now);
    } else {
        kept.clock.pause(now);
    }
    if kept.turn.state != TurnState::Collecting {
        kept.due_at = None;
    }
    turns::update(tx, kept)?;
    append_changed(tx, &kept.turn, now)?;
    Ok(true)
}

/// Has a turn run, or run on, by the rule that started it.
pub(super) fn resume(tx: &mut Tx<'_>, kept: &mut TurnRow, now: Timestamp) -> Result<()> {
    let rule = if kept.by_person {
        TurnRule::ByPerson
    } else {
        TurnRule::Started
    };
    apply_rule(tx, kept, rule, now)?;
    Ok(())
}

/// Refuses a turn that has yet to start, and tells the room where it would wonder.
pub(super) fn refuse(
    tx: &mut Tx<'_>,
    kept: &mut TurnRow,
    rule: TurnRule,
    limit: Option<ReachedLimit>,
    now: Timestamp,
) -> Result<()> {
    kept.turn.limit = limit;
    if apply_rule(tx, kept, rule, now)? {
        notice_refusal(tx, kept, now)?;
    }
    Ok(())
}

/// Tells that a turn was recorded or went on.
pub(super) fn append_changed(tx: &mut Tx<'_>, turn: &Turn, now: Timestamp) -> Result<()> {
    let actor = turn.agent_author_id;
    let event = Event::TurnUpdated { turn: turn.clone() };
    tx.append(now, Some(actor), &event)?;
    Ok(())
}

/// What bounds the automatic turns of a room.
pub(super) fn bounds(db: &ReadTx<'_>, room: &guildhall_domain::rooms::Room) -> Result<TurnBounds> {
    Ok(TurnBounds {
        own: room.limit_overrides,
        installation: settings::turn_limits(db)?,
        total_per_hour: settings::turns_total_per_hour(db)?,
    })
}

/// What the hour has used; depth and repetition are left for the caller.
pub(super) fn hours_used(db: &ReadTx<'_>, room: RoomId, now: Timestamp) -> Result<TurnCounts> {
    let since = super::window(now);
    Ok(TurnCounts {
        hour_room: turns::started_since(db, Some(room), since)?.0,
        hour_global: turns::started_since(db, None, since)?.0,
        ..TurnCounts::default()
    })
}

/// Tells of a refusal what a room would wonder about: a chain that ends, an hour that is used
/// up, an agent that cannot work; each once, not for every post.
pub(super) fn notice_refusal(tx: &mut Tx<'_>, kept: &TurnRow, now: Timestamp) -> Result<()> {
    let turn = &kept.turn;
    let (room, agent) = (turn.room_id, turn.agent_author_id);
    let name = name_of(tx, agent)?;
    let (code, text) = match turn.rule {
        TurnRule::Depth | TurnRule::Repeat => {
            // A post that begins its own cascade stops none.
            let begins = turn.trigger_entry_ids.contains(&turn.cascade_root_id);
            if begins || turns::was_stopped(tx, turn.cascade_root_id, room, kept.number)? {
                return Ok(());
            }
            let text = format!("The agents' replies stop here: {name} met a limit.");
            (NoticeCode::CascadeStopped, text)
        }
        TurnRule::HourRoom | TurnRule::HourGlobal => {
            if turns::was_over_budget(tx, room, super::window(now), kept.number)? {
                return Ok(());
            }
            let text = "The automatic turns of this hour are used up.".to_owned();
            (NoticeCode::BudgetReached, text)
        }
        TurnRule::RuntimeUnavailable => {
            if was_unavailable(tx, kept)? {
                return Ok(());
            }
            let text = format!("{name} cannot work: its runtime is not available here.");
            (NoticeCode::RuntimeGone, text)
        }
        _ => return Ok(()),
    };
    let data = notice_data(turn, json!({"rule": turn.rule, "limit": turn.limit}));
    notice(tx, room, code, Some(agent), text, data, now)
}

/// Whether the agent could not take its turn before this one in the room either.
pub(super) fn was_unavailable(db: &ReadTx<'_>, kept: &TurnRow) -> Result<bool> {
    let (room, agent) = (kept.turn.room_id, kept.turn.agent_author_id);
    let before = turns::newest_of(db, room, agent, kept.number)?;
    Ok(before.is_some_and(|before| before.turn.rule == TurnRule::RuntimeUnavailable))
}

/// What a notice says of a turn.
pub(super) fn notice_data(turn: &Turn, mut data: Value) -> Value {
    data["turnId"] = json!(turn.id);
    data
}

/// Writes a notice of the room.
pub(super) fn notice(
    tx: &mut Tx<'_>,
    room: RoomId,
    code: NoticeCode,
    subject: Option<AuthorId>,
    text: String,
    data: Value,
    now: Timestamp,
) -> Result<()> {
    let notice = guildhall_domain::entries::Notice {
        code,
        subject_author_id: subject,
        data,
    };
    crate::entries::insert_notice(tx, room, text, notice, now)
}

/// What an author is called.
pub(super) fn name_of(db: &ReadTx<'_>, author: AuthorId) -> Result<String> {
    let author = authors::by_id(db, author)?;
    Ok(author.map_or_else(|| "An agent".to_owned(), |author| author.display_name))
}

/// An error, short enough for a notice.
pub(super) fn short(error: &str) -> String {
    error.chars().take(limits::TURN_ERROR_CHARS).collect()
}

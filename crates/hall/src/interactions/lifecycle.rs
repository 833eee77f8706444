//! Asking: how an agent's ask becomes a row, and what of a session's rows ends with its turn or
//! its process. Everything here runs in a transaction of the caller's.

use guildhall_domain::{
    Result, Timestamp,
    events::Event,
    ids::{ApprovalId, AuthorId, SessionId},
    interactions::{
        ApprovalState, DecisionReply, Interaction, InteractionCard, InteractionKind,
        InteractionRecord, InteractionRequest, InteractionTrigger, option_to_allow,
    },
    limits,
    sessions::Session,
    transcript::ToolCall,
};
use guildhall_store::{
    ReadTx, Tx,
    interactions::{self as ask_rows, InteractionRow},
    turns,
};
use guildhall_world::digests::{ApprovalAction, ApprovalDigests};
use serde_json::Value;

use crate::sessions;

/// What becomes of an agent's ask.
#[derive(Clone, Debug)]
pub enum OpenOutcome {
    /// A person is asked; its answer comes to whoever waits for its id.
    Asked(Box<Interaction>),
    /// A person allowed exactly this when the agent was gone; that yes is used up now.
    Granted {
        /// The agent's option of kind `allow_once`.
        option_id: String,
    },
    /// The agent gets a no: as many asks wait as may, or a person denied exactly this when the
    /// agent was gone.
    Refused,
    /// The agent gets a no to this ask alone: a person is being asked about this very call.
    AskedAlready,
}

/// Opens what `session` asks under the id `id`, whose answer the caller waits for already.
///
/// `call` is all that is known of the call it is about. A card of the same call or of the same
/// digest whose agent is gone makes place for this one, so that one deed is decided once.
///
/// # Errors
/// Faults.
///
/// Source: contract 3.6.2, 3.8.
pub(crate) fn open(
    tx: &mut Tx<'_>,
    session: &Session,
    call: Option<&ToolCall>,
    asked: &InteractionRequest,
    digests: &ApprovalDigests,
    id: ApprovalId,
    now: Timestamp,
) -> Result<OpenOutcome> {
    let digest = digest(session, call, asked, digests)?;
    let card = asked.card(session, call);
    // Of an opaque ask nothing is known but an id, so that no word on another one reaches it.
    if !card.opaque
        && let Some(opening) = earlier_decision(tx, session.id, asked, &digest, now)?
    {
        return Ok(opening);
    }
    insert_interaction(tx, session, asked, (card, digest), id, now)
}

/// Opens what a tool server asks in a turn of `session`. Nobody remembers what was said to it
/// before, and it ends with whoever waits for it.
///
/// # Errors
/// Faults.
///
/// Source: contract 4.4, "elicitation becomes a question of the session".
pub(crate) fn open_elicitation(
    tx: &mut Tx<'_>,
    session: &Session,
    asked: &InteractionRequest,
    digests: &ApprovalDigests,
    id: ApprovalId,
    now: Timestamp,
) -> Result<OpenOutcome> {
    let digest = digest(session, None, asked, digests)?;
    let card = InteractionCard {
        of_server: true,
        ..asked.card(session, None)
    };
    insert_interaction(tx, session, asked, (card, digest), id, now)
}

/// Writes the row of an ask, unless as many wait as may.
fn insert_interaction(
    tx: &mut Tx<'_>,
    session: &Session,
    asked: &InteractionRequest,
    (card, digest): (InteractionCard, String),
    id: ApprovalId,
    now: Timestamp,
) -> Result<OpenOutcome> {
    let (kind, tool_call_id) = (asked.kind(), asked.tool_call_id(id));
    let pending = ask_rows::pending_of(tx, session.id, now)?;
    let is_same_call =
        |row: &InteractionRecord| row.kind == kind && row.tool_call_id == tool_call_id;
    let mut waiting = 0;
    for InteractionRow {
        standing: mut row, ..
    } in pending
    {
        match (row.is_detached(), is_same_call(&row)) {
            (false, true) => return Ok(OpenOutcome::AskedAlready),
            (true, is_same) if is_same || (!card.opaque && row.digest == digest) => {
                apply(tx, &mut row, InteractionTrigger::Withdraw, None, now)?;
            }
            (false, false) | (true, _) => waiting += 1,
        }
    }
    if waiting >= limits::PENDING_MAX {
        return Ok(OpenOutcome::Refused);
    }
    let whose = (session.agent_id, session.id, session.room_id);
    let mut row = InteractionRecord::asked(id, whose, kind, tool_call_id, now);
    row.digest = digest;
    row.room_turn = turns::at_work_in(tx, session.id)?;
    if let InteractionRequest::Permission { options, .. } = asked {
        row.options.clone_from(options);
    }
    ask_rows::insert(tx, &row, &card)?;
    let interaction = row.shown(card, None, now);
    let opened = Event::InteractionOpened {
        interaction: interaction.clone(),
    };
    tx.append(now, None, &opened)?;
    Ok(OpenOutcome::Asked(Box::new(interaction)))
}

/// What a person said to exactly this when its agent was gone: a yes is used in this very
/// transaction, a no is heard once.
fn earlier_decision(
    tx: &mut Tx<'_>,
    session: SessionId,
    asked: &InteractionRequest,
    digest: &str,
    now: Timestamp,
) -> Result<Option<OpenOutcome>> {
    if let InteractionRequest::Permission { options, .. } = asked
        && let Some(option) = option_to_allow(options, false, None)
    {
        let granted = ask_rows::granted_for(tx, session, digest)?;
        let live = granted
            .into_iter()
            .find(|row| row.state_at(now) == ApprovalState::Granted);
        if let Some(mut row) = live
            && apply(tx, &mut row, InteractionTrigger::Spend, None, now)?
        {
            let option_id = option.option_id.clone();
            return Ok(Some(OpenOutcome::Granted { option_id }));
        }
    }
    let since = now.plus_seconds(-limits::GRANT_TTL_S);
    match ask_rows::undelivered_denials(tx, session, digest, since)? {
        Some(denied) => {
            ask_rows::set_consumed_at(tx, denied, Some(now))?;
            Ok(Some(OpenOutcome::Refused))
        }
        None => Ok(None),
    }
}

/// Withdraws everything a session still asks, and what it was granted, because its turn was
/// cancelled, it was closed, or its agent retired; answers the asks that were pending, whose
/// agent is to be told that they are cancelled.
///
/// # Errors
/// Faults.
///
/// Source: contract 3.8.2.
pub(crate) fn withdraw_all(
    tx: &mut Tx<'_>,
    session: SessionId,
    by: Option<AuthorId>,
    now: Timestamp,
) -> Result<Vec<ApprovalId>> {
    let mut pending = Vec::new();
    for mut row in ask_rows::unfinished(tx, session)? {
        if row.state == ApprovalState::Pending {
            pending.push(row.id);
        }
        end(tx, &mut row, by, now)?;
    }
    drop_undelivered(tx, session, by, now)?;
    Ok(pending)
}

/// Withdraws what an agent still asks although its turn is over; what waits without its agent,
/// and what was granted, stays. Answers the asks, for whoever waits for one.
///
/// # Errors
/// Faults.
pub(crate) fn withdraw_pending(
    tx: &mut Tx<'_>,
    session: SessionId,
    by: Option<AuthorId>,
    now: Timestamp,
) -> Result<Vec<ApprovalId>> {
    let mut ended = Vec::new();
    for InteractionRow { mut standing, .. } in ask_rows::attached(tx, Some(session))? {
        end(tx, &mut standing, by, now)?;
        ended.push(standing.id);
    }
    Ok(ended)
}

/// Withdraws a question whose asker waits no longer; one that is over stays as it is.
///
/// # Errors
/// Faults.
pub(super) fn withdraw_one(tx: &mut Tx<'_>, id: ApprovalId, now: Timestamp) -> Result<()> {
    let Some(InteractionRow { mut standing, .. }) = ask_rows::by_id(tx, id)? else {
        return Ok(());
    };
    if standing.state == ApprovalState::Pending {
        end(tx, &mut standing, None, now)?;
        sessions::append_counts_changed(tx, standing.session_id, None, now)?;
    }
    Ok(())
}

/// Withdraws what a session was granted, because its mode changed.
///
/// # Errors
/// Faults.
///
/// Source: contract 3.8.3.
pub(crate) fn withdraw_grants(
    tx: &mut Tx<'_>,
    session: SessionId,
    by: Option<AuthorId>,
    now: Timestamp,
) -> Result<()> {
    for mut row in ask_rows::granted(tx, session)? {
        end(tx, &mut row, by, now)?;
    }
    drop_undelivered(tx, session, by, now)
}

/// Withdraws a row; one whose deadline has passed already is expired instead.
fn end(
    tx: &mut Tx<'_>,
    row: &mut InteractionRecord,
    by: Option<AuthorId>,
    now: Timestamp,
) -> Result<()> {
    let trigger = match row.state_at(now) {
        ApprovalState::Expired => InteractionTrigger::Expire,
        ApprovalState::Pending
        | ApprovalState::Granted
        | ApprovalState::Denied
        | ApprovalState::Withdrawn
        | ApprovalState::Consumed => InteractionTrigger::Withdraw,
    };
    apply(tx, row, trigger, by, now).map(|_| ())
}

/// Keeps a yes that is on its way to the agent from becoming a grant.
fn drop_undelivered(
    tx: &mut Tx<'_>,
    session: SessionId,
    by: Option<AuthorId>,
    now: Timestamp,
) -> Result<()> {
    let since = now.plus_seconds(-limits::GRANT_TTL_S);
    ask_rows::withdraw_used(tx, session, by, since, now)
}

/// Lets a session's pending asks wait for a person without their agent, because its process or
/// the server ended. Questions of tool servers are withdrawn: the calls they came of are gone
/// with the agent; answers which.
///
/// # Errors
/// Faults.
///
/// Source: contract 3.8.2.
pub(crate) fn detach_all(
    tx: &mut Tx<'_>,
    session: SessionId,
    now: Timestamp,
) -> Result<Vec<ApprovalId>> {
    detach(tx, Some(session), now)
}

/// The same for every session: no agent outlives the server.
///
/// # Errors
/// Faults.
pub(crate) fn detach_every(tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
    // Nobody waits yet who could be told.
    detach(tx, None, now).map(drop)
}

fn detach(tx: &mut Tx<'_>, session: Option<SessionId>, now: Timestamp) -> Result<Vec<ApprovalId>> {
    let mut withdrawn = Vec::new();
    for whole in ask_rows::attached(tx, session)? {
        let (mut standing, card) = (whole.standing, whole.card);
        // One whose deadline has passed is the chore's.
        if !standing.is_open(now) {
            continue;
        }
        if card.of_server {
            end(tx, &mut standing, None, now)?;
            sessions::append_counts_changed(tx, standing.session_id, None, now)?;
            withdrawn.push(standing.id);
            continue;
        }
        ask_rows::detach(tx, standing.id, now)?;
        standing.detached_at = Some(now);
        let interaction = standing.shown(card, None, now);
        tx.append(now, None, &Event::InteractionDetached { interaction })?;
    }
    Ok(withdrawn)
}

/// Draws the pending card of a call anew when the agent says more of it, or something else.
///
/// # Errors
/// Faults.
///
/// Source: contract 3.8.1, "A changed input".
pub(crate) fn update_pending_card(
    tx: &mut Tx<'_>,
    session: &Session,
    call: &ToolCall,
    digests: &ApprovalDigests,
    now: Timestamp,
) -> Result<()> {
    let id = &call.tool_call_id;
    let found = ask_rows::of_call(tx, session.id, id, InteractionKind::ToolCall)?;
    let Some(mut row) = found.filter(|row| row.is_open(now) && !row.is_detached()) else {
        return Ok(());
    };
    let asked = InteractionRequest::Permission {
        tool_call_id: id.clone(),
        options: row.options.clone(),
    };
    let card = asked.card(session, Some(call));
    row.digest = digest(session, Some(call), &asked, digests)?;
    let before = ask_rows::by_id(tx, row.id)?;
    if before.is_some_and(|before| before.standing.digest == row.digest && before.card == card) {
        return Ok(());
    }
    ask_rows::update_card(tx, row.id, &row.digest, &card)?;
    let interaction = row.shown(card, None, now);
    tx.append(now, None, &Event::InteractionOpened { interaction })?;
    Ok(())
}

/// The asks of a session that wait for a person, oldest first.
///
/// # Errors
/// A fault when the store cannot be read.
pub(crate) fn pending_in_session(
    db: &ReadTx<'_>,
    session: SessionId,
    now: Timestamp,
) -> Result<Vec<Interaction>> {
    let rows = ask_rows::pending_of(db, session, now)?;
    Ok(rows
        .into_iter()
        .map(|row| row.standing.shown(row.card, row.reply, now))
        .collect())
}

fn digest(
    session: &Session,
    call: Option<&ToolCall>,
    asked: &InteractionRequest,
    digests: &ApprovalDigests,
) -> Result<String> {
    let action = ApprovalAction {
        capability: asked.kind().as_str(),
        agent: Some(session.agent_id),
        input: &asked.digest_input(session, call),
        pin: &Value::Null,
    };
    Ok(digests.of(&action)?)
}

/// Moves a row along, compared and set, and tells what became of it; answers whether it moved.
pub(super) fn apply(
    tx: &mut Tx<'_>,
    row: &mut InteractionRecord,
    trigger: InteractionTrigger,
    by: Option<AuthorId>,
    now: Timestamp,
) -> Result<bool> {
    apply_with_reply(tx, row, trigger, (by, None), now)
}

/// The same, with what the person decided with.
pub(super) fn apply_with_reply(
    tx: &mut Tx<'_>,
    row: &mut InteractionRecord,
    trigger: InteractionTrigger,
    (by, reply): (Option<AuthorId>, Option<DecisionReply>),
    now: Timestamp,
) -> Result<bool> {
    if !apply_without_event(tx, row, trigger, by, now)? {
        return Ok(false);
    }
    if let Some(reply) = &reply {
        ask_rows::set_reply(tx, row.id, reply)?;
    }
    let Some(resolved) = row.resolved(now) else {
        return Ok(true);
    };
    let event = Event::InteractionResolved {
        session_id: row.session_id,
        id: row.id,
        tool_call_id: row.tool_call_id.clone(),
        kind: row.kind,
        resolution: resolved.resolution,
        resolved_by: resolved.by,
        at: resolved.at,
        reply,
    };
    tx.append(now, by, &event)?;
    Ok(true)
}

/// The same, where the caller tells of it.
pub(super) fn apply_without_event(
    tx: &mut Tx<'_>,
    row: &mut InteractionRecord,
    trigger: InteractionTrigger,
    by: Option<AuthorId>,
    now: Timestamp,
) -> Result<bool> {
    let Some(before) = row.take(trigger, by, now) else {
        return Ok(false);
    };
    if !ask_rows::advance(tx, before, row)? {
        return Ok(false);
    }
    match (row.state, trigger) {
        (ApprovalState::Consumed, _) => ask_rows::set_consumed_at(tx, row.id, Some(now))?,
        (_, InteractionTrigger::Undelivered) => ask_rows::set_consumed_at(tx, row.id, None)?,
        _ => {}
    }
    Ok(true)
}

//! The turns of a session, as rows: each step is one transaction with its events.

use guildhall_domain::{
    Result, Timestamp,
    events::Event,
    ids::{ApprovalId, SessionId, SessionTurnId},
    sessions::{Session, SessionState, TurnOutcome},
    transcript::MessageState,
    usage::{Cost, TokenCounts, Usage, UsageMeter, UsageScope},
};
use guildhall_store::{
    Tx, messages,
    messages::QueuedMessageRow,
    sessions::{self, NewSessionTurn, SessionTurnEnd},
    turns as rooms_turns, usage,
};

use super::{
    messages::remove, permission_modes, preview, reload, transcript_builder::close_open_calls,
    turn_setup::AppliedSettings, write_session,
};
use crate::{Hall, interactions, turns};

/// A message whose turn comes.
#[derive(Clone, Debug)]
pub(super) struct TurnJob {
    /// Its session, starting.
    pub(super) session: Session,
    /// The message.
    pub(super) message: QueuedMessageRow,
}

/// Takes the session's next message up: the session starts.
pub(super) fn next(
    tx: &mut Tx<'_>,
    hall: &Hall,
    id: SessionId,
    now: Timestamp,
) -> Result<Option<TurnJob>> {
    let Some(session) = sessions::by_id(tx, id)? else {
        return Ok(None);
    };
    let may_start = matches!(session.state, SessionState::Idle | SessionState::Failed);
    if !may_start || sessions::is_held(tx, id)? {
        return Ok(None);
    }
    let Some(message) = messages::queue_head(tx, id)? else {
        return Ok(None);
    };
    let session = Session {
        state: SessionState::Starting,
        state_reason: String::new(),
        ..session
    };
    let session = permission_modes::follow_agent(tx, hall, session, now)?;
    let session = write_session(tx, session, None, now)?;
    Ok(Some(TurnJob { session, message }))
}

/// What became of a turn that was to begin.
pub(super) enum BeginOutcome {
    /// It runs; the message and session are as they are now.
    Running(Box<TurnJob>),
    /// Mode, model or effort are others than those in force.
    Changed,
    /// The message was taken out of the queue, or another one put before it.
    Displaced,
    /// The session was stopped or closed.
    Over,
}

/// Lets the turn begin under what is in force at the agent, `applied`.
///
/// The message counts as delivered from here on, so that it is never handed over twice.
pub(super) fn begin(
    tx: &mut Tx<'_>,
    job: &TurnJob,
    turn: SessionTurnId,
    runtime_session_id: &str,
    applied: &AppliedSettings,
    now: Timestamp,
) -> Result<BeginOutcome> {
    let session = reload(tx, job.session.id)?;
    if session.state != SessionState::Starting {
        return Ok(BeginOutcome::Over);
    }
    let head = messages::queue_head(tx, session.id)?;
    let Some(message) = head.filter(|head| head.id == job.message.id) else {
        let idle = Session {
            state: SessionState::Idle,
            ..session
        };
        write_session(tx, idle, None, now)?;
        return Ok(BeginOutcome::Displaced);
    };
    if !applied.is_for(&session) {
        return Ok(BeginOutcome::Changed);
    }
    messages::deliver(tx, session.id, message.id, turn)?;
    let row = NewSessionTurn {
        id: turn,
        message: message.id,
    };
    sessions::begin_turn(tx, &session, &row, now)?;
    let event = Event::TurnStarted {
        session_id: session.id,
        turn_id: turn,
        message_id: message.id,
    };
    tx.append(now, Some(message.author_id), &event)?;
    if let Some(room_turn) = message.room_turn {
        turns::record_begun(tx, room_turn, now)?;
    }
    let running = Session {
        state: SessionState::Running,
        runtime_session_id: runtime_session_id.to_owned(),
        ..session
    };
    let session = write_session(tx, running, None, now)?;
    Ok(BeginOutcome::Running(Box::new(TurnJob {
        session,
        message,
    })))
}

/// The turn did not begin because the session was stopped: its message goes.
pub(super) fn abandon(tx: &mut Tx<'_>, job: &TurnJob, now: Timestamp) -> Result<()> {
    let session = reload(tx, job.session.id)?;
    take_out(tx, job, now)?;
    if let Some(turn) = job.message.room_turn {
        turns::record_ended(tx, turn, TurnOutcome::Cancelled, "", None, now)?;
    }
    if session.state == SessionState::Closed {
        return Ok(());
    }
    let idle = Session {
        state: SessionState::Idle,
        state_reason: String::new(),
        ..session
    };
    write_session(tx, idle, None, now).map(|_| ())
}

/// Takes a message whose turn did not begin out of the queue, if it is still there.
fn take_out(tx: &mut Tx<'_>, job: &TurnJob, now: Timestamp) -> Result<()> {
    let head = messages::queue_head(tx, job.session.id)?;
    match head.filter(|head| head.id == job.message.id) {
        Some(head) => remove(tx, &head, 1, None, now),
        None => Ok(()),
    }
}

/// The turn could not begin: its message waits at the head of the queue until a person acts.
pub(super) fn start_failed(
    tx: &mut Tx<'_>,
    job: &TurnJob,
    why: &str,
    now: Timestamp,
) -> Result<()> {
    let session = reload(tx, job.session.id)?;
    if session.state != SessionState::Starting {
        return abandon(tx, job, now);
    }
    match job.message.room_turn {
        // A room's post is there to be read again; its turn says what happened.
        Some(turn) => {
            turns::record_ended(tx, turn, TurnOutcome::Failed, "", Some(why), now)?;
            take_out(tx, job, now)?;
        }
        None => sessions::hold(tx, session.id, true)?,
    }
    let failed = Session {
        state: SessionState::Failed,
        state_reason: why.to_owned(),
        ..session
    };
    write_session(tx, failed, None, now).map(|_| ())
}

/// How a turn ended.
#[derive(Clone, Debug)]
pub(super) struct TurnConclusion {
    /// How.
    pub(super) outcome: TurnOutcome,
    /// What went wrong, or why it was stopped; `""` when there is nothing to say.
    pub(super) why: String,
    /// Tokens as the agent told them at the end.
    pub(super) tokens: Option<TokenCounts>,
    /// What those cover.
    pub(super) scope: UsageScope,
    /// What the session cost so far, as the agent told it last.
    pub(super) cost: Option<Cost>,
    /// Tokens in the context, and how many it holds.
    pub(super) context: Option<(u64, u64)>,
}

impl TurnConclusion {
    /// An end of which nothing more is known.
    pub(super) fn plain(outcome: TurnOutcome, why: impl Into<String>) -> Self {
        Self {
            outcome,
            why: why.into(),
            tokens: None,
            scope: UsageScope::Turn,
            cost: None,
            context: None,
        }
    }
}

/// Ends a turn: its message, its calls, its figures, its session and its room hear of it.
pub(super) fn finish(
    tx: &mut Tx<'_>,
    job: &TurnJob,
    turn: SessionTurnId,
    end: TurnConclusion,
    now: Timestamp,
) -> Result<()> {
    let session = reload(tx, job.session.id)?;
    let answer = messages::answer_of(tx, session.id, turn)?;
    let usage = close_turn(tx, &session, turn, &end, now)?;
    if let Some(room_turn) = job.message.room_turn {
        // What a turn says that was ended from outside reaches no room.
        let (outcome, said) = match usage {
            Some(_) => (end.outcome, answer.as_str()),
            None => (TurnOutcome::Cancelled, ""),
        };
        let error = Some(end.why.as_str()).filter(|why| !why.is_empty());
        turns::record_ended(tx, room_turn, outcome, said, error, now)?;
    }
    let Some(usage) = usage else {
        return Ok(());
    };
    if session.state == SessionState::Closed {
        return Ok(());
    }
    let state = match end.outcome {
        TurnOutcome::Interrupted | TurnOutcome::Failed => SessionState::Failed,
        TurnOutcome::EndTurn
        | TurnOutcome::MaxTokens
        | TurnOutcome::MaxTurnRequests
        | TurnOutcome::Refusal
        | TurnOutcome::Cancelled => SessionState::Idle,
    };
    let last_message_preview = match preview(&answer) {
        words if words.is_empty() => session.last_message_preview.clone(),
        words => words,
    };
    let ended = Session {
        state,
        state_reason: end.why,
        last_message_preview,
        usage,
        ..session
    };
    write_session(tx, ended, None, now).map(|_| ())
}

/// Ends the turn that a session has, if it has one, from outside its driver, and the room's turn
/// that it is.
pub(super) fn interrupt(
    tx: &mut Tx<'_>,
    session: &Session,
    outcome: TurnOutcome,
    now: Timestamp,
) -> Result<()> {
    let Some((turn, _)) = sessions::open_turn(tx, session.id)? else {
        return Ok(());
    };
    let room_turn = rooms_turns::at_work_in(tx, session.id)?;
    close_turn(tx, session, turn, &TurnConclusion::plain(outcome, ""), now)?;
    room_turn.map_or(Ok(()), |room_turn| {
        turns::record_ended(tx, room_turn, outcome, "", None, now)
    })
}

/// Ends what a session has at work although nobody works on it any more, because its turn broke
/// off on our side: what a person was asked stays asked, what waits goes on when a person acts.
/// Answers the asks that ended all the same.
pub(super) fn break_off(
    tx: &mut Tx<'_>,
    id: SessionId,
    why: &str,
    now: Timestamp,
) -> Result<Vec<ApprovalId>> {
    let session = reload(tx, id)?;
    if !session.state.is_busy() {
        return Ok(Vec::new());
    }
    let withdrawn = interactions::detach_all(tx, id, now)?;
    interrupt(tx, &session, TurnOutcome::Interrupted, now)?;
    if messages::queued(tx, id)? > 0 {
        sessions::hold(tx, id, true)?;
    }
    let failed = Session {
        state: SessionState::Failed,
        state_reason: why.to_owned(),
        ..reload(tx, id)?
    };
    write_session(tx, failed, None, now)?;
    Ok(withdrawn)
}

/// Ends a turn's rows and tells of it; answers what the session used, `None` when the turn had
/// ended before.
fn close_turn(
    tx: &mut Tx<'_>,
    session: &Session,
    turn: SessionTurnId,
    end: &TurnConclusion,
    now: Timestamp,
) -> Result<Option<Usage>> {
    let mut meter: UsageMeter = sessions::meter(tx, session.id)?;
    let figures = meter.turn(end.scope, end.tokens, end.cost.clone());
    let row = SessionTurnEnd {
        outcome: end.outcome,
        error: Some(end.why.clone()).filter(|why| !why.is_empty()),
        figures,
    };
    if !sessions::end_turn(tx, turn, &row, now)? {
        return Ok(None);
    }
    sessions::set_meter(tx, session.id, &meter)?;
    close_open_calls(tx, session.id, turn, end.outcome, now)?;
    let is_whole = !matches!(
        end.outcome,
        TurnOutcome::Interrupted | TurnOutcome::Cancelled
    );
    let state = if is_whole {
        MessageState::Complete
    } else {
        MessageState::Interrupted
    };
    messages::settle(tx, turn, session.id, state)?;
    let (context_used, context_size) = end
        .context
        .unwrap_or((session.usage.context_used, session.usage.context_size));
    let in_context = |usage: Usage| Usage {
        context_used,
        context_size,
        ..usage
    };
    let of_turn = in_context(row.figures.usage());
    let event = Event::TurnEnded {
        session_id: session.id,
        turn_id: turn,
        outcome: end.outcome,
        usage: of_turn.clone(),
        error: row.error,
    };
    tx.append(now, None, &event)?;
    // Summed up anew: a session's figure forgets its currencies once there are several.
    let sum = usage::of_session(tx, session.id)?;
    Ok(Some(in_context(sum.usage())))
}

//! What an agent says during a turn, folded into one message: text in coalesced pieces, calls
//! joined, plans replaced.

use guildhall_domain::{
    Result, Timestamp,
    events::Event,
    ids::{AuthorId, MessageId, SessionId, SessionTurnId},
    limits,
    session_tasks::is_task_call,
    sessions::TurnOutcome,
    transcript::{
        Message, MessagePart, MessageRole, MessageState, PlanEntry, TextKind, ToolCall,
        ToolCallPatch, ToolStatus, TurnCalls,
    },
};
use guildhall_store::{Tx, messages, sessions};

/// The agent's answer of one turn, as far as it was said.
pub(super) struct TranscriptBuilder {
    session: SessionId,
    turn: SessionTurnId,
    id: MessageId,
    author: AuthorId,
    /// Whether the message's row is written.
    is_begun: bool,
    next_place: u32,
    /// UTF-16 units said so far: text, thinking.
    said: [u64; 2],
    /// Text that was not written yet, with its place.
    growing: Option<(TextKind, String)>,
    calls: TurnCalls,
    plan: Option<u32>,
    /// What is to be written, in order.
    changes: Vec<PendingChange>,
    /// Whether some of it does not wait for more.
    is_urgent: bool,
}

/// One thing to be written.
enum PendingChange {
    Text(u32, TextKind, String),
    Call(String),
    Plan(Vec<PlanEntry>),
}

impl TranscriptBuilder {
    /// An answer of which nothing was said yet.
    pub(super) fn new(
        session: SessionId,
        turn: SessionTurnId,
        id: MessageId,
        author: AuthorId,
    ) -> Self {
        Self {
            session,
            turn,
            id,
            author,
            is_begun: false,
            next_place: 0,
            said: [0; 2],
            growing: None,
            calls: TurnCalls::default(),
            plan: None,
            changes: Vec::new(),
            is_urgent: false,
        }
    }

    /// Takes in a piece of text.
    pub(super) fn push_text(&mut self, kind: TextKind, text: &str) {
        match &mut self.growing {
            Some((known, growing)) if *known == kind => growing.push_str(text),
            _ => {
                self.flush_text();
                self.growing = Some((kind, text.to_owned()));
            }
        }
    }

    /// Takes in what the agent says of a call; answers the call as it is known now, unless it was
    /// over long ago.
    pub(super) fn merge_call(&mut self, patch: ToolCallPatch) -> Option<&ToolCall> {
        self.flush_text();
        let id = patch.tool_call_id.clone();
        let joined = self.calls.join(patch, self.next_place)?;
        self.changes.push(PendingChange::Call(id));
        self.next_place += u32::from(joined.is_new);
        self.is_urgent |= joined.is_new || joined.has_moved;
        Some(joined.call)
    }

    /// Says where a call stands, whatever the agent said of it.
    pub(super) fn set_status(&mut self, id: &str, status: ToolStatus) {
        if self.calls.set_status(id, status) {
            self.is_urgent = true;
            self.changes.push(PendingChange::Call(id.to_owned()));
        }
    }

    /// Takes in the agent's plan, which replaces the one before.
    pub(super) fn plan(&mut self, entries: Vec<PlanEntry>) {
        self.flush_text();
        self.is_urgent = true;
        self.changes.push(PendingChange::Plan(entries));
    }

    /// A call as it is known now.
    pub(super) fn call(&self, id: &str) -> Option<&ToolCall> {
        self.calls.get(id).map(|(_, call)| call)
    }

    /// Whether a call is at work, so that silence says nothing.
    pub(super) fn has_running_call(&self) -> bool {
        self.calls.has_work()
    }

    /// Whether its calls are more than can be kept.
    pub(super) fn is_too_much(&self) -> bool {
        self.calls.is_too_much()
    }

    /// Whether something must be written now: the first words, a call that appears or moves on, a
    /// plan, or much text; other words, and what more is said of a call, wait for more.
    pub(super) fn is_due(&self) -> bool {
        let is_due = |(kind, text): &(TextKind, String)| {
            self.said[*kind as usize] == 0 || text.len() >= limits::DELTA_FLUSH_BYTES
        };
        self.is_urgent || self.calls.is_heavy() || self.growing.as_ref().is_some_and(is_due)
    }

    /// Whether anything is to be written at all.
    pub(super) fn has_more(&self) -> bool {
        !self.changes.is_empty() || self.growing.is_some()
    }

    /// Takes out what is to be written.
    pub(super) fn take_batch(&mut self) -> TranscriptBatch {
        self.flush_text();
        self.is_urgent = false;
        let mut steps = Vec::new();
        for change in std::mem::take(&mut self.changes) {
            match change {
                PendingChange::Text(place, kind, text) => {
                    let said = &mut self.said[kind as usize];
                    let offset = *said;
                    *said += text.encode_utf16().count() as u64;
                    steps.push(TranscriptChange::Text {
                        place,
                        kind,
                        offset,
                        text,
                    });
                }
                PendingChange::Call(id) => {
                    if let Some((place, call)) = self.calls.get(&id) {
                        steps.retain(|step| !matches!(step, TranscriptChange::Call { place: known, .. } if *known == place));
                        let call = Box::new(call.clone());
                        steps.push(TranscriptChange::Call { place, call });
                    }
                }
                PendingChange::Plan(entries) => {
                    let place = *self.plan.get_or_insert_with(|| {
                        self.next_place += 1;
                        self.next_place - 1
                    });
                    steps.push(TranscriptChange::Plan { place, entries });
                }
            }
        }
        self.calls.forget();
        let is_first = !self.is_begun;
        self.is_begun |= !steps.is_empty();
        TranscriptBatch {
            session: self.session,
            turn: self.turn,
            message: self.id,
            author: self.author,
            is_first,
            steps,
        }
    }

    fn flush_text(&mut self) {
        if let Some((kind, text)) = self.growing.take()
            && !text.is_empty()
        {
            self.changes
                .push(PendingChange::Text(self.next_place, kind, text));
            self.next_place += 1;
        }
    }
}

/// A run of an answer that goes into the store together.
#[derive(Clone)]
pub(super) struct TranscriptBatch {
    session: SessionId,
    turn: SessionTurnId,
    message: MessageId,
    author: AuthorId,
    is_first: bool,
    steps: Vec<TranscriptChange>,
}

#[derive(Clone)]
enum TranscriptChange {
    Text {
        place: u32,
        kind: TextKind,
        offset: u64,
        text: String,
    },
    Call {
        place: u32,
        call: Box<ToolCall>,
    },
    Plan {
        place: u32,
        entries: Vec<PlanEntry>,
    },
}

impl TranscriptBatch {
    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Writes it, each step with its event.
    pub(super) fn write(self, tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
        // A turn that is over, because its session was closed, takes nothing more.
        let is_open =
            sessions::open_turn(tx, self.session)?.is_some_and(|(turn, _)| turn == self.turn);
        if self.steps.is_empty() || !is_open {
            return Ok(());
        }
        if self.is_first {
            let message = Message {
                id: self.message,
                seq: 0,
                session_id: self.session,
                turn_id: Some(self.turn),
                role: MessageRole::Assistant,
                author_id: self.author,
                state: MessageState::Streaming,
                created_at: now,
                parts: Vec::new(),
            };
            messages::insert(tx, &message)?;
        }
        let mut tasks_changed = false;
        for step in self.steps {
            let event = match step {
                TranscriptChange::Text {
                    place,
                    kind,
                    offset,
                    text,
                } => {
                    messages::add_piece(tx, self.message, place, kind, &text)?;
                    Event::TextAppended {
                        session_id: self.session,
                        message_id: self.message,
                        part: kind,
                        offset,
                        text,
                    }
                }
                TranscriptChange::Call { place, call } => {
                    tasks_changed |= is_task_call(&call);
                    write_call(tx, self.session, (self.message, place), *call)?
                }
                TranscriptChange::Plan { place, entries } => {
                    messages::put_part(tx, self.message, place, &MessagePart::Plan { entries })?;
                    tasks_changed = true;
                    continue;
                }
            };
            tx.append(now, Some(self.author), &event)?;
        }
        if tasks_changed {
            append_tasks_changed(tx, self.session, Some(self.author), now)?;
        }
        Ok(())
    }
}

/// Writes a call at its place in a message; answers the event that tells of it.
fn write_call(
    tx: &mut Tx<'_>,
    session_id: SessionId,
    (message_id, place): (MessageId, u32),
    tool_call: ToolCall,
) -> Result<Event> {
    messages::put_part(
        tx,
        message_id,
        place,
        &MessagePart::ToolCall(tool_call.clone()),
    )?;
    Ok(Event::ToolCallUpdated {
        session_id,
        message_id,
        tool_call,
    })
}

/// Tells that a session's tasks may be others now.
fn append_tasks_changed(
    tx: &mut Tx<'_>,
    session_id: SessionId,
    author: Option<AuthorId>,
    now: Timestamp,
) -> Result<()> {
    let version = tx.next_event();
    let event = Event::TasksChanged {
        session_id,
        version,
    };
    tx.append(now, author, &event)?;
    Ok(())
}

/// Ends every call that a turn left open.
pub(super) fn close_open_calls(
    tx: &mut Tx<'_>,
    session: SessionId,
    turn: SessionTurnId,
    outcome: TurnOutcome,
    now: Timestamp,
) -> Result<()> {
    let mut tasks_changed = false;
    for (message, place, call) in messages::open_calls_of(tx, session, turn)? {
        let status = match call.status {
            // The agent went on and ended well, so what it had at work did too.
            ToolStatus::InProgress if outcome == TurnOutcome::EndTurn => ToolStatus::Completed,
            _ => ToolStatus::Cancelled,
        };
        let call = ToolCall { status, ..call };
        tasks_changed |= is_task_call(&call);
        let event = write_call(tx, session, (message, place), call)?;
        tx.append(now, None, &event)?;
    }
    if tasks_changed {
        append_tasks_changed(tx, session, None, now)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "transcript_builder_tests.rs"]
mod tests;

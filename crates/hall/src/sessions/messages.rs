//! Messages: sending one, reading the transcript, the queue, and stopping a turn.

use guildhall_domain::{
    Refusal, Result, Timestamp,
    callers::{AnyCaller, Gate, Human},
    errors::ResourceKind,
    events::Event,
    field_validation::FieldValidator,
    ids::{AuthorId, MessageId, SessionId, TurnId},
    limits,
    sessions::{Session, SessionState, TurnOutcome},
    transcript::Message,
};
use guildhall_store::{
    ReadSnapshot, ReadTx, Tx, messages, messages::QueuedMessageRow, sessions, turns,
};

use super::{preview, reload, require_open, title_of, write_session};
use crate::{Hall, idempotency::IdempotentWrite, interactions, visibility};

/// Where a message stands in the queue of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueRank {
    /// Before all others, also in a full queue: a person decided it.
    First,
    /// Behind the others, also in a full queue: a person decided it, for another turn.
    Decided,
    /// Behind the others, while there is room.
    Usual,
}

/// A message for an agent.
pub(crate) struct NewMessage {
    /// Its id.
    pub(crate) id: MessageId,
    /// Where it goes.
    pub(crate) session: SessionId,
    /// Who writes it.
    pub(crate) author: AuthorId,
    /// Its words.
    pub(crate) content: String,
    /// What the agent is told beside them.
    pub(crate) context: String,
    /// The room's turn it belongs to.
    pub(crate) room_turn: Option<TurnId>,
    /// Where it stands in the queue.
    pub(crate) rank: QueueRank,
}

/// What became of a message. Source: contract 3.5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendReceipt {
    /// Its session.
    pub session_id: SessionId,
    /// Its id.
    pub message_id: MessageId,
    /// Its place in the queue, from 1; 1 with nothing running means that it starts now.
    pub queue_position: u32,
    /// Whether its turn starts now.
    pub starts: bool,
}

/// A run of a session's messages.
#[derive(Clone, Debug, Default)]
pub struct MessagesPage {
    /// Oldest first.
    pub messages: Vec<Message>,
    /// Whether there are older ones.
    pub has_more: bool,
}

impl Hall {
    /// Gives a session a message: its turn starts now, or when those before it are over.
    ///
    /// # Errors
    /// [`Refusal::Validation`] on `content`, `NotFound`, [`Refusal::SessionClosed`],
    /// [`Refusal::SessionReadOnly`], [`Refusal::QueueFull`].
    ///
    /// Source: contract 3.5, 3.6.1.
    pub async fn send_message(
        &self,
        by: &Human,
        session: SessionId,
        content: String,
        once: IdempotentWrite<SendReceipt>,
    ) -> Result<SendReceipt> {
        check_content(&content)?;
        let (by, now) = (*by.caller(), self.now());
        let id = Self::new_id(MessageId::from_bytes);
        let sent = self
            .store()
            .write(move |tx| {
                once.run(tx, now, |tx| {
                    let found = visibility::session(tx, &by, session)?;
                    require_open(&found)?;
                    let message = NewMessage {
                        id,
                        session,
                        author: by.author,
                        content,
                        context: String::new(),
                        room_turn: None,
                        rank: QueueRank::Usual,
                    };
                    enqueue(tx, message, now)
                })
            })
            .await?;
        self.wake_session(session);
        Ok(sent)
    }

    /// The newest messages of a session before the place `before`, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn messages(
        &self,
        by: &AnyCaller,
        session: SessionId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<ReadSnapshot<MessagesPage>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                visibility::session(db, &by, session)?;
                let mut messages = messages::page(db, session, before, limit + 1)?;
                let older = messages.len().saturating_sub(limit as usize);
                messages.drain(..older);
                Ok(MessagesPage {
                    messages,
                    has_more: older > 0,
                })
            })
            .await
    }

    /// What waits in a session, in order.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn queue(
        &self,
        by: &AnyCaller,
        session: SessionId,
    ) -> Result<ReadSnapshot<Vec<QueuedMessageRow>>> {
        let by = *by.caller();
        self.store()
            .read(move |db| {
                visibility::session(db, &by, session)?;
                messages::queue(db, session)
            })
            .await
    }

    /// Changes the words of a message that waits; answers the queue.
    ///
    /// # Errors
    /// [`Refusal::Validation`] on `content`, `NotFound` for session or message.
    pub async fn reword_message(
        &self,
        by: &Human,
        session: SessionId,
        message: MessageId,
        content: String,
    ) -> Result<Vec<QueuedMessageRow>> {
        check_content(&content)?;
        let (by, now) = (*by.caller(), self.now());
        let queue = self
            .store()
            .write(move |tx| {
                let found = visibility::session(tx, &by, session)?;
                let (place, _) = waiting(tx, session, message)?;
                messages::update_text(tx, message, &content)?;
                sessions::hold(tx, session, false)?;
                let event = Event::MessageQueued {
                    session_id: session,
                    message_id: message,
                    queue_position: place,
                };
                tx.append(now, Some(by.author), &event)?;
                write_session(tx, found, Some(by.author), now)?;
                messages::queue(tx, session)
            })
            .await?;
        self.wake_session(session);
        Ok(queue)
    }

    /// Takes a message out of the queue; answers the queue.
    ///
    /// # Errors
    /// `NotFound` for session or message.
    pub async fn remove_message(
        &self,
        by: &Human,
        session: SessionId,
        message: MessageId,
    ) -> Result<Vec<QueuedMessageRow>> {
        let (by, now, hall) = (*by.caller(), self.now(), self.clone());
        let queue = self
            .store()
            .write(move |tx| {
                let found = visibility::session(tx, &by, session)?;
                let (place, message) = waiting(tx, session, message)?;
                remove(tx, &message, place, Some(by.author), now)?;
                sessions::hold(tx, session, false)?;
                // The agent is started for the head of the queue.
                if place == 1 && found.state == SessionState::Starting {
                    hall.halt_driver(tx, found, Some(by.author), now)?;
                } else {
                    write_session(tx, found, Some(by.author), now)?;
                }
                messages::queue(tx, session)
            })
            .await?;
        self.wake_session(session);
        self.wake_turns();
        Ok(queue)
    }

    /// Stops the turn of a session; what waits goes too, unless it is to stay. What the session
    /// asked and was granted ends with it, also what waits without its agent.
    ///
    /// Answers whether a turn ran, and how many messages were taken out of the queue.
    ///
    /// # Errors
    /// `NotFound`.
    ///
    /// Source: contract 3.5, 3.6.2, 3.8.2.
    pub async fn cancel_turn(
        &self,
        by: &Human,
        session: SessionId,
        keep_queue: bool,
        once: IdempotentWrite<(bool, u32)>,
    ) -> Result<(bool, u32)> {
        let (by, now, hall) = (*by.caller(), self.now(), self.clone());
        let (outcome, ended) = self
            .store()
            .write(move |tx| {
                let mut ended = Vec::new();
                let outcome = once.run(tx, now, |tx| {
                    let found = visibility::session(tx, &by, session)?;
                    let removed = if keep_queue {
                        0
                    } else {
                        clear_queue(tx, &found, Some(by.author), now)?
                    };
                    ended = interactions::withdraw_all(tx, session, Some(by.author), now)?;
                    let is_busy = found.state.is_busy();
                    if is_busy {
                        hall.halt_driver(tx, found, Some(by.author), now)?;
                    } else if removed > 0 || !ended.is_empty() {
                        write_session(tx, found, Some(by.author), now)?;
                    }
                    Ok((is_busy, removed))
                })?;
                Ok((outcome, ended))
            })
            .await?;
        self.answer_withdrawn(session, &ended);
        self.wake_turns();
        Ok(outcome)
    }

    /// Stops what a session does for one turn of its room, and takes what waits for that turn
    /// out of its queue; `also` runs in the same transaction.
    pub(crate) async fn stop_room_turn(
        &self,
        session: SessionId,
        turn: TurnId,
        also: impl FnOnce(&mut Tx<'_>) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let (now, hall) = (self.now(), self.clone());
        let ended = self
            .store()
            .write(move |tx| {
                also(tx)?;
                let found = reload(tx, session)?;
                let is_of_turn = |message: &QueuedMessageRow| message.room_turn == Some(turn);
                let queue = messages::queue(tx, session)?;
                // The agent is started for the head of the queue.
                let starts =
                    found.state == SessionState::Starting && queue.first().is_some_and(is_of_turn);
                let mut removed = 0;
                for (place, message) in (1..).zip(&queue) {
                    if is_of_turn(message) {
                        remove(tx, message, place - removed, None, now)?;
                        removed += 1;
                    }
                }
                if starts || turns::at_work_in(tx, session)? == Some(turn) {
                    let ended = interactions::withdraw_all(tx, session, None, now)?;
                    hall.halt_driver(tx, found, None, now)?;
                    return Ok(ended);
                }
                if removed > 0 {
                    interactions::withdraw_grants(tx, session, None, now)?;
                    write_session(tx, found, None, now)?;
                }
                Ok(Vec::new())
            })
            .await?;
        self.answer_withdrawn(session, &ended);
        Ok(())
    }

    /// Has the driver of a busy session stop what it is at.
    ///
    /// It is told in the transaction: once that is over, the driver may be at the next message.
    fn halt_driver(
        &self,
        tx: &mut Tx<'_>,
        found: Session,
        actor: Option<AuthorId>,
        now: Timestamp,
    ) -> Result<()> {
        let id = found.id;
        if found.state != SessionState::Cancelling {
            let stopping = Session {
                state: SessionState::Cancelling,
                ..found
            };
            write_session(tx, stopping, actor, now)?;
        }
        self.inner.live.cancel(id);
        Ok(())
    }
}

/// Lets a message wait in its session.
///
/// # Errors
/// [`Refusal::QueueFull`], unless a person decided the message.
pub(crate) fn enqueue(tx: &mut Tx<'_>, message: NewMessage, now: Timestamp) -> Result<SendReceipt> {
    let session =
        sessions::by_id(tx, message.session)?.ok_or(Refusal::NotFound(ResourceKind::Session))?;
    let before = messages::queued(tx, message.session)?;
    let is_first = message.rank == QueueRank::First;
    if before >= limits::QUEUE_MAX && message.rank == QueueRank::Usual {
        return Err(Refusal::QueueFull.into());
    }
    let queue_position = match (is_first, session.state) {
        (true, SessionState::Starting) => 2.min(before + 1),
        (true, _) => 1,
        (false, _) => before + 1,
    };
    let starts = queue_position == 1 && !session.state.is_busy();
    let waiting = QueuedMessageRow {
        id: message.id,
        session_id: message.session,
        content: message.content,
        context: message.context,
        room_turn: message.room_turn,
        author_id: message.author,
        enqueued_at: now,
    };
    // While the agent is started, the head of the queue is what it is started for.
    let starting = match session.state {
        SessionState::Starting => messages::queue_head(tx, message.session)?,
        _ => None,
    };
    messages::enqueue(tx, &waiting, is_first)?;
    if let Some(head) = starting {
        messages::put_first(tx, message.session, head.id)?;
    }
    sessions::hold(tx, message.session, false)?;
    let event = Event::MessageQueued {
        session_id: message.session,
        message_id: message.id,
        queue_position,
    };
    tx.append(now, Some(message.author), &event)?;
    let title = if session.title.is_empty() {
        title_of(&waiting.content)
    } else {
        session.title.clone()
    };
    let session = Session {
        title,
        last_message_preview: preview(&waiting.content),
        ..session
    };
    write_session(tx, session, Some(message.author), now)?;
    Ok(SendReceipt {
        session_id: waiting.session_id,
        message_id: waiting.id,
        queue_position,
        starts,
    })
}

/// Takes everything out of a session's queue; answers how much that was.
pub(super) fn clear_queue(
    tx: &mut Tx<'_>,
    session: &Session,
    actor: Option<AuthorId>,
    now: Timestamp,
) -> Result<u32> {
    let queue = messages::queue(tx, session.id)?;
    let count = u32::try_from(queue.len()).unwrap_or(u32::MAX);
    for message in queue {
        remove(tx, &message, 1, actor, now)?;
    }
    sessions::hold(tx, session.id, false)?;
    Ok(count)
}

/// Takes a message out of the queue, and ends the room's turn that it was to begin.
pub(super) fn remove(
    tx: &mut Tx<'_>,
    message: &QueuedMessageRow,
    queue_position: u32,
    actor: Option<AuthorId>,
    now: Timestamp,
) -> Result<()> {
    messages::drop_queued(tx, message.id)?;
    let event = Event::MessageRemoved {
        session_id: message.session_id,
        message_id: message.id,
        queue_position,
    };
    tx.append(now, actor, &event)?;
    let turn = message.room_turn;
    turn.map_or(Ok(()), |turn| {
        let outcome = TurnOutcome::Cancelled;
        crate::turns::record_ended(tx, turn, outcome, "", None, now)
    })
}

/// A message that waits, with its place from 1.
fn waiting(db: &ReadTx<'_>, session: SessionId, id: MessageId) -> Result<(u32, QueuedMessageRow)> {
    let found = (1..)
        .zip(messages::queue(db, session)?)
        .find(|(_, message)| message.id == id);
    Ok(found.ok_or(Refusal::NotFound(ResourceKind::QueuedMessage))?)
}

fn check_content(content: &str) -> Result<(), Refusal> {
    let mut check = FieldValidator::new();
    let range = limits::MESSAGE_CHARS;
    check.chars("content", content, *range.start(), *range.end());
    if content.trim().is_empty() {
        check.fail("content", "must hold more than white space");
    }
    check.finish()
}

//! Interactions: what agents ask during their turns, and how people decide on it.
//! Each decision is one transaction, compared and set with its event; the agent is told after
//! the commit, by whoever waits for the ask.

mod deadlines;
mod lifecycle;
mod response_waiters;

use guildhall_domain::{
    Error, Fault, Refusal, Result, Timestamp,
    callers::{AnyCaller, Caller, Decider, Gate},
    errors::ResourceKind,
    events::Event,
    ids::{ApprovalId, AuthorId, MessageId, SessionId},
    interactions::{
        self as rules, ApprovalState, ApproveRequest, BatchRequest, Decision, DenyRequest,
        Interaction, InteractionCard, InteractionRecord, InteractionRequest, InteractionResponse,
        InteractionTrigger, ListedInteraction, SubmitAnswersRequest,
    },
    sessions::Session,
    transcript::ToolCall,
    turns::Turn,
};
use guildhall_store::{
    ReadSnapshot, Tx, interactions as ask_rows, messages,
    sessions::{hold, is_held},
};
use tokio::sync::oneshot;

pub(crate) use deadlines::start;
pub use lifecycle::OpenOutcome;
pub(crate) use lifecycle::{
    detach_all, open, open_elicitation, pending_in_session, update_pending_card, withdraw_all,
    withdraw_grants, withdraw_pending,
};
pub(crate) use response_waiters::ResponseWaiters;

use crate::{
    Hall, callers,
    idempotency::IdempotentWrite,
    sessions::{self, NewMessage, QueueRank},
    turns, visibility,
};

/// A decision that is committed.
#[derive(Clone, Debug)]
pub struct CommittedDecision {
    row: InteractionRecord,
    answer: InteractionResponse,
}

/// What became of one call of a batch.
#[derive(Clone, Debug)]
pub struct BatchOutcome {
    /// The call.
    pub tool_call_id: String,
    /// The decision, or why there is none.
    pub outcome: Result<CommittedDecision, Refusal>,
}

/// A run of a session's interactions.
#[derive(Clone, Debug, Default)]
pub struct InteractionsPage {
    /// Oldest first.
    pub interactions: Vec<Interaction>,
    /// Whether there are older ones.
    pub has_more: bool,
}

/// An ask that was opened in a transaction of its own.
#[derive(Debug)]
pub struct OpenedInteraction {
    /// What became of it.
    pub opening: OpenOutcome,
    /// The answer, when a person is asked; it breaks off when nobody will answer any more.
    pub answer: oneshot::Receiver<InteractionResponse>,
}

impl Hall {
    /// What waits for a person in any session, oldest first; nothing for an agent.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    ///
    /// Source: contract 3.8.1.
    pub async fn pending_interactions(
        &self,
        by: &AnyCaller,
    ) -> Result<ReadSnapshot<Vec<ListedInteraction>>> {
        let (is_human, now) = (by.caller().is_human(), self.now());
        let list = move |row: ask_rows::InteractionRow| ListedInteraction {
            agent_id: row.standing.agent_id,
            room_id: row.standing.room_id,
            interaction: row.standing.shown(row.card, row.reply, now),
        };
        self.store()
            .read(move |db| {
                if !is_human {
                    return Ok(Vec::new());
                }
                Ok(ask_rows::pending(db, now)?.into_iter().map(list).collect())
            })
            .await
    }

    /// The newest interactions of a session before `before`, oldest first, whatever became of
    /// them; nothing for an agent.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn interactions(
        &self,
        by: &AnyCaller,
        session: SessionId,
        before: Option<ApprovalId>,
        limit: u32,
    ) -> Result<ReadSnapshot<InteractionsPage>> {
        let (by, now) = (*by.caller(), self.now());
        self.store()
            .read(move |db| {
                visibility::session(db, &by, session)?;
                if !by.is_human() {
                    return Ok(InteractionsPage::default());
                }
                let mut rows = ask_rows::newest_of(db, session, before, limit + 1)?;
                let has_more = rows.len() > limit as usize;
                rows.truncate(limit as usize);
                let shown =
                    |row: ask_rows::InteractionRow| row.standing.shown(row.card, row.reply, now);
                Ok(InteractionsPage {
                    interactions: rows.into_iter().rev().map(shown).collect(),
                    has_more,
                })
            })
            .await
    }

    /// Says yes to a tool call, once or to all that is like it.
    ///
    /// # Errors
    /// `Validation`, `NotFound`, `InteractionAlreadyResolved`, `InteractionChanged`,
    /// `OptionNotOffered`.
    ///
    /// Source: spec, "POST /api/sessions/{id}/approve"; contract 3.8.1.
    pub async fn approve(
        &self,
        by: &Decider,
        session: SessionId,
        ask: ApproveRequest,
        once: IdempotentWrite<CommittedDecision>,
    ) -> Result<()> {
        ask.check()?;
        let decision = Decision::Approve {
            always_allow: ask.always_allow,
            option_id: ask.option_id,
        };
        let (by, now) = (*by.caller(), self.now());
        self.commit_decision(once, move |tx| {
            let digest = ask.digest.as_deref();
            decide(tx, &by, session, &ask.tool_call_id, &decision, digest, now)
        })
        .await
    }

    /// Says no to a tool call.
    ///
    /// # Errors
    /// `Validation`, also for telling an agent whose turn in a room is over; `NotFound`,
    /// `InteractionAlreadyResolved`.
    ///
    /// Source: contract 3.8.1.
    pub async fn deny(
        &self,
        by: &Decider,
        session: SessionId,
        ask: DenyRequest,
        once: IdempotentWrite<CommittedDecision>,
    ) -> Result<()> {
        let ask = ask.checked()?;
        let (by, now) = (*by.caller(), self.now());
        self.commit_decision(once, move |tx| {
            let call = &ask.tool_call_id;
            let decision = Decision::Deny {
                reason: ask.reason.clone(),
            };
            let settled = decide(tx, &by, session, call, &decision, None, now)?;
            if ask.tell_agent && !ask.reason.is_empty() {
                queue_denial_reason(tx, &settled.row, by.author, &ask.reason, now)?;
            }
            Ok(settled)
        })
        .await
    }

    /// Answers a question, or declines to.
    ///
    /// # Errors
    /// `Validation`, also for answers that do not fit: the question then waits on; `NotFound`,
    /// `InteractionAlreadyResolved`, `InteractionChanged`.
    ///
    /// Source: contract 3.8.1.
    pub async fn submit_answers(
        &self,
        by: &Decider,
        session: SessionId,
        ask: SubmitAnswersRequest,
        once: IdempotentWrite<CommittedDecision>,
    ) -> Result<()> {
        ask.check()?;
        let decision = ask.answers.map_or(Decision::Decline, Decision::Answer);
        let (by, now) = (*by.caller(), self.now());
        self.commit_decision(once, move |tx| {
            let digest = ask.digest.as_deref();
            decide(tx, &by, session, &ask.tool_call_id, &decision, digest, now)
        })
        .await
    }

    /// Says yes, this once, to several tool calls; each is decided for itself.
    ///
    /// # Errors
    /// `Validation`.
    ///
    /// Source: contract 3.8.1.
    pub async fn batch_approve(
        &self,
        by: &Decider,
        session: SessionId,
        ask: BatchRequest,
        once: IdempotentWrite<Vec<BatchOutcome>>,
    ) -> Result<Vec<BatchOutcome>> {
        let decision = Decision::Approve {
            always_allow: false,
            option_id: None,
        };
        self.batch(by, session, ask, decision, once).await
    }

    /// Says no to several tool calls; each is decided for itself.
    ///
    /// # Errors
    /// `Validation`.
    ///
    /// Source: contract 3.8.1.
    pub async fn batch_deny(
        &self,
        by: &Decider,
        session: SessionId,
        ask: BatchRequest,
        once: IdempotentWrite<Vec<BatchOutcome>>,
    ) -> Result<Vec<BatchOutcome>> {
        let decision = Decision::Deny {
            reason: String::new(),
        };
        self.batch(by, session, ask, decision, once).await
    }

    async fn batch(
        &self,
        by: &Decider,
        session: SessionId,
        ask: BatchRequest,
        decision: Decision,
        once: IdempotentWrite<Vec<BatchOutcome>>,
    ) -> Result<Vec<BatchOutcome>> {
        ask.check()?;
        let (by, now) = (*by.caller(), self.now());
        let decide = move |tx: &mut Tx<'_>| {
            let one = |id: String, tx: &mut Tx<'_>| {
                // A refusal writes nothing, so that the others of the batch stand.
                let outcome = match decide(tx, &by, session, &id, &decision, None, now) {
                    Ok(settled) => Ok(settled),
                    Err(Error::Refusal(refusal)) => Err(refusal),
                    Err(other) => return Err(other),
                };
                Ok(BatchOutcome {
                    tool_call_id: id,
                    outcome,
                })
            };
            let ids = ask.tool_call_ids.into_iter();
            ids.map(|id| one(id, tx)).collect()
        };
        let batched: Vec<BatchOutcome> = self
            .store()
            .write(move |tx| {
                callers::require_live_credential(tx, &by, now)?;
                once.run(tx, now, decide)
            })
            .await?;
        for settled in batched.iter().filter_map(|one| one.outcome.as_ref().ok()) {
            self.carry_out(settled.clone()).await;
        }
        Ok(batched)
    }

    /// Commits one decision, then tells the agent.
    async fn commit_decision(
        &self,
        once: IdempotentWrite<CommittedDecision>,
        decide: impl FnOnce(&mut Tx<'_>) -> Result<CommittedDecision> + Send + 'static,
    ) -> Result<()> {
        let now = self.now();
        let settled = self.store().write(move |tx| once.run(tx, now, decide));
        self.carry_out(settled.await?).await;
        Ok(())
    }

    /// Tells the agent what was decided, after the commit. A yes that reaches nobody waits for
    /// the agent to come back.
    async fn carry_out(&self, settled: CommittedDecision) {
        let CommittedDecision { row, answer } = settled;
        let is_there = !row.is_detached();
        if is_there && !self.answer_agent(row.session_id, row.id, answer.clone()) {
            self.undelivered(row.id, answer).await;
        }
        self.wake_session(row.session_id);
        self.wake_turns();
    }

    /// Keeps for the agent what was decided and reached nobody: a yes becomes a grant, unless its
    /// turn was cancelled meanwhile, and answers are told by a message. A no needs nobody.
    async fn store_undelivered(&self, id: ApprovalId, answer: InteractionResponse) -> Result<()> {
        let now = self.now();
        self.store()
            .write(move |tx| {
                let Some(whole) = ask_rows::by_id(tx, id)? else {
                    return Ok(());
                };
                let (mut row, card, reply) = (whole.standing, whole.card, whole.reply);
                if row.state != ApprovalState::Consumed || row.withdrawn_at.is_some() {
                    return Ok(());
                }
                let told = card.clone();
                if lifecycle::apply_without_event(
                    tx,
                    &mut row,
                    InteractionTrigger::Undelivered,
                    None,
                    now,
                )? {
                    let interaction = row.shown(card, reply, now);
                    tx.append(now, None, &Event::InteractionDetached { interaction })?;
                }
                reopen(tx, &row, &told, &answer, now)
            })
            .await
    }

    /// A yes that reached nobody, because the agent that asked went away at that moment, waits
    /// for the agent to come back.
    pub(crate) async fn undelivered(&self, id: ApprovalId, answer: InteractionResponse) {
        if let Err(error) = self.store_undelivered(id, answer).await {
            tracing::error!(?error, "a yes that reached nobody could not be kept");
        }
    }

    /// Gives the agent that waits for the ask `id` of `session` its answer; answers whether one
    /// waits.
    pub(crate) fn answer_agent(
        &self,
        _session: SessionId,
        id: ApprovalId,
        answer: InteractionResponse,
    ) -> bool {
        self.inner.waiting.deliver(id, answer)
    }

    /// Asks a person in a transaction of its own, and begins to wait for the answer.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn ask_person(
        &self,
        session: Session,
        call: Option<ToolCall>,
        asked: InteractionRequest,
    ) -> Result<OpenedInteraction> {
        let id = Self::new_id(ApprovalId::from_bytes);
        let answer = self.inner.waiting.register(id);
        let (digests, now) = (self.inner.digests.clone(), self.now());
        let opening = self
            .store()
            .write(move |tx| open(tx, &session, call.as_ref(), &asked, &digests, id, now))
            .await?;
        Ok(OpenedInteraction { opening, answer })
    }

    /// Draws the pending card of a call anew, in a transaction of its own.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn redraw_card(&self, session: Session, call: ToolCall) -> Result<()> {
        let (digests, now) = (self.inner.digests.clone(), self.now());
        self.store()
            .write(move |tx| update_pending_card(tx, &session, &call, &digests, now))
            .await
    }

    /// Lets a session's pending asks wait without their agent, in a transaction of its own.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn detach_session(&self, session: SessionId) -> Result<()> {
        let now = self.now();
        let withdrawn = self
            .store()
            .write(move |tx| detach_all(tx, session, now))
            .await?;
        self.answer_withdrawn(session, &withdrawn);
        Ok(())
    }

    /// Withdraws a question whose asker waits no longer, also where nobody waits for that.
    pub(crate) fn withdraw_unawaited(&self, id: ApprovalId) {
        let (hall, now) = (self.clone(), self.now());
        self.tasks().spawn("question withdrawn", now, async move {
            let withdrawn = hall
                .store()
                .write(move |tx| lifecycle::withdraw_one(tx, id, now));
            if let Err(error) = withdrawn.await {
                tracing::error!(
                    ?error,
                    "a question that nobody waits for could not be withdrawn"
                );
            }
        });
    }

    /// Withdraws everything a session asks and was granted, in a transaction of its own, and
    /// tells whoever waits.
    ///
    /// # Errors
    /// Faults, and `Overloaded`.
    pub async fn withdraw_session_interactions(
        &self,
        session: SessionId,
        by: Option<AuthorId>,
    ) -> Result<()> {
        let now = self.now();
        let withdrawn = self
            .store()
            .write(move |tx| withdraw_all(tx, session, by, now))
            .await?;
        self.answer_withdrawn(session, &withdrawn);
        Ok(())
    }
}

/// Queues why somebody said no as the session's next message.
///
/// In a session of a room it is a turn of the room, which waits for the present one to end. A no
/// to an agent that is gone starts nothing: there it waits for what a person sends next.
///
/// # Errors
/// `Validation` when the agent is gone and its turn in the room with it.
fn queue_denial_reason(
    tx: &mut Tx<'_>,
    row: &InteractionRecord,
    by: AuthorId,
    reason: &str,
    now: Timestamp,
) -> Result<()> {
    let session = row.session_id;
    if row.room_turn.is_some() {
        if row.is_detached() {
            let problem = "must be false: the agent's turn is over; write it in the room";
            return Err(Refusal::field("tellAgent", problem).into());
        }
        return queue_in_room_turn(tx, row, (by, reason), now).map(|_| ());
    }
    let is_at_rest = !sessions::reload(tx, session)?.state.is_busy()
        && (is_held(tx, session)? || messages::queued(tx, session)? == 0);
    queue_message(tx, session, (by, reason), None, now)?;
    if row.is_detached() && is_at_rest {
        hold(tx, session, true)?;
    }
    Ok(())
}

/// Queues a person's words before all others, or behind them where they wait for another turn.
fn queue_message(
    tx: &mut Tx<'_>,
    session: SessionId,
    (author, words): (AuthorId, &str),
    room_turn: Option<Turn>,
    now: Timestamp,
) -> Result<MessageId> {
    let id = Hall::new_id(MessageId::from_bytes);
    let is_next = room_turn.as_ref().is_none_or(|turn| turn.state.is_live());
    let message = NewMessage {
        id,
        session,
        author,
        content: words.to_owned(),
        context: String::new(),
        rank: if is_next {
            QueueRank::First
        } else {
            QueueRank::Decided
        },
        room_turn: room_turn.and_then(|turn| turn.id),
    };
    sessions::enqueue(tx, message, now)?;
    Ok(id)
}

/// Queues a person's words for the session that asked; what was asked in a turn of a room is
/// told by a new turn there, whose rule is `by_person`. `None` when the agent left the room.
fn queue_in_room_turn(
    tx: &mut Tx<'_>,
    row: &InteractionRecord,
    words: (AuthorId, &str),
    now: Timestamp,
) -> Result<Option<MessageId>> {
    let turn = match row.room_turn {
        None => None,
        Some(asked) => match turns::reopen_by_person(tx, asked, now)? {
            Some(turn) => Some(turn),
            None => return Ok(None),
        },
    };
    queue_message(tx, row.session_id, words, turn, now).map(Some)
}

/// Opens the session of a decision again whose agent is gone, and tells it that it may repeat the
/// call, or what was answered; a no opens nothing, and neither does what a tool server asked.
fn reopen(
    tx: &mut Tx<'_>,
    row: &InteractionRecord,
    card: &InteractionCard,
    answer: &InteractionResponse,
    now: Timestamp,
) -> Result<()> {
    let words = match (row.state, answer) {
        // The agent did not ask; the answer would be words to it that nobody meant for it.
        _ if card.of_server => return Ok(()),
        (ApprovalState::Granted, _) if card.opaque => rules::opaque_message().to_owned(),
        (ApprovalState::Granted, _) => rules::grant_message(&card.title),
        (ApprovalState::Consumed, InteractionResponse::Accepted(answers)) => {
            rules::answer_message(&card.title, answers)
        }
        _ => return Ok(()),
    };
    let Some(person) = row.decided_by else {
        return Ok(());
    };
    match queue_in_room_turn(tx, row, (person, &words), now)? {
        Some(message) => ask_rows::set_resume_message(tx, row.id, message),
        None => Ok(()),
    }
}

/// Checks a decision and writes it with its event; one whose agent is gone opens its session
/// again.
fn decide(
    tx: &mut Tx<'_>,
    by: &Caller,
    session: SessionId,
    tool_call_id: &str,
    decision: &Decision,
    digest: Option<&str>,
    now: Timestamp,
) -> Result<CommittedDecision> {
    callers::require_live_credential(tx, by, now)?;
    let found = ask_rows::of_call(tx, session, tool_call_id, decision.kind())?;
    let questions = match (&found, decision) {
        (Some(row), Decision::Answer(_)) => ask_rows::questions(tx, row.id)?,
        (Some(_) | None, _) => Vec::new(),
    };
    let decided = rules::decide(found.as_ref(), &questions, decision, digest, now)?;
    let mut row = found.ok_or(Refusal::NotFound(ResourceKind::PendingApproval))?;
    let word = (Some(by.author), Some(decided.reply));
    if !lifecycle::apply_with_reply(tx, &mut row, decision.trigger(), word, now)? {
        return Err(Fault::broken("deciding", "a pending row did not take a decision").into());
    }
    sessions::append_counts_changed(tx, session, Some(by.author), now)?;
    let answer = decided.answer;
    if row.is_detached()
        && let Some(whole) = ask_rows::by_id(tx, row.id)?
    {
        reopen(tx, &row, &whole.card, &answer, now)?;
    }
    Ok(CommittedDecision { row, answer })
}

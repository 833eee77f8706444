//! One turn at work: the prompt is sent, what the agent says is written, what it asks is put
//! before a person, and whatever ends it is carried out.

mod mode_changes;
mod privilege_notice;

use std::{
    collections::HashMap,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use guildhall_domain::{
    Result,
    ids::{ApprovalId, MessageId, SessionTurnId},
    interactions::{
        InteractionRequest, InteractionResponse as Decision, PermissionChoice,
        PermissionChoiceKind, response_to_refuse,
    },
    limits,
    sessions::{Session, SessionState, TurnOutcome},
    transcript::{TextKind, ToolCallPatch, ToolStatus},
    usage::Cost,
};
use guildhall_world::acp::{
    self, AgentMessage, AgentUpdate, PromptPart, PromptResult, ResponseSlot,
};
use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};

use super::{
    driver::{WriteResult, stopped},
    live_sessions::DriverSignals,
    reload,
    transcript_builder::TranscriptBuilder,
    turn_rows::{self, TurnConclusion, TurnJob},
    turn_setup::{AppliedSettings, TurnSetup},
    write_session,
};
use crate::{
    Hall,
    interactions::{self, OpenOutcome},
    turns,
};

/// An ask that waits for a person.
struct PendingInteraction {
    reply: ResponseSlot,
    tool_call_id: Option<String>,
    options: Vec<PermissionChoice>,
    decided: oneshot::Receiver<Decision>,
}

/// Something done at the agent while it goes on talking: putting mode, model and effort in force.
type ApplyingSettings = Pin<Box<dyn Future<Output = Result<AppliedSettings, String>> + Send>>;

/// One turn at work.
pub(super) struct TurnLoop {
    hall: Hall,
    job: TurnJob,
    turn: SessionTurnId,
    stage: TurnSetup,
    answer: TranscriptBuilder,
    parked: HashMap<ApprovalId, PendingInteraction>,
    /// Mode, model and effort on their way to the agent.
    applying: Option<ApplyingSettings>,
    /// Whether they changed once more meanwhile.
    applies_again: bool,
    cost: Option<Cost>,
    context: Option<(u64, u64)>,
    /// Since when the agent has to stop, and why; what it says from then on is dropped.
    stopping: Option<(Instant, String)>,
    heard_at: Instant,
    /// When text that waits is written.
    flush_at: Option<Instant>,
    /// Answers that reached nobody, because the agent went away at that moment.
    undelivered: Vec<(ApprovalId, Decision)>,
}

/// What a turn does next; one at a time, on the stack.
#[expect(
    clippy::large_enum_variant,
    reason = "one stands on the stack, and most of them are what was said"
)]
enum TurnEvent {
    Said(AgentMessage),
    Silence,
    Decided(ApprovalId, Decision),
    Stop,
    Reconsider,
    Applied(Result<AppliedSettings, String>),
    Flush,
    Grace,
    Gone(acp::AgentExit),
    Ended(Result<PromptResult, acp::AgentCallError>),
}

impl TurnLoop {
    pub(super) fn new(hall: Hall, job: TurnJob, turn: SessionTurnId, stage: TurnSetup) -> Self {
        let id = Hall::new_id(MessageId::from_bytes);
        Self {
            answer: TranscriptBuilder::new(job.session.id, turn, id, stage.author),
            hall,
            job,
            turn,
            stage,
            parked: HashMap::new(),
            applying: None,
            applies_again: false,
            cost: None,
            context: None,
            stopping: None,
            heard_at: Instant::now(),
            flush_at: None,
            undelivered: Vec::new(),
        }
    }

    /// Sends the prompt and follows the turn to its end.
    pub(super) async fn run(
        mut self,
        wants: &watch::Receiver<DriverSignals>,
        cancels: u64,
        mut changes: u64,
    ) -> WriteResult<()> {
        let process = self.stage.process.clone();
        let native = self.stage.native.clone();
        let mut prompt = pin!(process.link.prompt(&native, self.pieces()));
        let mut gone = pin!(process.ended());
        let end = loop {
            let is_stopping = self.stopping.is_some();
            let (flush, grace, silence) = (self.flush_at, self.grace(), self.silence());
            let next = tokio::select! {
                biased;
                () = stopped(wants, cancels), if !is_stopping => TurnEvent::Stop,
                () = sleep_until(grace), if is_stopping => TurnEvent::Grace,
                () = is_changed(wants, changes), if !is_stopping => TurnEvent::Reconsider,
                applied = poll_fn(|cx| poll_some(&mut self.applying, cx)) => TurnEvent::Applied(applied),
                (id, decision) = decided(&mut self.parked) => TurnEvent::Decided(id, decision),
                () = sleep_until(flush), if flush.is_some() => TurnEvent::Flush,
                Some(said) = self.stage.inbox.recv() => TurnEvent::Said(said),
                end = &mut prompt => TurnEvent::Ended(end),
                ended = &mut gone => TurnEvent::Gone(ended),
                () = sleep_until(silence), if silence.is_some() => TurnEvent::Silence,
            };
            match next {
                TurnEvent::Said(said) => self.handle_message(said).await?,
                TurnEvent::Decided(id, decision) => self.deliver_decision(id, decision).await?,
                TurnEvent::Stop => self.stop(String::new()).await?,
                TurnEvent::Silence => self.stop("stalled".to_owned()).await?,
                TurnEvent::Flush => self.write().await?,
                TurnEvent::Reconsider => {
                    changes = wants.borrow().changes;
                    self.apply_settings();
                }
                TurnEvent::Applied(applied) => self.applied(applied).await?,
                TurnEvent::Grace => {
                    process.link.stop();
                    break Ok(self.end(TurnOutcome::Cancelled, ""));
                }
                TurnEvent::Gone(ended) => break Err(ended.why),
                TurnEvent::Ended(Ok(end)) => {
                    break Ok(self.drain_and_end(end, wants, cancels).await?);
                }
                TurnEvent::Ended(Err(
                    acp::AgentCallError::Gone(why) | acp::AgentCallError::Protocol(why),
                )) => {
                    break Err(why);
                }
                TurnEvent::Ended(Err(error)) => {
                    self.drain(wants, cancels).await?;
                    break Ok(self.end(TurnOutcome::Failed, &error.to_string()));
                }
            }
        };
        let end = match end {
            Ok(end) => end,
            Err(why) => self.end_without_process(&why).await?,
        };
        self.conclude(end).await
    }

    fn pieces(&self) -> Vec<PromptPart> {
        let message = &self.job.message;
        let context = Some(&message.context).filter(|context| !context.is_empty());
        context
            .map(|context| PromptPart::Context(context.clone()))
            .into_iter()
            .chain([PromptPart::Text(message.content.clone())])
            .collect()
    }

    /// When the agent's time to stop is over.
    fn grace(&self) -> Option<Instant> {
        let grace = Duration::from_secs(limits::CANCEL_GRACE_S);
        self.stopping.as_ref().map(|(since, _)| *since + grace)
    }

    /// When the agent was silent for too long; never while a tool is at work.
    fn silence(&self) -> Option<Instant> {
        let is_quiet =
            self.stopping.is_none() && self.parked.is_empty() && !self.answer.has_running_call();
        is_quiet.then(|| self.heard_at + Duration::from_secs(limits::TURN_SILENCE_MAX_S))
    }

    async fn handle_message(&mut self, said: AgentMessage) -> WriteResult<()> {
        self.heard_at = Instant::now();
        match said {
            AgentMessage::Update {
                update: AgentUpdate::Mode(_) | AgentUpdate::Options(_),
                ..
            } => return self.mode_switched().await,
            // Late output is dropped, and a late ask is answered "cancelled".
            AgentMessage::Update { .. } | AgentMessage::Ask { .. } if self.stopping.is_some() => {
                return Ok(());
            }
            AgentMessage::Update { update, .. } => self.apply_update(update).await?,
            AgentMessage::Ask {
                asked, call, reply, ..
            } => self.open_interaction(asked, call, reply).await?,
        }
        if self.answer.is_due() {
            self.write().await?;
        } else if self.answer.has_more() && self.flush_at.is_none() {
            self.flush_at = Some(Instant::now() + Duration::from_millis(limits::DELTA_FLUSH_MS));
        }
        if self.answer.is_too_much() && self.stopping.is_none() {
            let why = "TOO_MANY_CALLS: the tool calls of this turn are more than can be kept";
            self.stop(why.to_owned()).await?;
        }
        Ok(())
    }

    async fn apply_update(&mut self, update: AgentUpdate) -> WriteResult<()> {
        match update {
            AgentUpdate::Text(text) => self.answer.push_text(TextKind::Text, &text),
            AgentUpdate::Thinking(text) => self.answer.push_text(TextKind::Thinking, &text),
            AgentUpdate::Plan(entries) => self.answer.plan(entries),
            AgentUpdate::ToolCall(patch) => return self.merge_call(patch).await,
            AgentUpdate::Context { used, size } => self.context = Some((used, size)),
            AgentUpdate::Cost(cost) => self.cost = Some(cost),
            AgentUpdate::Title(title) => return self.set_title(&title).await,
            AgentUpdate::Notice(text) => return self.notice(text).await,
            // Modes were looked at already; commands the process hands on by itself.
            AgentUpdate::Mode(_) | AgentUpdate::Options(_) | AgentUpdate::Commands(_) => {}
        }
        Ok(())
    }

    /// Takes in what is said of a call; an open ask about it shows its new input.
    async fn merge_call(&mut self, patch: ToolCallPatch) -> WriteResult<()> {
        let id = patch.tool_call_id.clone();
        let before = self.answer.call(&id).cloned();
        let Some(call) = self.answer.merge_call(patch).cloned() else {
            return Ok(());
        };
        self.notice_privileges(&call).await?;
        let is_asked = self
            .parked
            .values()
            .any(|parked| parked.tool_call_id.as_ref() == Some(&id));
        if !is_asked || before.is_some_and(|before| before.is_same_request(&call)) {
            return Ok(());
        }
        let (session, now) = (self.job.session.id, self.hall.now());
        let digests = self.hall.inner.digests.clone();
        self.hall
            .write_until_accepted(move |tx| {
                let session = reload(tx, session)?;
                interactions::update_pending_card(tx, &session, &call, &digests, now)
            })
            .await
    }

    /// Puts an agent's question before a person, unless the answer is known.
    async fn open_interaction(
        &mut self,
        asked: InteractionRequest,
        patch: Option<ToolCallPatch>,
        reply: ResponseSlot,
    ) -> WriteResult<()> {
        let (tool_call_id, options) = match &asked {
            InteractionRequest::Permission {
                tool_call_id,
                options,
            } => (Some(tool_call_id.clone()), options.clone()),
            InteractionRequest::Form { tool_call_id, .. } => (tool_call_id.clone(), Vec::new()),
        };
        if let Some(id) = &tool_call_id {
            self.answer
                .merge_call(patch.unwrap_or_else(|| ToolCallPatch::of(id.clone())));
            if matches!(asked, InteractionRequest::Permission { .. }) {
                self.answer.set_status(id, ToolStatus::Waiting);
            }
        }
        let call = tool_call_id.as_ref().and_then(|id| self.answer.call(id));
        let call = call.cloned();
        // Parked before its row is written, so that no decision finds nobody to tell.
        let id = Hall::new_id(ApprovalId::from_bytes);
        let parked = PendingInteraction {
            reply,
            tool_call_id,
            options,
            decided: self.hall.inner.waiting.register(id),
        };
        self.flush_at = None;
        let (writing, session) = (self.answer.take_batch(), self.job.session.id);
        let (digests, now) = (self.hall.inner.digests.clone(), self.hall.now());
        let room_turn = self.job.message.room_turn;
        let opening = self.hall.write_until_accepted(move |tx| {
            writing.clone().write(tx, now)?;
            let session = reload(tx, session)?;
            if !matches!(session.state, SessionState::Running | SessionState::Waiting) {
                return Ok(OpenOutcome::Refused);
            }
            let opening =
                interactions::open(tx, &session, call.as_ref(), &asked, &digests, id, now)?;
            if matches!(opening, OpenOutcome::Asked(_)) {
                let is_first = session.state == SessionState::Running;
                let waiting = Session {
                    state: SessionState::Waiting,
                    ..session
                };
                write_session(tx, waiting, None, now)?;
                if let Some(turn) = room_turn.filter(|_| is_first) {
                    turns::record_waiting(tx, turn, now)?;
                }
            }
            Ok(opening)
        });
        let decision = match opening.await? {
            OpenOutcome::Asked(_) => {
                self.parked.insert(id, parked);
                return Ok(());
            }
            OpenOutcome::Granted { option_id } => Decision::Selected(option_id),
            OpenOutcome::Refused => response_to_refuse(&parked.options),
            OpenOutcome::AskedAlready => {
                // What becomes of the call is for the ask that a person sees.
                parked.reply.send(response_to_refuse(&parked.options));
                return Ok(());
            }
        };
        self.settle_call(&parked, &decision);
        parked.reply.send(decision);
        Ok(())
    }

    /// Tells the agent what was decided; the last open ask lets the turn go on.
    async fn deliver_decision(&mut self, id: ApprovalId, decision: Decision) -> WriteResult<()> {
        let Some(parked) = self.parked.remove(&id) else {
            return Ok(());
        };
        self.settle_call(&parked, &decision);
        parked.reply.send(decision);
        self.heard_at = Instant::now();
        self.write().await?;
        if !self.parked.is_empty() {
            return Ok(());
        }
        let (session, now) = (self.job.session.id, self.hall.now());
        let room_turn = self.job.message.room_turn;
        self.hall
            .write_until_accepted(move |tx| {
                let session = reload(tx, session)?;
                if session.state != SessionState::Waiting {
                    return Ok(());
                }
                let running = Session {
                    state: SessionState::Running,
                    ..session
                };
                write_session(tx, running, None, now)?;
                room_turn.map_or(Ok(()), |turn| turns::record_resumed(tx, turn, now))
            })
            .await
    }

    /// What a decision makes of the call it was about.
    fn settle_call(&mut self, parked: &PendingInteraction, decision: &Decision) {
        let Some(call) = &parked.tool_call_id else {
            return;
        };
        let status = match decision {
            Decision::Selected(option) => {
                let chosen = parked
                    .options
                    .iter()
                    .find(|known| known.option_id == *option);
                match chosen.map(|option| option.kind) {
                    Some(PermissionChoiceKind::AllowOnce | PermissionChoiceKind::AllowAlways) => {
                        ToolStatus::InProgress
                    }
                    Some(PermissionChoiceKind::RejectOnce | PermissionChoiceKind::RejectAlways)
                    | None => ToolStatus::Denied,
                }
            }
            Decision::Cancelled if parked.options.is_empty() => return,
            Decision::Cancelled => ToolStatus::Cancelled,
            Decision::Accepted(_) | Decision::Declined => return,
        };
        self.answer.set_status(call, status);
    }

    /// Asks the agent to stop; what it says from now on is dropped. Without a reason a person
    /// asked for it, whose request withdrew the asks already.
    async fn stop(&mut self, why: String) -> WriteResult<()> {
        self.write().await?;
        if !why.is_empty() {
            let (session, now, why) = (self.job.session.id, self.hall.now(), why.clone());
            let withdrawn = self
                .hall
                .write_until_accepted(move |tx| {
                    let session = reload(tx, session)?;
                    if !matches!(session.state, SessionState::Running | SessionState::Waiting) {
                        return Ok(Vec::new());
                    }
                    let withdrawn = interactions::withdraw_all(tx, session.id, None, now)?;
                    let stopping = Session {
                        state: SessionState::Cancelling,
                        state_reason: why.clone(),
                        ..session
                    };
                    write_session(tx, stopping, None, now)?;
                    Ok(withdrawn)
                })
                .await?;
            self.hall.answer_withdrawn(session, &withdrawn);
        }
        self.stopping = Some((Instant::now(), why));
        self.applying = None;
        self.stage.process.link.cancel(&self.stage.native);
        for (_, parked) in self.parked.drain() {
            parked.reply.send(Decision::Cancelled);
        }
        Ok(())
    }

    /// Everything the agent said before its last word is taken in before the turn ends.
    async fn drain_and_end(
        &mut self,
        end: PromptResult,
        wants: &watch::Receiver<DriverSignals>,
        cancels: u64,
    ) -> WriteResult<TurnConclusion> {
        self.drain(wants, cancels).await?;
        let (outcome, why) = match &self.stopping {
            Some((_, why)) => (TurnOutcome::Cancelled, why.clone()),
            None => (end.stop, String::new()),
        };
        Ok(TurnConclusion {
            tokens: end.tokens,
            ..self.end(outcome, &why)
        })
    }

    /// Takes in what lies in the inbox, for no longer than an agent has to stop: one that goes on
    /// writing after its last word is not waited for.
    async fn drain(
        &mut self,
        wants: &watch::Receiver<DriverSignals>,
        cancels: u64,
    ) -> WriteResult<()> {
        let deadline = Instant::now() + Duration::from_secs(limits::CANCEL_GRACE_S);
        let mut barrier = pin!(self.stage.process.barrier());
        loop {
            let said = tokio::select! {
                biased;
                () = stopped(wants, cancels) => break,
                () = tokio::time::sleep_until(deadline) => break,
                said = self.stage.inbox.recv() => said,
                _ = &mut barrier => break,
            };
            match said {
                Some(said) => self.handle_message(said).await?,
                None => break,
            }
        }
        for _ in 0..super::agent_processes::INBOX {
            match self.stage.inbox.try_recv() {
                Ok(said) => self.handle_message(said).await?,
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn end(&mut self, outcome: TurnOutcome, why: &str) -> TurnConclusion {
        TurnConclusion {
            scope: self.stage.usage_scope,
            cost: self.cost.take(),
            context: self.context,
            ..TurnConclusion::plain(outcome, why)
        }
    }

    /// The process is gone: what a person was asked stays asked.
    async fn end_without_process(&mut self, why: &str) -> WriteResult<TurnConclusion> {
        while let Ok(said) = self.stage.inbox.try_recv() {
            self.handle_message(said).await?;
        }
        for (id, mut parked) in self.parked.drain() {
            // From here on a decision finds nobody; one that was just made reached nobody.
            parked.decided.close();
            if let Ok(decision) = parked.decided.try_recv() {
                self.undelivered.push((id, decision));
            }
        }
        if self.stopping.is_some() {
            return Ok(self.end(TurnOutcome::Cancelled, ""));
        }
        let (session, now) = (self.job.session.id, self.hall.now());
        let withdrawn = self
            .hall
            .write_until_accepted(move |tx| interactions::detach_all(tx, session, now))
            .await?;
        self.hall.answer_withdrawn(session, &withdrawn);
        Ok(self.end(TurnOutcome::Interrupted, why))
    }

    /// Ends the turn; a yes that reached nobody waits for the agent to come back.
    async fn conclude(mut self, end: TurnConclusion) -> WriteResult<()> {
        let writing = self.answer.take_batch();
        let (job, turn, now) = (self.job.clone(), self.turn, self.hall.now());
        let session = job.session.id;
        let withdrawn = self
            .hall
            .write_until_accepted(move |tx| {
                writing.clone().write(tx, now)?;
                let mut withdrawn = Vec::new();
                if end.outcome != TurnOutcome::Interrupted {
                    withdrawn = interactions::withdraw_pending(tx, session, None, now)?;
                }
                turn_rows::finish(tx, &job, turn, end.clone(), now)?;
                Ok(withdrawn)
            })
            .await?;
        // Also what no agent waits for, but a tool server.
        self.hall.answer_withdrawn(session, &withdrawn);
        for (id, decision) in self.undelivered {
            self.hall.undelivered(id, decision).await;
        }
        Ok(())
    }

    async fn write(&mut self) -> WriteResult<()> {
        self.flush_at = None;
        let writing = self.answer.take_batch();
        if writing.is_empty() {
            return Ok(());
        }
        let now = self.hall.now();
        self.hall
            .write_until_accepted(move |tx| writing.clone().write(tx, now))
            .await
    }

    async fn set_title(&mut self, title: &str) -> WriteResult<()> {
        let title = super::title_of(title);
        let (session, now) = (self.job.session.id, self.hall.now());
        if title.is_empty() {
            return Ok(());
        }
        self.hall
            .write_until_accepted(move |tx| super::set_title(tx, session, &title, now))
            .await
    }

    async fn notice(&mut self, text: String) -> WriteResult<()> {
        let (session, now) = (self.job.session.id, self.hall.now());
        self.hall
            .write_until_accepted(move |tx| super::notice(tx, session, "agent_notice", &text, now))
            .await
    }
}

/// The next decision on an ask that waits; never, while none does.
async fn decided(parked: &mut HashMap<ApprovalId, PendingInteraction>) -> (ApprovalId, Decision) {
    poll_fn(|cx| {
        for (id, parked) in parked.iter_mut() {
            if let Poll::Ready(decision) = Pin::new(&mut parked.decided).poll(cx) {
                return Poll::Ready((*id, decision.unwrap_or(Decision::Cancelled)));
            }
        }
        Poll::Pending
    })
    .await
}

/// Polls what there is; never ready while there is nothing.
fn poll_some<T>(
    future: &mut Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    cx: &mut std::task::Context<'_>,
) -> Poll<T> {
    match future {
        Some(future) => future.as_mut().poll(cx),
        None => Poll::Pending,
    }
}

/// Waits for a moment that may be none.
async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Waits until mode, model or effort may be others.
async fn is_changed(wants: &watch::Receiver<DriverSignals>, seen: u64) {
    let mut wants = wants.clone();
    if wants.wait_for(|wants| wants.changes > seen).await.is_err() {
        std::future::pending::<()>().await;
    }
}

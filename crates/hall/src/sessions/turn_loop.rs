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
    interactions::{Answer as Decision, AskOption, Asked, OptionKind, refusing},
    limits,
    sessions::{Session, SessionState, TurnOutcome},
    transcript::{TextKind, ToolCallPatch, ToolStatus},
    usage::Cost,
};
use guildhall_world::acp::{self, Piece, PromptEnd, Reply, Said, Update};
use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};

use super::{
    again,
    driver::{Told, is_stopped},
    live_sessions::Wants,
    touch,
    transcript_builder::Answer,
    turn_rows::{self, End, Job},
    turn_setup::{Applied, Stage},
};
use crate::{
    Hall,
    interactions::{self, Opening},
    turns,
};

/// An ask that waits for a person.
struct Parked {
    reply: Reply,
    tool_call_id: Option<String>,
    options: Vec<AskOption>,
    decided: oneshot::Receiver<Decision>,
}

/// Something done at the agent while it goes on talking: putting mode, model and effort in force.
type Applying = Pin<Box<dyn Future<Output = Result<Applied, String>> + Send>>;

/// One turn at work.
pub(super) struct Talk {
    hall: Hall,
    job: Job,
    turn: SessionTurnId,
    stage: Stage,
    answer: Answer,
    parked: HashMap<ApprovalId, Parked>,
    /// Mode, model and effort on their way to the agent.
    applying: Option<Applying>,
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
enum Next {
    Said(Said),
    Silence,
    Decided(ApprovalId, Decision),
    Stop,
    Reconsider,
    Applied(Result<Applied, String>),
    Flush,
    Grace,
    Gone(acp::Ended),
    Ended(Result<PromptEnd, acp::LinkError>),
}

impl Talk {
    pub(super) fn new(hall: Hall, job: Job, turn: SessionTurnId, stage: Stage) -> Self {
        let id = Hall::new_id(MessageId::from_bytes);
        Self {
            answer: Answer::new(job.session.id, turn, id, stage.author),
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
    pub(super) async fn hold(
        mut self,
        wants: &watch::Receiver<Wants>,
        cancels: u64,
        mut changes: u64,
    ) -> Told<()> {
        let process = self.stage.process.clone();
        let native = self.stage.native.clone();
        let mut prompt = pin!(process.link.prompt(&native, self.pieces()));
        let mut gone = pin!(process.ended());
        let end = loop {
            let is_stopping = self.stopping.is_some();
            let (flush, grace, silence) = (self.flush_at, self.grace(), self.silence());
            let next = tokio::select! {
                biased;
                () = is_stopped(wants, cancels), if !is_stopping => Next::Stop,
                () = at(grace), if is_stopping => Next::Grace,
                () = is_changed(wants, changes), if !is_stopping => Next::Reconsider,
                applied = poll_fn(|cx| poll_some(&mut self.applying, cx)) => Next::Applied(applied),
                (id, decision) = decided(&mut self.parked) => Next::Decided(id, decision),
                () = at(flush), if flush.is_some() => Next::Flush,
                Some(said) = self.stage.inbox.recv() => Next::Said(said),
                end = &mut prompt => Next::Ended(end),
                ended = &mut gone => Next::Gone(ended),
                () = at(silence), if silence.is_some() => Next::Silence,
            };
            match next {
                Next::Said(said) => self.hear(said).await?,
                Next::Decided(id, decision) => self.pass_on(id, decision).await?,
                Next::Stop => self.stop(String::new()).await?,
                Next::Silence => self.stop("stalled".to_owned()).await?,
                Next::Flush => self.write().await?,
                Next::Reconsider => {
                    changes = wants.borrow().changes;
                    self.reconsider();
                }
                Next::Applied(applied) => self.applied(applied).await?,
                Next::Grace => {
                    process.link.stop();
                    break Ok(self.end(TurnOutcome::Cancelled, ""));
                }
                Next::Gone(ended) => break Err(ended.why),
                Next::Ended(Ok(end)) => break Ok(self.hear_out(end, wants, cancels).await?),
                Next::Ended(Err(acp::LinkError::Gone(why) | acp::LinkError::Protocol(why))) => {
                    break Err(why);
                }
                Next::Ended(Err(error)) => {
                    self.drain(wants, cancels).await?;
                    break Ok(self.end(TurnOutcome::Failed, &error.to_string()));
                }
            }
        };
        let end = match end {
            Ok(end) => end,
            Err(why) => self.lose(&why).await?,
        };
        self.conclude(end).await
    }

    fn pieces(&self) -> Vec<Piece> {
        let message = &self.job.message;
        let context = Some(&message.context).filter(|context| !context.is_empty());
        context
            .map(|context| Piece::Context(context.clone()))
            .into_iter()
            .chain([Piece::Text(message.content.clone())])
            .collect()
    }

    /// When the agent's time to stop is over.
    fn grace(&self) -> Option<Instant> {
        let grace = Duration::from_secs(limits::CANCEL_GRACE_S);
        self.stopping.as_ref().map(|(since, _)| *since + grace)
    }

    /// When the agent was silent for too long; never while a tool is at work.
    fn silence(&self) -> Option<Instant> {
        let is_quiet = self.stopping.is_none() && self.parked.is_empty() && !self.answer.has_work();
        is_quiet.then(|| self.heard_at + Duration::from_secs(limits::TURN_SILENCE_MAX_S))
    }

    async fn hear(&mut self, said: Said) -> Told<()> {
        self.heard_at = Instant::now();
        match said {
            Said::Update {
                update: Update::Mode(_) | Update::Options(_),
                ..
            } => return self.mode_switched().await,
            // Late output is dropped, and a late ask is answered "cancelled".
            Said::Update { .. } | Said::Ask { .. } if self.stopping.is_some() => return Ok(()),
            Said::Update { update, .. } => self.take_in(update).await?,
            Said::Ask {
                asked, call, reply, ..
            } => self.ask(asked, call, reply).await?,
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

    async fn take_in(&mut self, update: Update) -> Told<()> {
        match update {
            Update::Text(text) => self.answer.hear(TextKind::Text, &text),
            Update::Thinking(text) => self.answer.hear(TextKind::Thinking, &text),
            Update::Plan(entries) => self.answer.plan(entries),
            Update::ToolCall(patch) => return self.join(patch).await,
            Update::Context { used, size } => self.context = Some((used, size)),
            Update::Cost(cost) => self.cost = Some(cost),
            Update::Title(title) => return self.entitle(&title).await,
            Update::Notice(text) => return self.notice(text).await,
            // Modes were looked at already; commands the process hands on by itself.
            Update::Mode(_) | Update::Options(_) | Update::Commands(_) => {}
        }
        Ok(())
    }

    /// Takes in what is said of a call; an open ask about it shows its new input.
    async fn join(&mut self, patch: ToolCallPatch) -> Told<()> {
        let id = patch.tool_call_id.clone();
        let before = self.answer.call(&id).cloned();
        let Some(call) = self.answer.join(patch).cloned() else {
            return Ok(());
        };
        self.tell_of_rights(&call).await?;
        let is_asked = self
            .parked
            .values()
            .any(|parked| parked.tool_call_id.as_ref() == Some(&id));
        if !is_asked || before.is_some_and(|before| before.is_same_ask(&call)) {
            return Ok(());
        }
        let (session, now) = (self.job.session.id, self.hall.now());
        let digests = self.hall.inner.digests.clone();
        self.hall
            .insist(move |tx| {
                let session = again(tx, session)?;
                interactions::input_changed(tx, &session, &call, &digests, now)
            })
            .await
    }

    /// Puts an agent's question before a person, unless the answer is known.
    async fn ask(&mut self, asked: Asked, patch: Option<ToolCallPatch>, reply: Reply) -> Told<()> {
        let (tool_call_id, options) = match &asked {
            Asked::Permission {
                tool_call_id,
                options,
            } => (Some(tool_call_id.clone()), options.clone()),
            Asked::Form { tool_call_id, .. } => (tool_call_id.clone(), Vec::new()),
        };
        if let Some(id) = &tool_call_id {
            self.answer
                .join(patch.unwrap_or_else(|| ToolCallPatch::of(id.clone())));
            if matches!(asked, Asked::Permission { .. }) {
                self.answer.set_status(id, ToolStatus::Waiting);
            }
        }
        let call = tool_call_id.as_ref().and_then(|id| self.answer.call(id));
        let call = call.cloned();
        // Parked before its row is written, so that no decision finds nobody to tell.
        let id = Hall::new_id(ApprovalId::from_bytes);
        let parked = Parked {
            reply,
            tool_call_id,
            options,
            decided: self.hall.inner.waiting.park(id),
        };
        self.flush_at = None;
        let (writing, session) = (self.answer.take(), self.job.session.id);
        let (digests, now) = (self.hall.inner.digests.clone(), self.hall.now());
        let room_turn = self.job.message.room_turn;
        let opening = self.hall.insist(move |tx| {
            writing.clone().write(tx, now)?;
            let session = again(tx, session)?;
            if !matches!(session.state, SessionState::Running | SessionState::Waiting) {
                return Ok(Opening::Refused);
            }
            let opening =
                interactions::open(tx, &session, call.as_ref(), &asked, &digests, id, now)?;
            if matches!(opening, Opening::Asked(_)) {
                let is_first = session.state == SessionState::Running;
                let waiting = Session {
                    state: SessionState::Waiting,
                    ..session
                };
                touch(tx, waiting, None, now)?;
                if let Some(turn) = room_turn.filter(|_| is_first) {
                    turns::awaits(tx, turn, now)?;
                }
            }
            Ok(opening)
        });
        let decision = match opening.await? {
            Opening::Asked(_) => {
                self.parked.insert(id, parked);
                return Ok(());
            }
            Opening::Granted { option_id } => Decision::Selected(option_id),
            Opening::Refused => refusing(&parked.options),
            Opening::AskedAlready => {
                // What becomes of the call is for the ask that a person sees.
                parked.reply.send(refusing(&parked.options));
                return Ok(());
            }
        };
        self.settle_call(&parked, &decision);
        parked.reply.send(decision);
        Ok(())
    }

    /// Tells the agent what was decided; the last open ask lets the turn go on.
    async fn pass_on(&mut self, id: ApprovalId, decision: Decision) -> Told<()> {
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
            .insist(move |tx| {
                let session = again(tx, session)?;
                if session.state != SessionState::Waiting {
                    return Ok(());
                }
                let running = Session {
                    state: SessionState::Running,
                    ..session
                };
                touch(tx, running, None, now)?;
                room_turn.map_or(Ok(()), |turn| turns::goes_on(tx, turn, now))
            })
            .await
    }

    /// What a decision makes of the call it was about.
    fn settle_call(&mut self, parked: &Parked, decision: &Decision) {
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
                    Some(OptionKind::AllowOnce | OptionKind::AllowAlways) => ToolStatus::InProgress,
                    Some(OptionKind::RejectOnce | OptionKind::RejectAlways) | None => {
                        ToolStatus::Denied
                    }
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
    async fn stop(&mut self, why: String) -> Told<()> {
        self.write().await?;
        if !why.is_empty() {
            let (session, now, why) = (self.job.session.id, self.hall.now(), why.clone());
            let withdrawn = self
                .hall
                .insist(move |tx| {
                    let session = again(tx, session)?;
                    if !matches!(session.state, SessionState::Running | SessionState::Waiting) {
                        return Ok(Vec::new());
                    }
                    let withdrawn = interactions::withdraw_all(tx, session.id, None, now)?;
                    let stopping = Session {
                        state: SessionState::Cancelling,
                        state_reason: why.clone(),
                        ..session
                    };
                    touch(tx, stopping, None, now)?;
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
    async fn hear_out(
        &mut self,
        end: PromptEnd,
        wants: &watch::Receiver<Wants>,
        cancels: u64,
    ) -> Told<End> {
        self.drain(wants, cancels).await?;
        let (outcome, why) = match &self.stopping {
            Some((_, why)) => (TurnOutcome::Cancelled, why.clone()),
            None => (end.stop, String::new()),
        };
        Ok(End {
            tokens: end.tokens,
            ..self.end(outcome, &why)
        })
    }

    /// Takes in what lies in the inbox, for no longer than an agent has to stop: one that goes on
    /// writing after its last word is not waited for.
    async fn drain(&mut self, wants: &watch::Receiver<Wants>, cancels: u64) -> Told<()> {
        let deadline = Instant::now() + Duration::from_secs(limits::CANCEL_GRACE_S);
        let mut barrier = pin!(self.stage.process.barrier());
        loop {
            let said = tokio::select! {
                biased;
                () = is_stopped(wants, cancels) => break,
                () = tokio::time::sleep_until(deadline) => break,
                said = self.stage.inbox.recv() => said,
                _ = &mut barrier => break,
            };
            match said {
                Some(said) => self.hear(said).await?,
                None => break,
            }
        }
        for _ in 0..super::agent_processes::INBOX {
            match self.stage.inbox.try_recv() {
                Ok(said) => self.hear(said).await?,
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn end(&mut self, outcome: TurnOutcome, why: &str) -> End {
        End {
            scope: self.stage.usage_scope,
            cost: self.cost.take(),
            context: self.context,
            ..End::plain(outcome, why)
        }
    }

    /// The process is gone: what a person was asked stays asked.
    async fn lose(&mut self, why: &str) -> Told<End> {
        while let Ok(said) = self.stage.inbox.try_recv() {
            self.hear(said).await?;
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
            .insist(move |tx| interactions::detach_all(tx, session, now))
            .await?;
        self.hall.answer_withdrawn(session, &withdrawn);
        Ok(self.end(TurnOutcome::Interrupted, why))
    }

    /// Ends the turn; a yes that reached nobody waits for the agent to come back.
    async fn conclude(mut self, end: End) -> Told<()> {
        let writing = self.answer.take();
        let (job, turn, now) = (self.job.clone(), self.turn, self.hall.now());
        let session = job.session.id;
        let withdrawn = self
            .hall
            .insist(move |tx| {
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

    async fn write(&mut self) -> Told<()> {
        self.flush_at = None;
        let writing = self.answer.take();
        if writing.is_empty() {
            return Ok(());
        }
        let now = self.hall.now();
        self.hall
            .insist(move |tx| writing.clone().write(tx, now))
            .await
    }

    async fn entitle(&mut self, title: &str) -> Told<()> {
        let title = super::title_of(title);
        let (session, now) = (self.job.session.id, self.hall.now());
        if title.is_empty() {
            return Ok(());
        }
        self.hall
            .insist(move |tx| super::entitle(tx, session, &title, now))
            .await
    }

    async fn notice(&mut self, text: String) -> Told<()> {
        let (session, now) = (self.job.session.id, self.hall.now());
        self.hall
            .insist(move |tx| super::notice(tx, session, "agent_notice", &text, now))
            .await
    }
}

/// The next decision on an ask that waits; never, while none does.
async fn decided(parked: &mut HashMap<ApprovalId, Parked>) -> (ApprovalId, Decision) {
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
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Waits until mode, model or effort may be others.
async fn is_changed(wants: &watch::Receiver<Wants>, seen: u64) {
    let mut wants = wants.clone();
    if wants.wait_for(|wants| wants.changes > seen).await.is_err() {
        std::future::pending::<()>().await;
    }
}

//! The driver of a session: takes its messages up one at a time, and runs a turn for each.
//! There is one while there is something to do, and none else.

use std::{collections::HashMap, future::Future, pin::pin, time::Duration};

use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use guildhall_domain::{
    Moment, Result,
    events::{ChangedBy, Event},
    ids::{ApprovalId, MessageId, SessionId, SessionTurnId},
    interactions::{Answer as Decision, AskOption, Asked, OptionKind, refusing},
    limits,
    runtimes::Capabilities,
    sessions::{Session, SessionState, TurnOutcome},
    transcript::{TextKind, ToolCallPatch, ToolStatus},
    usage::Cost,
};
use guildhall_store::Tx;
use guildhall_world::acp::{self, Piece, PromptEnd, Reply, Said, Update};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use super::{
    again,
    fold::{Answer, Writing},
    live::Wants,
    opening::Stage,
    touch,
    turn::{self, End, Job},
};
use crate::{
    Hall,
    interactions::{self, Opening},
    turns,
};

/// How long the store is given to take a write again that it refused.
const AGAIN: Duration = Duration::from_secs(1);

impl Hall {
    /// Sees to it that the session's next message is taken up, now or when its turn is over.
    pub(crate) fn wake_session(&self, id: SessionId) {
        if let Some(wants) = self.inner.live.enter(id) {
            let hall = self.clone();
            self.tasks().spawn(
                "session",
                self.now(),
                async move { hall.drive(id, wants).await },
            );
        }
    }

    async fn drive(self, id: SessionId, mut wants: watch::Receiver<Wants>) {
        let mut stopping = self.tasks().stopping();
        loop {
            wants.borrow_and_update();
            let now = self.now();
            let next = tokio::select! {
                next = self.insist(move |tx| turn::next(tx, id, now)) => next,
                _ = stopping.wait_for(|stop| *stop) => return,
            };
            let Some(job) = next else {
                if self.inner.live.leave(id, &wants) {
                    return;
                }
                continue;
            };
            // The server's end interrupts the turn; the next start says so.
            tokio::select! {
                () = self.run(job, &wants) => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
        }
    }

    /// Runs the turn of one message, and lets its room hear of its end.
    async fn run(&self, job: Job, wants: &watch::Receiver<Wants>) {
        let is_of_room = job.message.room_turn.is_some();
        self.take_turn(job, wants).await;
        if is_of_room {
            self.wake_turns();
        }
    }

    /// Runs the turn of one message, from the agent's start to its end.
    async fn take_turn(&self, job: Job, wants: &watch::Receiver<Wants>) {
        let cancels = wants.borrow().cancels;
        let start = tokio::time::timeout(
            Duration::from_secs(limits::START_MAX_S),
            self.open_stage(&job.session),
        );
        let stage = tokio::select! {
            stage = start => stage.unwrap_or_else(|_| Err(format!(
                "the agent did not start within {} seconds", limits::START_MAX_S
            ))),
            () = is_stopped(wants, cancels) => {
                let now = self.now();
                self.insist(move |tx| turn::abandon(tx, &job, now)).await;
                return;
            }
        };
        let now = self.now();
        let stage = match stage {
            Ok(stage) => stage,
            Err(why) => {
                self.insist(move |tx| turn::start_failed(tx, &job, &why, now))
                    .await;
                return;
            }
        };
        let turn = Self::new_id(SessionTurnId::from_bytes);
        let (begun, native) = (job.clone(), stage.native.clone());
        let session = self
            .insist(move |tx| {
                let session = turn::begin(tx, &begun, turn, &native, now)?;
                if session.is_none() {
                    turn::abandon(tx, &begun, now)?;
                }
                Ok(session)
            })
            .await;
        let Some(session) = session else { return };
        let talk = Talk::new(self.clone(), job, session, turn, stage);
        talk.hold(wants, cancels).await;
    }

    /// Writes until the store takes it: what an agent did must not be lost to a full disk.
    pub(super) async fn insist<T: Send + 'static>(
        &self,
        job: impl Fn(&mut Tx<'_>) -> Result<T> + Clone + Send + 'static,
    ) -> T {
        let mut again = tokio::time::interval(AGAIN);
        loop {
            again.tick().await;
            match self.store().write(job.clone()).await {
                Ok(done) => return done,
                Err(error) => {
                    tracing::error!(?error, "a session could not be written; trying again")
                }
            }
        }
    }
}

/// Waits until the turn is to be stopped or the session is over.
async fn is_stopped(wants: &watch::Receiver<Wants>, cancels: u64) {
    let mut wants = wants.clone();
    let stopped = wants.wait_for(|wants| wants.is_closed || wants.cancels > cancels);
    if stopped.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// An ask that waits for a person.
struct Parked {
    reply: Reply,
    tool_call_id: Option<String>,
    options: Vec<AskOption>,
}

/// One turn at work.
struct Talk {
    hall: Hall,
    job: Job,
    session: Session,
    turn: SessionTurnId,
    stage: Stage,
    answer: Answer,
    asks: FuturesUnordered<std::pin::Pin<Box<dyn Future<Output = (ApprovalId, Decision)> + Send>>>,
    parked: HashMap<ApprovalId, Parked>,
    cost: Option<Cost>,
    context: Option<(u64, u64)>,
    /// Since when the agent has to stop; what it says from then on is dropped.
    stopping: Option<(Instant, &'static str)>,
    heard_at: Instant,
    /// When text that waits is written.
    flush_at: Option<Instant>,
}

/// What a turn does next.
enum Next {
    Said(Said),
    Silence,
    Decided(ApprovalId, Decision),
    Stop,
    Reconsider,
    Flush,
    Grace,
    Gone(acp::Ended),
    Ended(Result<PromptEnd, acp::LinkError>),
}

impl Talk {
    fn new(hall: Hall, job: Job, session: Session, turn: SessionTurnId, stage: Stage) -> Self {
        let id = Hall::new_id(MessageId::from_bytes);
        Self {
            answer: Answer::new(session.id, turn, id, stage.author),
            hall,
            job,
            session,
            turn,
            stage,
            asks: FuturesUnordered::new(),
            parked: HashMap::new(),
            cost: None,
            context: None,
            stopping: None,
            heard_at: Instant::now(),
            flush_at: None,
        }
    }

    /// Sends the prompt and follows the turn to its end.
    async fn hold(mut self, wants: &watch::Receiver<Wants>, cancels: u64) {
        let link = self.stage.process.link.clone();
        let native = self.stage.native.clone();
        let mut inbox = self.stage.process.listen(self.session.id, &native);
        if let Some(turn) = self.job.message.room_turn {
            let now = self.hall.now();
            self.hall
                .insist(move |tx| turns::began(tx, turn, now))
                .await;
        }
        let mut changes = wants.borrow().changes;
        let mut prompt = pin!(link.prompt(&native, self.pieces()));
        let process = self.stage.process.clone();
        let mut gone = pin!(process.ended());
        let end = loop {
            let is_stopping = self.stopping.is_some();
            let (flush, grace, silence) = (self.flush_at, self.grace(), self.silence());
            let next = tokio::select! {
                biased;
                () = is_stopped(wants, cancels), if !is_stopping => Next::Stop,
                Some((id, decision)) = self.asks.next() => Next::Decided(id, decision),
                Some(said) = inbox.recv() => Next::Said(said),
                end = &mut prompt => Next::Ended(end),
                ended = &mut gone => Next::Gone(ended),
                () = at(flush), if flush.is_some() => Next::Flush,
                () = at(grace), if grace.is_some() => Next::Grace,
                () = at(silence), if silence.is_some() => Next::Silence,
                () = is_changed(wants, changes) => Next::Reconsider,
            };
            match next {
                Next::Said(said) => self.hear(said).await,
                Next::Decided(id, decision) => self.pass_on(id, decision).await,
                Next::Stop => self.stop(&link, "").await,
                Next::Silence => self.stop(&link, "stalled").await,
                Next::Flush => self.write().await,
                Next::Reconsider => {
                    changes = wants.borrow().changes;
                    self.reconsider().await;
                }
                Next::Grace => {
                    link.stop();
                    break Ok(self.end(TurnOutcome::Cancelled, ""));
                }
                Next::Gone(ended) => break Err(ended.why),
                Next::Ended(Ok(end)) => break Ok(self.hear_out(&mut inbox, end).await),
                Next::Ended(Err(acp::LinkError::Gone(why) | acp::LinkError::Protocol(why))) => {
                    break Err(why);
                }
                Next::Ended(Err(error)) => {
                    self.drain(&mut inbox).await;
                    break Ok(self.end(TurnOutcome::Failed, &error.to_string()));
                }
            }
        };
        self.stage.process.leave(&native);
        let end = match end {
            Ok(end) => end,
            Err(why) => {
                while let Ok(said) = inbox.try_recv() {
                    self.hear(said).await;
                }
                self.lose(&why).await
            }
        };
        self.conclude(end).await;
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
        self.stopping.map(|(since, _)| since + grace)
    }

    /// When the agent was silent for too long; never while a tool is at work.
    fn silence(&self) -> Option<Instant> {
        let is_quiet = self.stopping.is_none() && self.parked.is_empty() && !self.answer.has_work();
        is_quiet.then(|| self.heard_at + Duration::from_secs(limits::TURN_SILENCE_MAX_S))
    }

    async fn hear(&mut self, said: Said) {
        self.heard_at = Instant::now();
        match said {
            // Late output is dropped, and a late ask is answered "cancelled".
            Said::Update { .. } | Said::Ask { .. } if self.stopping.is_some() => {}
            Said::Update { update, .. } => self.take_in(update).await,
            Said::Ask {
                asked, call, reply, ..
            } => self.ask(asked, call, reply).await,
        }
        if self.answer.is_due() {
            self.write().await;
        } else if self.answer.has_more() && self.flush_at.is_none() {
            self.flush_at = Some(Instant::now() + Duration::from_millis(limits::DELTA_FLUSH_MS));
        }
    }

    async fn take_in(&mut self, update: Update) {
        match update {
            Update::Text(text) => self.answer.hear(TextKind::Text, &text),
            Update::Thinking(text) => self.answer.hear(TextKind::Thinking, &text),
            Update::Plan(entries) => self.answer.plan(entries),
            Update::ToolCall(patch) => self.join(patch).await,
            Update::Context { used, size } => self.context = Some((used, size)),
            Update::Cost(cost) => self.cost = Some(cost),
            Update::Title(title) => self.entitle(title).await,
            Update::Notice(text) => self.notice("agent_notice", text).await,
            Update::Mode(native) => self.mode_switched(native).await,
            Update::Options(options) => {
                if let Some(native) = acp::mode_of(&options) {
                    self.mode_switched(native).await;
                }
            }
            // The process hands these on by itself.
            Update::Commands(_) => {}
        }
    }

    /// Takes in what is said of a call; an open ask about it shows its new input.
    async fn join(&mut self, patch: ToolCallPatch) {
        let id = patch.tool_call_id.clone();
        let before = self.answer.call(&id).cloned();
        let call = self.answer.join(patch).clone();
        let is_asked = self
            .parked
            .values()
            .any(|parked| parked.tool_call_id.as_ref() == Some(&id));
        if !is_asked || before.is_some_and(|before| before.is_same_ask(&call)) {
            return;
        }
        let (session, digests, now) = (
            self.session.clone(),
            self.hall.inner.digests.clone(),
            self.hall.now(),
        );
        self.hall
            .insist(move |tx| interactions::input_changed(tx, &session, &call, &digests, now))
            .await;
    }

    /// Puts an agent's question before a person, unless the answer is known.
    async fn ask(&mut self, asked: Asked, patch: Option<ToolCallPatch>, reply: Reply) {
        let (tool_call_id, options) = match &asked {
            Asked::Permission {
                tool_call_id,
                options,
            } => (Some(tool_call_id.clone()), options.clone()),
            Asked::Form { tool_call_id, .. } => (tool_call_id.clone(), Vec::new()),
        };
        if let Some(id) = &tool_call_id {
            let patch = patch.unwrap_or_else(|| ToolCallPatch::of(id.clone()));
            self.answer.join(patch);
            if matches!(asked, Asked::Permission { .. }) {
                self.answer.set_status(id, ToolStatus::Waiting);
            }
        }
        let call = tool_call_id
            .as_ref()
            .and_then(|id| self.answer.call(id))
            .cloned();
        let id = Hall::new_id(ApprovalId::from_bytes);
        let decided = self.hall.inner.waiting.park(id);
        let writing = self.answer.take();
        let (session, digests, now) = (
            self.session.id,
            self.hall.inner.digests.clone(),
            self.hall.now(),
        );
        let room_turn = self.job.message.room_turn;
        let opening = self
            .hall
            .insist(move |tx| {
                writing.clone().write(tx, now)?;
                let session = again(tx, session)?;
                if !matches!(session.state, SessionState::Running | SessionState::Waiting) {
                    return Ok(Opening::Refused);
                }
                let opening =
                    interactions::open(tx, &session, call.as_ref(), &asked, &digests, id, now)?;
                if let Opening::Asked(_) = opening
                    && session.state == SessionState::Running
                {
                    let waiting = Session {
                        state: SessionState::Waiting,
                        ..session
                    };
                    touch(tx, waiting, None, now)?;
                    if let Some(turn) = room_turn {
                        turns::awaits(tx, turn, now)?;
                    }
                }
                Ok(opening)
            })
            .await;
        self.flush_at = None;
        let parked = Parked {
            reply,
            tool_call_id,
            options,
        };
        match opening {
            Opening::Asked(_) => {
                self.parked.insert(id, parked);
                self.asks.push(Box::pin(async move {
                    (id, decided.await.unwrap_or(Decision::Cancelled))
                }));
            }
            Opening::Granted { option_id } => {
                self.settle_call(&parked, &Decision::Selected(option_id.clone()));
                parked.reply.send(Decision::Selected(option_id));
            }
            Opening::Refused => {
                let decision = refusing(&parked.options);
                self.settle_call(&parked, &decision);
                parked.reply.send(decision);
            }
        }
    }

    /// Tells the agent what was decided; the last open ask lets the turn go on.
    async fn pass_on(&mut self, id: ApprovalId, decision: Decision) {
        let Some(parked) = self.parked.remove(&id) else {
            return;
        };
        self.settle_call(&parked, &decision);
        parked.reply.send(decision);
        self.heard_at = Instant::now();
        self.write().await;
        if !self.parked.is_empty() {
            return;
        }
        let (session, now) = (self.session.id, self.hall.now());
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
            .await;
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

    /// Asks the agent to stop; what it says from now on is dropped.
    async fn stop(&mut self, link: &acp::AgentLink, why: &'static str) {
        self.write().await;
        self.stopping = Some((Instant::now(), why));
        link.cancel(&self.stage.native);
        for (_, parked) in self.parked.drain() {
            parked.reply.send(Decision::Cancelled);
        }
        if why.is_empty() {
            return;
        }
        let (session, now) = (self.session.id, self.hall.now());
        self.hall
            .insist(move |tx| {
                let session = again(tx, session)?;
                interactions::withdraw_all(tx, session.id, None, now)?;
                let stopping = Session {
                    state: SessionState::Cancelling,
                    state_reason: why.to_owned(),
                    ..session
                };
                touch(tx, stopping, None, now).map(|_| ())
            })
            .await;
    }

    /// Everything the agent said before its last word is taken in before the turn ends.
    async fn hear_out(&mut self, inbox: &mut mpsc::Receiver<Said>, end: PromptEnd) -> End {
        self.drain(inbox).await;
        let (outcome, why) = match self.stopping {
            Some((_, why)) => (TurnOutcome::Cancelled, why),
            None => (end.stop, ""),
        };
        End {
            tokens: end.tokens,
            ..self.end(outcome, why)
        }
    }

    async fn drain(&mut self, inbox: &mut mpsc::Receiver<Said>) {
        let barrier: oneshot::Receiver<()> = self.stage.process.barrier();
        let mut barrier = pin!(barrier);
        loop {
            tokio::select! {
                biased;
                Some(said) = inbox.recv() => self.hear(said).await,
                _ = &mut barrier => break,
            }
        }
        while let Ok(said) = inbox.try_recv() {
            self.hear(said).await;
        }
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
    async fn lose(&mut self, why: &str) -> End {
        // An answer given in the very moment the agent went away reached nobody.
        let given: Vec<_> = self
            .asks
            .iter_mut()
            .filter_map(|ask| ask.now_or_never())
            .collect();
        self.asks.clear();
        self.parked.clear();
        let (session, now) = (self.session.id, self.hall.now());
        if self.stopping.is_none() {
            self.hall
                .insist(move |tx| interactions::detach_all(tx, session, now))
                .await;
        }
        for (id, decision) in given {
            self.hall.undelivered(id, decision).await;
        }
        let outcome = match self.stopping {
            Some(_) => TurnOutcome::Cancelled,
            None => TurnOutcome::Interrupted,
        };
        let why = if self.stopping.is_some() { "" } else { why };
        self.end(outcome, why)
    }

    async fn conclude(mut self, end: End) {
        let writing = self.answer.take();
        let (job, turn, now) = (self.job.clone(), self.turn, self.hall.now());
        self.hall
            .insist(move |tx| {
                writing.clone().write(tx, now)?;
                if end.outcome != TurnOutcome::Interrupted {
                    interactions::withdraw_pending(tx, job.session.id, None, now)?;
                }
                turn::finish(tx, &job, turn, end.clone(), now)
            })
            .await;
    }

    async fn write(&mut self) {
        self.flush_at = None;
        let writing: Writing = self.answer.take();
        if writing.is_empty() {
            return;
        }
        let now = self.hall.now();
        self.hall
            .insist(move |tx| writing.clone().write(tx, now))
            .await;
    }

    async fn entitle(&mut self, title: String) {
        let (session, now) = (self.session.id, self.hall.now());
        let title = super::title_of(&title);
        if title.is_empty() {
            return;
        }
        self.hall
            .insist(move |tx| {
                let session = again(tx, session)?;
                let titled = Session {
                    title: title.clone(),
                    ..session
                };
                touch(tx, titled, None, now).map(|_| ())
            })
            .await;
    }

    async fn notice(&mut self, code: &'static str, text: String) {
        let (session, now) = (self.session.id, self.hall.now());
        self.hall
            .insist(move |tx| super::notice(tx, session, code, &text, now))
            .await;
    }

    /// Sets mode, model and effort as the person wants them now.
    async fn reconsider(&mut self) {
        let id = self.session.id;
        let found = self.hall.store().read(move |db| again(db, id)).await;
        let Ok(seen) = found else { return };
        self.session = seen.value;
        if let Err(why) = self.hall.apply(&mut self.stage, &self.session).await {
            self.notice("mode_not_applied", why).await;
        }
    }

    /// The agent switched its mode by itself: it stays only where a person's word allows it.
    async fn mode_switched(&mut self, native: String) {
        let Some(seat) = self.stage.process.seat(self.session.id) else {
            return;
        };
        if seat.mode.as_deref() == Some(native.as_str()) {
            return;
        }
        let capabilities: &Capabilities = &self.stage.capabilities;
        let to = capabilities.mode_of_native(&native);
        let (session, now) = (self.session.id, self.hall.now());
        let kept = self
            .hall
            .insist(move |tx| follow_mode(tx, session, &to, now))
            .await;
        match kept {
            Followed::Allowed(session) => {
                self.session = *session;
                self.stage.note_mode(self.session.id, native);
            }
            Followed::Refused { attempted, kept } => self.set_back(native, attempted, kept).await,
        }
    }

    async fn set_back(&mut self, native: String, attempted: String, kept: String) {
        self.stage.note_mode(self.session.id, native);
        let back = self.hall.apply(&mut self.stage, &self.session).await;
        let (session, now) = (self.session.id, self.hall.now());
        self.hall
            .insist(move |tx| {
                let event = Event::SessionModeRefused {
                    session_id: session,
                    attempted: attempted.clone(),
                    kept: kept.clone(),
                };
                tx.append(now, None, &event).map(|_| ())
            })
            .await;
        if back.is_err() {
            let link = self.stage.process.link.clone();
            self.stop(&link, "the agent took a mode that nobody allowed")
                .await;
        }
    }
}

/// What became of a mode the agent took.
enum Followed {
    Allowed(Box<Session>),
    Refused { attempted: String, kept: String },
}

fn follow_mode(
    tx: &mut Tx<'_>,
    id: SessionId,
    to: &guildhall_domain::runtimes::Mode,
    now: Moment,
) -> Result<Followed> {
    let session = again(tx, id)?;
    let standing = super::standing(tx, &session)?;
    if guildhall_domain::runtimes::may_use(to, false, &standing).is_err() {
        return Ok(Followed::Refused {
            attempted: to.id.clone(),
            kept: session.permission_mode,
        });
    }
    let acknowledged = to.width.needs_consent();
    let event = Event::SessionModeChanged {
        session_id: id,
        from: session.permission_mode.clone(),
        to: to.id.clone(),
        by: ChangedBy::Agent,
        acknowledged,
    };
    tx.append(now, None, &event)?;
    let session = Session {
        permission_mode: to.id.clone(),
        ..session
    };
    interactions::withdraw_grants(tx, id, None, now)?;
    Ok(Followed::Allowed(Box::new(touch(tx, session, None, now)?)))
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

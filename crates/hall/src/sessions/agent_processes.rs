//! Agent processes: one for each agent that works, with many sessions in it.
//! Started by the first turn, shared by the next ones, stopped after a while without any.

mod message_router;
mod process_slots;

use std::{
    collections::{HashMap, HashSet},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use guildhall_domain::{
    Error, Refusal, Result, Timestamp,
    agents::Agent,
    commands::AgentCommand,
    events::Event,
    ids::{AgentId, SessionId},
    limits,
};
use guildhall_store::{Tx, agents};
use guildhall_world::acp::{
    self, AgentCapabilities, AgentConnection, AgentExit, AgentLaunch, AgentMessage,
};
use tokio::sync::{mpsc, oneshot, watch};

use self::{
    message_router::MessageRouter,
    process_slots::{AcquireStep, PendingStart, ProcessLifetime},
};
use crate::{Hall, mcp_gateway::ServerSet};

pub(crate) use self::process_slots::{AgentProcesses, ProcessLease};

/// How many things said in a session may wait for its driver; then the agent waits.
pub(super) const INBOX: usize = 16;
/// For how many sessions that have no seat yet commands are kept.
const EARLY_MAX: usize = 16;
/// How many turns that end may wait at once for the router of their agent.
const BARRIERS_MAX: usize = 256;
/// How often an idle process is looked at.
const IDLE_CHECK: Duration = Duration::from_secs(15);

/// A running agent process.
#[derive(Clone)]
pub(super) struct AgentProcess {
    pub(super) link: AgentConnection,
    pub(super) facts: AgentCapabilities,
    seats: Arc<Mutex<ProcessSessions>>,
    barriers: mpsc::Sender<oneshot::Sender<()>>,
    ended: watch::Receiver<Option<AgentExit>>,
}

/// The sessions that are open in a process.
#[derive(Default)]
struct ProcessSessions {
    by_session: HashMap<SessionId, ProcessSession>,
    /// The session that took its seat last.
    newest: Option<SessionId>,
    /// The sessions that were to be opened here, whose tokens end with the process.
    known: HashSet<SessionId>,
    /// The tokens of the sessions that are open here: servers that come later get the same.
    tokens: HashMap<SessionId, String>,
    /// Who listens to a session, by the agent's id of it.
    inboxes: HashMap<String, (SessionId, mpsc::Sender<AgentMessage>)>,
    /// Commands that were reported before their session had its seat, by the agent's id of it: an
    /// agent may report them in the same breath in which it opens the session.
    early: HashMap<String, Vec<AgentCommand>>,
    /// Whether it was said, or need not be said, that programs get no rights of other users here.
    has_privileges_notice: bool,
}

impl ProcessSessions {
    /// The session that the agent calls `native`.
    fn session_of(&self, native: &str) -> Option<SessionId> {
        let listener = self.inboxes.get(native).map(|(session, _)| *session);
        listener.or_else(|| {
            let mut seats = self.by_session.iter();
            let seat = seats.find(|(_, seat)| seat.native == native);
            seat.map(|(session, _)| *session)
        })
    }

    /// Keeps commands until their session has its seat.
    fn store_early_commands(&mut self, native: &str, commands: &[AgentCommand]) {
        if self.early.len() < EARLY_MAX || self.early.contains_key(native) {
            self.early.insert(native.to_owned(), commands.to_vec());
        }
    }
}

/// A session that is open in a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessSession {
    /// The agent's id of it.
    pub(super) native: String,
    /// Whether the mode is being set back, because the agent switched it between turns.
    pub(super) is_set_back: bool,
    /// The model that was set; `""` is the agent's own.
    pub(super) model: String,
    /// The effort that was set; `""` is the agent's own.
    pub(super) effort: String,
    /// The model it came with.
    pub(super) own_model: String,
    /// The effort it came with.
    pub(super) own_effort: String,
    /// The tool servers of its agent that it was handed.
    pub(super) handed: ServerSet,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AgentProcess {
    /// The seat of a session, if it is open here.
    pub(super) fn session(&self, session: SessionId) -> Option<ProcessSession> {
        lock(&self.seats).by_session.get(&session).cloned()
    }

    /// Whether no other session took a seat after this one.
    pub(super) fn is_newest(&self, session: SessionId) -> bool {
        lock(&self.seats).newest == Some(session)
    }

    /// Whether it is to be said, once for each process, that programs of an enclosed agent get no
    /// rights of other users.
    pub(super) fn claim_privileges_notice(&self) -> bool {
        !std::mem::replace(&mut lock(&self.seats).has_privileges_notice, true)
    }

    /// Whether it may be given turns: its end did not begin.
    pub(super) fn is_usable(&self) -> bool {
        self.link.is_usable() && self.ended.borrow().is_none()
    }

    /// The commands that the agent reported before its session had its seat.
    pub(super) fn early_commands(&self, native: &str) -> Option<Vec<AgentCommand>> {
        lock(&self.seats).early.remove(native)
    }

    /// Notes that a session is to be opened here, before it gets its token.
    pub(super) fn expect(&self, session: SessionId) {
        lock(&self.seats).known.insert(session);
    }

    /// Keeps the token of a session that is open here.
    pub(super) fn keep_token(&self, session: SessionId, token: String) {
        lock(&self.seats).tokens.insert(session, token);
    }

    /// The token of a session that is open here.
    pub(super) fn token(&self, session: SessionId) -> Option<String> {
        lock(&self.seats).tokens.get(&session).cloned()
    }

    /// Forgets the seat of a session that is to be opened anew; answers what it was.
    pub(super) fn remove_session(&self, session: SessionId) -> Option<ProcessSession> {
        let mut seats = lock(&self.seats);
        seats.tokens.remove(&session);
        seats.by_session.remove(&session)
    }

    /// Notes what is set in a session.
    pub(super) fn add_session(&self, session: SessionId, seat: ProcessSession) {
        let mut seats = lock(&self.seats);
        seats.by_session.insert(session, seat);
        seats.newest = Some(session);
    }

    /// Changes what is known of a session that is open here, so that what comes from elsewhere
    /// meanwhile is kept; answers whether it is open.
    pub(super) fn update_session(
        &self,
        session: SessionId,
        how: impl FnOnce(&mut ProcessSession),
    ) -> bool {
        let mut seats = lock(&self.seats);
        seats.by_session.get_mut(&session).map(how).is_some()
    }

    /// The mode that the agent has a session in, by its own id; `None` where that is not known.
    pub(super) fn mode(&self, session: SessionId) -> Option<String> {
        self.link.mode(&self.session(session)?.native)
    }

    /// Forgets a session that is over; its agent hears of it where it wants to know.
    pub(super) async fn forget_session(&self, session: SessionId) {
        let seat = {
            let mut seats = lock(&self.seats);
            seats
                .inboxes
                .retain(|_, (listener, _)| *listener != session);
            seats.tokens.remove(&session);
            seats.by_session.remove(&session)
        };
        if let Some(seat) = seat {
            self.link.close_session(&seat.native).await;
        }
    }

    /// Listens to a session from now on.
    pub(super) fn listen(&self, session: SessionId, native: &str) -> mpsc::Receiver<AgentMessage> {
        let (sender, inbox) = mpsc::channel(INBOX);
        let mut seats = lock(&self.seats);
        seats.inboxes.insert(native.to_owned(), (session, sender));
        inbox
    }

    /// Listens to a session no longer.
    pub(super) fn leave(&self, native: &str) {
        lock(&self.seats).inboxes.remove(native);
    }

    /// A signal for when everything the agent said so far lies in its session's inbox.
    pub(super) fn barrier(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        // A full queue or a process that is gone drops the sender, which is a signal as well.
        let _ = self.barriers.try_send(sender);
        receiver
    }

    /// Waits for the end of the process.
    pub(super) async fn ended(&self) -> AgentExit {
        let mut ended = self.ended.clone();
        let end = ended.wait_for(Option::is_some).await;
        end.ok().and_then(|end| end.clone()).unwrap_or(AgentExit {
            kind: acp::ExitCause::Exited,
            why: "the agent's process is gone".to_owned(),
            code: None,
        })
    }
}

impl Hall {
    /// A place for the agent's process, as soon as there is room for one.
    pub(super) async fn acquire_process_slot(&self, agent: AgentId) -> ProcessLease {
        let processes = &self.inner.processes;
        loop {
            let changed = processes.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if processes.enter(agent) {
                let hall = self.clone();
                return ProcessLease { agent, hall };
            }
            changed.await;
        }
    }

    /// The agent's process in its place, started if it does not run.
    ///
    /// May be dropped at any await: a start goes on for others that wait for it, and is given up
    /// with the last [`ProcessLease`]; its process is then ended in order.
    ///
    /// # Errors
    /// Why it could not be started, for a person.
    pub(super) async fn process_for(
        &self,
        place: &ProcessLease,
        agent: &Agent,
    ) -> Result<AgentProcess, String> {
        let processes = &self.inner.processes;
        loop {
            let changed = processes.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let mut told = match processes.next_step(place.agent) {
                AcquireStep::Take(process) => return Ok(process),
                AcquireStep::Wait => {
                    changed.await;
                    continue;
                }
                AcquireStep::Hear(told) => told,
                AcquireStep::Start(start, told) => {
                    self.start_process(agent.clone(), start);
                    told
                }
            };
            let started = told.wait_for(Option::is_some).await;
            match started.ok().and_then(|started| started.clone()) {
                Some(Ok(())) => {}
                Some(Err(why)) => return Err(why),
                None => return Err("the agent's process could not be started".to_owned()),
            }
        }
    }

    /// Lets go of a session that is over, in the process of its agent.
    pub(crate) fn forget_session(&self, agent: AgentId, session: SessionId) {
        self.leave_tool_servers(session);
        if let Some(process) = self.inner.processes.running(agent) {
            self.tasks().spawn("session's end", self.now(), async move {
                process.forget_session(session).await;
            });
        }
    }

    /// Starts a process in a task of its own, which lives as long as it.
    fn start_process(&self, agent: Agent, PendingStart { tell, stop }: PendingStart) {
        // Made before the task, so that the place is freed also when the task never runs.
        let living = ProcessLifetime {
            hall: self.clone(),
            agent: agent.id,
            tell,
            stop: stop.subscribe(),
        };
        self.tasks().spawn("agent process", self.now(), async move {
            living.hall.clone().run_process(agent, living).await;
        });
    }

    /// One life of an agent's process: its token, its start, its turns and its end.
    async fn run_process(self, agent: Agent, living: ProcessLifetime) {
        let id = agent.id;
        let (token, secret) = match self.mint_process_token(id).await {
            Ok(token) => token,
            Err(Error::Refusal(Refusal::AgentRetired)) => {
                return living.report_start(Err("the agent is retired".to_owned()));
            }
            Err(error) => {
                tracing::error!(?error, "a process token could not be stored");
                return living
                    .report_start(Err("the agent's token could not be stored".to_owned()));
            }
        };
        let seats = Arc::<Mutex<ProcessSessions>>::default();
        let launched = match self.launch_of(&agent, &secret.reveal()).await {
            Ok(launch) => {
                lock(&seats).has_privileges_notice = launch.enclosure.is_off();
                acp::launch(launch).await.map_err(|error| error.to_string())
            }
            Err(why) => Err(why),
        };
        let (tell_end, ended) = watch::channel(None);
        let end = match launched {
            Ok(launched) => {
                let kept = (ended, Arc::clone(&seats));
                Some(self.supervise(&agent, &living, kept, launched).await)
            }
            Err(why) => {
                living.report_start(Err(why));
                None
            }
        };
        let sessions = std::mem::take(&mut lock(&seats).known);
        for session in &sessions {
            self.leave_tool_servers(*session);
        }
        self.revoke_process_tokens(id, token, sessions).await;
        let has_run = living.has_run();
        drop(living);
        let Some(end) = end else { return };
        tracing::info!(agent = %id, why = acp::in_short(&end.why), "an agent's process ended");
        if end.kind == acp::ExitCause::Lost {
            tracing::warn!(
                agent = %id,
                "an agent's keeper was killed by another process; until the server starts again \
                 no local program counts as the owner beyond doubt"
            );
        }
        self.forget_agent_commands(&agent.runtime, &agent.cwd);
        tell_end.send_replace(Some(end));
        if has_run {
            self.append_liveness(id).await;
        }
    }

    /// Greets the process and drives it until it has ended; ends it when it idles, when it is to
    /// stop, or when the server stops.
    async fn supervise(
        &self,
        agent: &Agent,
        living: &ProcessLifetime,
        (ended, seats): (
            watch::Receiver<Option<AgentExit>>,
            Arc<Mutex<ProcessSessions>>,
        ),
        (link, said, running): (
            AgentConnection,
            mpsc::Receiver<AgentMessage>,
            acp::AgentDriver,
        ),
    ) -> AgentExit {
        let (barriers, asked) = mpsc::channel(BARRIERS_MAX);
        let desk = MessageRouter {
            seats: Arc::clone(&seats),
            said,
            asked,
            hall: self.clone(),
            agent: agent.id,
            runtime: agent.runtime.clone(),
            cwd: agent.cwd.clone(),
        };
        let greeted = async {
            let limit = Duration::from_secs(limits::START_MAX_S);
            let facts = match tokio::time::timeout(limit, link.initialize()).await {
                Ok(facts) => facts.map_err(|error| error.to_string()),
                Err(_) => Err(format!(
                    "the agent did not answer within {} seconds",
                    limit.as_secs()
                )),
            };
            match facts {
                Ok(facts) => {
                    let process = AgentProcess {
                        link: link.clone(),
                        facts,
                        seats,
                        barriers,
                        ended,
                    };
                    self.inner.processes.started(agent.id, process);
                    living.report_start(Ok(()));
                    self.append_liveness(agent.id).await;
                }
                Err(why) => {
                    living.report_start(Err(why));
                    self.inner.processes.stop(agent.id);
                }
            }
        };
        let mut tasks_stop = self.tasks().stopping();
        let mut stop = living.stop.clone();
        let mut check = tokio::time::interval(IDLE_CHECK);
        let (mut running, mut greeted, mut routing) =
            (pin!(running), pin!(greeted), pin!(desk.route()));
        let (mut is_greeted, mut routes, mut is_stopping) = (false, true, false);
        // Every branch only waits: each future is kept from one look to the next.
        loop {
            tokio::select! {
                end = &mut running => {
                    living.report_start(Err(end.why.clone()));
                    // What it said last is still to be handed on.
                    if routes {
                        routing.as_mut().await;
                    }
                    return end;
                }
                () = &mut greeted, if !is_greeted => is_greeted = true,
                () = &mut routing, if routes => routes = false,
                _ = check.tick() => self.inner.processes.stop_if_idle(agent.id),
                () = either(&mut stop, &mut tasks_stop), if !is_stopping => {
                    is_stopping = true;
                    self.inner.processes.stop(agent.id);
                    link.stop();
                }
            }
        }
    }

    /// Tells that an agent's process runs now, or no longer.
    async fn append_liveness(&self, agent: AgentId) {
        let (now, hall) = (self.now(), self.clone());
        let told = self
            .store()
            .write(move |tx| append_liveness(tx, &hall, agent, now))
            .await;
        if let Err(error) = told {
            tracing::warn!(?error, "an agent's process could not be told of");
        }
    }

    /// How the agent's process is started.
    async fn launch_of(&self, agent: &Agent, token: &str) -> Result<AgentLaunch, String> {
        let registry = self.runtimes();
        let profile = registry
            .find(&agent.runtime)
            .map_err(|_| format!("the runtime {} is not registered here", agent.runtime))?;
        let place = registry
            .place(&agent.runtime)
            .ok_or_else(|| profile.missing())?;
        let at = (&*agent.cwd, Some(agent.id), Some(token));
        let launch = self.launch(profile, &place.path, at).await;
        launch.map_err(|fault| fault.to_string())
    }
}

fn append_liveness(tx: &mut Tx<'_>, hall: &Hall, agent: AgentId, now: Timestamp) -> Result<()> {
    let Some(agent) = agents::by_id(tx, agent)? else {
        return Ok(());
    };
    let live = hall.inner.processes.live();
    let agent = hall.runtimes().complete(agent, &live);
    tx.append(now, None, &Event::AgentUpdated { agent })
        .map(|_| ())
}

/// Waits until one of two flags is set.
async fn either(one: &mut watch::Receiver<bool>, other: &mut watch::Receiver<bool>) {
    tokio::select! {
        () = is_true(one) => {}
        () = is_true(other) => {}
    }
}

/// Waits for a flag; what it looked at is let go at once. Whoever could set it being gone counts
/// as set: nobody else could end the process then.
async fn is_true(flag: &mut watch::Receiver<bool>) {
    drop(flag.wait_for(|flag| *flag).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_come_before_their_session_s_seat_are_kept_for_it() {
        let mut seats = ProcessSessions::default();
        let named = |name: &str| AgentCommand {
            name: name.to_owned(),
            description: String::new(),
            hint: String::new(),
        };
        seats.store_early_commands("s-1", &[named("old")]);
        seats.store_early_commands("s-1", &[named("new")]);
        for other in 0..EARLY_MAX {
            seats.store_early_commands(&format!("other-{other}"), &[]);
        }
        assert_eq!(seats.early.len(), EARLY_MAX);
        assert_eq!(seats.early.remove("s-1"), Some(vec![named("new")]));
        assert_eq!(seats.session_of("s-1"), None);
        let session = SessionId::from_bytes([1; 16]);
        let seat = ProcessSession {
            native: "s-1".to_owned(),
            ..ProcessSession::default()
        };
        seats.by_session.insert(session, seat);
        assert_eq!(seats.session_of("s-1"), Some(session));
    }
}

//! Agent processes: one for each agent that works, with many sessions in it.
//! Started by the first turn, shared by the next ones, stopped after a while without any.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use guildhall_domain::{
    Error, Moment, Refusal, Result,
    agents::{Agent, AgentState},
    events::Event,
    ids::{AgentId, SessionId, TokenId},
    limits,
    tokens::{Token, TokenOrigin},
};
use guildhall_store::{Tx, agents, tokens as token_rows};
use guildhall_world::{
    acp::{self, AgentLink, Ended, Initialized, Launch, Said, Update},
    tokens as secrets,
};
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::Instant,
};

use crate::{Hall, tokens};

/// How many things said in a session may wait for its driver; then the agent waits.
const INBOX: usize = 16;
/// How many turns that end may wait at once for the router of their agent.
const BARRIERS_MAX: usize = 256;
/// How often an idle process is looked at.
const IDLE_CHECK: Duration = Duration::from_secs(15);

/// All agent processes of this server.
#[derive(Default)]
pub(crate) struct Processes {
    /// The place of each agent that has one; what is said of a process changes under this lock
    /// alone. A std mutex: held for single look-ups and never over an await.
    slots: Mutex<HashMap<AgentId, Slot>>,
    /// Told whenever a place changes or goes.
    changed: Notify,
}

/// The place of one agent's process. It is there while somebody uses it or its process lives.
#[derive(Default)]
struct Slot {
    life: Life,
    /// Turns that run in it or wait for it.
    users: usize,
    /// When the last of them left; `None` before the first did.
    idle_since: Option<Instant>,
}

/// Where an agent's process is in its life: starting, running, stopping, gone.
#[derive(Default)]
enum Life {
    /// There is none.
    #[default]
    Gone,
    /// It is being started and greeted.
    Starting {
        stop: Stop,
        /// How the start ended, told once.
        told: watch::Receiver<Option<Started>>,
    },
    /// It takes turns.
    Running { stop: Stop, process: Process },
    /// Its end began, and takes until nothing of its tree lives.
    Stopping {
        /// Whether it ever ran.
        has_run: bool,
    },
}

/// Whether a process could be started, or why not, for a person.
type Started = Result<(), String>;
/// Turns true when a process shall end.
type Stop = Arc<watch::Sender<bool>>;

impl Slot {
    /// Begins to end the process, if there is one.
    fn stop(&mut self) {
        let (stop, has_run) = match &self.life {
            Life::Gone | Life::Stopping { .. } => return,
            Life::Starting { stop, .. } => (stop, false),
            Life::Running { stop, process } => {
                process.link.stop();
                (stop, true)
            }
        };
        stop.send_replace(true);
        self.life = Life::Stopping { has_run };
    }

    fn is_idle(&self) -> bool {
        self.users == 0 && matches!(self.life, Life::Running { .. })
    }
}

/// A running agent process.
#[derive(Clone)]
pub(super) struct Process {
    pub(super) link: AgentLink,
    pub(super) facts: Initialized,
    seats: Arc<Mutex<Seats>>,
    barriers: mpsc::Sender<oneshot::Sender<()>>,
    ended: watch::Receiver<Option<Ended>>,
}

/// The sessions that are open in a process.
#[derive(Default)]
struct Seats {
    by_session: HashMap<SessionId, Seat>,
    /// Who listens to a session, by the agent's id of it.
    inboxes: HashMap<String, (SessionId, mpsc::Sender<Said>)>,
}

/// A session that is open in a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seat {
    /// The agent's id of it.
    pub(super) native: String,
    /// The mode in force, by the agent's id; `None` when it is not known.
    pub(super) mode: Option<String>,
    /// The model that was set; `""` is the agent's own.
    pub(super) model: String,
    /// The effort that was set; `""` is the agent's own.
    pub(super) effort: String,
}

/// A place for an agent's process, and the right to use what runs in it; dropped, the process
/// may idle, and one that is still being started is given up.
pub(super) struct Use {
    agent: AgentId,
    hall: Hall,
}

impl Drop for Use {
    fn drop(&mut self) {
        self.hall.inner.processes.leave(self.agent);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Processes {
    /// The agents of which a process runs now.
    pub(crate) fn live(&self) -> HashSet<AgentId> {
        let slots = lock(&self.slots);
        let live = slots.iter().filter(|(_, slot)| match slot.life {
            Life::Running { .. } | Life::Stopping { has_run: true } => true,
            Life::Gone | Life::Starting { .. } | Life::Stopping { has_run: false } => false,
        });
        live.map(|(agent, _)| *agent).collect()
    }

    /// Begins to end an agent's process, also one that is still being started.
    pub(crate) fn stop(&self, agent: AgentId) {
        self.change(agent, Slot::stop);
    }

    /// The agent's process, where one runs.
    fn running(&self, agent: AgentId) -> Option<Process> {
        match lock(&self.slots).get(&agent)?.life {
            Life::Running { ref process, .. } => Some(process.clone()),
            Life::Gone | Life::Starting { .. } | Life::Stopping { .. } => None,
        }
    }

    /// Takes the place of `agent`, if there is room for one more process or it has one already
    /// that is not ending; makes room by ending the process that was idle longest.
    fn enter(&self, agent: AgentId) -> bool {
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.get_mut(&agent) {
            let is_free = !matches!(slot.life, Life::Stopping { .. });
            slot.users += usize::from(is_free);
            return is_free;
        }
        if slots.len() < limits::PROCESSES_MAX {
            slots.entry(agent).or_default().users = 1;
            return true;
        }
        // One that ends makes room for one; who finds none left looks again.
        let is_one_ending = slots
            .values()
            .any(|slot| slot.users == 0 && matches!(slot.life, Life::Stopping { .. }));
        if !is_one_ending {
            let idle = slots.values_mut().filter(|slot| slot.is_idle());
            if let Some(slot) = idle.min_by_key(|slot| slot.idle_since) {
                slot.stop();
            }
        }
        false
    }

    /// Gives a place back.
    fn leave(&self, agent: AgentId) {
        self.change(agent, |slot| {
            slot.users = slot.users.saturating_sub(1);
            if slot.users == 0 {
                slot.idle_since = Some(Instant::now());
                // Nobody waits for a start any more that may never end.
                if matches!(slot.life, Life::Starting { .. }) {
                    slot.stop();
                }
            }
        });
    }

    /// Ends a process that nobody used for long.
    fn stop_if_idle(&self, agent: AgentId) {
        let rest = Duration::from_secs(limits::PROCESS_IDLE_S);
        self.change(agent, |slot| {
            let is_over = |since: Instant| since.elapsed() >= rest;
            if slot.is_idle() && slot.idle_since.is_some_and(is_over) {
                slot.stop();
            }
        });
    }

    /// Changes a place, which goes when nobody uses it and nothing lives in it.
    fn change<T>(&self, agent: AgentId, how: impl FnOnce(&mut Slot) -> T) -> Option<T> {
        let mut slots = lock(&self.slots);
        let slot = slots.get_mut(&agent)?;
        let answer = how(slot);
        if slot.users == 0 && matches!(slot.life, Life::Gone) {
            slots.remove(&agent);
        }
        drop(slots);
        self.changed.notify_waiters();
        Some(answer)
    }

    /// What whoever has the agent's place is to do next.
    fn look(&self, agent: AgentId) -> Step {
        let mut slots = lock(&self.slots);
        let Some(slot) = slots.get_mut(&agent) else {
            return Step::Wait;
        };
        match &slot.life {
            Life::Running { process, .. } if process.is_usable() => Step::Take(process.clone()),
            // Its end began by itself.
            Life::Running { .. } | Life::Stopping { .. } => Step::Wait,
            Life::Starting { told, .. } => Step::Hear(told.clone()),
            Life::Gone => {
                let (tell, told) = watch::channel(None);
                let stop = Stop::default();
                slot.life = Life::Starting {
                    stop: Arc::clone(&stop),
                    told: told.clone(),
                };
                Step::Start(Start { tell, stop }, told)
            }
        }
    }

    /// From now on the process takes turns, unless its end began meanwhile.
    fn started(&self, agent: AgentId, process: Process) {
        self.change(agent, |slot| {
            if let Life::Starting { stop, .. } = &slot.life {
                slot.life = Life::Running {
                    stop: Arc::clone(stop),
                    process,
                };
            }
        });
    }
}

/// What whoever has an agent's place is to do.
enum Step {
    Take(Process),
    /// Hear how the start ends.
    Hear(watch::Receiver<Option<Started>>),
    /// Start it, and hear how that ends.
    Start(Start, watch::Receiver<Option<Started>>),
    /// Look again after the next change.
    Wait,
}

/// A start that is to be made.
struct Start {
    tell: watch::Sender<Option<Started>>,
    stop: Stop,
}

/// One life of an agent's process, from its start to the end of its tree; dropped, the place is
/// free for the next, however it came to that.
struct Living {
    hall: Hall,
    agent: AgentId,
    tell: watch::Sender<Option<Started>>,
    stop: watch::Receiver<bool>,
}

impl Living {
    /// Says how the start ended; only the first word counts.
    fn tell(&self, started: Started) {
        self.tell.send_if_modified(|told| {
            let is_news = told.is_none();
            if is_news {
                *told = Some(started);
            }
            is_news
        });
    }

    fn has_run(&self) -> bool {
        matches!(*self.tell.borrow(), Some(Ok(())))
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        let processes = &self.hall.inner.processes;
        processes.change(self.agent, |slot| slot.life = Life::Gone);
    }
}

impl Process {
    /// The seat of a session, if it is open here.
    pub(super) fn seat(&self, session: SessionId) -> Option<Seat> {
        lock(&self.seats).by_session.get(&session).cloned()
    }

    /// Whether it may be given turns: its end did not begin.
    pub(super) fn is_usable(&self) -> bool {
        self.link.is_usable() && self.ended.borrow().is_none()
    }

    /// Notes what is set in a session.
    pub(super) fn take_seat(&self, session: SessionId, seat: Seat) {
        lock(&self.seats).by_session.insert(session, seat);
    }

    /// Changes what is known of a session that is open here, so that what comes from elsewhere
    /// meanwhile is kept; answers whether it is open.
    pub(super) fn amend_seat(&self, session: SessionId, how: impl FnOnce(&mut Seat)) -> bool {
        let mut seats = lock(&self.seats);
        seats.by_session.get_mut(&session).map(how).is_some()
    }

    /// Forgets a session that is over; its agent hears of it where it wants to know.
    pub(super) async fn forget_session(&self, session: SessionId) {
        let seat = {
            let mut seats = lock(&self.seats);
            seats
                .inboxes
                .retain(|_, (listener, _)| *listener != session);
            seats.by_session.remove(&session)
        };
        if let Some(seat) = seat {
            self.link.close_session(&seat.native).await;
        }
    }

    /// Listens to a session from now on.
    pub(super) fn listen(&self, session: SessionId, native: &str) -> mpsc::Receiver<Said> {
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
    pub(super) async fn ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        let end = ended.wait_for(Option::is_some).await;
        end.ok().and_then(|end| end.clone()).unwrap_or(Ended {
            kind: acp::EndKind::Exited,
            why: "the agent's process is gone".to_owned(),
            code: None,
        })
    }
}

impl Hall {
    /// A place for the agent's process, as soon as there is room for one.
    pub(super) async fn place_for(&self, agent: AgentId) -> Use {
        let processes = &self.inner.processes;
        loop {
            let changed = processes.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if processes.enter(agent) {
                let hall = self.clone();
                return Use { agent, hall };
            }
            changed.await;
        }
    }

    /// The agent's process in its place, started if it does not run.
    ///
    /// May be dropped at any await: a start goes on for others that wait for it, and is given up
    /// with the last [`Use`]; its process is then ended in order.
    ///
    /// # Errors
    /// Why it could not be started, for a person.
    pub(super) async fn process_in(&self, place: &Use, agent: &Agent) -> Result<Process, String> {
        let processes = &self.inner.processes;
        loop {
            let changed = processes.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let mut told = match processes.look(place.agent) {
                Step::Take(process) => return Ok(process),
                Step::Wait => {
                    changed.await;
                    continue;
                }
                Step::Hear(told) => told,
                Step::Start(start, told) => {
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
        if let Some(process) = self.inner.processes.running(agent) {
            self.tasks().spawn("session's end", self.now(), async move {
                process.forget_session(session).await;
            });
        }
    }

    /// Starts a process in a task of its own, which lives as long as it.
    fn start_process(&self, agent: Agent, Start { tell, stop }: Start) {
        // Made before the task, so that the place is freed also when the task never runs.
        let living = Living {
            hall: self.clone(),
            agent: agent.id,
            tell,
            stop: stop.subscribe(),
        };
        self.tasks().spawn("agent process", self.now(), async move {
            living.hall.clone().live_process(agent, living).await;
        });
    }

    /// One life of an agent's process: its token, its start, its turns and its end.
    async fn live_process(self, agent: Agent, living: Living) {
        let id = agent.id;
        let (token, secret) = match self.mint_process_token(id).await {
            Ok(token) => token,
            Err(Error::Refusal(Refusal::AgentRetired)) => {
                return living.tell(Err("the agent is retired".to_owned()));
            }
            Err(error) => {
                tracing::error!(?error, "a process token could not be stored");
                return living.tell(Err("the agent's token could not be stored".to_owned()));
            }
        };
        let launched = match self.launch_of(&agent, &secret.reveal()) {
            Ok(launch) => acp::launch(launch).await.map_err(|error| error.to_string()),
            Err(why) => Err(why),
        };
        let (tell_end, ended) = watch::channel(None);
        let end = match launched {
            Ok(launched) => Some(self.attend(&agent, &living, ended, launched).await),
            Err(why) => {
                living.tell(Err(why));
                None
            }
        };
        self.revoke_process_token(id, token).await;
        let has_run = living.has_run();
        drop(living);
        let Some(end) = end else { return };
        tracing::info!(agent = %id, why = acp::in_short(&end.why), "an agent's process ended");
        if end.kind == acp::EndKind::Lost {
            tracing::warn!(
                agent = %id,
                "an agent's keeper was killed by another process; until the server starts again \
                 no local program counts as the owner beyond doubt"
            );
        }
        self.forget_agent_commands(&agent.runtime, &agent.cwd);
        tell_end.send_replace(Some(end));
        if has_run {
            self.tell_liveness(id).await;
        }
    }

    /// Greets the process and drives it until it has ended; ends it when it idles, when it is to
    /// stop, or when the server stops.
    async fn attend(
        &self,
        agent: &Agent,
        living: &Living,
        ended: watch::Receiver<Option<Ended>>,
        (link, said, running): (AgentLink, mpsc::Receiver<Said>, acp::Running),
    ) -> Ended {
        let (barriers, asked) = mpsc::channel(BARRIERS_MAX);
        let seats = Arc::<Mutex<Seats>>::default();
        let desk = Desk {
            seats: Arc::clone(&seats),
            said,
            asked,
            hall: self.clone(),
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
                    let process = Process {
                        link: link.clone(),
                        facts,
                        seats,
                        barriers,
                        ended,
                    };
                    self.inner.processes.started(agent.id, process);
                    living.tell(Ok(()));
                    self.tell_liveness(agent.id).await;
                }
                Err(why) => {
                    living.tell(Err(why));
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
                    living.tell(Err(end.why.clone()));
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

    async fn mint_process_token(
        &self,
        agent: AgentId,
    ) -> Result<(TokenId, guildhall_world::tokens::Secret)> {
        let now = self.now();
        let token = Token {
            id: Self::new_id(TokenId::from_bytes),
            agent_id: agent,
            label: "process".to_owned(),
            origin: TokenOrigin::Spawn,
            session_id: None,
            created_at: now,
            last_used_at: None,
            revoked_at: None,
        };
        let id = token.id;
        let secret = secrets::mint(secrets::AGENT_PREFIX)?;
        let digest = secret.digest();
        self.store()
            .write(move |tx| {
                let known = agents::by_id(tx, agent)?;
                if known.is_none_or(|agent| agent.state == AgentState::Retired) {
                    return Err(Refusal::AgentRetired.into());
                }
                token_rows::insert(tx, &token, &digest)?;
                let event = Event::AgentTokenCreated {
                    agent_id: agent,
                    token_id: id,
                };
                tx.append(now, None, &event).map(|_| ())
            })
            .await?;
        Ok((id, secret))
    }

    async fn revoke_process_token(&self, agent: AgentId, token: TokenId) {
        let now = self.now();
        let revoked = self
            .store()
            .write(move |tx| tokens::revoke(tx, None, agent, token, now))
            .await;
        if let Err(error) = revoked {
            tracing::warn!(?error, "a process token could not be revoked");
        }
    }

    /// Tells that an agent's process runs now, or no longer.
    async fn tell_liveness(&self, agent: AgentId) {
        let (now, hall) = (self.now(), self.clone());
        let told = self
            .store()
            .write(move |tx| tell_liveness(tx, &hall, agent, now))
            .await;
        if let Err(error) = told {
            tracing::warn!(?error, "an agent's process could not be told of");
        }
    }

    /// How the agent's process is started.
    fn launch_of(&self, agent: &Agent, token: &str) -> Result<Launch, String> {
        let registry = self.runtimes();
        let profile = registry
            .find(&agent.runtime)
            .map_err(|_| format!("the runtime {} is not registered here", agent.runtime))?;
        let place = registry
            .place(&agent.runtime)
            .ok_or_else(|| profile.missing())?;
        Ok(self.launch(
            profile,
            &place.path,
            (&agent.cwd, Some(agent.id), Some(token)),
        ))
    }
}

fn tell_liveness(tx: &mut Tx<'_>, hall: &Hall, agent: AgentId, now: Moment) -> Result<()> {
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

/// Hands what one process says to the sessions it is said in.
struct Desk {
    seats: Arc<Mutex<Seats>>,
    said: mpsc::Receiver<Said>,
    asked: mpsc::Receiver<oneshot::Sender<()>>,
    hall: Hall,
    runtime: String,
    cwd: String,
}

impl Desk {
    /// Hands on until the process says nothing any more.
    ///
    /// A barrier is answered when what lay here as it came is handed on: an agent that never
    /// falls silent in one session keeps no other waiting.
    async fn route(mut self) {
        let mut handed_on = 0_u64;
        let mut barriers = VecDeque::<(u64, oneshot::Sender<()>)>::new();
        loop {
            while barriers.front().is_some_and(|(due, _)| *due <= handed_on) {
                if let Some((_, barrier)) = barriers.pop_front() {
                    // Whoever asked may be gone.
                    let _ = barrier.send(());
                }
            }
            tokio::select! {
                biased;
                Some(barrier) = self.asked.recv() => {
                    let waiting = u64::try_from(self.said.len()).unwrap_or_default();
                    barriers.push_back((handed_on + waiting, barrier));
                }
                said = self.said.recv() => match said {
                    Some(said) => {
                        self.hand_on(said).await;
                        handed_on += 1;
                    }
                    None => return,
                },
            }
        }
    }

    async fn hand_on(&self, said: Said) {
        let (native, update) = match &said {
            Said::Update { session, update } => (session, Some(update)),
            Said::Ask { session, .. } => (session, None),
        };
        let (session, inbox) = {
            let seats = lock(&self.seats);
            let listener = seats.inboxes.get(native);
            let session = listener.map(|(session, _)| *session).or_else(|| {
                let mut seats = seats.by_session.iter();
                seats
                    .find(|(_, seat)| seat.native == *native)
                    .map(|(id, _)| *id)
            });
            (session, listener.map(|(_, inbox)| inbox.clone()))
        };
        if let (Some(session), Some(Update::Commands(commands))) = (session, update) {
            let noted =
                self.hall
                    .note_agent_commands(session, &self.runtime, &self.cwd, commands.clone());
            if let Err(error) = noted.await {
                tracing::warn!(?error, "an agent's commands could not be told");
            }
            return;
        }
        match inbox {
            // A driver that is gone hears nothing; an ask it does not hear is answered "cancelled".
            Some(inbox) => drop(inbox.send(said).await),
            None => self.overhear(session, update),
        }
    }

    /// What is said between turns: an agent that switches its mode is set back before the next.
    fn overhear(&self, session: Option<SessionId>, update: Option<&Update>) {
        let mode = match update {
            Some(Update::Mode(mode)) => Some(mode.clone()),
            Some(Update::Options(options)) => acp::mode_of(options),
            _ => None,
        };
        if let (Some(session), Some(mode)) = (session, mode)
            && let Some(seat) = lock(&self.seats).by_session.get_mut(&session)
        {
            seat.mode = Some(mode);
        }
    }
}

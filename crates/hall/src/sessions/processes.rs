//! Agent processes: one for each agent that works, with many sessions in it.
//! Started by the first turn, shared by the next ones, stopped after a while without any.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use guildhall_domain::{
    Moment, Result,
    agents::Agent,
    commands::AgentCommand,
    events::Event,
    ids::{AgentId, SessionId, TokenId},
    limits,
    tokens::{Token, TokenOrigin},
};
use guildhall_store::{Tx, agents, tokens as token_rows};
use guildhall_world::{
    acp::{self, AgentLink, Ended, Initialized, Launch, LinkError, Said, Update},
    tokens as secrets,
};
use tokio::{
    sync::{Notify, OnceCell, mpsc, oneshot, watch},
    time::Instant,
};

use crate::{Hall, tokens};

/// How many things said in a session may wait for its driver; then the agent waits.
pub(super) const INBOX: usize = 16;
/// For how many sessions that have no seat yet commands are kept.
const EARLY_MAX: usize = 16;
/// How often an idle process is looked at.
const IDLE_CHECK: Duration = Duration::from_secs(15);

/// All agent processes of this server.
#[derive(Default)]
pub(crate) struct Processes {
    /// A std mutex: held for single look-ups and never over an await.
    slots: Mutex<HashMap<AgentId, Arc<Slot>>>,
    /// Told whenever a process ends or has nothing to do.
    freed: Notify,
}

/// The place of one agent's process.
#[derive(Default)]
struct Slot {
    process: OnceCell<Process>,
    /// Turns that run in it or wait for it.
    users: AtomicUsize,
    /// When the last of them left; `None` before the first.
    idle_since: Mutex<Option<Instant>>,
}

impl Slot {
    fn is_live(&self) -> bool {
        let process = self.process.get();
        process.is_some_and(|process| process.ended.borrow().is_none())
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
    /// Commands that were reported before their session had its seat, by the agent's id of it: an
    /// agent may report them in the same breath in which it opens the session.
    early: HashMap<String, Vec<AgentCommand>>,
}

impl Seats {
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
    fn keep_early(&mut self, native: &str, commands: &[AgentCommand]) {
        if self.early.len() < EARLY_MAX || self.early.contains_key(native) {
            self.early.insert(native.to_owned(), commands.to_vec());
        }
    }
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
    /// The model it came with.
    pub(super) own_model: String,
    /// The effort it came with.
    pub(super) own_effort: String,
}

/// The right to use a process; dropped, the process may idle.
pub(super) struct Use {
    slot: Arc<Slot>,
    hall: Hall,
}

impl Drop for Use {
    fn drop(&mut self) {
        if self.slot.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            *lock(&self.slot.idle_since) = Some(Instant::now());
            self.hall.inner.processes.freed.notify_waiters();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Processes {
    /// The agents of which a process runs now.
    pub(crate) fn live(&self) -> HashSet<AgentId> {
        let slots = lock(&self.slots);
        let live = slots.iter().filter(|(_, slot)| slot.is_live());
        live.map(|(agent, _)| *agent).collect()
    }

    /// Begins to stop an agent's process, if it has one.
    pub(crate) fn stop(&self, agent: AgentId) {
        if let Some(process) = lock(&self.slots)
            .get(&agent)
            .and_then(|slot| slot.process.get())
        {
            process.link.stop();
        }
    }

    /// The place of `agent`, if there is room for one more process or it has one already; makes
    /// room by ending the process that was idle longest.
    fn place(&self, hall: &Hall, agent: AgentId) -> Option<Use> {
        let mut slots = lock(&self.slots);
        if !slots.contains_key(&agent) && slots.len() >= limits::PROCESSES_MAX {
            let idle = slots
                .values()
                .filter(|slot| slot.users.load(Ordering::Acquire) == 0)
                .min_by_key(|slot| *lock(&slot.idle_since));
            if let Some(process) = idle.and_then(|slot| slot.process.get()) {
                process.link.stop();
            }
            return None;
        }
        let slot = Arc::clone(slots.entry(agent).or_default());
        slot.users.fetch_add(1, Ordering::AcqRel);
        Some(Use {
            slot,
            hall: hall.clone(),
        })
    }

    /// Forgets a place whose process ended or never began.
    fn forget(&self, agent: AgentId, slot: &Arc<Slot>) {
        let mut slots = lock(&self.slots);
        if slots
            .get(&agent)
            .is_some_and(|known| Arc::ptr_eq(known, slot))
        {
            slots.remove(&agent);
        }
        drop(slots);
        self.freed.notify_waiters();
    }
}

impl Process {
    /// The seat of a session, if it is open here.
    pub(super) fn seat(&self, session: SessionId) -> Option<Seat> {
        lock(&self.seats).by_session.get(&session).cloned()
    }

    /// The commands that the agent reported before its session had its seat.
    pub(super) fn early_commands(&self, native: &str) -> Option<Vec<AgentCommand>> {
        lock(&self.seats).early.remove(native)
    }

    /// Notes what is set in a session.
    pub(super) fn take_seat(&self, session: SessionId, seat: Seat) {
        lock(&self.seats).by_session.insert(session, seat);
    }

    /// Changes what is noted of a session that is open here.
    pub(super) fn amend_seat(&self, session: SessionId, change: impl FnOnce(&mut Seat)) {
        if let Some(seat) = lock(&self.seats).by_session.get_mut(&session) {
            change(seat);
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
    /// The agent's process, started if it does not run; waits while there is no room for one.
    ///
    /// # Errors
    /// Why it could not be started, for a person.
    pub(super) async fn process_of(&self, agent: &Agent) -> Result<(Process, Use), String> {
        loop {
            let freed = self.inner.processes.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            let Some(place) = self.inner.processes.place(self, agent.id) else {
                freed.await;
                continue;
            };
            let slot = Arc::clone(&place.slot);
            let started = slot
                .process
                .get_or_try_init(|| self.start_process(agent, &slot))
                .await;
            match started {
                Ok(process) if process.ended.borrow().is_none() => {
                    return Ok((process.clone(), place));
                }
                // It ended just now; the next look finds a new place.
                Ok(_) => {
                    self.inner.processes.forget(agent.id, &slot);
                }
                Err(why) => {
                    self.inner.processes.forget(agent.id, &slot);
                    return Err(why);
                }
            }
        }
    }

    async fn start_process(&self, agent: &Agent, slot: &Arc<Slot>) -> Result<Process, String> {
        let token = self.mint_process_token(agent.id).await.map_err(|error| {
            tracing::error!(?error, "a process token could not be stored");
            "the agent's token could not be stored".to_owned()
        })?;
        let (token_id, secret) = token;
        let launch = self.launch_of(agent, &secret.reveal());
        let started = match launch {
            Ok(launch) => self.greet(launch).await,
            Err(why) => Err(why),
        };
        match started {
            Ok((link, facts, said, running)) => {
                Ok(self.supervise(agent, slot, token_id, (link, facts, said, running)))
            }
            Err(why) => {
                self.revoke_process_token(agent.id, token_id).await;
                Err(why)
            }
        }
    }

    /// Starts the program and greets it.
    async fn greet(&self, launch: Launch) -> Result<Greeted, String> {
        let (link, said, running) = acp::launch(launch)
            .await
            .map_err(|error| error.to_string())?;
        let mut running = Box::pin(running);
        let facts = tokio::select! {
            facts = link.initialize() => facts,
            ended = &mut running => Err(LinkError::Gone(ended.why)),
        };
        match facts {
            Ok(facts) => Ok((link, facts, said, running)),
            Err(error) => {
                link.stop();
                self.tasks().spawn("agent process", self.now(), async move {
                    running.await;
                });
                Err(error.to_string())
            }
        }
    }

    /// Hands what the agent says to its sessions, and ends what has to end with the process.
    fn supervise(
        &self,
        agent: &Agent,
        slot: &Arc<Slot>,
        token: TokenId,
        (link, facts, said, running): Greeted,
    ) -> Process {
        let (tell_end, ended) = watch::channel(None);
        let (barriers, asked) = mpsc::channel(INBOX);
        let process = Process {
            link,
            facts,
            seats: Arc::default(),
            barriers,
            ended,
        };
        let (hall, slot, id) = (self.clone(), Arc::clone(slot), agent.id);
        let desk = Desk {
            seats: Arc::clone(&process.seats),
            said,
            asked,
            hall: self.clone(),
            runtime: agent.runtime.clone(),
            cwd: agent.cwd.clone(),
        };
        let link = process.link.clone();
        let (runtime, cwd) = (agent.runtime.clone(), agent.cwd.clone());
        self.tasks().spawn("agent process", self.now(), async move {
            hall.tell_liveness(id).await;
            let ended = hall.watch_process(&slot, &link, desk, running).await;
            tracing::info!(agent = %id, why = %ended.why, "an agent's process ended");
            hall.revoke_process_token(id, token).await;
            hall.inner.processes.forget(id, &slot);
            hall.forget_agent_commands(&runtime, &cwd);
            tell_end.send_replace(Some(ended));
            hall.tell_liveness(id).await;
        });
        process
    }

    /// Drives the process until it has ended; stops it when it idles or the server stops.
    async fn watch_process(
        &self,
        slot: &Slot,
        link: &AgentLink,
        desk: Desk,
        mut running: std::pin::Pin<Box<acp::Running>>,
    ) -> Ended {
        let mut stopping = self.tasks().stopping();
        let mut check = tokio::time::interval(IDLE_CHECK);
        let routing = desk.route();
        tokio::pin!(routing);
        let mut routes = true;
        let mut is_stopping = false;
        loop {
            tokio::select! {
                ended = &mut running => {
                    // What it said last is still to be handed on.
                    if routes {
                        routing.await;
                    }
                    return ended;
                }
                () = &mut routing, if routes => routes = false,
                _ = check.tick() => {
                    let idle = slot.users.load(Ordering::Acquire) == 0;
                    let since = *lock(&slot.idle_since);
                    let rest = Duration::from_secs(limits::PROCESS_IDLE_S);
                    if idle && since.is_some_and(|since| since.elapsed() >= rest) {
                        link.stop();
                    }
                }
                () = is_true(&mut stopping), if !is_stopping => {
                    is_stopping = true;
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

/// Waits for a flag; what it looked at is let go at once.
async fn is_true(flag: &mut watch::Receiver<bool>) {
    // An error means that the supervisor is gone, which ends the server as well.
    drop(flag.wait_for(|flag| *flag).await);
}

type Greeted = (
    AgentLink,
    Initialized,
    mpsc::Receiver<Said>,
    std::pin::Pin<Box<acp::Running>>,
);

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
    async fn route(mut self) {
        loop {
            tokio::select! {
                // What was said before a barrier is handed on before it is answered.
                biased;
                said = self.said.recv() => match said {
                    Some(said) => self.hand_on(said).await,
                    None => return,
                },
                Some(barrier) = self.asked.recv() => {
                    // Whoever asked may be gone.
                    let _ = barrier.send(());
                }
            }
        }
    }

    async fn hand_on(&self, said: Said) {
        let (native, update) = match &said {
            Said::Update { session, update } => (session, Some(update)),
            Said::Ask { session, .. } => (session, None),
        };
        let (session, inbox) = {
            let mut seats = lock(&self.seats);
            let session = seats.session_of(native);
            if let (None, Some(Update::Commands(commands))) = (session, update) {
                seats.keep_early(native, commands);
            }
            let listener = seats.inboxes.get(native);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_come_before_their_session_s_seat_are_kept_for_it() {
        let mut seats = Seats::default();
        let named = |name: &str| AgentCommand {
            name: name.to_owned(),
            description: String::new(),
            hint: String::new(),
        };
        seats.keep_early("s-1", &[named("old")]);
        seats.keep_early("s-1", &[named("new")]);
        for other in 0..EARLY_MAX {
            seats.keep_early(&format!("other-{other}"), &[]);
        }
        assert_eq!(seats.early.len(), EARLY_MAX);
        assert_eq!(seats.early.remove("s-1"), Some(vec![named("new")]));
        assert_eq!(seats.session_of("s-1"), None);
        let session = SessionId::from_bytes([1; 16]);
        let seat = Seat {
            native: "s-1".to_owned(),
            ..Seat::default()
        };
        seats.by_session.insert(session, seat);
        assert_eq!(seats.session_of("s-1"), Some(session));
    }
}

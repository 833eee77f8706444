//! Lines: which servers are connected to now, for whom, and what is remembered of them between
//! two connections. Only bookkeeping: the connection itself is `living`.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use guildhall_domain::{
    Timestamp,
    ids::{AgentId, SessionId},
    mcp_gateway::FailureWindow,
    mcp_servers::{McpServer, ServerName},
};
use guildhall_world::mcp::{InitializeMode, McpClient, RequestTag, SharedBearerToken, ToolListing};
use tokio::{sync::watch, time::Instant};

use super::{DisconnectSender, ServerUnavailable};
use crate::mcp_servers::ConfiguredServer;

/// Why a line was cut; `None` while it was not.
pub(super) type DisconnectReason = Option<ServerUnavailable>;
/// How a start ended.
pub(super) type ConnectResult = Result<McpConnection, ServerUnavailable>;

/// An entry by its agent and folded name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ServerKey {
    pub(super) agent: AgentId,
    folded: String,
}

impl ServerKey {
    pub(super) fn named(agent: AgentId, name: &ServerName) -> Self {
        Self {
            agent,
            folded: name.folded(),
        }
    }

    pub(super) fn of(entry: &ConfiguredServer) -> Self {
        Self::named(entry.agent.id, &entry.kept.server.name)
    }
}

/// What an entry is: another one, or another connection of it, has another mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerVersion {
    added_at: Timestamp,
    rev: u64,
}

impl ServerVersion {
    pub(super) fn of_server(server: &McpServer) -> Self {
        Self {
            added_at: server.added_at,
            rev: server.rev,
        }
    }

    pub(super) fn of(entry: &ConfiguredServer) -> Self {
        Self::of_server(&entry.kept.server)
    }
}

/// A server that is connected to. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct McpConnection {
    pub(super) client: McpClient,
    /// The token that its requests show; `None` for a program.
    pub(super) bearer: Option<SharedBearerToken>,
    pub(super) cut: DisconnectSender,
    /// The last listing that was seen to be the approved one.
    pub(super) seen: Arc<Mutex<CheckedListing>>,
    pub(super) askers: Arc<PendingCalls>,
}

/// A listing that was looked at.
#[derive(Debug)]
pub(crate) struct CheckedListing {
    /// How often the server had said that its tools are others.
    pub(super) changes: u64,
    pub(super) at: Instant,
    pub(super) listing: Arc<ToolListing>,
}

impl McpConnection {
    /// Whether it is of no use any more.
    pub(super) fn is_over(&self) -> bool {
        self.cut.borrow().is_some() || self.client.is_over()
    }

    /// Notes that `session` asks something, until the tag is dropped.
    pub(super) fn begin_call(&self, session: SessionId) -> PendingCall {
        self.askers.enter(session)
    }
}

/// The sessions whose questions a server works on, by tag.
#[derive(Debug, Default)]
pub(crate) struct PendingCalls {
    next: AtomicU64,
    waiting: watch::Sender<HashMap<RequestTag, SessionId>>,
}

impl PendingCalls {
    fn enter(self: &Arc<Self>, session: SessionId) -> PendingCall {
        let tag = self.next.fetch_add(1, Ordering::Relaxed);
        self.waiting.send_modify(|waiting| {
            waiting.insert(tag, session);
        });
        PendingCall {
            tag,
            askers: Arc::clone(self),
        }
    }

    /// The one session that all of these questions are of.
    pub(super) fn only(&self, tags: &[RequestTag]) -> Option<SessionId> {
        let waiting = self.waiting.borrow();
        let sessions: HashSet<SessionId> = tags
            .iter()
            .filter_map(|tag| waiting.get(tag).copied())
            .collect();
        let mut sessions = sessions.into_iter();
        sessions.next().filter(|_| sessions.next().is_none())
    }

    /// Waits until none of these questions is worked on any more.
    pub(super) async fn left(&self, tags: &[RequestTag]) {
        let mut waiting = self.waiting.subscribe();
        let are_gone =
            waiting.wait_for(|waiting| tags.iter().all(|tag| !waiting.contains_key(tag)));
        // Its sender lives as long as this.
        drop(are_gone.await);
    }
}

/// A question that is being answered.
#[derive(Debug)]
pub(crate) struct PendingCall {
    tag: RequestTag,
    askers: Arc<PendingCalls>,
}

impl PendingCall {
    pub(super) fn number(&self) -> RequestTag {
        self.tag
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        self.askers.waiting.send_modify(|waiting| {
            waiting.remove(&self.tag);
        });
    }
}

/// All lines of this server.
#[derive(Default)]
pub(crate) struct McpConnections {
    /// A std mutex, as all here: held for single look-ups and never over an await.
    lines: Mutex<HashMap<ServerKey, ConnectionRecord>>,
}

/// Why the client of a session has no use of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientLoss {
    /// It was cut, or is there again: handed over anew, it is of use.
    Regainable,
    /// It could not be reached, as far as is known: handed over anew, it would only fail again.
    Unreached,
}

/// What is known of one entry's line.
#[derive(Default)]
struct ConnectionRecord {
    life: ConnectionState,
    /// The sessions that use it; it ends with the last.
    users: HashSet<SessionId>,
    /// The sessions whose client has no use of it until it is handed over anew.
    lost: HashMap<SessionId, ClientLoss>,
    failures: FailureWindow,
    /// Whether it failed so often that it is left alone until the next turn.
    is_resting: bool,
    /// How its server begins, once that was found out, and of which entry.
    lifecycle: Option<(ServerVersion, InitializeMode)>,
}

#[derive(Default)]
enum ConnectionState {
    #[default]
    Gone,
    Starting {
        mark: ServerVersion,
        cut: DisconnectSender,
        told: watch::Receiver<Option<ConnectResult>>,
    },
    Up {
        mark: ServerVersion,
        up: McpConnection,
    },
}

impl ConnectionState {
    fn cutting(&self) -> Option<&DisconnectSender> {
        match self {
            Self::Gone => None,
            Self::Starting { cut, .. } => Some(cut),
            Self::Up { up, .. } => Some(&up.cut),
        }
    }

    fn mark(&self) -> Option<ServerVersion> {
        match self {
            Self::Gone => None,
            Self::Starting { mark, .. } | Self::Up { mark, .. } => Some(*mark),
        }
    }

    fn is(&self, cut: &DisconnectSender) -> bool {
        self.cutting().is_some_and(|own| Arc::ptr_eq(own, cut))
    }
}

impl ConnectionRecord {
    fn is_well(&mut self) {
        self.failures.reset();
        self.is_resting = false;
    }

    /// Ends what there is. Whoever used it has to be handed it anew.
    fn disconnect(&mut self, why: &ServerUnavailable) {
        if let Some(cut) = self.life.cutting() {
            cut.send_replace(Some(why.clone()));
            let users = self.users.iter();
            self.lost
                .extend(users.map(|user| (*user, ClientLoss::Regainable)));
        }
        self.life = ConnectionState::Gone;
    }
}

/// What whoever wants a line is to do.
pub(super) enum ConnectStep {
    Take(McpConnection),
    Hear(watch::Receiver<Option<ConnectResult>>),
    Start(ConnectAttempt, watch::Receiver<Option<ConnectResult>>),
}

/// A start that is to be made.
pub(super) struct ConnectAttempt {
    pub(super) tell: watch::Sender<Option<ConnectResult>>,
    pub(super) cut: DisconnectSender,
    /// How the server begins, where that is known.
    pub(super) lifecycle: Option<InitializeMode>,
}

impl McpConnections {
    /// What to do for a line to the entry `mark` stands for, which `session` uses from now on.
    pub(super) fn next_step(
        &self,
        key: &ServerKey,
        mark: ServerVersion,
        session: SessionId,
    ) -> ConnectStep {
        let mut lines = held(&self.lines);
        let line = lines.entry(key.clone()).or_default();
        line.users.insert(session);
        match &line.life {
            ConnectionState::Up { mark: own, up } if *own == mark && !up.is_over() => {
                return ConnectStep::Take(up.clone());
            }
            ConnectionState::Starting {
                mark: own, told, ..
            } if *own == mark => return ConnectStep::Hear(told.clone()),
            ConnectionState::Gone
            | ConnectionState::Up { .. }
            | ConnectionState::Starting { .. } => {}
        }
        if let Some(cut) = line.life.cutting() {
            cut.send_replace(Some(ServerUnavailable::moved()));
        }
        let (tell, told) = watch::channel(None);
        let cut = DisconnectSender::new(watch::Sender::new(None));
        line.life = ConnectionState::Starting {
            mark,
            cut: Arc::clone(&cut),
            told: told.clone(),
        };
        let known = line.lifecycle.filter(|(of, _)| *of == mark);
        let starting = ConnectAttempt {
            tell,
            cut,
            lifecycle: known.map(|(_, lifecycle)| lifecycle),
        };
        ConnectStep::Start(starting, told)
    }

    /// A line stands; answers whether it is still wanted.
    pub(super) fn started(&self, key: &ServerKey, up: &McpConnection) -> bool {
        let mut lines = held(&self.lines);
        let Some(line) = lines.get_mut(key).filter(|line| line.life.is(&up.cut)) else {
            return false;
        };
        let Some(mark) = line.life.mark() else {
            return false;
        };
        line.is_well();
        line.lifecycle = Some((mark, up.client.server().lifecycle));
        let up = up.clone();
        line.life = ConnectionState::Up { mark, up };
        !line.users.is_empty()
    }

    /// A line ended, or never stood.
    pub(super) fn ended(&self, key: &ServerKey, cut: &DisconnectSender) {
        if let Some(line) = held(&self.lines).get_mut(key)
            && line.life.is(cut)
        {
            line.life = ConnectionState::Gone;
        }
    }

    /// A line could not be opened; answers whether that happened as often as may be.
    pub(super) fn failed(&self, key: &ServerKey) -> bool {
        let mut lines = held(&self.lines);
        let line = lines.entry(key.clone()).or_default();
        line.is_resting |= line.failures.record(Instant::now().into_std());
        line.is_resting
    }

    /// The server was reached: what failed before counts no longer.
    pub(super) fn reached(&self, key: &ServerKey) {
        if let Some(line) = held(&self.lines).get_mut(key) {
            line.is_well();
        }
    }

    /// How many stand now.
    pub(super) fn open(&self) -> usize {
        let lines = held(&self.lines);
        lines
            .values()
            .filter(|line| matches!(line.life, ConnectionState::Up { .. }))
            .count()
    }

    /// Whether it is left alone until the next turn.
    pub(super) fn is_resting(&self, key: &ServerKey) -> bool {
        held(&self.lines)
            .get(key)
            .is_some_and(|line| line.is_resting)
    }

    /// A turn of the agent begins: what failed may be tried again.
    pub(super) fn reset_failures(&self, agent: AgentId) {
        let mut lines = held(&self.lines);
        for (_, line) in lines.iter_mut().filter(|(key, _)| key.agent == agent) {
            if line.is_resting {
                line.is_well();
            }
        }
    }

    /// The client of a session has the server.
    pub(super) fn client_attached(&self, key: &ServerKey, session: SessionId) {
        if let Some(line) = held(&self.lines).get_mut(key) {
            line.lost.remove(&session);
        }
    }

    /// The client of a session could not have the server.
    pub(super) fn client_failed(&self, key: &ServerKey, session: SessionId) {
        let mut lines = held(&self.lines);
        let line = lines.entry(key.clone()).or_default();
        line.users.insert(session);
        line.lost.insert(session, ClientLoss::Unreached);
    }

    /// Why a session's client has no use of the server until it is handed over anew; `None`
    /// where it has.
    pub(super) fn client_loss(&self, key: &ServerKey, session: SessionId) -> Option<ClientLoss> {
        let lines = held(&self.lines);
        let line = lines.get(key)?;
        let lost = *line.lost.get(&session)?;
        Some(match &line.life {
            ConnectionState::Up { up, .. } if !up.is_over() => ClientLoss::Regainable,
            ConnectionState::Gone
            | ConnectionState::Starting { .. }
            | ConnectionState::Up { .. } => lost,
        })
    }

    /// The servers are handed to a session anew.
    pub(super) fn reset_client(&self, session: SessionId) {
        for line in held(&self.lines).values_mut() {
            line.lost.remove(&session);
        }
    }

    /// Cuts a line off, also in the middle of a call.
    pub(super) fn disconnect(&self, key: &ServerKey, why: &ServerUnavailable) {
        if let Some(line) = held(&self.lines).get_mut(key) {
            line.disconnect(why);
        }
    }

    /// The same for the line of another entry than `mark` stands for.
    pub(super) fn disconnect_stale(
        &self,
        key: &ServerKey,
        mark: ServerVersion,
        why: &ServerUnavailable,
    ) {
        if let Some(line) = held(&self.lines).get_mut(key)
            && line.life.mark().is_some_and(|own| own != mark)
        {
            line.disconnect(why);
        }
    }

    /// The same, and nothing of it is remembered.
    pub(super) fn forget(&self, key: &ServerKey, why: &ServerUnavailable) {
        if let Some(mut line) = held(&self.lines).remove(key) {
            line.disconnect(why);
        }
    }

    /// A session uses nothing any more; what nobody uses ends.
    pub(super) fn leave(&self, session: SessionId) {
        for line in held(&self.lines).values_mut() {
            line.lost.remove(&session);
            if line.users.remove(&session) && line.users.is_empty() {
                line.disconnect(&ServerUnavailable::new("OVER", "The session is over."));
                line.lost.clear();
            }
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl McpConnection {
    /// The last listing that was seen to be the approved one, and whether it is to be looked at
    /// anew before a call: a server that tells of changes is asked when it did or some time went
    /// by, every other one each time.
    pub(super) fn last_seen(&self, fresh: std::time::Duration) -> (Arc<ToolListing>, bool) {
        let tells = self.client.server().capabilities["tools"]["listChanged"] == true;
        let seen = held(&self.seen);
        let is_fresh =
            tells && seen.changes == self.client.tools_changes() && seen.at.elapsed() < fresh;
        (Arc::clone(&seen.listing), is_fresh)
    }

    /// Takes a listing over that was seen to be the approved one.
    pub(super) fn record_listing(&self, changes: u64, listing: Arc<ToolListing>) {
        *held(&self.seen) = CheckedListing {
            changes,
            at: Instant::now(),
            listing,
        };
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn session(byte: u8) -> SessionId {
        SessionId::from_bytes([byte; 16])
    }

    fn key() -> ServerKey {
        let name = ServerName::parse("Files").unwrap();
        ServerKey::named(AgentId::from_bytes([1; 16]), &name)
    }

    fn mark(rev: u64) -> ServerVersion {
        ServerVersion {
            added_at: Timestamp::from_millis(1),
            rev,
        }
    }

    fn start(lines: &McpConnections, rev: u64, by: u8) -> ConnectAttempt {
        match lines.next_step(&key(), mark(rev), session(by)) {
            ConnectStep::Start(starting, _) => starting,
            ConnectStep::Take(_) | ConnectStep::Hear(_) => panic!("nothing is to be started"),
        }
    }

    #[test]
    fn a_start_is_one_for_all_sessions_and_ends_with_the_last_of_them() {
        let lines = McpConnections::default();
        let starting = start(&lines, 1, 1);
        let other = lines.next_step(&key(), mark(1), session(2));
        assert!(matches!(other, ConnectStep::Hear(_)));
        lines.leave(session(1));
        assert!(starting.cut.borrow().is_none(), "another uses it");
        lines.leave(session(2));
        assert!(starting.cut.borrow().is_some());
        start(&lines, 1, 1);
    }

    #[test]
    fn another_entry_ends_the_line_of_the_one_before() {
        let lines = McpConnections::default();
        let old = start(&lines, 1, 1);
        let new = start(&lines, 2, 1);
        assert!(old.cut.borrow().is_some() && new.cut.borrow().is_none());
        // The end of the old one says nothing of the new one.
        lines.ended(&key(), &old.cut);
        assert!(matches!(
            lines.next_step(&key(), mark(2), session(1)),
            ConnectStep::Hear(_)
        ));
        lines.disconnect_stale(&key(), mark(2), &ServerUnavailable::moved());
        assert!(new.cut.borrow().is_none());
        lines.disconnect_stale(&key(), mark(3), &ServerUnavailable::moved());
        assert!(new.cut.borrow().is_some());
    }

    #[test]
    fn who_used_what_was_cut_is_to_be_handed_it_anew() {
        let lines = McpConnections::default();
        start(&lines, 1, 1);
        lines.disconnect(&key(), &ServerUnavailable::gone());
        let lost = |byte: u8| lines.client_loss(&key(), session(byte));
        assert_eq!((lost(1), lost(2)), (Some(ClientLoss::Regainable), None));
        lines.reset_client(session(1));
        assert_eq!(lost(1), None);
        // What could not be reached is not handed over again and again.
        lines.client_failed(&key(), session(2));
        assert_eq!(lost(2), Some(ClientLoss::Unreached));
        lines.client_attached(&key(), session(2));
        assert_eq!(lost(2), None);
    }

    #[test]
    fn what_failed_three_times_rests_until_the_next_turn() {
        let lines = McpConnections::default();
        assert!(!lines.failed(&key()) && !lines.failed(&key()));
        assert!(!lines.is_resting(&key()));
        assert!(lines.failed(&key()) && lines.is_resting(&key()));
        lines.reset_failures(AgentId::from_bytes([9; 16]));
        assert!(lines.is_resting(&key()));
        lines.reset_failures(AgentId::from_bytes([1; 16]));
        assert!(!lines.is_resting(&key()) && !lines.failed(&key()));
        assert!(!lines.failed(&key()) && lines.failed(&key()));
        // Or until somebody reached it.
        lines.reached(&key());
        assert!(!lines.is_resting(&key()) && !lines.failed(&key()));
    }

    #[test]
    fn a_servers_question_is_of_the_one_session_that_waits() {
        let askers = Arc::<PendingCalls>::default();
        let (one, same, other) = (
            askers.enter(session(1)),
            askers.enter(session(1)),
            askers.enter(session(2)),
        );
        assert_eq!(
            askers.only(&[one.number(), same.number()]),
            Some(session(1))
        );
        assert_eq!(askers.only(&[one.number(), other.number()]), None);
        let tag = one.number();
        drop(one);
        assert_eq!(askers.only(&[tag]), None);
    }

    #[tokio::test]
    async fn an_asker_has_left_once_the_last_of_its_questions_is_answered() {
        let askers = Arc::<PendingCalls>::default();
        let (one, other) = (askers.enter(session(1)), askers.enter(session(1)));
        let tags = [one.number(), other.number()];
        let mut left = std::pin::pin!(askers.left(&tags));
        assert!(left.as_mut().now_or_never().is_none());
        drop(one);
        assert!(left.as_mut().now_or_never().is_none());
        drop(other);
        left.await;
    }
}

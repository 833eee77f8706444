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
    Moment,
    ids::{AgentId, SessionId},
    mcp_gateway::Failures,
    mcp_servers::{McpServer, ServerName},
};
use guildhall_world::mcp::{Bearer, Client, Lifecycle, Listing, Tag};
use tokio::{sync::watch, time::Instant};

use super::{Closed, Cutting};
use crate::mcp_servers::Entry;

/// Why a line was cut; `None` while it was not.
pub(super) type Cut = Option<Closed>;
/// How a start ended.
pub(super) type Started = Result<Up, Closed>;

/// An entry by its agent and folded name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(super) agent: AgentId,
    folded: String,
}

impl Key {
    pub(super) fn named(agent: AgentId, name: &ServerName) -> Self {
        Self {
            agent,
            folded: name.folded(),
        }
    }

    pub(super) fn of(entry: &Entry) -> Self {
        Self::named(entry.agent.id, &entry.kept.server.name)
    }
}

/// What an entry is: another one, or another connection of it, has another mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    added_at: Moment,
    rev: u64,
}

impl Mark {
    pub(super) fn of_server(server: &McpServer) -> Self {
        Self {
            added_at: server.added_at,
            rev: server.rev,
        }
    }

    pub(super) fn of(entry: &Entry) -> Self {
        Self::of_server(&entry.kept.server)
    }
}

/// A server that is connected to. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Up {
    pub(super) client: Client,
    /// The token that its requests show; `None` for a program.
    pub(super) bearer: Option<Bearer>,
    pub(super) cut: Cutting,
    /// The last listing that was seen to be the approved one.
    pub(super) seen: Arc<Mutex<Seen>>,
    pub(super) askers: Arc<Askers>,
}

/// A listing that was looked at.
#[derive(Debug)]
pub(crate) struct Seen {
    /// How often the server had said that its tools are others.
    pub(super) changes: u64,
    pub(super) at: Instant,
    pub(super) listing: Arc<Listing>,
}

impl Up {
    /// Whether it is of no use any more.
    pub(super) fn is_over(&self) -> bool {
        self.cut.borrow().is_some() || self.client.is_over()
    }

    /// Notes that `session` asks something, until the tag is dropped.
    pub(super) fn asked_by(&self, session: SessionId) -> Asker {
        self.askers.enter(session)
    }
}

/// The sessions whose questions a server works on, by tag.
#[derive(Debug, Default)]
pub(crate) struct Askers {
    next: AtomicU64,
    waiting: watch::Sender<HashMap<Tag, SessionId>>,
}

impl Askers {
    fn enter(self: &Arc<Self>, session: SessionId) -> Asker {
        let tag = self.next.fetch_add(1, Ordering::Relaxed);
        self.waiting.send_modify(|waiting| {
            waiting.insert(tag, session);
        });
        Asker {
            tag,
            askers: Arc::clone(self),
        }
    }

    /// The one session that all of these questions are of.
    pub(super) fn only(&self, tags: &[Tag]) -> Option<SessionId> {
        let waiting = self.waiting.borrow();
        let sessions: HashSet<SessionId> = tags
            .iter()
            .filter_map(|tag| waiting.get(tag).copied())
            .collect();
        let mut sessions = sessions.into_iter();
        sessions.next().filter(|_| sessions.next().is_none())
    }

    /// Waits until none of these questions is worked on any more.
    pub(super) async fn left(&self, tags: &[Tag]) {
        let mut waiting = self.waiting.subscribe();
        let are_gone =
            waiting.wait_for(|waiting| tags.iter().all(|tag| !waiting.contains_key(tag)));
        // Its sender lives as long as this.
        drop(are_gone.await);
    }
}

/// A question that is being answered.
#[derive(Debug)]
pub(crate) struct Asker {
    tag: Tag,
    askers: Arc<Askers>,
}

impl Asker {
    pub(super) fn number(&self) -> Tag {
        self.tag
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.askers.waiting.send_modify(|waiting| {
            waiting.remove(&self.tag);
        });
    }
}

/// All lines of this server.
#[derive(Default)]
pub(crate) struct Gateways {
    /// A std mutex, as all here: held for single look-ups and never over an await.
    lines: Mutex<HashMap<Key, Line>>,
}

/// Why the client of a session has no use of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// It was cut, or is there again: handed over anew, it is of use.
    Regainable,
    /// It could not be reached, as far as is known: handed over anew, it would only fail again.
    Unreached,
}

/// What is known of one entry's line.
#[derive(Default)]
struct Line {
    life: Life,
    /// The sessions that use it; it ends with the last.
    users: HashSet<SessionId>,
    /// The sessions whose client has no use of it until it is handed over anew.
    lost: HashMap<SessionId, Lost>,
    failures: Failures,
    /// Whether it failed so often that it is left alone until the next turn.
    is_resting: bool,
    /// How its server begins, once that was found out, and of which entry.
    lifecycle: Option<(Mark, Lifecycle)>,
}

#[derive(Default)]
enum Life {
    #[default]
    Gone,
    Starting {
        mark: Mark,
        cut: Cutting,
        told: watch::Receiver<Option<Started>>,
    },
    Up {
        mark: Mark,
        up: Up,
    },
}

impl Life {
    fn cutting(&self) -> Option<&Cutting> {
        match self {
            Self::Gone => None,
            Self::Starting { cut, .. } => Some(cut),
            Self::Up { up, .. } => Some(&up.cut),
        }
    }

    fn mark(&self) -> Option<Mark> {
        match self {
            Self::Gone => None,
            Self::Starting { mark, .. } | Self::Up { mark, .. } => Some(*mark),
        }
    }

    fn is(&self, cut: &Cutting) -> bool {
        self.cutting().is_some_and(|own| Arc::ptr_eq(own, cut))
    }
}

impl Line {
    fn is_well(&mut self) {
        self.failures.forget();
        self.is_resting = false;
    }

    /// Ends what there is. Whoever used it has to be handed it anew.
    fn cut(&mut self, why: &Closed) {
        if let Some(cut) = self.life.cutting() {
            cut.send_replace(Some(why.clone()));
            let users = self.users.iter();
            self.lost
                .extend(users.map(|user| (*user, Lost::Regainable)));
        }
        self.life = Life::Gone;
    }
}

/// What whoever wants a line is to do.
pub(super) enum Step {
    Take(Up),
    Hear(watch::Receiver<Option<Started>>),
    Start(Starting, watch::Receiver<Option<Started>>),
}

/// A start that is to be made.
pub(super) struct Starting {
    pub(super) tell: watch::Sender<Option<Started>>,
    pub(super) cut: Cutting,
    /// How the server begins, where that is known.
    pub(super) lifecycle: Option<Lifecycle>,
}

impl Gateways {
    /// What to do for a line to the entry `mark` stands for, which `session` uses from now on.
    pub(super) fn look(&self, key: &Key, mark: Mark, session: SessionId) -> Step {
        let mut lines = held(&self.lines);
        let line = lines.entry(key.clone()).or_default();
        line.users.insert(session);
        match &line.life {
            Life::Up { mark: own, up } if *own == mark && !up.is_over() => {
                return Step::Take(up.clone());
            }
            Life::Starting {
                mark: own, told, ..
            } if *own == mark => return Step::Hear(told.clone()),
            Life::Gone | Life::Up { .. } | Life::Starting { .. } => {}
        }
        if let Some(cut) = line.life.cutting() {
            cut.send_replace(Some(Closed::moved()));
        }
        let (tell, told) = watch::channel(None);
        let cut = Cutting::new(watch::Sender::new(None));
        line.life = Life::Starting {
            mark,
            cut: Arc::clone(&cut),
            told: told.clone(),
        };
        let known = line.lifecycle.filter(|(of, _)| *of == mark);
        let starting = Starting {
            tell,
            cut,
            lifecycle: known.map(|(_, lifecycle)| lifecycle),
        };
        Step::Start(starting, told)
    }

    /// A line stands; answers whether it is still wanted.
    pub(super) fn started(&self, key: &Key, up: &Up) -> bool {
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
        line.life = Life::Up { mark, up };
        !line.users.is_empty()
    }

    /// A line ended, or never stood.
    pub(super) fn ended(&self, key: &Key, cut: &Cutting) {
        if let Some(line) = held(&self.lines).get_mut(key)
            && line.life.is(cut)
        {
            line.life = Life::Gone;
        }
    }

    /// A line could not be opened; answers whether that happened as often as may be.
    pub(super) fn failed(&self, key: &Key) -> bool {
        let mut lines = held(&self.lines);
        let line = lines.entry(key.clone()).or_default();
        line.is_resting |= line.failures.note(Instant::now().into_std());
        line.is_resting
    }

    /// The server was reached: what failed before counts no longer.
    pub(super) fn reached(&self, key: &Key) {
        if let Some(line) = held(&self.lines).get_mut(key) {
            line.is_well();
        }
    }

    /// How many stand now.
    pub(super) fn open(&self) -> usize {
        let lines = held(&self.lines);
        lines
            .values()
            .filter(|line| matches!(line.life, Life::Up { .. }))
            .count()
    }

    /// Whether it is left alone until the next turn.
    pub(super) fn is_resting(&self, key: &Key) -> bool {
        held(&self.lines)
            .get(key)
            .is_some_and(|line| line.is_resting)
    }

    /// A turn of the agent begins: what failed may be tried again.
    pub(super) fn rested(&self, agent: AgentId) {
        let mut lines = held(&self.lines);
        for (_, line) in lines.iter_mut().filter(|(key, _)| key.agent == agent) {
            if line.is_resting {
                line.is_well();
            }
        }
    }

    /// The client of a session has the server.
    pub(super) fn greeted(&self, key: &Key, session: SessionId) {
        if let Some(line) = held(&self.lines).get_mut(key) {
            line.lost.remove(&session);
        }
    }

    /// The client of a session could not have the server.
    pub(super) fn ungreeted(&self, key: &Key, session: SessionId) {
        let mut lines = held(&self.lines);
        let line = lines.entry(key.clone()).or_default();
        line.users.insert(session);
        line.lost.insert(session, Lost::Unreached);
    }

    /// Why a session's client has no use of the server until it is handed over anew; `None`
    /// where it has.
    pub(super) fn lost(&self, key: &Key, session: SessionId) -> Option<Lost> {
        let lines = held(&self.lines);
        let line = lines.get(key)?;
        let lost = *line.lost.get(&session)?;
        Some(match &line.life {
            Life::Up { up, .. } if !up.is_over() => Lost::Regainable,
            Life::Gone | Life::Starting { .. } | Life::Up { .. } => lost,
        })
    }

    /// The servers are handed to a session anew.
    pub(super) fn handed(&self, session: SessionId) {
        for line in held(&self.lines).values_mut() {
            line.lost.remove(&session);
        }
    }

    /// Cuts a line off, also in the middle of a call.
    pub(super) fn cut(&self, key: &Key, why: &Closed) {
        if let Some(line) = held(&self.lines).get_mut(key) {
            line.cut(why);
        }
    }

    /// The same for the line of another entry than `mark` stands for.
    pub(super) fn cut_other(&self, key: &Key, mark: Mark, why: &Closed) {
        if let Some(line) = held(&self.lines).get_mut(key)
            && line.life.mark().is_some_and(|own| own != mark)
        {
            line.cut(why);
        }
    }

    /// The same, and nothing of it is remembered.
    pub(super) fn forget(&self, key: &Key, why: &Closed) {
        if let Some(mut line) = held(&self.lines).remove(key) {
            line.cut(why);
        }
    }

    /// A session uses nothing any more; what nobody uses ends.
    pub(super) fn leave(&self, session: SessionId) {
        for line in held(&self.lines).values_mut() {
            line.lost.remove(&session);
            if line.users.remove(&session) && line.users.is_empty() {
                line.cut(&Closed::new("OVER", "The session is over."));
                line.lost.clear();
            }
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Up {
    /// The last listing that was seen to be the approved one, and whether it is to be looked at
    /// anew before a call: a server that tells of changes is asked when it did or some time went
    /// by, every other one each time.
    pub(super) fn last_seen(&self, fresh: std::time::Duration) -> (Arc<Listing>, bool) {
        let tells = self.client.server().capabilities["tools"]["listChanged"] == true;
        let seen = held(&self.seen);
        let is_fresh =
            tells && seen.changes == self.client.tools_changes() && seen.at.elapsed() < fresh;
        (Arc::clone(&seen.listing), is_fresh)
    }

    /// Takes a listing over that was seen to be the approved one.
    pub(super) fn saw(&self, changes: u64, listing: Arc<Listing>) {
        *held(&self.seen) = Seen {
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

    fn key() -> Key {
        let name = ServerName::parse("Files").unwrap();
        Key::named(AgentId::from_bytes([1; 16]), &name)
    }

    fn mark(rev: u64) -> Mark {
        Mark {
            added_at: Moment::from_millis(1),
            rev,
        }
    }

    fn start(lines: &Gateways, rev: u64, by: u8) -> Starting {
        match lines.look(&key(), mark(rev), session(by)) {
            Step::Start(starting, _) => starting,
            Step::Take(_) | Step::Hear(_) => panic!("nothing is to be started"),
        }
    }

    #[test]
    fn a_start_is_one_for_all_sessions_and_ends_with_the_last_of_them() {
        let lines = Gateways::default();
        let starting = start(&lines, 1, 1);
        let other = lines.look(&key(), mark(1), session(2));
        assert!(matches!(other, Step::Hear(_)));
        lines.leave(session(1));
        assert!(starting.cut.borrow().is_none(), "another uses it");
        lines.leave(session(2));
        assert!(starting.cut.borrow().is_some());
        start(&lines, 1, 1);
    }

    #[test]
    fn another_entry_ends_the_line_of_the_one_before() {
        let lines = Gateways::default();
        let old = start(&lines, 1, 1);
        let new = start(&lines, 2, 1);
        assert!(old.cut.borrow().is_some() && new.cut.borrow().is_none());
        // The end of the old one says nothing of the new one.
        lines.ended(&key(), &old.cut);
        assert!(matches!(
            lines.look(&key(), mark(2), session(1)),
            Step::Hear(_)
        ));
        lines.cut_other(&key(), mark(2), &Closed::moved());
        assert!(new.cut.borrow().is_none());
        lines.cut_other(&key(), mark(3), &Closed::moved());
        assert!(new.cut.borrow().is_some());
    }

    #[test]
    fn who_used_what_was_cut_is_to_be_handed_it_anew() {
        let lines = Gateways::default();
        start(&lines, 1, 1);
        lines.cut(&key(), &Closed::gone());
        let lost = |byte: u8| lines.lost(&key(), session(byte));
        assert_eq!((lost(1), lost(2)), (Some(Lost::Regainable), None));
        lines.handed(session(1));
        assert_eq!(lost(1), None);
        // What could not be reached is not handed over again and again.
        lines.ungreeted(&key(), session(2));
        assert_eq!(lost(2), Some(Lost::Unreached));
        lines.greeted(&key(), session(2));
        assert_eq!(lost(2), None);
    }

    #[test]
    fn what_failed_three_times_rests_until_the_next_turn() {
        let lines = Gateways::default();
        assert!(!lines.failed(&key()) && !lines.failed(&key()));
        assert!(!lines.is_resting(&key()));
        assert!(lines.failed(&key()) && lines.is_resting(&key()));
        lines.rested(AgentId::from_bytes([9; 16]));
        assert!(lines.is_resting(&key()));
        lines.rested(AgentId::from_bytes([1; 16]));
        assert!(!lines.is_resting(&key()) && !lines.failed(&key()));
        assert!(!lines.failed(&key()) && lines.failed(&key()));
        // Or until somebody reached it.
        lines.reached(&key());
        assert!(!lines.is_resting(&key()) && !lines.failed(&key()));
    }

    #[test]
    fn a_servers_question_is_of_the_one_session_that_waits() {
        let askers = Arc::<Askers>::default();
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
        let askers = Arc::<Askers>::default();
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

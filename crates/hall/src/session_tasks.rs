//! A session's tasks: read from the agent's own transcript, else from our log, and followed
//! while somebody cares. Source: contract 3.7.

mod followed_sessions;
mod stored_session;

use std::{collections::HashMap, sync::Arc};

use guildhall_domain::{
    Fault, Refusal, Result,
    agents::Agent,
    callers::{AnyCaller, Gate},
    errors::ResourceKind,
    events::Event,
    ids::{AgentId, SessionId},
    limits,
    session_tasks::{self as rules, Task, TranscriptDialect},
    sessions::{Session, SessionOrigin, SessionState},
    usage::Usage,
};
use guildhall_store::{ReadSnapshot, agents};
use guildhall_world::transcripts::{self, DiskSession};

pub(crate) use followed_sessions::FollowedSessions;

use crate::Hall;
use followed_sessions::{TaskUpdate, TranscriptScan};
use stored_session::StoredSession;

/// The tasks of a session now.
struct CurrentTasks {
    tasks: Vec<Task>,
    has_dropped: bool,
}

impl Hall {
    /// The tasks of a session, ours or one that lies on disk alone; an agent sees those of its
    /// own sessions. Whoever asks makes the session followed for a while.
    ///
    /// # Errors
    /// `NotFound` when there is no such session, or the caller may not know of it.
    pub async fn session_tasks(
        &self,
        by: &AnyCaller,
        id: SessionId,
    ) -> Result<ReadSnapshot<Vec<Task>>> {
        let by = *by.caller();
        let kept = self
            .store()
            .read(
                move |db| match (stored_session::session(db, id)?, by.agent()) {
                    (Some(kept), Some(agent)) if kept.agent == agent => Ok(Some(kept)),
                    (_, Some(_)) => Err(Refusal::NotFound(ResourceKind::Session).into()),
                    (kept, None) => Ok(kept),
                },
            )
            .await?;
        let current = self.current_tasks(id, kept.value).await?;
        let current = current.ok_or(Refusal::NotFound(ResourceKind::Session))?;
        self.inner.followed.begin_published(
            id,
            &current.tasks,
            current.has_dropped,
            &self.inner.watching,
        );
        Ok(ReadSnapshot {
            value: current.tasks,
            seq: kept.seq,
        })
    }

    /// Looks at the tasks of a session and tells in it when they are others than before; a session
    /// that nobody follows is followed from now on.
    ///
    /// # Errors
    /// Faults alone.
    pub(crate) async fn publish_tasks(&self, id: SessionId) -> Result<()> {
        let kept = self
            .store()
            .read(move |db| stored_session::session(db, id))
            .await?;
        let Some(current) = self.current_tasks(id, kept.value).await? else {
            return Ok(());
        };
        let now = self.now();
        let news =
            self.inner
                .followed
                .changes_since_published(id, current.tasks, current.has_dropped);
        let TaskUpdate { is_changed, notice } = news;
        if !is_changed && !notice {
            return Ok(());
        }
        self.store()
            .write(move |tx| {
                if is_changed {
                    let event = Event::TasksChanged {
                        session_id: id,
                        version: tx.next_event(),
                    };
                    tx.append(now, None, &event)?;
                }
                if notice {
                    tx.append(now, None, &dropped_notice(id))?;
                }
                Ok(())
            })
            .await
    }

    /// The sessions that lie on disk, ours among them, the one written last first; none for an
    /// agent.
    ///
    /// A session belongs to the agent of its folder and runtime, else to nobody: the nil id.
    ///
    /// # Errors
    /// Faults alone.
    ///
    /// Source: contract 3.5, `source=terminal`.
    pub async fn terminal_sessions(&self, by: &AnyCaller) -> Result<Vec<Session>> {
        if !by.caller().is_human() {
            return Ok(Vec::new());
        }
        let registered = self.store().read(|db| agents::list(db, false)).await?;
        let by_folder: HashMap<(String, String), AgentId> = registered
            .value
            .into_iter()
            .map(
                |Agent {
                     id, cwd, runtime, ..
                 }| ((cwd, runtime), id),
            )
            .collect();
        let (followed, places) = (Arc::clone(&self.inner.followed), self.inner.places.clone());
        let on_disk =
            tokio::task::spawn_blocking(move || transcripts::list(&places, followed.heads()))
                .await
                .map_err(|error| Fault::broken("listing transcripts", error))?;
        let sessions = on_disk.into_iter();
        Ok(sessions
            .map(|session| terminal_session(session, &by_folder))
            .collect())
    }

    /// The tasks of a session now: by its transcript when that tells of any, else by our log.
    /// `None` when there is neither.
    async fn current_tasks(
        &self,
        id: SessionId,
        kept: Option<StoredSession>,
    ) -> Result<Option<CurrentTasks>> {
        let look = TranscriptScan {
            followed: Arc::clone(&self.inner.followed),
            watching: Arc::clone(&self.inner.watching),
            places: self.inner.places.clone(),
            session: id,
            names: transcript_names(id, kept.as_ref()),
            dialects: dialects(kept.as_ref()),
            is_ours: kept.is_some(),
        };
        let by_transcript = tokio::task::spawn_blocking(move || look.run())
            .await
            .map_err(|error| Fault::broken("reading a transcript", error))?;
        match (by_transcript, kept) {
            (Some(read), Some(_)) if !read.has_operations => self.logged_tasks(id).await.map(Some),
            (None, Some(_)) => self.logged_tasks(id).await.map(Some),
            (Some(read), _) => Ok(Some(CurrentTasks {
                tasks: read.tasks,
                has_dropped: read.has_dropped,
            })),
            (None, None) => Ok(None),
        }
    }

    /// The tasks of one of our sessions by our log.
    async fn logged_tasks(&self, id: SessionId) -> Result<CurrentTasks> {
        let messages = self
            .store()
            .read(move |db| stored_session::messages(db, id))
            .await?;
        let (tasks, has_dropped) = rules::of_messages(&messages.value);
        Ok(CurrentTasks { tasks, has_dropped })
    }
}

/// What a session's transcript may be called.
fn transcript_names(id: SessionId, kept: Option<&StoredSession>) -> Vec<String> {
    let runtimes = kept.map(|kept| kept.runtime_session_id.clone());
    let runtimes = runtimes.filter(|name| !name.is_empty());
    runtimes.into_iter().chain([id.to_string()]).collect()
}

/// Whose transcript it may be: of a session that is not ours, anybody's.
fn dialects(kept: Option<&StoredSession>) -> Vec<TranscriptDialect> {
    match kept.map(|kept| kept.runtime.as_str()) {
        None => vec![TranscriptDialect::Claude, TranscriptDialect::Codex],
        Some(runtime) => dialect(runtime).into_iter().collect(),
    }
}

/// The dialect of a runtime that keeps transcripts. Source: contract 3.3.1.
fn dialect(runtime: &str) -> Option<TranscriptDialect> {
    match runtime {
        CLAUDE_CODE => Some(TranscriptDialect::Claude),
        CODEX => Some(TranscriptDialect::Codex),
        _ => None,
    }
}

const CLAUDE_CODE: &str = "claude-code";
const CODEX: &str = "codex";

fn dropped_notice(session: SessionId) -> Event {
    let most = limits::TASKS_MAX;
    Event::SessionNotice {
        session_id: session,
        code: "TASKS_MAX".to_owned(),
        text: format!("The agent keeps more than {most} tasks; the later ones are left out."),
    }
}

fn terminal_session(on_disk: DiskSession, agents: &HashMap<(String, String), AgentId>) -> Session {
    let runtime = match on_disk.dialect {
        TranscriptDialect::Claude => CLAUDE_CODE,
        TranscriptDialect::Codex => CODEX,
    };
    let folder = (on_disk.cwd, runtime.to_owned());
    let agent = agents.get(&folder).copied();
    let (cwd, runtime) = folder;
    let title = match on_disk.title.as_str() {
        "" => "Terminal session".to_owned(),
        title => title.to_owned(),
    };
    Session {
        id: on_disk.id,
        agent_id: agent.unwrap_or(AgentId::from_bytes([0; 16])),
        runtime,
        runtime_session_id: on_disk.id.to_string(),
        last_message_preview: title.clone(),
        title,
        cwd,
        permission_mode: String::new(),
        model: String::new(),
        effort: String::new(),
        state: SessionState::Idle,
        state_reason: String::new(),
        origin: SessionOrigin::Terminal,
        room_id: None,
        read_only: true,
        queued_count: 0,
        pending_count: 0,
        created_at: on_disk.created_at,
        updated_at: on_disk.updated_at,
        usage: Usage::default(),
    }
}

//! Sessions: very many of a few agents, how they are listed and what a resting one weighs.

use guildhall_domain::{
    Timestamp,
    ids::{AuthorId, MessageId, SessionId},
    limits,
    transcript::{Message, MessageRole, MessageState, TextKind},
};
use guildhall_store::{
    Tx, messages,
    sessions::{self, SessionFilter},
};
use guildhall_world::{clock::Clock, ids};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    Failure, Result, Scale,
    http_client::{HttpClient, get, post},
    measure::DurationSamples,
    result_table::{Measurement, ResultRow},
    seeded_store::{SeededStore, TEXT},
    server::{ServerFolder, ServerProcess},
    turns::ServedSession,
};

/// Agents, each in a folder of its own: as many as may live at once.
pub(crate) const AGENTS: usize = limits::PROCESSES_MAX;
/// Messages of each session.
const MESSAGES: u32 = 20;
/// Sessions a page holds at most.
const PAGE: u32 = 200;
/// Listings of all of them; also those of the store by itself.
const LISTINGS: u32 = 200;

/// Stored sessions of [`AGENTS`] agents, by turns.
pub(crate) struct StoredSessions(Vec<SessionId>);

impl StoredSessions {
    /// Opens them through the front door, and gives each its messages straight in the store.
    pub(crate) async fn open(house: &ServerFolder, scale: &Scale) -> Result<Self> {
        let server = house.start()?;
        let mut client = HttpClient::connect(server.address).await?;
        let mut sessions = Vec::with_capacity(scale.sessions);
        for n in 0..scale.sessions.max(AGENTS) {
            let folder = house.home().join(format!("agent-{}", n % AGENTS));
            std::fs::create_dir_all(&folder)?;
            let ask = json!({
                "cwd": folder, "runtime": "rehearsal", "title": format!("Piece of work {n}"),
            });
            let request = post(server.address, "/api/sessions", &ask);
            let session: Value = serde_json::from_slice(client.expect(&request, 201).await?)?;
            let id = session["id"].as_str().and_then(SessionId::parse);
            sessions.push(id.ok_or("a new session has no id")?);
        }
        server.stop()?;
        let filling = SeededStore::open(house).await?;
        let (author, now) = (filling.owner, Clock::System.now());
        for some in sessions.chunks(50) {
            let some = some.to_vec();
            let filled = filling.store.write(move |tx| {
                some.iter()
                    .try_for_each(|session| talk(tx, *session, author, now))
            });
            filled.await.map_err(crate::broken)?;
        }
        Ok(Self(sessions))
    }

    /// A session of each agent.
    pub(crate) fn of_each_agent(&self) -> &[SessionId] {
        &self.0[..AGENTS]
    }

    /// How long the store takes to read the list by itself.
    pub(crate) async fn bare_listings(
        &self,
        house: &ServerFolder,
        scale: &Scale,
    ) -> Result<DurationSamples> {
        let filling = SeededStore::open(house).await?;
        let mut times = DurationSamples::default();
        for _ in 0..LISTINGS {
            let began = std::time::Instant::now();
            let (mut place, mut count) = (None, 0);
            loop {
                let read = filling.store.read(move |db| {
                    let filter = SessionFilter::default();
                    sessions::page(db, &filter, place, PAGE)
                });
                let page = read.await.map_err(crate::broken)?.value;
                let last = page.get(PAGE as usize - 1);
                count += page.len().min(PAGE as usize);
                place = last.map(|last| (last.updated_at, last.id));
                if page.len() <= PAGE as usize {
                    break;
                }
            }
            times.push(began.elapsed());
            require_all(count, scale)?;
        }
        Ok(times)
    }

    /// One client that reads the whole list, page after page.
    pub(crate) async fn listing(
        &self,
        server: &ServerProcess,
        bare: &DurationSamples,
        scale: &Scale,
    ) -> Result<ResultRow> {
        let mut client = HttpClient::connect(server.address).await?;
        let mut times = DurationSamples::default();
        for _ in 0..LISTINGS {
            let (mut path, mut count) = (format!("/api/sessions?limit={PAGE}"), 0);
            let mut took = std::time::Duration::ZERO;
            loop {
                let began = std::time::Instant::now();
                let body = client.expect(&get(server.address, &path), 200).await?;
                took += began.elapsed();
                let page: Value = serde_json::from_slice(body)?;
                count += page["sessions"].as_array().map_or(0, Vec::len);
                let Some(cursor) = page["nextCursor"].as_str() else {
                    break;
                };
                path = format!("/api/sessions?limit={PAGE}&cursor={cursor}");
            }
            times.push(took);
            require_all(count, scale)?;
        }
        Ok(ResultRow {
            work: format!(
                "list of {} sessions, {PAGE} a page, all pages, p99",
                self.0.len()
            ),
            measured: Measurement::Millis(times.percentile_ms(99.0)),
            limit: Some((Measurement::Millis(bare.percentile_ms(99.0)), "bare reads")),
            targets: Vec::new(),
        })
    }

    /// The server's own memory while every agent lives.
    pub(crate) fn memory_beside_agents(
        &self,
        server: &ServerProcess,
        resting: u64,
    ) -> Result<ResultRow> {
        let mib = |bytes: u64| Measurement::Mib(bytes as f64 / 1_024.0 / 1_024.0);
        Ok(ResultRow {
            work: format!("memory of the server alone, {AGENTS} live agents"),
            measured: mib(server.resident_bytes()?),
            limit: Some((mib(resting), "before them")),
            targets: Vec::new(),
        })
    }

    /// What a session weighs that had a turn and is open in its agent: each that had none yet
    /// gets one, those of one agent one after the other.
    pub(crate) async fn idle_memory(&self, server: &ServerProcess) -> Result<ResultRow> {
        let before = server.resident_bytes()?;
        let rest = &self.0[AGENTS..];
        let mut agents = JoinSet::new();
        for agent in 0..AGENTS {
            let own: Vec<SessionId> = rest.iter().skip(agent).step_by(AGENTS).copied().collect();
            let address = server.address;
            agents.spawn(async move {
                for session in own {
                    ServedSession::connect(address, session)
                        .await?
                        .turn("#clock")
                        .await?;
                }
                Ok::<_, Failure>(())
            });
        }
        while let Some(done) = agents.join_next().await {
            done??;
        }
        let growth = server.resident_bytes()?.saturating_sub(before);
        let each = growth as f64 / 1_024.0 / rest.len().max(1) as f64;
        Ok(ResultRow {
            work: "memory of an open session at rest".to_owned(),
            measured: Measurement::Kib(each),
            limit: None,
            targets: Vec::new(),
        })
    }
}

fn require_all(count: usize, scale: &Scale) -> Result<()> {
    if count == scale.sessions.max(AGENTS) {
        Ok(())
    } else {
        Err(format!("{count} of {} sessions are listed", scale.sessions).into())
    }
}

/// Lets a session hold messages, as if it had been talked in.
fn talk(
    tx: &mut Tx<'_>,
    session: SessionId,
    author: AuthorId,
    now: Timestamp,
) -> guildhall_domain::Result<()> {
    for n in 0..MESSAGES {
        let (role, state) = match n % 2 {
            0 => (MessageRole::User, MessageState::Delivered),
            _ => (MessageRole::Assistant, MessageState::Complete),
        };
        let message = Message {
            id: MessageId::from_bytes(ids::new().into_bytes()),
            seq: 0,
            session_id: session,
            turn_id: None,
            role,
            author_id: author,
            state,
            created_at: now,
            parts: Vec::new(),
        };
        messages::insert(tx, &message)?;
        messages::add_piece(tx, message.id, 0, TextKind::Text, TEXT)?;
    }
    Ok(())
}

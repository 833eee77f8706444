//! What one can do here: one file an area, each a few use cases.
//! A use case reads, asks `domain` to decide, and writes the change with its events in one
//! transaction. It knows nothing of HTTP.

pub mod accounts;
pub mod agents;
pub mod approvals;
mod attachment_checks;
pub mod attachments;
pub mod authors;
pub mod backups;
mod blobs;
pub mod browser;
pub mod callers;
pub mod canvas;
pub mod cloud;
pub mod commands;
pub mod connectors;
pub mod directories;
pub mod enclosure;
pub mod entries;
pub mod export;
pub mod file_reads;
pub mod files;
pub mod interactions;
pub mod keys;
pub mod launching;
pub mod mcp_gateway;
pub mod mcp_servers;
pub mod mcp_signin;
pub mod members;
pub mod oauth_landing;
mod passwords;
pub mod reaching;
pub mod reactions;
pub mod read_cursors;
pub mod repeats;
pub mod restore;
pub mod retention;
pub mod revived;
pub mod rooms;
pub mod runtimes;
pub mod search;
pub mod session_tasks;
pub mod sessions;
pub mod settings;
mod sight;
pub mod sign_ins;
pub mod signals;
mod start;
pub mod storage;
mod store_checks;
pub mod streams;
mod sweep;
pub mod tasks;
pub mod threads;
pub mod tokens;
mod trusted_browsers;
pub mod turns;
pub mod usage;
mod watch;
pub mod workbench;

use std::{path::PathBuf, sync::Arc};

use guildhall_domain::{
    Moment, Result, attempts::AttemptLimiter, callers::AuthMode, ids::LogId, limits,
    signals::Signal,
};
use guildhall_store::Store;
use guildhall_world::{
    blobs::Blobs,
    connectors::Services,
    digests::Digests,
    grants::Grants,
    outgoing::{Outgoing, OwnPorts},
    process_tree::ProcessTrees,
    programs::Hashes,
    seal::Seal,
    watching::Watching,
};
use tokio::sync::{Notify, OnceCell, broadcast};

pub use guildhall_store::{Seen, Written, settings::Configured};
pub use guildhall_world::clock::Clock;
/// Which tree of files is asked for.
pub use guildhall_world::file_reads::TreeAsk;
/// Connections whose other side is gone; the listener has them ended as well.
pub use guildhall_world::keepalive;
pub use guildhall_world::outgoing;
/// Who is behind a connection; the listener asks, [`callers`] decides.
pub use guildhall_world::peers;
pub use guildhall_world::places::Places;
/// What the last restore came to.
pub use guildhall_world::restores::RestoreRecord;
/// Where the programs of runtimes are looked for.
pub use guildhall_world::runtimes::Programs;
/// The way to a dev server; previews ask there.
pub use guildhall_world::upstream;
pub use start::{Auth, Opening, PreviewDoors};

use crate::{
    backups::Backups, interactions::Waiting, launching::Launching, passwords::Passwords,
    reaching::Reaching, runtimes::Registry, start::Door, storage::Storage,
    store_checks::StoreRecord, streams::StreamLimits, tasks::Tasks,
};

/// The whole installation: built complete, shared by cloning.
#[derive(Clone)]
pub struct Hall {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    /// What is known of the store beside it.
    store_record: StoreRecord,
    /// Its backups.
    backups: Backups,
    /// What is kept of the disk.
    storage: Storage,
    clock: Clock,
    /// The way to people's files.
    reaching: Reaching,
    blobs: Arc<Blobs>,
    /// Who may change which file at a time.
    gate: files::Gate,
    runtimes: Arc<Registry>,
    launching: Launching,
    /// Agents' processes that run.
    processes: sessions::Processes,
    /// Sessions with something to do.
    live: sessions::Live,
    data_dir: PathBuf,
    /// Where agents keep what is theirs.
    places: Places,
    watching: Arc<Watching>,
    /// The local browser.
    browser: browser::Browser,
    commands: Arc<commands::Kept>,
    followed: Arc<session_tasks::Followed>,
    log_id: LogId,
    /// How people are told apart, with what the mode needs for it.
    door: Door,
    passwords: Passwords,
    attempts: AttemptLimiter,
    started_at: Moment,
    signals: broadcast::Sender<Signal>,
    streams: streams::Open,
    /// The keepers of the agents that run, by which connections are told to be an agent's.
    trees: ProcessTrees,
    /// Tells the chore of canvas locks that somebody edits.
    editing: Notify,
    /// Makes the digests of what people decide on.
    digests: Digests,
    /// Keeps the secrets of tool servers.
    seal: Seal,
    /// Makes and reads the tokens in addresses of served folders and previews.
    grants: Arc<Grants>,
    /// The dev servers that can be looked at.
    previews: workbench::previews::Previews,
    /// What the files of tool servers hold.
    hashes: Arc<Hashes>,
    /// The way to other servers, once it was needed.
    outgoing: OnceCell<Outgoing>,
    /// Where it never leads.
    own_ports: OwnPorts,
    /// The way to the cloud link.
    cloud: cloud::Cloud,
    /// The ways to the services of connectors, once they were needed.
    services: OnceCell<Services>,
    /// Who waits for the test of a tool server.
    testing: mcp_servers::Queues,
    /// The connections to tool servers.
    gateways: mcp_gateway::Gateways,
    /// Which tokens of tool servers are being replaced.
    refreshing: mcp_signin::Refreshing,
    /// Which credentials of connections are being renewed.
    renewing: connectors::Renewing,
    /// The agents that wait for a person's answer.
    waiting: Waiting,
    /// The gated requests that wait for a person's word.
    holds: approvals::Holds,
    /// Tells the dispatcher of turns that something may be due.
    turning: Notify,
    tasks: Tasks,
}

impl Hall {
    /// The id of this installation's event log.
    pub fn log_id(&self) -> LogId {
        self.inner.log_id
    }

    /// When this server started.
    pub fn started_at(&self) -> Moment {
        self.inner.started_at
    }

    /// How the owner and other people are told apart.
    pub fn mode(&self) -> AuthMode {
        match self.inner.door {
            Door::Local { .. } => AuthMode::Local,
            Door::Login { .. } => AuthMode::Login,
        }
    }

    /// The long-lived tasks of this server.
    pub fn tasks(&self) -> &Tasks {
        &self.inner.tasks
    }

    /// The processes of the agents that run now; the listener asks by them whose a connection is.
    pub fn process_trees(&self) -> &ProcessTrees {
        &self.inner.trees
    }

    /// How many streams are open now.
    pub fn streams_open(&self) -> usize {
        self.inner.streams.count()
    }

    /// How much was written since the start.
    pub fn written(&self) -> Written {
        self.inner.store.written()
    }

    /// Reads nothing from the store, to see that it answers; a damaged one counts as none.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn store_answers(&self) -> Result<()> {
        self.store_is_whole()?;
        self.store().read(|_| Ok(())).await.map(|_| ())
    }

    fn store(&self) -> &Store {
        &self.inner.store
    }

    fn now(&self) -> Moment {
        self.inner.clock.now()
    }

    fn new_id<T>(make: fn([u8; 16]) -> T) -> T {
        make(guildhall_world::ids::new().into_bytes())
    }

    fn assemble(parts: start::Parts, limits: StreamLimits) -> Self {
        let (signals, _) = broadcast::channel(limits::SIGNALS_PER_READER);
        let trees = ProcessTrees::recorded_in(&parts.data_dir);
        let was_released = parts.store_record.state().is_reserve_released;
        Self {
            inner: Arc::new(Inner {
                store: parts.store,
                store_record: parts.store_record,
                backups: Backups::new(parts.backups),
                storage: Storage::new(&parts.data_dir, was_released),
                clock: parts.clock,
                reaching: Reaching::new(parts.confined, parts.journals),
                blobs: Arc::new(parts.blobs),
                gate: files::Gate::default(),
                runtimes: Arc::new(parts.runtimes),
                launching: parts.launching,
                processes: sessions::Processes::default(),
                live: sessions::Live::default(),
                data_dir: parts.data_dir,
                places: parts.places,
                watching: Arc::default(),
                browser: parts.browser,
                commands: Arc::default(),
                followed: Arc::default(),
                log_id: parts.log_id,
                door: parts.door,
                passwords: Passwords::new(),
                attempts: AttemptLimiter::default(),
                started_at: parts.started_at,
                signals,
                streams: streams::Open::new(limits),
                trees,
                editing: Notify::new(),
                digests: parts.digests,
                seal: parts.seal,
                grants: Arc::new(parts.grants),
                previews: workbench::previews::Previews::new(
                    parts.previews,
                    parts.own_ports.clone(),
                ),
                hashes: Arc::default(),
                outgoing: OnceCell::new(),
                own_ports: parts.own_ports,
                cloud: parts.cloud,
                services: OnceCell::new(),
                testing: mcp_servers::Queues::default(),
                gateways: mcp_gateway::Gateways::default(),
                refreshing: mcp_signin::Refreshing::default(),
                renewing: connectors::Renewing::default(),
                waiting: Waiting::default(),
                holds: approvals::Holds::default(),
                turning: Notify::new(),
                tasks: Tasks::default(),
            }),
        }
    }
}

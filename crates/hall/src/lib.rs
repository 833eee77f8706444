//! What one can do here: one file an area, each a few use cases.
//! A use case reads, asks `domain` to decide, and writes the change with its events in one
//! transaction. It knows nothing of HTTP.

pub mod accounts;
pub mod agent_tokens;
pub mod agents;
pub mod api_keys;
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
mod file_changes;
pub mod file_io_pool;
pub mod file_reads;
pub mod files;
mod garbage_collection;
pub mod idempotency;
pub mod interactions;
pub mod launch_config;
pub mod mcp_gateway;
pub mod mcp_servers;
pub mod mcp_signins;
pub mod members;
pub mod oauth_callback;
mod passwords;
pub mod reactions;
pub mod read_cursors;
pub mod restore;
pub mod retention;
pub mod revived;
pub mod rooms;
pub mod runtimes;
pub mod search;
pub mod session_tasks;
pub mod sessions;
pub mod settings;
pub mod sign_ins;
pub mod signals;
mod start;
pub mod storage;
mod store_checks;
pub mod streams;
pub mod tasks;
pub mod threads;
mod trusted_browsers;
pub mod turns;
pub mod usage;
mod visibility;
pub mod workbench;

use std::{path::PathBuf, sync::Arc};

use guildhall_domain::{
    Result, Timestamp, attempt_limiter::AttemptLimiter, callers::AuthMode, ids::LogId, limits,
    signals::Signal,
};
use guildhall_store::Store;
use guildhall_world::{
    address_tokens::AddressTokens,
    blobs::Blobs,
    connectors::ServiceClients,
    digests::ApprovalDigests,
    folder_watcher::FolderWatcher,
    http_client::{HttpClient, ListenerPorts},
    process_tree::ProcessTrees,
    seal::Seal,
    server_programs::HashCache,
};
use tokio::sync::{Notify, OnceCell, broadcast};

pub use guildhall_store::{ReadSnapshot, WriteCounts, settings::ConfiguredSettings};
pub use guildhall_world::agent_folders::AgentFolders;
pub use guildhall_world::clock::Clock;
/// The way to a dev server; previews ask there.
pub use guildhall_world::dev_server;
/// Which tree of files is asked for.
pub use guildhall_world::file_reads::TreeQuery;
pub use guildhall_world::http_client;
/// Who is behind a connection; the listener asks, [`callers`] decides.
pub use guildhall_world::peer_lookup;
/// What the last restore came to.
pub use guildhall_world::restores::RestoreRecord;
/// Where the programs of runtimes are looked for.
pub use guildhall_world::runtime_programs::ProgramSearch;
/// Connections whose other side is gone; the listener has them ended as well.
pub use guildhall_world::tcp_keepalive;
pub use start::{AuthConfig, HallConfig, PreviewListenerConfig};

use crate::{
    backups::Backups, file_io_pool::FileIoPool, interactions::ResponseWaiters,
    launch_config::LaunchConfig, passwords::PasswordHasher, runtimes::Registry, start::AuthState,
    storage::Storage, store_checks::StoreHealth, streams::StreamLimits, tasks::Tasks,
};

/// The whole installation: built complete, shared by cloning.
#[derive(Clone)]
pub struct Hall {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    /// What is known of the store beside it.
    store_record: StoreHealth,
    /// Its backups.
    backups: Backups,
    /// What is kept of the disk.
    storage: Storage,
    clock: Clock,
    /// The way to people's files.
    reaching: FileIoPool,
    blobs: Arc<Blobs>,
    /// Who may change which file at a time.
    gate: files::FileLocks,
    runtimes: Arc<Registry>,
    launching: LaunchConfig,
    /// Agents' processes that run.
    processes: sessions::AgentProcesses,
    /// Sessions with something to do.
    live: sessions::LiveSessions,
    data_dir: PathBuf,
    /// Where agents keep what is theirs.
    places: AgentFolders,
    watching: Arc<FolderWatcher>,
    /// The local browser.
    browser: browser::BrowserHandle,
    commands: Arc<commands::CommandCache>,
    followed: Arc<session_tasks::FollowedSessions>,
    log_id: LogId,
    /// How people are told apart, with what the mode needs for it.
    door: AuthState,
    passwords: PasswordHasher,
    attempts: AttemptLimiter,
    started_at: Timestamp,
    signals: broadcast::Sender<Signal>,
    streams: streams::OpenStreams,
    /// The keepers of the agents that run, by which connections are told to be an agent's.
    trees: ProcessTrees,
    /// Tells the chore of canvas locks that somebody edits.
    editing: Notify,
    /// Makes the digests of what people decide on.
    digests: ApprovalDigests,
    /// Keeps the secrets of tool servers.
    seal: Seal,
    /// Makes and reads the tokens in addresses of served folders and previews.
    grants: Arc<AddressTokens>,
    /// The dev servers that can be looked at.
    previews: workbench::previews::Previews,
    /// What the files of tool servers hold.
    hashes: Arc<HashCache>,
    /// The way to other servers, once it was needed.
    outgoing: OnceCell<HttpClient>,
    /// Where it never leads.
    own_ports: ListenerPorts,
    /// The way to the cloud link.
    cloud: cloud::CloudLinkHandle,
    /// The ways to the services of connectors, once they were needed.
    services: OnceCell<ServiceClients>,
    /// Who waits for the test of a tool server.
    testing: mcp_servers::TestQueues,
    /// The connections to tool servers.
    gateways: mcp_gateway::McpConnections,
    /// Which tokens of tool servers are being replaced.
    refreshing: mcp_signins::TokenRefreshes,
    /// Which credentials of connections are being renewed.
    renewing: connectors::CredentialRenewals,
    /// The agents that wait for a person's answer.
    waiting: ResponseWaiters,
    /// The gated requests that wait for a person's word.
    holds: approvals::HeldRequests,
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
    pub fn started_at(&self) -> Timestamp {
        self.inner.started_at
    }

    /// How the owner and other people are told apart.
    pub fn mode(&self) -> AuthMode {
        match self.inner.door {
            AuthState::Local { .. } => AuthMode::Local,
            AuthState::Login { .. } => AuthMode::Login,
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
    pub fn written(&self) -> WriteCounts {
        self.inner.store.write_counts()
    }

    /// Reads nothing from the store, to see that it answers; a damaged one counts as none.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn store_answers(&self) -> Result<()> {
        self.require_undamaged_store()?;
        self.store().read(|_| Ok(())).await.map(|_| ())
    }

    fn store(&self) -> &Store {
        &self.inner.store
    }

    fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    fn new_id<T>(make: fn([u8; 16]) -> T) -> T {
        make(guildhall_world::ids::new().into_bytes())
    }

    fn assemble(parts: start::HallParts, limits: StreamLimits) -> Self {
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
                reaching: FileIoPool::new(parts.confined, parts.journals),
                blobs: Arc::new(parts.blobs),
                gate: files::FileLocks::default(),
                runtimes: Arc::new(parts.runtimes),
                launching: parts.launching,
                processes: sessions::AgentProcesses::default(),
                live: sessions::LiveSessions::default(),
                data_dir: parts.data_dir,
                places: parts.places,
                watching: Arc::default(),
                browser: parts.browser,
                commands: Arc::default(),
                followed: Arc::default(),
                log_id: parts.log_id,
                door: parts.door,
                passwords: PasswordHasher::new(),
                attempts: AttemptLimiter::default(),
                started_at: parts.started_at,
                signals,
                streams: streams::OpenStreams::new(limits),
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
                testing: mcp_servers::TestQueues::default(),
                gateways: mcp_gateway::McpConnections::default(),
                refreshing: mcp_signins::TokenRefreshes::default(),
                renewing: connectors::CredentialRenewals::default(),
                waiting: ResponseWaiters::default(),
                holds: approvals::HeldRequests::default(),
                turning: Notify::new(),
                tasks: Tasks::default(),
            }),
        }
    }
}

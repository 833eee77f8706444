//! The start: opens the hall, and at the first start makes what every installation has.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use guildhall_domain::{
    Error, Fault, Refusal, Result, Timestamp,
    authors::{Author, AuthorKind, Handle, RESERVED_WORDS, SYSTEM_HANDLE},
    cloud::urls::CloudUrl,
    errors::FaultKind,
    events::Event,
    ids::{AuthorId, LogId, RoomId},
    limits,
    rooms::{LimitOverrides, Room, RoomKind, TEAM, TURN_LIMITS_DEFAULT},
    runtimes::RuntimeProfile,
    settings::{CLOUD_URL, FILES_ROOTS},
};
use guildhall_store::{
    CheckDepth, Store, Tx, accounts, authors, installation, rooms,
    settings::{self, ConfiguredSettings},
    write_ahead_log,
};
use guildhall_world::{
    address_tokens::AddressTokens, agent_folders::AgentFolders, backups::BackupFiles, blobs::Blobs,
    clock::Clock, confined_fs::ConfinedFs, data_dir, digests::ApprovalDigests,
    file_saving::Journals, http_client::ListenerPorts, os_users, runtime_programs::ProgramSearch,
    seal::Seal, setup_code,
};

use crate::{
    Hall, backups,
    browser::{BrowserConfig, BrowserHandle},
    cloud::CloudLinkHandle,
    launch_config::LaunchConfig,
    members,
    retention::EventRetention,
    runtimes::Registry,
    sessions,
    store_checks::{self, StoreHealth},
    streams::StreamLimits,
};

/// What a hall is opened with.
pub struct HallConfig {
    /// The data folder, already locked.
    pub data_dir: PathBuf,
    /// The database file in it.
    pub database: PathBuf,
    /// Where "now" comes from.
    pub clock: Clock,
    /// The folders agents may work beneath, unless a setting names others.
    pub roots: Vec<PathBuf>,
    /// The runtimes there can be.
    pub runtimes: Vec<RuntimeProfile>,
    /// Where their programs are looked for.
    pub programs: ProgramSearch,
    /// What agents are started with.
    pub launching: LaunchConfig,
    /// Where agents keep what is theirs.
    pub places: AgentFolders,
    /// How people are told apart.
    pub auth: AuthConfig,
    /// The settings that file, environment and flags name.
    pub configured: ConfiguredSettings,
    /// How many streams may be open.
    pub streams: StreamLimits,
    /// How long events are kept.
    pub retention: EventRetention,
    /// Where previews of dev servers are listened for.
    pub previews: PreviewListenerConfig,
    /// The ports the server itself listens on, to which nothing that goes out leads.
    pub own_ports: ListenerPorts,
    /// How the local browser is started and kept.
    pub browser: BrowserConfig,
}

/// Where previews are listened for.
#[derive(Clone, Debug)]
pub struct PreviewListenerConfig {
    /// The addresses the server itself listens on.
    pub addresses: Vec<IpAddr>,
    /// The port of the server itself.
    pub port: u16,
    /// How long a preview stays open that nobody looks at.
    pub idle: Duration,
    /// How long a dev server may take to begin its answer, once it has the request.
    pub head_wait: Duration,
    /// How long one half of a WebSocket outlives the other.
    pub half_wait: Duration,
}

impl PreviewListenerConfig {
    /// Those of a server that listens on `urls` and `port`.
    pub fn new(addresses: Vec<IpAddr>, port: u16) -> Self {
        Self {
            addresses,
            port,
            idle: Duration::from_secs(limits::PREVIEW_IDLE_S),
            head_wait: Duration::from_secs(limits::UPSTREAM_HEAD_MAX_S),
            half_wait: Duration::from_secs(limits::PREVIEW_HALF_MAX_S),
        }
    }
}

/// How the owner and other people are told apart.
#[derive(Clone, Copy, Debug)]
pub enum AuthConfig {
    /// By the OS user of a loopback connection.
    Local,
    /// By accounts.
    Login {
        /// The digest of the token that the discovery file holds.
        local_token: [u8; 32],
    },
}

/// What the mode needs to tell people apart.
pub(crate) enum AuthState {
    /// Mode `local`.
    Local {
        /// The owner's author.
        owner: AuthorId,
    },
    /// Mode `login`.
    Login {
        /// The digest of the token that the discovery file holds.
        local_token: [u8; 32],
        /// The digest of the setup code, when the server started without any account.
        setup_code: Option<[u8; 32]>,
    },
}

pub(crate) struct HallParts {
    pub(crate) store: Store,
    pub(crate) store_record: StoreHealth,
    pub(crate) backups: BackupFiles,
    pub(crate) clock: Clock,
    pub(crate) confined: ConfinedFs,
    pub(crate) blobs: Blobs,
    pub(crate) journals: Journals,
    pub(crate) runtimes: Registry,
    pub(crate) digests: ApprovalDigests,
    pub(crate) seal: Seal,
    pub(crate) grants: AddressTokens,
    pub(crate) previews: PreviewListenerConfig,
    pub(crate) own_ports: ListenerPorts,
    pub(crate) browser: BrowserHandle,
    pub(crate) cloud: CloudLinkHandle,
    pub(crate) launching: LaunchConfig,
    pub(crate) data_dir: PathBuf,
    pub(crate) places: AgentFolders,
    pub(crate) log_id: LogId,
    pub(crate) door: AuthState,
    pub(crate) started_at: Timestamp,
}

impl Hall {
    /// Opens the installation; the first start makes the system author and the `team` room, and
    /// the first one in mode `local` the owner's author, unless an account brought it.
    ///
    /// In mode `login` without any account a new setup code is written into the data folder.
    ///
    /// # Errors
    /// A fault when the store or an allowed folder cannot be opened.
    ///
    /// Source: contract 2.1.
    pub async fn open(opening: HallConfig) -> Result<Self, Fault> {
        let HallConfig {
            data_dir,
            database,
            clock,
            roots,
            runtimes,
            programs,
            launching,
            places,
            auth,
            configured,
            streams,
            retention,
            previews,
            own_ports,
            browser,
        } = opening;
        let blobs = Blobs::open(&data_dir)?;
        let journals = Journals::open(&data_dir)?;
        let digests = ApprovalDigests::open(&data_dir)?;
        let seal = Seal::open(&data_dir)?;
        let grants = AddressTokens::open(&data_dir)?;
        let started_at = clock.now();
        let backups = BackupFiles::open(&data_dir)?;
        // Before anything opens the store: whoever opens it first uses its write-ahead log up.
        let loss = write_ahead_log::loss(&database)
            .map_err(|error| Fault::broken("reading the write-ahead log", error))?;
        let loss = loss
            .map(|why| keep_damaged_log(&data_dir, &database, why, started_at))
            .transpose()?;
        backups::before_migration(&backups, &database, started_at)?;
        let store = Store::open(&database)?;
        let newest_seq = *store.head().borrow();
        let own_seal = seal.clone();
        let begun = store
            .write(move |tx| {
                let log_id = match installation::log_id(tx)? {
                    Some(known) => {
                        crate::settings::configure(tx, &configured, started_at)?;
                        known
                    }
                    None => {
                        settings::configure(tx, &configured)?;
                        create_defaults(tx, started_at)?
                    }
                };
                let owner = match (auth, installation::owner(tx)?) {
                    (AuthConfig::Local, None) => Some(make_owner(tx, started_at)?),
                    (AuthConfig::Local | AuthConfig::Login { .. }, known) => known,
                };
                crate::agent_tokens::recover(tx, started_at)?;
                crate::mcp_signins::recover(tx, started_at)?;
                crate::connectors::ensure_scripted_provider(tx, &own_seal, started_at)?;
                crate::connectors::recover(tx, started_at)?;
                let woken = sessions::recover(tx, started_at)?;
                let kept = crate::browser::recover(tx, started_at)?;
                let known = (log_id, owner, accounts::exist(tx)?);
                let roots = settings::get(tx, &FILES_ROOTS)?.value;
                let cloud = settings::get(tx, &CLOUD_URL)?.value;
                Ok((known, (roots, cloud), woken, kept))
            })
            .await;
        let ((log_id, owner, has_accounts), (set_roots, set_cloud), woken, kept) = match begun {
            Ok(begun) => begun,
            Err(error) => return Err(or_damage(&store, as_fault(error)).await),
        };
        let (store_record, check_due) = StoreHealth::open(&data_dir, started_at, newest_seq, loss);
        let set_roots: Vec<PathBuf> = set_roots.texts().iter().map(PathBuf::from).collect();
        let roots = if set_roots.is_empty() {
            roots
        } else {
            set_roots
        };
        let confined = ConfinedFs::open(&roots, places.home.as_deref(), &data_dir)?;
        let door = match (auth, owner) {
            (AuthConfig::Local, Some(owner)) => AuthState::Local { owner },
            (AuthConfig::Local, None) => {
                let why = "the owner's author is missing";
                return Err(Fault::broken("opening the hall", why));
            }
            (AuthConfig::Login { local_token }, _) => AuthState::Login {
                local_token,
                setup_code: setup_code(&data_dir, has_accounts)?,
            },
        };
        let (browser, beginning) = BrowserHandle::new(browser, kept);
        let (cloud, cloud_asked) = CloudLinkHandle::new(CloudUrl::parse(set_cloud.text()).ok());
        let parts = HallParts {
            store,
            store_record,
            backups,
            clock,
            confined,
            blobs,
            journals,
            runtimes: Registry::open(runtimes, programs),
            digests,
            seal,
            grants,
            previews,
            own_ports,
            browser,
            cloud,
            launching,
            data_dir,
            places,
            log_id,
            door,
            started_at,
        };
        let hall = Self::assemble(parts, streams);
        or_damaged(&hall, hall.recover_interactions().await).await?;
        or_damaged(&hall, crate::files::recover(&hall).await).await?;
        crate::retention::start(&hall, retention);
        backups::start(&hall);
        crate::canvas::start(&hall);
        crate::interactions::start(&hall);
        crate::approvals::start(&hall);
        crate::mcp_signins::start(&hall);
        or_damaged(&hall, crate::connectors::start(&hall).await).await?;
        crate::turns::start(&hall);
        crate::file_changes::start(&hall);
        crate::browser::start(&hall, beginning);
        crate::cloud::start(&hall, cloud_asked);
        for session in woken {
            hall.wake_session(session);
        }
        // Behind the writing that every start does: nobody is answered by it, and without it a
        // damaged store could not even be read.
        store_checks::start(&hall, check_due);
        // Behind the notice of what the last run found damaged.
        crate::garbage_collection::start(&hall);
        crate::attachment_checks::start(&hall);
        crate::storage::start(&hall);
        Ok(hall)
    }
}

/// Copies a store aside whose write-ahead log shows a loss, because opening it empties that log;
/// answers what is to be told.
fn keep_damaged_log(
    data_dir: &Path,
    database: &Path,
    loss: &str,
    now: Timestamp,
) -> Result<String, Fault> {
    let folder = data_dir::copy_store_aside(data_dir, database, &format!("{now}-damaged"))
        .map_err(|error| Fault::broken("copying a damaged write-ahead log aside", error))?;
    let folder = folder.display();
    tracing::error!(%folder, loss, "the data as it was found is copied aside");
    Ok(format!("{loss}; the data as it was found is in {folder}"))
}

/// Lets a server start whose store turns out to be damaged: it is read as far as it goes.
async fn or_damaged(hall: &Hall, recovered: Result<()>) -> Result<(), Fault> {
    let Err(error) = recovered else {
        return Ok(());
    };
    let fault = or_damage(hall.store(), as_fault(error)).await;
    if fault.kind != FaultKind::StoreDamaged {
        return Err(fault);
    }
    tracing::error!(error = ?fault, "the start could not settle what the last run left");
    Ok(())
}

/// The damage behind a fault of the store, where a check of the whole file finds some: the first
/// sign of it may be a row that is missing, and whoever starts the server has to hear what to do.
async fn or_damage(store: &Store, fault: Fault) -> Fault {
    if fault.kind != FaultKind::Broken {
        return fault;
    }
    match store.check(CheckDepth::Whole).await {
        Err(damage) if damage.kind == FaultKind::StoreDamaged => damage,
        Ok(()) | Err(_) => fault,
    }
}

fn as_fault(error: Error) -> Fault {
    match error {
        Error::Fault(fault) => fault,
        other => Fault::broken("opening the hall", format!("{other:?}")),
    }
}

/// A new code for the first account; the file of an older one goes when there is an account.
fn setup_code(data_dir: &Path, has_accounts: bool) -> Result<Option<[u8; 32]>, Fault> {
    if has_accounts {
        setup_code::remove(data_dir)
            .map_err(|error| Fault::broken("removing the setup code", error))?;
        return Ok(None);
    }
    Ok(Some(setup_code::create(data_dir)?.digest()))
}

fn create_defaults(tx: &mut Tx<'_>, now: Timestamp) -> Result<LogId> {
    let log_id = Hall::new_id(LogId::from_bytes);
    installation::set_log_id(tx, log_id)?;
    add_system_author(tx, now)?;
    add_team(tx, now)?;
    Ok(log_id)
}

/// Makes the owner's author from the OS user's name, a member of `team`.
fn make_owner(tx: &mut Tx<'_>, now: Timestamp) -> Result<AuthorId> {
    let owner = author(AuthorKind::Human, os_users::own_display_name());
    authors::insert(tx, &owner)?;
    installation::set_owner(tx, owner.id)?;
    let team = rooms::team(tx)?;
    members::join(tx, None, team, &owner, None, now)?;
    Ok(owner.id)
}

fn add_system_author(tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
    let system = author(AuthorKind::System, "guildhall".to_owned());
    authors::insert(tx, &system)?;
    authors::take_handle(tx, system.id, &parse_handle(SYSTEM_HANDLE)?, now)?;
    for word in RESERVED_WORDS {
        authors::reserve_handle(tx, system.id, &parse_handle(word)?, now)?;
    }
    Ok(())
}

fn add_team(tx: &mut Tx<'_>, now: Timestamp) -> Result<()> {
    let limits = TURN_LIMITS_DEFAULT;
    let team = Room {
        id: Hall::new_id(RoomId::from_bytes),
        kind: RoomKind::Channel,
        slug: TEAM.to_owned(),
        title: "Team".to_owned(),
        topic: "Everybody here, people and agents".to_owned(),
        archived: false,
        ambient_max_entries: limits::AMBIENT_ENTRIES_DEFAULT,
        well_known: TEAM.to_owned(),
        fallback_seat_author_id: None,
        turn_limits_enabled: limits.turn_limits_enabled,
        max_agent_depth: limits.max_agent_depth,
        max_turns_per_agent_per_cascade: limits.max_turns_per_agent_per_cascade,
        max_auto_turns_per_hour: limits.max_auto_turns_per_hour,
        limit_overrides: LimitOverrides::default(),
        created_at: now,
        last_activity_at: now,
        bridge: None,
    };
    rooms::insert(tx, &team, Some(&team.title), false)?;
    tx.append(now, None, &Event::RoomCreated { room: team })?;
    Ok(())
}

fn author(kind: AuthorKind, display_name: String) -> Author {
    Author::new(Hall::new_id(AuthorId::from_bytes), kind, display_name)
}

fn parse_handle(word: &str) -> Result<Handle> {
    Ok(Handle::parse(word)?.ok_or(Refusal::HandleReserved)?)
}

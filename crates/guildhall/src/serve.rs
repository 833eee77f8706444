//! `guildhall serve`: wires the floors together, starts, and stops in good order.

mod error;

use std::{
    io::ErrorKind,
    mem::ManuallyDrop,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitCode},
    sync::Arc,
    time::{Duration, Instant},
};

use guildhall_domain::{
    Error, Fault,
    callers::AuthMode,
    port_ranges::ReservedPorts,
    settings::{ALLOWED_HOSTS, ALLOWED_ORIGINS, TRUSTED_PROXIES},
    trusted_proxies::TrustedProxies,
};
use guildhall_hall::{
    AuthConfig, Clock, Hall, HallConfig, PreviewListenerConfig,
    browser::BrowserConfig,
    launch_config::LaunchConfig,
    peer_lookup::{self, PeerLookup},
    restore,
    retention::EventRetention,
};
use guildhall_http::{
    guards::Guards,
    listener::{AgentListenerMetrics, Listener},
    metrics::Metrics,
    origin::AllowedSources,
    rate_limit::RateLimit,
    routes,
    state::{AboutServer, ServerState},
};
use guildhall_wire::health::PeerCheck;
use guildhall_world::{
    cgroup,
    data_dir::{self, DataDir, DataDirError},
    enclosure::{Enclosure, ProtectedServer},
    http_client::ListenerPorts,
    process_environment,
    process_guard::GuardCommand,
    reserved_ports,
    restores::RestoreRequest,
    secret_tokens::{self, SecretToken},
    setup_code,
};
use serde::Serialize;
use tokio::{
    join,
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
};

use self::error::ServeError;
use crate::{
    config::{Config, PeerCheckMode, ServeArgs},
    runtime_config,
};

/// Runs the server until it is asked to stop.
#[expect(clippy::print_stderr, reason = "a terminal program says why it ends")]
pub(crate) fn run(args: &ServeArgs) -> ExitCode {
    let is_peer_known = peer_lookup::available();
    let outcome = Config::load(args, is_peer_known)
        .map_err(ServeError::from)
        .and_then(|config| run_configured(config, is_peer_known))
        .and_then(|end| match end {
            End::Stop => Ok(()),
            End::Restart => Err(ServeError::Restart(restart())),
        });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("guildhall: {error}");
            ExitCode::from(error.code())
        }
    }
}

/// What comes after the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Nothing.
    Stop,
    /// The next server, which first goes back to a backup.
    Restart,
}

/// How a server ended.
struct Served {
    /// Until when what still runs may come to its end.
    until: Instant,
    end: End,
}

/// Takes this program, with the same arguments, in the place of this process: so nothing of it is
/// left that could touch the data. Answers only when that fails.
fn restart() -> std::io::Error {
    let arguments = || std::env::args_os().skip(1);
    // The program's file may have been replaced by a newer one, which its first argument names.
    let named = std::env::args_os().next();
    let failed = match std::env::current_exe() {
        Ok(program) => Command::new(program).args(arguments()).exec(),
        Err(error) => error,
    };
    named.map_or(failed, |named| Command::new(named).args(arguments()).exec())
}

fn run_configured(config: Config, is_peer_known: bool) -> Result<End, ServeError> {
    start_logging();
    let peer_check = peer_check(&config, is_peer_known)?;
    keep_memory_private();
    raise_descriptor_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    // Never given back by us: the kernel does that with the end of the process, and so behind the
    // last thread that still writes a file. A server that took it earlier would settle that very
    // save.
    let data_dir = ManuallyDrop::new(open_data_dir(&config.data_dir)?);
    let served = runtime.block_on(serve(config, peer_check, &data_dir));
    // What hangs on a disk that does not answer is not waited for beyond the end.
    let rest = |served: &Served| served.until.saturating_duration_since(Instant::now());
    runtime.shutdown_timeout(served.as_ref().map_or(Duration::ZERO, rest));
    served.map(|served| served.end)
}

/// Goes back to a backup where that was asked for or did not come to its end; answers the port
/// that a server which restarts for it had.
fn restore_if_due(data_dir: &DataDir) -> Result<Option<u16>, ServeError> {
    let due = RestoreRequest::read(data_dir.path());
    let due = due.map_err(|source| ServeError::RestoreRequest {
        file: RestoreRequest::file(data_dir.path()),
        source,
        has_data: data_dir.database().exists(),
    })?;
    restore::complete_requested(data_dir, Clock::System.now())
        .map_err(|fault| ServeError::RestoreIncomplete { fault })?;
    if data_dir.restoring().exists() && !data_dir.database().exists() {
        return Err(ServeError::Restoring);
    }
    data_dir.drop_restoring()?;
    Ok(due.and_then(|due| due.port))
}

/// Lets the server that restarts listen where this one did.
fn keep_port(data_dir: &DataDir, port: u16) -> Result<(), ServeError> {
    if let Some(mut request) = RestoreRequest::read(data_dir.path())? {
        request.port = Some(port);
        request.write(data_dir.path())?;
    }
    Ok(())
}

/// Serves until it is asked to stop.
async fn serve(
    config: Config,
    peer_check: PeerCheck,
    data_dir: &DataDir,
) -> Result<Served, ServeError> {
    let port_before = restore_if_due(data_dir)?;
    let mut signals = StopSignals::take()?;
    let mut bind = config.bind;
    if bind.port() == 0 {
        bind.set_port(port_before.unwrap_or(0));
    }
    let reserved = config.reserved;
    let listeners = listen(bind, reserved).await?;
    let address = listeners[0].local_addr()?;
    let for_agents = listen_for_agents(data_dir, reserved).await?;
    let agent_url = format!("http://{}", for_agents.local_addr()?);
    let local_token = match config.mode {
        AuthMode::Local => None,
        AuthMode::Login => Some(secret_tokens::mint(secret_tokens::LOCAL_PREFIX)?),
    };
    let (keeper, environment) = (GuardCommand::own(), process_environment::of_server());
    let around = ProtectedServer {
        data_dir: data_dir.path().to_owned(),
        port: address.port(),
        reserved,
    };
    let enclosure = Enclosure::new(&keeper, around, &environment).await;
    let own_ports = ListenerPorts::default();
    own_ports.add(address.port());
    own_ports.add(for_agents.local_addr()?.port());
    let hall = Hall::open(HallConfig {
        data_dir: data_dir.path().to_owned(),
        database: data_dir.database(),
        clock: Clock::System,
        roots: config.roots,
        runtimes: config.runtimes,
        programs: runtime_config::programs()?,
        launching: LaunchConfig {
            url: format!("http://{}", here(address)),
            agent_url: agent_url.clone(),
            environment,
            keeper,
            enclosure: enclosure.clone(),
            // Not `/proc/self/exe`: it is the agent that starts it, whose program is another.
            bridge: std::env::current_exe()?,
        },
        places: config.places,
        auth: match &local_token {
            None => AuthConfig::Local,
            Some(token) => AuthConfig::Login {
                local_token: token.digest(),
            },
        },
        configured: config.configured,
        streams: config.streams,
        retention: EventRetention::default(),
        previews: PreviewListenerConfig::new(addresses(&listeners)?, address.port()),
        own_ports,
        browser: BrowserConfig {
            executable: config.browser,
            is_unsandboxed: std::env::var_os("GUILDHALL_BROWSER_NO_SANDBOX")
                .is_some_and(|said| said == "1"),
            walled_port: (peer_check != PeerCheck::On).then(|| address.port()),
            ..BrowserConfig::default()
        },
    })
    .await?;
    for failure in enclosure.failures() {
        tracing::warn!("the enclosure of agents: {failure}");
    }
    for problem in hall.enclosure_checks().await.problems() {
        tracing::warn!("{problem}");
    }
    if peer_lookup::own_uid() == 0 {
        tracing::warn!(
            "this server runs as root, and so do its agents: they can change root's files, and \
             get around what keeps them from this server; run it as a user"
        );
    }
    hall.tasks()
        .spawn("enclosure", hall.started_at(), async move {
            cgroup::remove_leftover();
            if let Err(error) = enclosure.prepare().await {
                tracing::warn!(%error, "the enclosure of agents could not be prepared");
            }
        });
    let allowed = allowed(&hall, bind).await?;
    let metrics = Arc::new(Metrics::new().map_err(std::io::Error::other)?);
    let guards = Guards::new(allowed, new_request_id);
    let state = ServerState {
        hall: hall.clone(),
        about: Arc::new(AboutServer {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            port: address.port(),
            peer_check,
            metrics_token: config.metrics_token,
        }),
        metrics: Arc::clone(&metrics),
        rate_limit: Arc::new(RateLimit::default()),
        guards: guards.clone(),
        running: Arc::default(),
    };
    let peers = match peer_check {
        PeerCheck::On => PeerLookup::Kernel(hall.process_trees().clone()),
        PeerCheck::Off | PeerCheck::Unavailable => PeerLookup::Off,
    };
    let routers = routes::routers(state);
    let agents = Listener {
        router: routers.agents,
        guards: guards.clone(),
        limits: config.limits.clone(),
        peers: PeerLookup::AgentListener(Box::new(peers.clone())),
        metrics: Arc::new(AgentListenerMetrics(Arc::clone(&metrics))),
        tasks: hall.tasks().clone(),
    };
    let main = Listener {
        router: routers.main,
        guards,
        limits: config.limits,
        peers,
        metrics,
        tasks: hall.tasks().clone(),
    };
    let grace = main.limits.shutdown_grace;
    let local_token = local_token.map(SecretToken::reveal);
    data_dir.write_discovery_file(&announcement(&hall, address, agent_url, local_token)?)?;
    say_hello(&hello(config.mode, address, data_dir.path()));
    let mut stopping = hall.tasks().stopping();
    join!(
        main.serve(listeners, signals.stop(&hall)),
        agents.serve(vec![for_agents], async move {
            // An error would mean that nobody is left who could stop it otherwise.
            let _ = stopping.wait_for(|stopping| *stopping).await;
        })
    );
    let until = Instant::now() + grace;
    if !hall.tasks().ended(grace).await {
        tracing::warn!("some tasks did not end in time");
    }
    hall.record_clean_shutdown();
    data_dir.remove_discovery_file();
    // Whoever asks the server to stop meanwhile wants no other one.
    if !hall.is_restart_asked() || signals.came().await {
        return Ok(Served {
            until,
            end: End::Stop,
        });
    }
    keep_port(data_dir, address.port())?;
    Ok(Served {
        until,
        end: End::Restart,
    })
}

/// Listens on `bind`, and where other computers alone would reach that, on this one too, so that
/// its own programs find the server.
///
/// Port 0 is one of those that no agent reaches.
async fn listen(bind: SocketAddr, reserved: ReservedPorts) -> Result<Vec<TcpListener>, ServeError> {
    let failed = |bind: SocketAddr| {
        move |source: std::io::Error| match source.kind() {
            // Ports below 1024 take rights everywhere.
            ErrorKind::PermissionDenied if bind.port() == 0 || reserved.contains(bind.port()) => {
                ServeError::Enclosed { bind, source }
            }
            _ => ServeError::Bind { bind, source },
        }
    };
    let first = reserved_ports::listen(bind, reserved)
        .await
        .map_err(failed(bind))?;
    let address = first.local_addr()?;
    let mut listeners = vec![first];
    let here = here(address);
    if !address.ip().is_unspecified() && here != address {
        listeners.push(TcpListener::bind(here).await.map_err(failed(here))?);
    }
    Ok(listeners)
}

/// Listens for agents, on this computer alone; where it did before, unless somebody else does now.
async fn listen_for_agents(
    data_dir: &DataDir,
    reserved: ReservedPorts,
) -> Result<TcpListener, ServeError> {
    let before = data_dir.agent_port();
    let before = match before.filter(|port| !reserved.contains(*port)) {
        Some(port) => {
            let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
            let taken = |error: &std::io::Error| {
                tracing::warn!(port, %error, "another port is used for agents than before");
            };
            bound.inspect_err(taken).ok()
        }
        None => None,
    };
    let listener = match before {
        Some(listener) => listener,
        None => reserved_ports::listen_outside(reserved).await?,
    };
    data_dir.save_agent_port(listener.local_addr()?.port())?;
    Ok(listener)
}

/// The addresses that are listened on; previews are listened for there as well.
fn addresses(listeners: &[TcpListener]) -> std::io::Result<Vec<IpAddr>> {
    let ip = |listener: &TcpListener| Ok(listener.local_addr()?.ip());
    listeners.iter().map(ip).collect()
}

/// Where this computer's own programs reach a server that listens on `address`.
fn here(address: SocketAddr) -> SocketAddr {
    let ip: IpAddr = match address.ip() {
        ip if ip.is_loopback() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    (ip, address.port()).into()
}

/// Which hosts and origins the server answers: where it listens, and what the settings name.
async fn allowed(hall: &Hall, bind: SocketAddr) -> Result<AllowedSources, ServeError> {
    let texts = async |setting| -> Result<Vec<String>, ServeError> {
        let value = hall.setting(setting).await.map_err(refused)?;
        Ok(value.texts().to_vec())
    };
    let mut hosts = texts(&ALLOWED_HOSTS).await?;
    hosts.push(match bind {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    });
    let proxies = texts(&TRUSTED_PROXIES).await?;
    Ok(AllowedSources {
        hosts,
        origins: texts(&ALLOWED_ORIGINS).await?,
        // Settings are checked before they are kept.
        proxies: TrustedProxies::parse(proxies.iter().map(String::as_str)).unwrap_or_default(),
    })
}

fn refused(error: Error) -> ServeError {
    match error {
        Error::Fault(fault) => fault.into(),
        other => Fault::broken("reading a setting", format!("{other:?}")).into(),
    }
}

/// The signals that ask the server to stop; taken before it says that it runs, so that none is
/// missed.
struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    fn take() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for one of them, or for the server to stop by itself; then tells every task and
    /// stream to end.
    async fn stop(&mut self, hall: &Hall) {
        let mut stopping = hall.tasks().stopping();
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            // An error would mean that nobody is left who could stop it otherwise.
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
        tracing::info!("stopping");
        hall.tasks().stop();
    }

    /// Whether one of them came that nobody waited for.
    async fn came(&mut self) -> bool {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => true,
            _ = self.terminate.recv() => true,
            () = std::future::ready(()) => false,
        }
    }
}

fn open_data_dir(path: &Path) -> Result<DataDir, ServeError> {
    DataDir::open(path).map_err(|error| match error {
        DataDirError::InUse(_) => {
            let known = data_dir::read_discovery_file(path)
                .and_then(|json| serde_json::from_str::<serde_json::Value>(&json).ok())
                .and_then(|server| server.get("url")?.as_str().map(str::to_owned));
            let place = known.map(|url| format!(" at {url}")).unwrap_or_default();
            ServeError::InUse(format!("{error}{place}"))
        }
        DataDirError::Io { .. } => ServeError::DataDir(error),
    })
}

fn peer_check(config: &Config, is_peer_known: bool) -> Result<PeerCheck, ServeError> {
    let check = match config.peer_check {
        PeerCheckMode::Off => PeerCheck::Off,
        PeerCheckMode::Auto | PeerCheckMode::Required if is_peer_known => PeerCheck::On,
        PeerCheckMode::Required => return Err(ServeError::NoPeerCheck),
        PeerCheckMode::Auto => PeerCheck::Unavailable,
    };
    if check == PeerCheck::Unavailable {
        tracing::warn!(
            "this system cannot tell whose a connection is: {}",
            match config.mode {
                AuthMode::Local => "every program of this computer counts as the owner",
                AuthMode::Login => "people sign in",
            }
        );
    }
    Ok(check)
}

/// What the discovery file says. Source: contract 1.13.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Announcement {
    url: String,
    agent_url: String,
    pid: u32,
    started_at: String,
    version: &'static str,
    mode: &'static str,
    log_id: String,
    local_token: Option<String>,
}

fn announcement(
    hall: &Hall,
    address: SocketAddr,
    agent_url: String,
    local_token: Option<String>,
) -> Result<String, ServeError> {
    let announcement = Announcement {
        url: format!("http://{}", here(address)),
        agent_url,
        pid: std::process::id(),
        started_at: hall.started_at().to_string(),
        version: env!("CARGO_PKG_VERSION"),
        mode: hall.mode().as_str(),
        log_id: hall.log_id().to_string(),
        local_token,
    };
    Ok(serde_json::to_string(&announcement).map_err(std::io::Error::other)?)
}

/// What a person at the terminal has to know.
fn hello(mode: AuthMode, address: SocketAddr, data_dir: &Path) -> String {
    let mut lines = vec![
        format!("guildhall runs at http://{}", here(address)),
        format!("  data   {}", data_dir.display()),
    ];
    lines.push(match mode {
        AuthMode::Local => {
            "  auth   local: whoever runs as your user on this computer is the owner".to_owned()
        }
        AuthMode::Login => "  auth   login: people sign in".to_owned(),
    });
    if let Some(code) = setup_code::read(data_dir).filter(|_| mode == AuthMode::Login) {
        lines.push(format!(
            "  setup  make the owner's account with the code {code}"
        ));
    }
    if !address.ip().is_loopback() {
        lines.push(format!(
            "  warn   {address} speaks plain http: whoever is on the network between can read \
             passwords; put a proxy that speaks https before it"
        ));
    }
    if address.ip().is_unspecified() {
        let hosts = "  note   it answers to names in server.allowedHosts alone, beside localhost";
        lines.push(hosts.to_owned());
    }
    lines.push("Press Ctrl+C to stop.\n".to_owned());
    lines.join("\n")
}

/// Says where the server runs; a reader that hung up does not stop it.
fn say_hello(hello: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    if out
        .write_all(hello.as_bytes())
        .and_then(|()| out.flush())
        .is_err()
    {
        tracing::debug!("nobody reads the standard output");
    }
}

fn start_logging() {
    let mut filter = tracing_subscriber::EnvFilter::try_from_env("GUILDHALL_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    // They write whole messages, which may hold anything, such as what somebody types.
    for silence in ["rmcp=off", "tungstenite=off", "tokio_tungstenite=off"] {
        if let Ok(silence) = silence.parse() {
            filter = filter.add_directive(silence);
        }
    }
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
}

fn new_request_id() -> String {
    guildhall_world::ids::new().to_string()
}

/// Other programs of this user shall not read tokens out of this process.
fn keep_memory_private() {
    #[cfg(target_os = "linux")]
    if rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .is_err()
    {
        tracing::warn!("the process's memory could not be made private");
    }
}

/// Takes as many descriptors as the system allows: each connection is one.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if setrlimit(Resource::Nofile, raised).is_err() {
        tracing::warn!(current = ?limit.current, "the limit of open descriptors could not be raised");
    }
}

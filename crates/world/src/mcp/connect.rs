//! Connecting to a server: how it begins is found out, and both sides of a program are driven
//! until it has ended.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use guildhall_domain::limits::{MCP_RESULT_BYTES_MAX, MCP_STDERR_KEPT_BYTES, MCP_STOP_GRACE_S};
use rmcp::{
    Peer, RoleClient,
    model::{
        CancelledNotification, CancelledNotificationParam, ProtocolVersion, RequestId,
        SubscriptionFilter,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle,
    },
    transport::streamable_http_client::{
        StreamableHttpClientTransportConfig, StreamableHttpClientWorker,
    },
};
use tokio::{
    sync::{Mutex as WaitingMutex, mpsc, oneshot, watch},
    time::timeout,
};

use super::{
    ClientCallbacks, ConnectOptions, ConnectedServer, ConnectionDriver, ConnectionEnd,
    InitializeMode, InitializedServer, McpClient, McpError, RawNotifications, ServerTarget,
    client::ClientState,
    http_endpoint::HttpEndpoint,
    raw_message_tap::RawMessageTap,
    server_requests::ServerRequestHandler,
    sse_transport::SseTransport,
    stdio_transport::{StdioTransport, TransportFault},
    streamable_http::HttpTransportClient,
};
use crate::{
    guarded_process::{GuardedLaunch, GuardedProcess},
    secret_tokens,
    stderr_tail::StderrTail,
};

/// Bytes of one message: a result and what stands around it.
pub(super) const MESSAGE_BYTES_MAX: usize = MCP_RESULT_BYTES_MAX + 16 * 1_024;
/// How long a server may say nothing to the question of newer revisions before it counts as one
/// that wants to be greeted.
const PROBE_WAIT: Duration = Duration::from_secs(2);
/// How long an orderly goodbye may take.
pub(super) const CLOSE_WAIT: Duration = Duration::from_secs(3);
/// How long the end of a program is waited for to explain why it does not speak.
const REASON_WAIT: Duration = Duration::from_millis(500);
/// How long nothing is asked after a subscription ended.
const LISTEN_PAUSE: Duration = Duration::from_secs(5);
/// Questions that wait to be taken back.
const TAKEN_BACK_MAX: usize = 64;
/// The exit code of a keeper that could not start what it should keep.
const NOT_STARTED: i32 = 127;
/// The variable by which what a program left behind is found; see [`GuardedLaunch::mark`].
const MARK: &str = "GUILDHALL_KEPT_BY";

type RmcpService = RunningService<RoleClient, ServerRequestHandler>;

/// Connects to a server and greets it, where it wants that.
///
/// Without a known lifecycle it is found out: the question of newer revisions first, and the
/// greeting when that is not understood or not answered within two seconds. A known one that
/// turns out to be wrong is found out anew. Both may start a program a second time.
///
/// # Errors
/// See [`McpError`]; [`McpError::Timeout`] after `greeting.within`.
pub async fn connect(
    target: &ServerTarget,
    hooks: ClientCallbacks,
    greeting: ConnectOptions,
) -> Result<ConnectedServer, McpError> {
    let connecting = async {
        let first = attempt(target, hooks.clone(), greeting.lifecycle).await;
        let (error, is_late_direct) = match first {
            Ok(connected) => return Ok(connected),
            Err(failed) => failed,
        };
        match second(target, greeting.lifecycle, &error, is_late_direct) {
            Some(lifecycle) => {
                let again = attempt(target, hooks, lifecycle).await;
                again.map_err(|(error, _)| error)
            }
            None => Err(error),
        }
    };
    let connected = timeout(greeting.within, connecting).await;
    connected.unwrap_or(Err(McpError::Timeout))
}

/// How to try once more, where that may help.
fn second(
    target: &ServerTarget,
    tried: Option<InitializeMode>,
    error: &McpError,
    is_late_direct: bool,
) -> Option<Option<InitializeMode>> {
    let is_misunderstood = matches!(
        error,
        McpError::Refused { .. } | McpError::Protocol(_) | McpError::Ended { .. }
    );
    match (target, tried) {
        (ServerTarget::Sse(_), _) => None,
        (_, None) if is_late_direct => Some(Some(InitializeMode::Direct)),
        // It may have fallen over the question, or said yes to what it did not understand.
        (_, None) if matches!(error, McpError::Ended { .. } | McpError::Protocol(_)) => {
            Some(Some(InitializeMode::Handshake))
        }
        (_, Some(_)) if is_misunderstood => Some(None),
        _ => None,
    }
}

/// One attempt; when it fails, also whether the server turned out to want no greeting.
async fn attempt(
    target: &ServerTarget,
    hooks: ClientCallbacks,
    lifecycle: Option<InitializeMode>,
) -> Result<ConnectedServer, (McpError, bool)> {
    let ear = Arc::new(RawMessageTap::default());
    let answers = ServerRequestHandler::new(hooks, Arc::clone(&ear));
    let wires = ConnectionParts::new(ear, answers);
    let ear = Arc::clone(&wires.ear);
    let connected = match target {
        ServerTarget::Stdio { .. } => over_pipes(target, wires, lifecycle).await,
        ServerTarget::Http(address) => match HttpEndpoint::of(address) {
            Ok(site) => over_http(site, &address.url, wires, lifecycle).await,
            Err(error) => Err(error),
        },
        ServerTarget::Sse(address) => match HttpEndpoint::of(address) {
            Ok(site) => over_two_endpoints(site, wires).await,
            Err(error) => Err(error),
        },
    };
    connected.map_err(|error| (error, ear.is_late_direct.load(Ordering::Acquire)))
}

/// What the parts of one connection share.
#[derive(Clone)]
struct ConnectionParts {
    ear: Arc<RawMessageTap>,
    answers: ServerRequestHandler,
    stop: Arc<watch::Sender<bool>>,
    is_asked: Arc<AtomicBool>,
    ended: Arc<watch::Sender<Option<ConnectionEnd>>>,
}

impl ConnectionParts {
    fn new(ear: Arc<RawMessageTap>, answers: ServerRequestHandler) -> Self {
        Self {
            ear,
            answers,
            stop: Arc::new(watch::Sender::new(false)),
            is_asked: Arc::default(),
            ended: Arc::new(watch::Sender::new(None)),
        }
    }

    /// Talks until either side ends; tells `begun` how the beginning went.
    async fn talk(
        self,
        serving: impl Future<Output = Result<RmcpService, ClientInitializeError>>,
        begun: oneshot::Sender<Result<StartedService, McpError>>,
    ) {
        match serving.await {
            Ok(service) => {
                let (taken_back, taken) = mpsc::channel(TAKEN_BACK_MAX);
                let peer = service.peer().clone();
                // Nobody waits any more: the stop comes with it.
                let _ = begun.send(Ok(StartedService { peer, taken_back }));
                self.hold(service, taken).await;
            }
            Err(error) => {
                let _ = begun.send(Err(McpError::of_start(&error)));
            }
        }
        self.ear.is_over();
        self.stop.send_replace(true);
    }

    async fn hold(&self, service: RmcpService, mut taken: mpsc::Receiver<RequestId>) {
        let peer = service.peer().clone();
        let token = service.cancellation_token();
        let mut stop = self.stop.subscribe();
        let mut listening = pin!(listen(&peer, &self.ear));
        let mut waiting = pin!(service.waiting());
        let mut takings = FuturesUnordered::new();
        loop {
            tokio::select! {
                _ = waiting.as_mut() => return,
                () = told(&mut stop) => break,
                Some(id) = taken.recv() => takings.push(take_back(&peer, id)),
                Some(()) = takings.next() => {}
                () = listening.as_mut() => {}
            }
        }
        token.cancel();
        // What does not say goodbye in time is cut off.
        let _ = timeout(CLOSE_WAIT, waiting).await;
    }

    fn end(&self, ended: &ConnectionEnd) {
        self.ear.is_over();
        self.ended.send_replace(Some(ended.clone()));
    }

    /// What stands once the beginning went well.
    fn connected(
        self,
        begun: StartedService,
        keeper_pid: Option<u32>,
        running: ConnectionDriver,
    ) -> ConnectedServer {
        let notices = RawNotifications::of(&self.ear);
        let inner = ClientState {
            server: said(&begun.peer),
            peer: begun.peer,
            answers: self.answers,
            keeper_pid,
            stop: self.stop,
            is_asked: self.is_asked,
            ended: self.ended,
            taken_back: begun.taken_back,
        };
        ConnectedServer {
            client: McpClient {
                inner: Arc::new(inner),
            },
            notices,
            running,
        }
    }
}

/// Waits until the connection shall end.
async fn told(stop: &mut watch::Receiver<bool>) {
    // An error means that nobody is left who could ask anything, which is a stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

struct StartedService {
    peer: Peer<RoleClient>,
    taken_back: mpsc::Sender<RequestId>,
}

async fn take_back(peer: &Peer<RoleClient>, id: RequestId) {
    let why = Some("nobody waits for it any more".to_owned());
    let params = CancelledNotificationParam::new(Some(id), why);
    let cancelled = CancelledNotification::new(params);
    // A server that cannot be told has ended, or works on for nothing.
    let _ = timeout(CLOSE_WAIT, peer.send_notification(cancelled.into())).await;
}

/// Has a server without a greeting say when its lists change; never ends.
async fn listen(peer: &Peer<RoleClient>, ear: &RawMessageTap) {
    let info = peer.peer_info();
    let filter = info
        .as_deref()
        .filter(|info| !info.protocol_version.has_initialize())
        .and_then(|info| filter(&serde_json::to_value(&info.capabilities).unwrap_or_default()));
    let Some(filter) = filter else {
        return std::future::pending().await;
    };
    let mut is_again = false;
    loop {
        if let Ok(mut subscription) = peer.listen(filter.clone()).await {
            if is_again {
                // Nobody knows what changed meanwhile.
                ear.observe(r#"{"method":"notifications/tools/list_changed"}"#);
            }
            // What is said is heard already, in its order.
            while let Ok(Some(_)) = subscription.next().await {}
        }
        is_again = true;
        let _ = timeout(LISTEN_PAUSE, std::future::pending::<()>()).await;
    }
}

/// What is worth listening to; `None` when nothing is.
fn filter(capabilities: &serde_json::Value) -> Option<SubscriptionFilter> {
    let changes = |list: &str| (capabilities[list]["listChanged"] == true).then_some(true);
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = changes("tools");
    filter.prompts_list_changed = changes("prompts");
    filter.resources_list_changed = changes("resources");
    let is_empty = filter.tools_list_changed.is_none()
        && filter.prompts_list_changed.is_none()
        && filter.resources_list_changed.is_none();
    (!is_empty).then_some(filter)
}

fn said(peer: &Peer<RoleClient>) -> InitializedServer {
    let info = peer.peer_info();
    let info = info.as_deref();
    let own = info.and_then(|info| info.server_info.as_ref());
    let version = info.map(|info| &info.protocol_version);
    InitializedServer {
        name: own.map(|own| own.name.clone()).unwrap_or_default(),
        version: own.map(|own| own.version.clone()).unwrap_or_default(),
        revision: version.map(ToString::to_string).unwrap_or_default(),
        lifecycle: if version.is_none_or(ProtocolVersion::has_initialize) {
            InitializeMode::Handshake
        } else {
            InitializeMode::Direct
        },
        capabilities: info
            .and_then(|info| serde_json::to_value(&info.capabilities).ok())
            .unwrap_or_default(),
        instructions: info
            .and_then(|info| info.instructions.clone())
            .unwrap_or_default(),
    }
}

fn mode(lifecycle: Option<InitializeMode>) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match lifecycle {
        Some(InitializeMode::Handshake) => ClientLifecycleMode::Initialize,
        Some(InitializeMode::Direct) => ClientLifecycleMode::Discover { preferred_versions },
        None => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: None,
        },
    }
}

/// How long the question of newer revisions may stay without an answer.
fn patience(lifecycle: Option<InitializeMode>) -> Duration {
    // One that is known to want no greeting gets all the time there is.
    lifecycle.map_or(PROBE_WAIT, |_| Duration::MAX)
}

async fn over_http(
    site: HttpEndpoint,
    url: &str,
    wires: ConnectionParts,
    lifecycle: Option<InitializeMode>,
) -> Result<ConnectedServer, McpError> {
    let fault = TransportFault::default();
    let talk = HttpTransportClient {
        site,
        ear: Arc::clone(&wires.ear),
        fault: Arc::clone(&fault),
        patience: patience(lifecycle),
    };
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let worker = StreamableHttpClientWorker::new(talk, config);
    let serving = serve_client_with_lifecycle(wires.answers.clone(), worker, mode(lifecycle));
    let connected = without_process(wires, serving).await;
    connected.map_err(|error| match error {
        McpError::Ended { .. } => taken(&fault).unwrap_or(error),
        error => error,
    })
}

fn taken(fault: &TransportFault) -> Option<McpError> {
    fault.lock().unwrap_or_else(PoisonError::into_inner).take()
}

async fn over_two_endpoints(
    site: HttpEndpoint,
    wires: ConnectionParts,
) -> Result<ConnectedServer, McpError> {
    let transport = SseTransport::open(site, Arc::clone(&wires.ear)).await?;
    let mode = mode(Some(InitializeMode::Handshake));
    let serving = serve_client_with_lifecycle(wires.answers.clone(), transport, mode);
    without_process(wires, serving).await
}

async fn without_process(
    wires: ConnectionParts,
    serving: impl Future<Output = Result<RmcpService, ClientInitializeError>> + Send + 'static,
) -> Result<ConnectedServer, McpError> {
    let (begun, beginning) = oneshot::channel();
    let talk = wires.clone().talk(serving, begun);
    let own = wires.clone();
    let mut running = ConnectionDriver(Box::pin(async move {
        talk.await;
        let ended = ConnectionEnd {
            is_asked: own.is_asked.load(Ordering::Acquire),
            ..ConnectionEnd::default()
        };
        own.end(&ended);
        ended
    }));
    let begun = begin(&mut running, beginning).await?;
    Ok(wires.connected(begun, None, running))
}

/// Drives a connection until its beginning is over.
async fn begin(
    running: &mut ConnectionDriver,
    beginning: oneshot::Receiver<Result<StartedService, McpError>>,
) -> Result<StartedService, McpError> {
    let mut beginning = pin!(beginning);
    tokio::select! {
        biased;
        begun = beginning.as_mut() => begun.unwrap_or_else(|_| Err(McpError::ended())),
        ended = &mut *running => Err(McpError::Ended {
            code: ended.code,
            stderr: ended.stderr,
        }),
    }
}

async fn over_pipes(
    target: &ServerTarget,
    wires: ConnectionParts,
    lifecycle: Option<InitializeMode>,
) -> Result<ConnectedServer, McpError> {
    let ServerTarget::Stdio {
        program,
        name,
        args,
        env,
        cwd,
        keeper,
        enclosure,
        agent,
        trees,
    } = target
    else {
        return Err(McpError::NotFound);
    };
    let not_started = |why: String| McpError::NotStarted(why);
    let secret = secret_tokens::random::<16>("marking a process");
    let secret = secret.map_err(|fault| not_started(fault.to_string()))?;
    let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut env = env.clone();
    env.push((MARK.to_owned(), secret.clone()));
    let start = GuardedLaunch {
        program,
        name: name.as_deref(),
        args,
        cwd,
        env: &env,
        keeper,
        enclosure,
        whose: (*agent).into(),
        trees,
        mark: Some(format!("{MARK}={secret}")),
        grace: Duration::from_secs(MCP_STOP_GRACE_S),
        is_at_pipes: false,
    };
    let (process, pipes) = GuardedProcess::start(&start)
        .await
        .map_err(|error| not_started(error.to_string()))?;
    let pid = process.pid();
    let input = Arc::new(WaitingMutex::new(Some(pipes.stdin)));
    let fault = TransportFault::default();
    let transport = StdioTransport::new(
        pipes.stdout,
        Arc::clone(&input),
        Arc::clone(&wires.ear),
        wires.stop.subscribe(),
        Arc::clone(&fault),
        patience(lifecycle),
    );
    let answers = wires.answers.clone();
    let serving = serve_client_with_lifecycle(answers, transport, mode(lifecycle));
    let (begun, beginning) = oneshot::channel();
    let own = wires.clone();
    let mut running = ConnectionDriver(Box::pin(async move {
        let tail = StderrTail::keeping(MCP_STDERR_KEPT_BYTES);
        let talking = own.clone().talk(serving, begun);
        let mut asked = own.stop.subscribe();
        let talk = async {
            let mut talking = pin!(talking);
            tokio::select! {
                () = talking.as_mut() => {}
                () = told(&mut asked) => {
                    // The program hears of it at once; what is said to others may wait.
                    input.lock().await.take();
                    talking.await;
                }
            }
            // Whoever still writes gives up, because the stop is told.
            input.lock().await.take();
        };
        let over = process.wait_until_ended(talk, || own.ear.is_over(), &tail, pipes.stderr);
        let over = over.await;
        let ended = ConnectionEnd {
            code: over.code,
            stderr: tail.text(),
            is_asked: own.is_asked.load(Ordering::Acquire),
        };
        own.end(&ended);
        ended
    }));
    match begin(&mut running, beginning).await {
        Ok(begun) => Ok(wires.connected(begun, Some(pid), running)),
        Err(error) => Err(why(error, running, &fault).await),
    }
}

/// Why a program does not speak, as well as can be told.
async fn why(error: McpError, running: ConnectionDriver, fault: &TransportFault) -> McpError {
    if let Some(fault) = taken(fault) {
        return fault;
    }
    let McpError::Ended { code, stderr } = error else {
        return error;
    };
    let (code, stderr) = match code {
        Some(code) => (Some(code), stderr),
        // Else it lives on, and is ended by being let go.
        None => match timeout(REASON_WAIT, running).await {
            Ok(ended) => (ended.code, ended.stderr),
            Err(_) => (None, stderr),
        },
    };
    match code {
        Some(NOT_STARTED) => McpError::NotFound,
        code => McpError::Ended { code, stderr },
    }
}

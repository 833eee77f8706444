//! The hall under test: opened in a folder of its own, stopped and started again at will.

mod caller_kinds;
mod options;

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

pub use self::options::HallOptions;
use guildhall_domain::{
    Timestamp,
    callers::AuthMode,
    port_ranges::ReservedPorts,
    runtimes::{RuntimeDefinition, profiles},
};
use guildhall_hall::{
    AgentFolders, AuthConfig, Clock, Hall, HallConfig, PreviewListenerConfig, ProgramSearch,
    browser::BrowserConfig,
    launch_config::LaunchConfig,
    peer_lookup::{PeerLookup, PeerOwner, ScriptedPeers, own_uid},
};
use guildhall_http::{
    guards::Guards,
    listener::{AgentListenerMetrics, Limits, Listener},
    metrics::Metrics,
    origin::AllowedSources,
    rate_limit::RateLimit,
    routes,
    state::{AboutServer, ServerState},
};
use guildhall_wire::health::PeerCheck;
use guildhall_world::{
    data_dir::DataDir,
    enclosure::Enclosure,
    http_client::ListenerPorts,
    process_guard::{self, GuardCommand},
    reserved_ports,
    scratch::Scratch,
    secret_tokens, setup_code,
};
use serde_json::{Value, json};
use tokio::{join, sync::oneshot, task::JoinSet};

use crate::{
    TestCaller,
    callers::HallAddress,
    event_log::EventLog,
    raw_http,
    responses::TestResponse,
    soon,
    stream_client::{SseClient, WebSocketClient},
    until,
};

/// Connections from here belong to another user of the operating system.
const OTHER_USER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);
/// About connections from here the kernel says nothing.
const UNANSWERED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);
/// Connections from here come from another computer.
const ANOTHER_COMPUTER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 7);
/// Connections from here are of a process below the server that belongs to no agent.
const STRAY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 6);
/// Connections from here may be of an agent's process that nobody can look into.
const IN_DOUBT: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 5);
/// Connections from here are of a page in the local browser.
const PAGE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 4);
/// Connections from here and above are of agents' own processes.
const PROCESSES: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 0);
/// When the clock of every test begins: 21 September 2026.
const BEGINNING_MS: i64 = 1_790_000_000_000;
/// The token that opens `/metrics`.
const METRICS_TOKEN: &str = "the-metrics-token-of-the-tests";

/// The password of everybody who signs in.
pub const PASSWORD: &str = "correct horse battery staple";
/// The token of the discovery file, in mode `login`.
pub const LOCAL_TOKEN: &str = "ghl_the-local-token-of-the-tests";

/// A running hall, alone in its folder.
///
/// Dropping it stops it at once; [`TestHall::close`] lets it finish in good order.
pub struct TestHall {
    running: Option<RunningHall>,
    address: HallAddress,
    agent_address: HallAddress,
    clock: Clock,
    options: HallOptions,
    script: ScriptedPeers,
    /// How many agents' processes the script knows.
    processes: AtomicU16,
    /// The owner's author, and in mode `login` the cookie of the owner's sign-in.
    owner: (String, String),
    /// What the configuration says of runtimes.
    definitions: Vec<RuntimeDefinition>,
    data_dir: Option<DataDir>,
    scratch: Scratch,
}

struct RunningHall {
    hall: Hall,
    stop: oneshot::Sender<()>,
    serving: JoinSet<()>,
}

impl TestHall {
    /// Opens a new hall with the limits of the contract.
    pub async fn open() -> Self {
        Self::open_with(HallOptions::default()).await
    }

    /// Opens a new hall in mode `login`, whose owner made the first account.
    pub async fn open_login() -> Self {
        Self::open_with(HallOptions {
            mode: AuthMode::Login,
            ..HallOptions::default()
        })
        .await
    }

    /// Opens a new hall in mode `login` before there is any account.
    pub async fn open_without_owner() -> Self {
        Self::new(HallOptions {
            mode: AuthMode::Login,
            ..HallOptions::default()
        })
        .await
    }

    /// Opens a new hall with other limits; in mode `login` its owner made the first account.
    pub async fn open_with(options: HallOptions) -> Self {
        let mut hall = Self::new(options).await;
        match options.mode {
            AuthMode::Local => {
                let me = hall.owner().get("/api/rooms/authors/me").await.ok(200);
                hall.owner.0 = text(&me["id"]);
            }
            AuthMode::Login => hall.register_owner().await,
        }
        hall
    }

    async fn register_owner(&mut self) {
        let code = self.setup_code();
        let ask = json!({"email": "owner@example.org", "password": PASSWORD,
            "displayName": "Olga", "setupCode": code});
        let answer = self.nobody().post("/api/auth/register", ask).await;
        let cookie = sign_in_cookie(&answer);
        let account = answer.ok(201);
        self.owner = (text(&account["authorId"]), cookie);
    }

    /// Opens a copy of a data folder that another hall left, as [`crate::pack`] keeps it, at
    /// `now`; `owner` is the owner's author and, in mode `login`, the cookie of a sign-in.
    pub async fn open_packed(
        packed: &Path,
        now: Timestamp,
        owner: (String, String),
        options: HallOptions,
    ) -> Self {
        let mut hall = Self::at(now, options, |data| crate::unpack(packed, data)).await;
        hall.owner = owner;
        hall
    }

    async fn new(options: HallOptions) -> Self {
        Self::at(Timestamp::from_millis(BEGINNING_MS), options, |_| {}).await
    }

    /// Opens a hall in a new scratch folder, in whose data folder `put` may have put something.
    async fn at(now: Timestamp, options: HallOptions, put: impl FnOnce(&Path)) -> Self {
        crate::event_log::warn_beside_the_test();
        let scratch = Scratch::new("test");
        for folder in ["work", "work/home", "bin"] {
            std::fs::create_dir(scratch.path().join(folder)).unwrap();
        }
        put(&scratch.path().join("data"));
        let data_dir = DataDir::open(&scratch.path().join("data")).unwrap();
        let mut hall = Self {
            running: None,
            address: HallAddress::default(),
            agent_address: HallAddress::default(),
            clock: Clock::scripted(now),
            options,
            script: script(),
            processes: AtomicU16::new(0),
            owner: Default::default(),
            definitions: Vec::new(),
            data_dir: Some(data_dir),
            scratch,
        };
        hall.start().await;
        hall
    }

    async fn start(&mut self) {
        let data_dir = self.data_dir.as_ref().unwrap();
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = reserved_ports::listen(any, ReservedPorts::default())
            .await
            .unwrap();
        let port = listener.local_addr().unwrap().port();
        self.address.0.store(port, Ordering::SeqCst);
        let for_agents = reserved_ports::listen_outside(ReservedPorts::default())
            .await
            .unwrap();
        let agent_port = for_agents.local_addr().unwrap().port();
        self.agent_address.0.store(agent_port, Ordering::SeqCst);
        let own_ports = ListenerPorts::default();
        own_ports.add(port);
        own_ports.add(agent_port);
        let opening = Hall::open(HallConfig {
            own_ports,
            data_dir: data_dir.path().to_owned(),
            database: data_dir.database(),
            clock: self.clock.clone(),
            roots: vec![self.root()],
            runtimes: profiles(&self.definitions).unwrap(),
            programs: ProgramSearch {
                own: self.programs().join("guildhall"),
                path: self.programs().into_os_string(),
            },
            launching: LaunchConfig {
                url: format!("http://127.0.0.1:{port}"),
                agent_url: format!("http://127.0.0.1:{agent_port}"),
                environment: BTreeMap::new(),
                // The binary of a test is no keeper: it would run tests.
                keeper: GuardCommand {
                    program: self.programs().join("guildhall"),
                    args: vec![process_guard::SUBCOMMAND.into()],
                },
                enclosure: Enclosure::disabled(),
                bridge: self.programs().join("guildhall"),
            },
            places: AgentFolders::new(Some(self.home()), None, None),
            auth: match self.options.mode {
                AuthMode::Local => AuthConfig::Local,
                AuthMode::Login => AuthConfig::Login {
                    local_token: secret_tokens::digest(LOCAL_TOKEN),
                },
            },
            configured: self.options.configured.to_vec(),
            streams: self.options.streams,
            retention: self.options.retention,
            previews: PreviewListenerConfig {
                idle: self.options.preview_idle,
                head_wait: self.options.preview_head_wait,
                half_wait: self.options.preview_half_wait,
                ..PreviewListenerConfig::new(vec![Ipv4Addr::LOCALHOST.into()], port)
            },
            browser: BrowserConfig {
                // Whatever is installed on the computer that tests.
                executable: Some(self.programs().join("chromium")),
                is_unsandboxed: true,
                ..BrowserConfig::default()
            },
        });
        let hall = soon("an open hall", opening).await.unwrap();
        let metrics = Arc::new(Metrics::new().unwrap());
        let guards = Guards::new(AllowedSources::default(), || {
            guildhall_world::ids::new().to_string()
        });
        let state = ServerState {
            hall: hall.clone(),
            about: Arc::new(AboutServer {
                version: "0.0.0-test".to_owned(),
                port,
                peer_check: PeerCheck::On,
                metrics_token: Some(METRICS_TOKEN.to_owned()),
            }),
            metrics: Arc::clone(&metrics),
            rate_limit: Arc::new(RateLimit::default()),
            guards: guards.clone(),
            running: Arc::default(),
        };
        let peers = match self.options.asks_kernel {
            true => PeerLookup::Kernel(hall.process_trees().clone()),
            false => PeerLookup::Scripted(self.script.clone()),
        };
        let routers = routes::routers(state);
        let agents = Listener {
            router: routers.agents,
            guards: guards.clone(),
            limits: Limits::default(),
            peers: PeerLookup::AgentListener(Box::new(peers.clone())),
            metrics: Arc::new(AgentListenerMetrics(Arc::clone(&metrics))),
            tasks: hall.tasks().clone(),
        };
        let main = Listener {
            router: routers.main,
            guards,
            limits: Limits::default(),
            peers,
            metrics,
            tasks: hall.tasks().clone(),
        };
        let (stop, stopped) = oneshot::channel();
        let mut serving = JoinSet::new();
        let mut stopping = hall.tasks().stopping();
        serving.spawn(async move {
            let main = main.serve(vec![listener], async {
                // A dropped sender is a hall that is dropped, which stops it as well.
                let _ = stopped.await;
            });
            let agents = agents.serve(vec![for_agents], async {
                // An error is a hall that is dropped.
                let _ = stopping.wait_for(|stopping| *stopping).await;
            });
            join!(main, agents);
        });
        self.running = Some(RunningHall {
            hall,
            stop,
            serving,
        });
    }

    async fn stop(&mut self) {
        let RunningHall {
            hall,
            stop,
            mut serving,
        } = self.running.take().expect("a running hall");
        hall.tasks().stop();
        stop.send(()).expect("the door still waits for its end");
        soon("the end of the door", serving.join_next())
            .await
            .unwrap()
            .expect("the door ends without a panic");
        assert!(
            hall.tasks().ended(Duration::from_secs(10)).await,
            "every task ends"
        );
        hall.record_clean_shutdown();
    }

    /// Stops in good order: streams end, running requests finish, tasks end.
    pub async fn close(mut self) {
        self.stop().await;
    }

    /// Stops in good order and starts again on the same folder; callers stay valid.
    pub async fn restart(&mut self) {
        self.restart_with(self.options).await;
    }

    /// The same, doing something with the data folder while no server has it open.
    pub async fn restart_after(&mut self, deed: impl FnOnce(&DataDir)) {
        self.stop().await;
        deed(self.data_dir.as_ref().unwrap());
        self.start().await;
    }

    /// The same, with other limits from then on.
    pub async fn restart_with(&mut self, options: HallOptions) {
        self.stop().await;
        self.options = options;
        self.start().await;
    }

    /// The same, with these words of the configuration on runtimes from then on.
    pub async fn restart_with_runtimes(&mut self, definitions: Vec<RuntimeDefinition>) {
        self.stop().await;
        self.definitions = definitions;
        self.start().await;
    }

    /// The one folder in which the commands of runtimes are looked for; empty at first.
    pub fn programs(&self) -> PathBuf {
        self.scratch.path().join("bin")
    }

    /// Puts an executable file into that folder.
    pub fn install(&self, command: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.programs().join(command);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Lets agents be started and never say a word, so that a test plays their part.
    pub fn silence_agents(&self) {
        self.install("guildhall", "#!/bin/sh\nwhile read -r line; do :; done\n");
    }

    /// Tells every task and stream to end while the door still answers.
    pub fn start_stopping(&self) {
        self.hall().tasks().stop();
    }

    /// The port it listens on now.
    pub fn port(&self) -> u16 {
        self.address.socket().port()
    }

    /// The port of its listener for agents.
    pub fn agent_port(&self) -> u16 {
        self.agent_address.socket().port()
    }

    /// The same caller with the same credentials, at the listener for agents.
    pub fn at_agent_listener(&self, caller: &TestCaller) -> TestCaller {
        caller.clone().at_listener(&self.agent_address)
    }

    /// The setup code, as the file in the data folder says it.
    pub fn setup_code(&self) -> String {
        setup_code::read(self.data_dir.as_ref().unwrap().path()).unwrap()
    }

    /// Makes every token of an agent one that its server minted for a session.
    pub fn bind_tokens(&self, agent: &TestCaller, session: &str) {
        crate::event_log::bind_tokens(&self.database(), agent.agent(), session);
    }

    /// A folder called `name` beneath the allowed root, made when it is not there.
    pub fn folder(&self, name: &str) -> String {
        let path = self.root().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The allowed root.
    fn root(&self) -> PathBuf {
        self.options
            .root
            .map_or_else(|| self.scratch.path().join("work"), PathBuf::from)
    }

    /// The home of the user the server runs as; without [`HallOptions::root`] it lies beneath the
    /// allowed root.
    pub fn home(&self) -> PathBuf {
        self.scratch.path().join("work/home")
    }

    /// The folder everything of this test lies in; agents may work in its `work` alone.
    pub fn scratch(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }

    /// The database file.
    pub fn database(&self) -> PathBuf {
        self.data_dir.as_ref().unwrap().database()
    }

    /// The folder everything the server keeps lies in.
    pub fn data_dir(&self) -> PathBuf {
        self.data_dir.as_ref().unwrap().path().to_owned()
    }

    /// The running hall itself.
    pub fn hall(&self) -> &Hall {
        &self.running.as_ref().expect("a running hall").hall
    }

    /// What the clock says.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Moves the clock on.
    pub fn advance(&self, seconds: i64) {
        self.clock.advance(seconds);
    }

    /// The seconds until the next moment that the hall waits for, if it waits for one.
    pub fn awaited_s(&self) -> Option<i64> {
        let awaited = self.clock.awaited_instants()?.as_millis();
        Some((awaited - self.clock.now().as_millis()) / 1_000)
    }

    /// Moves the clock on to the next moment that the hall waits for, as soon as it waits for one;
    /// answers how many seconds that took.
    pub async fn advance_to_awaited(&self) -> i64 {
        until("something that waits", || self.awaited_s().is_some()).await;
        let seconds = self.awaited_s().expect("it still waits");
        self.advance(seconds);
        seconds
    }

    /// Makes a channel; answers its id.
    pub async fn channel(&self, by: &TestCaller, title: &str, members: &[&TestCaller]) -> String {
        let ids: Vec<&str> = members.iter().map(|member| member.author()).collect();
        let ask = json!({"kind": "channel", "title": title, "memberIds": ids});
        text(&by.post("/api/rooms", ask).await.ok(201)["id"])
    }

    /// The id of the room every installation has.
    pub async fn team(&self) -> String {
        let rooms = self.owner().get("/api/rooms").await.ok(200);
        let team = rooms["rooms"].as_array().unwrap().iter();
        text(
            &team
                .into_iter()
                .find(|room| room["wellKnown"] == "team")
                .unwrap()["id"],
        )
    }

    /// Writes a post; answers the entry.
    pub async fn say(&self, by: &TestCaller, room: &str, words: &str) -> Value {
        let path = format!("/api/rooms/{room}/entries");
        let posted = by.post(&path, json!({"text": words})).await.ok(201);
        posted["entry"].clone()
    }

    /// A reader of the event log that begins behind everything that happened so far.
    pub fn events(&self) -> EventLog {
        EventLog::open(&self.database())
    }

    /// The oldest event still kept.
    pub fn oldest_event(&self) -> i64 {
        crate::event_log::oldest(&self.database())
    }

    /// Every row of every table, one line each: what a deed that changes nothing leaves alone.
    pub fn rows(&self) -> String {
        crate::event_log::rows(&self.database())
    }

    /// Opens a stream; a refusal is the test's end.
    pub async fn stream(
        &self,
        by: &TestCaller,
        path: &str,
        last_event_id: Option<&str>,
    ) -> SseClient {
        let ask = by.ask("GET", path);
        let ask = match last_event_id {
            Some(id) => ask.header("last-event-id", id),
            None => ask,
        };
        SseClient::open(ask).await
    }

    /// Opens a WebSocket; a refusal is the test's end.
    pub async fn socket(&self, by: &TestCaller, path: &str) -> WebSocketClient {
        WebSocketClient::open(by, path).await
    }

    /// Sends bytes as they are and reads the answer to its end.
    pub async fn raw(&self, bytes: &[u8]) -> TestResponse {
        raw_http::exchange(self.address.socket(), bytes).await
    }
}

impl Drop for TestHall {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.hall.tasks().stop();
        }
    }
}

fn script() -> ScriptedPeers {
    let other = PeerOwner::User {
        uid: own_uid().wrapping_add(1),
        inode: 1,
    };
    ScriptedPeers::default()
        .with(IpAddr::V4(OTHER_USER), other)
        .with(IpAddr::V4(STRAY), PeerOwner::Stray)
        .with(IpAddr::V4(PAGE), PeerOwner::Browser)
        .with(
            IpAddr::V4(IN_DOUBT),
            PeerOwner::InDoubt {
                uid: own_uid(),
                can_be_settled: true,
            },
        )
        .with(IpAddr::V4(UNANSWERED), PeerOwner::Unknown)
        .with(IpAddr::V4(ANOTHER_COMPUTER), PeerOwner::Elsewhere)
}

/// What the cookie holds that an answer sets.
fn sign_in_cookie(answer: &TestResponse) -> String {
    let pair = answer.header("set-cookie").split(';').next();
    let (_, value) = pair.unwrap().split_once('=').unwrap_or_default();
    value.to_owned()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

//! Agents that would rather be somebody else: real processes below a real keeper, known by the
//! kernel whatever they drop. Source: contract 1.4, 3.12 (1).

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use guildhall_domain::ids::AgentId;
use guildhall_testkit::{HallOptions, TestCaller, TestHall};
use guildhall_world::{
    acp::{AgentExit, AgentLaunch, launch},
    enclosure::Enclosure,
    process_guard::GuardCommand,
};
use serde_json::Value;

/// How long any one script may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);
const BINARY: &str = env!("CARGO_BIN_EXE_guildhall");

async fn open() -> TestHall {
    TestHall::open_with(HallOptions {
        asks_kernel: true,
        ..HallOptions::default()
    })
    .await
}

/// Starts a shell as this agent, or as nobody, in a folder of its own; `$G` is our binary.
fn shell(t: &TestHall, agent: Option<&TestCaller>, script: &str) -> AgentLaunch {
    let url = format!("http://127.0.0.1:{}", t.port());
    AgentLaunch {
        program: "sh".into(),
        args: vec!["-c".to_owned(), script.to_owned()],
        cwd: t.folder("out").into(),
        env: vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("G".to_owned(), BINARY.to_owned()),
            ("GUILDHALL_URL".to_owned(), url),
        ],
        keeper: GuardCommand {
            program: BINARY.into(),
            args: GuardCommand::own().args,
        },
        enclosure: Enclosure::disabled(),
        agent: agent.map(|agent| AgentId::parse(agent.agent()).unwrap()),
        trees: t.hall().process_trees().clone(),
    }
}

async fn run(launch_: AgentLaunch) -> AgentExit {
    let (_link, _heard, running) = launch(launch_).await.unwrap();
    tokio::time::timeout(PATIENCE, running)
        .await
        .expect("the script ends")
}

/// Who the server took the process for that wrote this answer.
fn taken_for(folder: &Path, name: &str) -> (String, String) {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{name}: {text}"));
    let caller = &answer["caller"];
    let member = |name: &str| caller[name].as_str().unwrap_or("nobody").to_owned();
    (member("displayName"), member("credential"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_itself_whatever_it_drops() {
    let t = open().await;
    let (ada, eve) = (t.agent("ada").await, t.agent("eve").await);
    let key = t.key(&t.owner(), "stolen").await;
    let script = format!(
        r#"
        ask() {{ "$G" api GET /api/auth/whoami; }}
        ask > plain
        GUILDHALL_AGENT_TOKEN={own} ask > own
        GUILDHALL_AGENT_TOKEN={other} ask > other
        GUILDHALL_AGENT_TOKEN=gha_unknown ask > unknown
        GUILDHALL_API_KEY={key} ask > key
        env -i "$G" api GET /api/auth/whoami --url "$GUILDHALL_URL" > bare
        mkfifo told
        # A child of a child in a session of its own, whose parents are gone before it asks.
        sh -c 'setsid sh -c "
            while kill -0 \$1 2>/dev/null; do :; done
            env -i $G api GET /api/auth/whoami --url $GUILDHALL_URL > orphan
            echo > told" sh $$ & '
        read word < told
        exit 0
        "#,
        own = ada.token(),
        other = eve.token(),
    );
    let ended = run(shell(&t, Some(&ada), &script)).await;
    assert_eq!(ended.code, Some(0), "{}", ended.why);
    let folder = PathBuf::from(t.folder("out"));
    let nobody = ("nobody".to_owned(), "nobody".to_owned());
    let by = |credential: &str| ("ada".to_owned(), credential.to_owned());
    for (name, expected) in [
        ("plain", by("process")),
        ("own", by("agent-token")),
        ("other", nobody.clone()),
        ("unknown", nobody),
        ("key", by("process")),
        ("bare", by("process")),
        ("orphan", by("process")),
    ] {
        assert_eq!(taken_for(&folder, name), expected, "{name}");
    }
    t.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_below_the_server_and_no_agent_is_nobody() {
    let t = open().await;
    let ended = run(shell(&t, None, r#""$G" api GET /api/auth/whoami > stray"#)).await;
    assert_eq!(ended.code, Some(0), "{}", ended.why);
    let folder = PathBuf::from(t.folder("out"));
    assert_eq!(taken_for(&folder, "stray").0, "nobody");
    t.close().await;
}

/// The owner asks from a process that is no descendant of the server: its parents are gone.
#[tokio::test(flavor = "multi_thread")]
async fn the_owner_is_the_owner_while_agents_run() {
    let t = open().await;
    let ada = t.agent("ada").await;
    let (link, _heard, running) = launch(shell(&t, Some(&ada), "cat")).await.unwrap();
    let folder = PathBuf::from(t.folder("out"));
    let outside = r#"
        mkfifo told
        sh -c 'setsid sh -c "
            while kill -0 \$1 2>/dev/null; do :; done
            $G api GET /api/auth/whoami > outside
            echo > told" sh $$ & '
        read word < told"#;
    let mut asking = Command::new("sh")
        .args(["-c", outside])
        .current_dir(&folder)
        .env("G", BINARY)
        .env("GUILDHALL_URL", format!("http://127.0.0.1:{}", t.port()))
        .env_remove("GUILDHALL_AGENT_TOKEN")
        .spawn()
        .unwrap();
    let asked = tokio::task::spawn_blocking(move || asking.wait().unwrap().success());
    let drive = async {
        assert!(asked.await.unwrap());
        link.stop();
    };
    let both = async { tokio::join!(running, drive) };
    tokio::time::timeout(PATIENCE, both)
        .await
        .expect("both end");
    assert_eq!(taken_for(&folder, "outside").1, "loopback");
    t.close().await;
}

/// A connection is whose process holds it now, not whose held it first.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_handed_to_an_agent_is_the_agents() {
    use std::{
        io::{IoSlice, Read, Write},
        mem::MaybeUninit,
        net::TcpStream,
        os::{fd::AsFd, unix::net::UnixListener},
    };

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let t = open().await;
    let ada = t.agent("ada").await;
    let folder = PathBuf::from(t.folder("out"));
    let way = UnixListener::bind(folder.join("way")).unwrap();
    let script = r#"exec python3 -c '
import socket
way = socket.socket(socket.AF_UNIX)
way.connect("way")
_, [handed], _, _ = socket.recv_fds(way, 1, 1)
line = socket.socket(fileno=handed)
line.sendall(b"GET /api/auth/whoami HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
answer = b"".join(iter(lambda: line.recv(65536), b""))
open("handed", "wb").write(answer.split(b"\r\n\r\n", 1)[1])
' "#;
    let port = t.port();
    let hand_on = move || {
        let (near, _) = way.accept().unwrap();
        let mut line = TcpStream::connect(("127.0.0.1", port)).unwrap();
        line.write_all(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
        // Answered whole in one segment.
        assert_ne!(line.read(&mut [0; 4_096]).unwrap(), 0);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut handed = SendAncillaryBuffer::new(&mut space);
        let descriptors = [line.as_fd()];
        assert!(handed.push(SendAncillaryMessage::ScmRights(&descriptors)));
        let bytes = [IoSlice::new(b"x")];
        sendmsg(&near, &bytes, &mut handed, SendFlags::empty()).unwrap();
    };
    let hands_on = tokio::task::spawn_blocking(hand_on);
    let (ended, handed) = tokio::join!(run(shell(&t, Some(&ada), script)), hands_on);
    handed.unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.why);
    let by_process = ("ada".to_owned(), "process".to_owned());
    assert_eq!(taken_for(&folder, "handed"), by_process);
    t.close().await;
}

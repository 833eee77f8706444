//! Scripts that run as agents below a real keeper: enclosed, or bare as the control.

use std::{
    collections::BTreeMap,
    fs,
    net::{Ipv4Addr, UdpSocket},
    path::{Path, PathBuf},
    time::Duration,
};

use guildhall_domain::{ids::AgentId, port_ranges::ReservedPorts};
use guildhall_testkit::{HallOptions, TestCaller, TestHall};
use guildhall_world::{
    acp::{AgentLaunch, launch},
    enclosure::{Enclosure, ProtectedServer},
    process_guard::{GuardCommand, SUBCOMMAND},
};

const BINARY: &str = env!("CARGO_BIN_EXE_guildhall");
/// How long any one script may take before the test fails: one that stops its keeper is ended
/// after twice the grace of agents.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A hall that asks the kernel whose a connection is.
pub(crate) async fn open() -> TestHall {
    TestHall::open_with(HallOptions {
        asks_kernel: true,
        ..HallOptions::default()
    })
    .await
}

pub(crate) fn keeper() -> GuardCommand {
    GuardCommand {
        program: BINARY.into(),
        args: vec![SUBCOMMAND.into()],
    }
}

/// The enclosure around the data folder, with the sockets of programs in a folder of the test.
pub(crate) async fn enclosure(t: &TestHall) -> Enclosure {
    let runtime = t.folder("runtime");
    let environment = BTreeMap::from([("XDG_RUNTIME_DIR".to_owned(), runtime)]);
    let enclosure = Enclosure::new(&keeper(), around(t), &environment).await;
    assert_eq!(enclosure.parts().missing().next(), None);
    enclosure
}

/// What the enclosure of a hall lies around.
pub(crate) fn around(t: &TestHall) -> ProtectedServer {
    ProtectedServer {
        data_dir: t.data_dir(),
        port: t.port(),
        reserved: ReservedPorts::default(),
    }
}

/// Runs a shell script as this agent in the folder of scripts, which is answered.
pub(crate) async fn run(
    t: &TestHall,
    agent: &TestCaller,
    script: &str,
    enclosure: Enclosure,
) -> PathBuf {
    let launched = launch(shell(t, agent, script, enclosure)).await;
    let (_link, _heard, running) = launched.unwrap();
    tokio::time::timeout(PATIENCE, running)
        .await
        .expect("the script ends");
    PathBuf::from(t.folder("out"))
}

/// Runs a shell script enclosed, of which no command may fail; answers what it said.
pub(crate) async fn run_script(t: &TestHall, agent: &TestCaller, script: &str) -> String {
    let folder = PathBuf::from(t.folder("out"));
    fs::write(folder.join("script"), script).unwrap();
    // The shell keeps its own output open: who closes it has ended.
    let around = "mkdir -p home; HOME=$PWD/home sh -e script > said 2> problems; echo $? > code";
    run(t, agent, around, enclosure(t).await).await;
    let said = |name: &str| text(&folder, name);
    assert_eq!(
        said("code").trim(),
        "0",
        "{}{}",
        said("said"),
        said("problems")
    );
    said("said")
}

/// A shell as this agent; `$G` is our binary, `$URL` the main listener, `$AGENTS` that for agents.
pub(crate) fn shell(
    t: &TestHall,
    agent: &TestCaller,
    script: &str,
    enclosure: Enclosure,
) -> AgentLaunch {
    let at = |port: u16| format!("http://127.0.0.1:{port}");
    let variables = [
        ("PATH", std::env::var("PATH").unwrap()),
        ("G", BINARY.to_owned()),
        ("URL", at(t.port())),
        ("AGENTS", at(t.agent_port())),
    ];
    AgentLaunch {
        program: "sh".into(),
        args: vec!["-c".to_owned(), script.to_owned()],
        cwd: t.folder("out").into(),
        env: variables
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec(),
        keeper: keeper(),
        enclosure,
        agent: Some(AgentId::parse(agent.agent()).unwrap()),
        trees: t.hall().process_trees().clone(),
    }
}

/// What stands in a file of a folder.
pub(crate) fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// An address of this computer that is not loopback, if it has one: no packet is sent.
pub(crate) fn own_address() -> Option<String> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // An address of documentation (RFC 5737).
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}

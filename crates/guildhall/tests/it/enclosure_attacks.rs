//! What an enclosed agent cannot do, tried by real processes below a real keeper, and tried once
//! more without the enclosure: see `tests/enclosure/attacks.py`.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    net::{Ipv6Addr, SocketAddr},
    os::linux::net::SocketAddrExt,
    os::unix::net::{SocketAddr as UnixAddress, UnixListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use guildhall_domain::port_ranges::ReservedPorts;
use guildhall_testkit::{TestCaller, TestHall};
use guildhall_world::{enclosure::Enclosure, reserved_ports};
use serde_json::json;
use tokio::net::TcpListener;

use crate::enclosed_scripts::{enclosure, open, own_address, run, text};

const ATTACKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/enclosure/attacks.py");

/// What comes of an attempt without the enclosure.
enum UnenclosedOutcome {
    /// It succeeds everywhere.
    Succeeds,
    /// It succeeds for root; of others the kernel refuses it, or some kernels do.
    SucceedsForRoot,
    /// It says nothing of the enclosure, because of this.
    SaysNothing(&'static str),
}

use UnenclosedOutcome::{SaysNothing, Succeeds, SucceedsForRoot};

/// Each attempt with what comes of it in the enclosure, and without.
const ATTEMPTS: &[(&str, &str, UnenclosedOutcome)] = &[
    ("connect loopback", "EACCES", Succeeds),
    (
        "connect the usual port",
        "EACCES",
        SaysNothing("nobody need listen there"),
    ),
    ("connect another loopback", "EACCES", Succeeds),
    ("connect unspecified", "EACCES", Succeeds),
    ("connect v6", "EACCES", Succeeds),
    ("connect mapped", "EACCES", Succeeds),
    ("connect own address", "EACCES", Succeeds),
    ("bind", "EACCES", Succeeds),
    ("bind v6", "EACCES", Succeeds),
    ("sendto fast open", "ENOTSUP", Succeeds),
    ("sendmsg fast open", "ENOTSUP", Succeeds),
    ("sendmmsg fast open", "ENOTSUP", Succeeds),
    ("fast open connect", "EACCES", Succeeds),
    ("repair", "EPERM", SucceedsForRoot),
    (
        "mptcp",
        "EPROTONOSUPPORT",
        SaysNothing("not every kernel has it"),
    ),
    (
        "mptcp high bits",
        "EPROTONOSUPPORT",
        SaysNothing("not every kernel has it"),
    ),
    (
        "smc",
        "EPROTONOSUPPORT",
        SaysNothing("not every kernel has it"),
    ),
    (
        "another protocol of a socket",
        "ENOENT",
        SaysNothing("not every kernel has it"),
    ),
    (
        "choose the system's port",
        "ENOPROTOOPT",
        SaysNothing("not every kernel has it"),
    ),
    (
        "foreign call",
        "ENOSYS",
        SaysNothing("not every kernel has it"),
    ),
    ("raw socket", "EPERM", SucceedsForRoot),
    ("packet socket", "EPERM", SucceedsForRoot),
    (
        "raw socket in a namespace",
        "EPERM",
        SaysNothing("the network is not the namespace's"),
    ),
    (
        "packet socket in a namespace",
        "EPERM",
        SaysNothing("the network is not the namespace's"),
    ),
    ("io_uring", "ENOSYS", SaysNothing("some systems refuse it")),
    ("type into a terminal", "EPERM", SucceedsForRoot),
    ("signal", "EPERM", Succeeds),
    ("limits of another", "EPERM", Succeeds),
    ("attach to another", "EPERM", SucceedsForRoot),
    ("descriptor of another", "EPERM", SucceedsForRoot),
    ("dumpable", "EPERM", Succeeds),
    ("read the database", "ENOENT", Succeeds),
    ("read the local token", "ENOENT", Succeeds),
    ("write into the folder", "EROFS", Succeeds),
    ("link into the folder", "EROFS", Succeeds),
    ("rename into the folder", "EXDEV", Succeeds),
    ("unmount", "EPERM", SaysNothing("nothing is mounted")),
    (
        "unmount in a namespace",
        "EPERM",
        SaysNothing("nothing is mounted"),
    ),
    ("bind mount", "EPERM", Succeeds),
    ("move to another mount", "EPERM", Succeeds),
    ("terminal of the owner", "ENOENT", Succeeds),
    (
        "control group",
        "EROFS",
        SaysNothing("not every system has them"),
    ),
    (
        "descriptor of the owner",
        "EBADF",
        SaysNothing("a keeper closes it, enclosed or not"),
    ),
    ("namespaces of the server", "EPERM", SucceedsForRoot),
    ("descriptors of the server", "EACCES", Succeeds),
    ("root of the server", "EACCES", Succeeds),
    ("memory of the server", "EACCES", SucceedsForRoot),
    ("environment of the server", "EACCES", Succeeds),
    ("abstract socket", "EPERM", Succeeds),
    // What has to go on working.
    ("connect agents", "ok", Succeeds),
    ("listen anywhere else", "ok", Succeeds),
    ("mount in a namespace", "ok", Succeeds),
    ("signal a child", "ok", Succeeds),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_way_out_is_closed_and_what_programs_need_is_open() {
    let t = open().await;
    let outcomes = outcomes(&t, enclosure(&t).await).await;
    let expected: BTreeMap<String, String> = ATTEMPTS
        .iter()
        .map(|(name, outcome, _)| ((*name).to_owned(), (*outcome).to_owned()))
        .collect();
    assert_eq!(outcomes, expected);
    t.close().await;
}

/// The control: it is the enclosure that closes them.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_enclosure_each_way_out_is_open() {
    let t = open().await;
    let outcomes = outcomes(&t, Enclosure::disabled()).await;
    let is_root = rustix::process::geteuid().is_root();
    let mut wrong = Vec::new();
    for (name, _, bare) in ATTEMPTS {
        let outcome = outcomes[*name].as_str();
        match bare {
            Succeeds => wrong.extend((outcome != "ok").then_some((name, outcome))),
            SucceedsForRoot => {
                wrong.extend((is_root && outcome != "ok").then_some((name, outcome)));
            }
            SaysNothing(why) => println!("{name}: {outcome}, but {why}"),
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    t.close().await;
}

/// A process outside of the enclosure that stands for the server, because some attempts harm
/// what they reach; it has a terminal.
struct StandInServer {
    child: Child,
    /// Its path, and the device of its file system: another one may have the same paths.
    terminal: (String, u64),
}

impl StandInServer {
    fn start() -> Self {
        let script = "import os, pty, time
_, terminal = pty.openpty()
print(os.ttyname(terminal), os.fstat(terminal).st_dev, flush=True)
time.sleep(600)";
        let mut child = Command::new("python3")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut terminal = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut terminal).unwrap();
        Self {
            child,
            terminal: terminal
                .trim()
                .split_once(' ')
                .map(|(path, device)| (path.to_owned(), device.parse().unwrap()))
                .unwrap(),
        }
    }
}

impl Drop for StandInServer {
    fn drop(&mut self) {
        // One that an attempt ended is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn outcomes(t: &TestHall, walls: Enclosure) -> BTreeMap<String, String> {
    let ada: TestCaller = t.agent("ada").await;
    let victim = StandInServer::start();
    let name = format!("guildhall-test-{}", std::process::id());
    let abstract_name = UnixAddress::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&abstract_name).unwrap();
    let everywhere = listener_everywhere().await;
    let run_folder = t.data_dir().join("run");
    fs::create_dir_all(&run_folder).unwrap();
    fs::write(run_folder.join("server.json"), "{}").unwrap();
    let facts = json!({
        "port": t.port(),
        "everywhere": everywhere.local_addr().unwrap().port(),
        "agents": t.agent_port(),
        "own": own_address().unwrap_or_else(|| "127.0.0.1".to_owned()),
        "data": t.data_dir(),
        "server": victim.child.id(),
        "terminal": victim.terminal,
        "abstract": name,
    });
    // As a shell leaves one open for what it starts.
    let open = fs::File::open("/").unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    // The shell keeps its own output open: who closes it has ended.
    let script = format!("python3 {ATTACKS} '{facts}' > outcomes 2> problems; true");
    let folder: PathBuf = run(t, &ada, &script, walls).await;
    serde_json::from_str(&text(&folder, "outcomes"))
        .unwrap_or_else(|_| panic!("{}", text(&folder, "problems")))
}

/// A listener at a reserved port of every address of this computer.
async fn listener_everywhere() -> TcpListener {
    let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    reserved_ports::listen(any, ReservedPorts::default())
        .await
        .unwrap()
}

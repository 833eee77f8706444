//! Process trees: what belongs to one, and when it is gone.

use std::{
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    os::fd::AsFd,
    process::{Child, Command, Stdio},
};

use super::*;

/// A child process that ends with its test.
struct ChildOfTest(Child);

impl ChildOfTest {
    /// `sleep`, with a socket as its standard input when one is given.
    fn sleeping(stdin: Option<&TcpStream>) -> Self {
        let mut command = Command::new("sleep");
        command.arg("600");
        if let Some(socket) = stdin {
            command.stdin(Stdio::from(socket.as_fd().try_clone_to_owned().unwrap()));
        }
        Self(command.spawn().unwrap())
    }

    /// A shell that runs `script`, once it has printed a line.
    fn shell(script: &str) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Self(child)
    }

    /// The same in Python.
    fn python(script: &str) -> Self {
        let mut child = Command::new("python3")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Self(child)
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for ChildOfTest {
    fn drop(&mut self) {
        kill_below(self.0.id());
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn connected() -> (TcpStream, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    (
        TcpStream::connect(listener.local_addr().unwrap()).unwrap(),
        listener,
    )
}

fn inode(socket: &TcpStream) -> u64 {
    rustix::fs::fstat(socket).unwrap().st_ino
}

fn agent(byte: u8) -> AgentId {
    AgentId::from_bytes([byte; 16])
}

/// Whose one socket is.
fn holder(trees: &ProcessTrees, inode: u64) -> SocketHolder {
    if trees.is_quiet() {
        return SocketHolder::Outside;
    }
    trees.search(&BTreeSet::from([inode]))[&inode]
}

/// Enters a keeper of this agent that is not enclosed.
fn open(trees: &ProcessTrees, keeper: u32, whose: impl Into<TreeOwner>) -> GuardRegistration {
    trees.register(keeper, whose, false, None).unwrap()
}

#[test]
fn a_process_is_in_its_tree_whatever_it_is_called() {
    // No UTF-8, and with what closes a name.
    let script = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'\\xff) S 1 \\xff', 0, 0, 0); \
                  print('up', flush=True); time.sleep(600)";
    let guest = ChildOfTest::python(script);
    let table = ProcessTable::read(|| true).unwrap();
    let below = socket_search::below(&table, std::process::id(), &BTreeMap::new());
    assert!(below.keys().any(|process| process.pid == guest.pid()));
}

#[test]
fn without_keepers_our_own_socket_is_nobody_elses() {
    let (socket, _listener) = connected();
    assert_eq!(
        holder(&ProcessTrees::default(), inode(&socket)),
        SocketHolder::Outside
    );
}

#[test]
fn a_child_without_keeper_is_a_stray_all_the_same() {
    let (socket, _listener) = connected();
    let _guest = ChildOfTest::sleeping(Some(&socket));
    let inode = inode(&socket);
    drop(socket);
    assert_eq!(holder(&ProcessTrees::default(), inode), SocketHolder::Stray);
}

#[test]
fn a_keeper_that_is_given_up_stays_in_the_list_until_it_ends() {
    let trees = ProcessTrees::default();
    let (socket, _listener) = connected();
    let guest = ChildOfTest::sleeping(None);
    drop(open(&trees, guest.pid(), Some(agent(1))));
    assert!(!trees.is_empty());
    drop(guest);
    assert!(trees.is_empty());
    assert_eq!(holder(&trees, inode(&socket)), SocketHolder::Outside);
}

/// A process outside of our tree that has the socket as its standard input.
struct OrphanProcess(Process);

impl OrphanProcess {
    fn holding(socket: &TcpStream) -> Self {
        Self::started_by(socket, "sh -c 'echo $$; exec sleep 600' <&3 3<&-")
    }

    /// The same in a process namespace of its own.
    fn in_a_namespace(socket: &TcpStream) -> Self {
        let command = "unshare --user --map-root-user --pid sh -c \
            'sleep 600 <&3 3<&- > /dev/null & exec 3<&-; echo $!; wait' < /dev/null";
        Self::started_by(socket, command)
    }

    /// That of which a command tells the number; the command has the socket as its descriptor 3.
    fn started_by(socket: &TcpStream, command: &str) -> Self {
        let script = format!("exec 3<&0; setsid {command} & exit");
        let mut parent = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::from(socket.as_fd().try_clone_to_owned().unwrap()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(parent.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        parent.wait().unwrap();
        Self(Process::with_number(line.trim().parse().unwrap()).unwrap())
    }
}

impl Drop for OrphanProcess {
    fn drop(&mut self) {
        kill::kill(self.0);
    }
}

fn signal(child: &ChildOfTest, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(&child.0);
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Waits until a child is stopped, or is not any more.
fn wait_until_stopped(child: &ChildOfTest, is_stopped: bool) {
    let process = Process::with_number(child.pid()).unwrap();
    while (process.state() == Some(ProcessState::Stopped)) != is_stopped {
        std::thread::yield_now();
    }
}

#[test]
fn what_a_stopped_or_killed_keeper_may_have_kept_is_in_doubt() {
    use rustix::process::Signal;
    let (socket, _listener) = connected();
    let older = OrphanProcess::holding(&socket);
    // Start times are told in hundredths of a second.
    let keeper = loop {
        let keeper = ChildOfTest::sleeping(None);
        if Process::with_number(keeper.pid()).unwrap().start > older.0.start {
            break keeper;
        }
    };
    let (other, _other_listener) = connected();
    let younger = OrphanProcess::holding(&other);
    let [inode, other] = [socket, other].map(|socket| inode(&socket));
    let trees = ProcessTrees::default();
    let kept = open(&trees, keeper.pid(), Some(agent(1)));
    let holders = || (holder(&trees, inode), holder(&trees, other));
    assert_eq!(holders(), (SocketHolder::Outside, SocketHolder::Outside));
    let in_doubt = (
        SocketHolder::Outside,
        SocketHolder::InDoubt {
            can_be_settled: true,
        },
    );
    signal(&keeper, Signal::STOP);
    wait_until_stopped(&keeper, true);
    assert_eq!(holders(), in_doubt, "stopped");
    signal(&keeper, Signal::CONT);
    wait_until_stopped(&keeper, false);
    assert_eq!(
        holders(),
        (SocketHolder::Outside, SocketHolder::Outside),
        "it runs again"
    );
    drop(keeper);
    assert_eq!(holders(), in_doubt, "killed, and nobody said so");
    kept.is_lost();
    drop(kept);
    assert_eq!(holders(), in_doubt, "lost");
    drop(younger);
}

/// Needs user namespaces.
#[test]
fn who_holds_a_socket_in_another_process_namespace_may_have_left_a_tree() {
    let (socket, _listener) = connected();
    let _holder = OrphanProcess::in_a_namespace(&socket);
    let inode = inode(&socket);
    drop(socket);
    let keeper = ChildOfTest::sleeping(None);
    let trees = ProcessTrees::default();
    let enclosed = trees.register(keeper.pid(), Some(agent(1)), true, None);
    assert_eq!(
        holder(&trees, inode),
        SocketHolder::Outside,
        "no agent could"
    );
    drop(enclosed.unwrap());
    let _kept = open(&trees, keeper.pid(), Some(agent(1)));
    let in_doubt = SocketHolder::InDoubt {
        can_be_settled: true,
    };
    assert_eq!(holder(&trees, inode), in_doubt);
}

#[test]
fn what_an_enclosed_keeper_kept_is_never_in_doubt() {
    let (socket, _listener) = connected();
    let keeper = ChildOfTest::sleeping(None);
    let holder_ = OrphanProcess::holding(&socket);
    let inode = inode(&socket);
    drop(socket);
    let trees = ProcessTrees::default();
    let kept = trees
        .register(keeper.pid(), Some(agent(1)), true, None)
        .unwrap();
    drop(keeper);
    kept.is_lost();
    drop(kept);
    assert!(!trees.is_one_lost());
    assert_eq!(holder(&trees, inode), SocketHolder::Outside);
    drop(holder_);
}

#[test]
fn agents_that_were_not_enclosed_are_known_after_a_restart() {
    let scratch = crate::scratch::Scratch::new("process-trees");
    let trees = ProcessTrees::recorded_in(scratch.path());
    assert!(!trees.known().was_open);
    let (enclosed, bare) = (ChildOfTest::sleeping(None), ChildOfTest::sleeping(None));
    let first = trees
        .register(enclosed.pid(), Some(agent(1)), true, None)
        .unwrap();
    let again = || ProcessTrees::recorded_in(scratch.path());
    assert!(!again().known().was_open);
    let second = open(&trees, bare.pid(), Some(agent(2)));
    let known = |trees: &ProcessTrees| {
        let known = trees.known();
        let lost = known.lost.iter().map(|lost| lost.keeper.process.pid);
        (known.was_open, lost.collect::<Vec<_>>())
    };
    assert_eq!(known(&again()), (true, vec![bare.pid()]), "it runs");
    drop(bare);
    drop((first, second));
    assert_eq!(known(&again()), (true, vec![]), "it has ended");
    std::fs::write(scratch.path().join("unenclosed-agents.json"), "{").unwrap();
    assert_eq!(known(&again()), (true, vec![0]), "who knows");
}

#[path = "process_tree_left_behind_tests.rs"]
mod left_behind;

#[test]
fn a_browsers_keeper_that_is_lost_leaves_doubt_until_all_of_it_is_gone() {
    use std::os::unix::process::CommandExt;
    const MARK: &str = "GUILDHALL_TEST_MARK=of the browser that is left";
    let trees = ProcessTrees::default();
    let (socket, _listener) = connected();
    let inode = inode(&socket);
    // The shell stands for a keeper; one child stays in its group, the other has the mark alone.
    let script = "sleep 600 & env \"$0\" setsid sh -c 'echo up; exec sleep 600' & wait";
    let mut keeper = Command::new("sh");
    keeper.args(["-c", script, MARK]).process_group(0);
    let mut keeper = keeper.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(keeper.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let kept = trees.register(keeper.id(), TreeOwner::Browser, false, Some(MARK));
    let kept = kept.unwrap();
    keeper.kill().unwrap();
    keeper.wait().unwrap();
    let left = LeftoverProcesses {
        group: keeper.id(),
        mark: MARK.to_owned(),
    };
    kept.is_lost();
    drop(kept);
    assert!(trees.is_one_lost());
    let of_group = LeftoverProcesses {
        mark: "GUILDHALL_TEST_MARK=of nobody".to_owned(),
        ..left.clone()
    };
    of_group.kill();
    assert!(trees.is_one_lost(), "the mark is still carried");
    left.kill();
    // Whoever was killed ends in its own time.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while trees.is_one_lost() {
        assert!(std::time::Instant::now() < deadline);
        std::thread::yield_now();
    }
    assert_eq!(holder(&trees, inode), SocketHolder::Outside);
}

#[test]
fn our_own_socket_is_outside_every_tree() {
    let guest = ChildOfTest::sleeping(None);
    let trees = ProcessTrees::default();
    let _kept = open(&trees, guest.pid(), Some(agent(1)));
    let (socket, _listener) = connected();
    assert_eq!(holder(&trees, inode(&socket)), SocketHolder::Outside);
}

/// The shell stands for a keeper, its children for an agent.
#[test]
fn whatever_is_below_a_keeper_is_its_agent() {
    let (socket, listener) = connected();
    let port = listener.local_addr().unwrap().port();
    drop(socket);
    // `bash` connects and hands the socket to a child of a child.
    let script = format!(
        "exec bash -c '( exec 3<>/dev/tcp/127.0.0.1/{port}; ( echo up; exec sleep 600 ) & wait ) & wait'"
    );
    let guest = ChildOfTest::shell(&script);
    // The first connection is our own of above.
    let _both = [listener.accept().unwrap(), listener.accept().unwrap()];
    let held = |process: Process| {
        let held = std::fs::read_link(process.descriptors().join("3")).ok()?;
        let inode = held.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        inode.parse().ok()
    };
    let table = ProcessTable::read(|| true).unwrap();
    let below = socket_search::below(&table, guest.pid(), &BTreeMap::new());
    let inode = below.into_keys().find_map(held).unwrap();
    let trees = ProcessTrees::default();
    assert_eq!(
        holder(&trees, inode),
        SocketHolder::Stray,
        "a child without keeper"
    );
    {
        let _other = open(&trees, u32::MAX, Some(agent(2)));
        assert_eq!(holder(&trees, inode), SocketHolder::Stray);
    }
    {
        let _kept = open(&trees, guest.pid(), None);
        assert_eq!(holder(&trees, inode), SocketHolder::Stray);
    }
    let _kept = open(&trees, guest.pid(), Some(agent(1)));
    assert_eq!(holder(&trees, inode), SocketHolder::Agent(agent(1)));
}

#[test]
fn a_child_of_ours_that_is_no_agent_is_a_stray() {
    let (socket, _listener) = connected();
    let guest = ChildOfTest::sleeping(Some(&socket));
    let keeper = ChildOfTest::sleeping(None);
    let trees = ProcessTrees::default();
    let _kept = open(&trees, keeper.pid(), Some(agent(1)));
    assert_eq!(holder(&trees, inode(&socket)), SocketHolder::Stray);
    drop(guest);
    assert_eq!(holder(&trees, inode(&socket)), SocketHolder::Outside);
}

/// A socket that no process holds, because it is on its way between two others.
struct UnheldSocket {
    inode: u64,
    _listener: TcpListener,
    _way: [std::os::unix::net::UnixStream; 2],
}

impl UnheldSocket {
    fn new() -> Self {
        use std::{io::IoSlice, mem::MaybeUninit, os::unix::net::UnixStream};

        use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
        let (socket, listener) = connected();
        let (near, far) = UnixStream::pair().unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut hidden = SendAncillaryBuffer::new(&mut space);
        let descriptors = [socket.as_fd()];
        assert!(hidden.push(SendAncillaryMessage::ScmRights(&descriptors)));
        let bytes = [IoSlice::new(b"x")];
        sendmsg(&near, &bytes, &mut hidden, SendFlags::empty()).unwrap();
        Self {
            inode: inode(&socket),
            _listener: listener,
            _way: [near, far],
        }
    }
}

/// Needs root, who can look into every process; for others one that cannot be looked into counts
/// as the possible holder.
#[test]
fn a_socket_that_is_hidden_from_the_look_up_is_nobodys() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let hidden = UnheldSocket::new();
    let keeper = ChildOfTest::sleeping(None);
    let trees = ProcessTrees::default();
    let _kept = open(&trees, keeper.pid(), Some(agent(1)));
    assert_eq!(holder(&trees, hidden.inode), SocketHolder::Nobody);
}

/// What the owner holds is found however much an agent holds; what is found nowhere may be the
/// agent's, and no word of the owner for a browser says otherwise.
#[test]
fn an_agent_with_more_than_can_be_looked_at_leaves_only_what_is_not_found_in_doubt() {
    let (socket, _listener) = connected();
    let hidden = UnheldSocket::new();
    // Every thread of a process shows all of its descriptors.
    let script = "import os, threading; os.fork() and os.wait(); held = [os.dup(0) for _ in range(1000)]; \
        wait = threading.Event().wait; \
        [threading.Thread(target=wait).start() for _ in range(30)]; print(flush=True)";
    let crowd = ChildOfTest::python(script);
    let trees = ProcessTrees::default();
    let _kept = open(&trees, crowd.pid(), Some(agent(1)));
    let holders = trees.search(&BTreeSet::from([inode(&socket), hidden.inode]));
    assert_eq!(holders[&inode(&socket)], SocketHolder::Outside);
    let in_doubt = SocketHolder::InDoubt {
        can_be_settled: false,
    };
    assert_eq!(holders[&hidden.inode], in_doubt);
}

#[test]
fn what_a_lost_keeper_may_have_kept_beyond_what_can_be_looked_at_leaves_a_doubt_that_can_be_settled()
 {
    let (socket, _listener) = connected();
    let hidden = UnheldSocket::new();
    let keeper = ChildOfTest::sleeping(None);
    // Of the owner's programs, too, many were started since.
    let command = r#"python3 -c 'import os, threading
held = [os.dup(0) for _ in range(1000)]
wait = threading.Event().wait
for _ in range(30): threading.Thread(target=wait).start()
print(os.getpid(), flush=True)' < /dev/null 3<&-"#;
    let _crowd = OrphanProcess::started_by(&socket, command);
    let trees = ProcessTrees::default();
    let kept = open(&trees, keeper.pid(), Some(agent(1)));
    drop(keeper);
    kept.is_lost();
    drop(kept);
    let holders = trees.search(&BTreeSet::from([hidden.inode]));
    let in_doubt = SocketHolder::InDoubt {
        can_be_settled: true,
    };
    assert_eq!(holders[&hidden.inode], in_doubt);
}

#[test]
fn each_process_that_leaves_others_in_doubt_is_logged_once_however_many_there_are() {
    let guests: Vec<ChildOfTest> = (0..REMEMBERED_MAX + 2)
        .map(|_| ChildOfTest::sleeping(None))
        .collect();
    let suspects = guests
        .iter()
        .map(|guest| Process::with_number(guest.pid()).unwrap());
    let mut suspects: BTreeSet<Process> = suspects.collect();
    let last = suspects.pop_last().unwrap();
    let trees = ProcessTrees::default();
    let logged = |suspects: &BTreeSet<Process>| {
        trees.note(&SearchResult {
            suspects: suspects.clone(),
            ..SearchResult::default()
        });
        trees.known().logged.clone()
    };
    assert_eq!(logged(&suspects), suspects);
    suspects.insert(last);
    assert_eq!(
        logged(&BTreeSet::from([last])),
        suspects,
        "and those before are kept"
    );
}

#[test]
fn a_process_whose_first_thread_has_ended_lives() {
    let script = "import ctypes, threading; \
        threading.Thread(target=threading.Event().wait).start(); print(flush=True); \
        ctypes.CDLL(None).pthread_exit(None)";
    let guest = ChildOfTest::python(script);
    let stat = format!("/proc/{}/stat", guest.pid());
    // Its first thread has ended a moment after it said so.
    while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
        std::thread::yield_now();
    }
    assert!(Process::with_number(guest.pid()).unwrap().lives());
}

/// A process that forks and ends at once, again and again, is between two numbers most of the time.
#[test]
fn who_forks_all_the_time_is_not_forgotten() {
    let script = "import os\nprint(flush=True)\nif os.fork(): os._exit(0)\nos.setsid()\n\
        while True:\n  if os.fork(): os._exit(0)\n  \
        if os.getppid() == 0 or not os.path.exists(os.environ['WHILE']): os._exit(0)";
    let scratch = crate::scratch::Scratch::new("process-trees-forks");
    let keeper = ChildOfTest::sleeping(None);
    let trees = ProcessTrees::default();
    let kept = open(&trees, keeper.pid(), Some(agent(1)));
    let mut forks = Command::new("python3");
    let mut first = forks
        .args(["-c", script])
        .env("WHILE", scratch.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    first.wait().unwrap();
    kept.is_lost();
    drop((kept, keeper));
    let is_lost = (0..100).all(|_| trees.is_one_lost());
    drop(scratch);
    assert!(is_lost);
}

#[test]
fn everything_below_is_killed_whatever_its_group() {
    let guest = ChildOfTest::shell("setsid sleep 600 & (sleep 600 & echo up; wait) & wait");
    // The shell's own children end one after the other; it forks no more.
    assert!(kill_below(guest.pid()) >= 2);
}

#[test]
fn who_carries_an_entry_is_found_by_it() {
    let mut child = Command::new("sleep")
        .arg("600")
        .env("GUILDHALL_TEST_ENTRY", "of this very test")
        .spawn()
        .unwrap();
    let left = LeftoverProcesses {
        group: u32::MAX,
        mark: "GUILDHALL_TEST_ENTRY=of this very test".to_owned(),
    };
    // The parent goes on a moment before the child's environment can be read.
    let status = loop {
        left.kill();
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
    };
    assert!(!status.success());
}

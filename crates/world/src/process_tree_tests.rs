//! Process trees: what belongs to one, and when it is gone.

use std::{
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    os::fd::AsFd,
    process::{Child, Command, Stdio},
};

use super::*;

/// A child process that ends with its test.
struct Guest(Child);

impl Guest {
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

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Guest {
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

const CLEAR: Holder = Holder::Outside { is_in_doubt: false };

#[test]
fn without_keepers_our_own_socket_is_nobody_elses() {
    let (socket, _listener) = connected();
    assert_eq!(ProcessTrees::default().holder(inode(&socket)), CLEAR);
}

#[test]
fn a_child_without_keeper_is_a_stray_all_the_same() {
    let (socket, _listener) = connected();
    let _guest = Guest::sleeping(Some(&socket));
    let inode = inode(&socket);
    drop(socket);
    assert_eq!(ProcessTrees::default().holder(inode), Holder::Stray);
}

#[test]
fn a_keeper_that_is_given_up_stays_in_the_list_until_it_ends() {
    let trees = ProcessTrees::default();
    let (socket, _listener) = connected();
    let guest = Guest::sleeping(None);
    drop(trees.enter(guest.pid(), Some(agent(1))));
    assert!(!trees.is_empty());
    drop(guest);
    assert!(trees.is_empty());
    assert_eq!(trees.holder(inode(&socket)), CLEAR);
}

#[test]
fn a_keeper_that_is_lost_leaves_every_other_holder_in_doubt() {
    let trees = ProcessTrees::default();
    let (socket, _listener) = connected();
    let guest = Guest::sleeping(None);
    let kept = trees.enter(guest.pid(), Some(agent(1)));
    kept.is_lost(Some("A_MARK=of nobody"));
    drop((kept, guest));
    let in_doubt = Holder::Outside { is_in_doubt: true };
    assert_eq!(trees.holder(inode(&socket)), in_doubt);
}

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
    let kept = trees.enter(keeper.id(), Whose::Browser);
    keeper.kill().unwrap();
    keeper.wait().unwrap();
    kept.is_lost(Some(MARK));
    let group = keeper.id();
    drop(kept);
    let in_doubt = Holder::Outside { is_in_doubt: true };
    assert_eq!(trees.holder(inode), in_doubt);
    kill_group(group);
    assert_eq!(trees.holder(inode), in_doubt, "the mark is still carried");
    kill_carrying(MARK);
    // Whoever was killed ends in its own time.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while trees.is_one_lost() {
        assert!(std::time::Instant::now() < deadline);
        std::thread::yield_now();
    }
    assert_eq!(trees.holder(inode), CLEAR);
}

#[test]
fn our_own_socket_is_outside_every_tree() {
    let guest = Guest::sleeping(None);
    let trees = ProcessTrees::default();
    let _kept = trees.enter(guest.pid(), Some(agent(1)));
    let (socket, _listener) = connected();
    assert_eq!(trees.holder(inode(&socket)), CLEAR);
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
    let guest = Guest::shell(&script);
    // The first connection is our own of above.
    let _ours = listener.accept().unwrap();
    let (far, _) = listener.accept().unwrap();
    let peer = crate::peers::Peers::Kernel(ProcessTrees::default())
        .look_up(far.peer_addr().unwrap(), far.local_addr().unwrap());
    assert_eq!(
        peer,
        crate::peers::PeerWord::Stray,
        "a child without keeper"
    );
    let held = |((pid, _), _): (Seen, Holder)| {
        let held = fs::read_link(format!("/proc/{pid}/fd/3")).ok()?;
        let inode = held.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        inode.parse().ok()
    };
    let below = Table::read().below(guest.pid(), &BTreeMap::new());
    let inode = below.into_iter().find_map(held).unwrap();
    let trees = ProcessTrees::default();
    {
        let _other = trees.enter(u32::MAX, Some(agent(2)));
        assert_eq!(trees.holder(inode), Holder::Stray);
    }
    {
        let _kept = trees.enter(guest.pid(), None);
        assert_eq!(trees.holder(inode), Holder::Stray);
    }
    let _kept = trees.enter(guest.pid(), Some(agent(1)));
    assert_eq!(trees.holder(inode), Holder::Agent(agent(1)));
}

#[test]
fn a_child_of_ours_that_is_no_agent_is_a_stray() {
    let (socket, _listener) = connected();
    let holder = Guest::sleeping(Some(&socket));
    let keeper = Guest::sleeping(None);
    let trees = ProcessTrees::default();
    let _kept = trees.enter(keeper.pid(), Some(agent(1)));
    assert_eq!(trees.holder(inode(&socket)), Holder::Stray);
    drop(holder);
    assert_eq!(trees.holder(inode(&socket)), CLEAR);
}

/// Needs root, who can look into every process; for others one that cannot be looked into counts
/// as the possible holder.
#[test]
fn a_socket_that_is_hidden_from_the_look_up_is_nobodys() {
    use std::{io::IoSlice, mem::MaybeUninit, os::unix::net::UnixStream};

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (socket, _listener) = connected();
    let inode = inode(&socket);
    let (near, _far) = UnixStream::pair().unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut hidden = SendAncillaryBuffer::new(&mut space);
    let descriptors = [socket.as_fd()];
    assert!(hidden.push(SendAncillaryMessage::ScmRights(&descriptors)));
    sendmsg(
        &near,
        &[IoSlice::new(b"x")],
        &mut hidden,
        SendFlags::empty(),
    )
    .unwrap();
    drop(socket);
    let keeper = Guest::sleeping(None);
    let trees = ProcessTrees::default();
    let _kept = trees.enter(keeper.pid(), Some(agent(1)));
    assert_eq!(trees.holder(inode), Holder::Nobody);
}

#[test]
fn everything_below_is_killed_whatever_its_group() {
    let guest = Guest::shell("setsid sleep 600 & (sleep 600 & echo up; wait) & wait");
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
    // The parent goes on a moment before the child's environment can be read.
    let status = loop {
        kill_carrying("GUILDHALL_TEST_ENTRY=of this very test");
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
    };
    assert!(!status.success());
}

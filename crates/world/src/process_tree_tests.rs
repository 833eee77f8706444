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
fn without_keepers_nobody_is_looked_at() {
    assert_eq!(ProcessTrees::default().holder(1), CLEAR);
}

#[test]
fn a_keeper_leaves_the_list_with_its_guard() {
    let trees = ProcessTrees::default();
    let kept = trees.enter(7, Some(agent(1)));
    assert_eq!(trees.keepers().len(), 1);
    drop(kept);
    assert!(trees.keepers().is_empty());
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
    let crate::peers::PeerWord::User { inode, .. } = peer else {
        panic!("{peer:?}");
    };
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
fn a_socket_that_nobody_holds_is_in_doubt() {
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
    assert_eq!(trees.holder(inode), Holder::Outside { is_in_doubt: true });
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
    kill_carrying("GUILDHALL_TEST_ENTRY=of this very test");
    assert!(!child.wait().unwrap().success());
}

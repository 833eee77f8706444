//! Ways in which it is the process that is unusual, or who holds the connection.

use std::{
    fs,
    io::{self, BufReader, IoSlice, IoSliceMut, Write},
    mem::MaybeUninit,
    net::TcpStream,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{fs::MetadataExt, net::UnixStream},
    },
    path::Path,
    process::Stdio,
    sync::Barrier,
    thread,
};

use rustix::{
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, recvmsg, sendmsg, sockopt::set_tcp_cork,
    },
    process::{Pid, Signal, kill_process},
};

use super::{
    AttackOrders, FOUND, ProcessDisguise, StatusAndBody, UNREAD, exchange, handed, has_unread,
    on_one, process_disguises, read_answer, sockets, this, this_by, wait_until,
};

impl AttackOrders {
    /// The request leaves the kernel only after the last descriptor of its connection went into
    /// a message between two sockets, and the answer is read when it is there.
    pub(super) fn hidden(&self, at: usize, lines: &[&str]) -> io::Result<StatusAndBody> {
        let mut socket = self.connect()?;
        set_tcp_cork(&socket, true)?;
        let inode = fs::metadata(format!("/proc/self/fd/{}", socket.as_raw_fd()))?.ino();
        socket.write_all(self.request(at, lines).as_bytes())?;
        let (near, far) = UnixStream::pair()?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        let descriptors = [socket.as_fd()];
        assert!(message.push(SendAncillaryMessage::ScmRights(&descriptors)));
        sendmsg(
            &near,
            &[IoSlice::new(b"x")],
            &mut message,
            SendFlags::empty(),
        )?;
        drop(socket);
        wait_until(|| has_unread(inode));
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        recvmsg(
            &far,
            &mut [IoSliceMut::new(&mut byte)],
            &mut message,
            RecvFlags::empty(),
        )?;
        let found = message.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut all) => all.next(),
            _ => None,
        });
        read_answer(&mut BufReader::new(TcpStream::from(found.unwrap())))
    }

    pub(super) fn during(&self, amid: ProcessDisguise, lines: &[&str]) {
        let server = self.0["server"].as_i64().unwrap();
        let begun = amid.begin(i32::try_from(server).unwrap());
        if let Err(error) = &begun
            && error.kind() == io::ErrorKind::Unsupported
        {
            return self.tell_why_not(&error.to_string());
        }
        let mut kept = None;
        self.tell(|orders, at| {
            let answer = on_one(&mut kept, || orders.connect(), &orders.request(at, lines))?;
            // Where it cannot be so, no connection may be made either.
            assert!(begun.is_ok(), "{:?}", begun.as_ref().err());
            Ok(answer)
        });
    }

    pub(super) fn on_own_descriptors(&self) {
        thread::scope(|scope| {
            scope.spawn(|| {
                nix::sched::unshare(nix::sched::CloneFlags::CLONE_FILES).unwrap();
                let mut kept = None;
                self.tell(|orders, at| {
                    on_one(&mut kept, || orders.connect(), &orders.request(at, &[]))
                });
            });
        });
    }

    /// The request leaves the kernel only after a child that is stopped has its connection alone,
    /// and the child goes on when the answer is there.
    pub(super) fn held_by_stopped(&self, at: usize) -> io::Result<StatusAndBody> {
        let mut socket = self.connect()?;
        set_tcp_cork(&socket, true)?;
        let inode = fs::metadata(format!("/proc/self/fd/{}", socket.as_raw_fd()))?.ino();
        socket.write_all(self.request(at, &[]).as_bytes())?;
        let child = this("held", &[], true)
            .stdin(OwnedFd::from(socket))
            .stdout(Stdio::piped())
            .spawn()?;
        let pid = Pid::from_child(&child);
        kill_process(pid, Signal::STOP)?;
        wait_until(|| has_unread(inode));
        kill_process(pid, Signal::CONT)?;
        Ok(handed(&child.wait_with_output()?.stdout))
    }

    /// The server is stopped until the connection is closed at this end.
    pub(super) fn ended(&self, at: usize) -> io::Result<StatusAndBody> {
        let mut socket = self.connect()?;
        let server = process_disguises::StoppedProcess::new(
            self.0["server"].as_i64().unwrap().try_into().unwrap(),
        )?;
        socket.write_all(self.request(at, &[]).as_bytes())?;
        let port = socket.local_addr()?.port();
        drop(socket);
        drop(server);
        let of_server = (self.number("port"), port);
        wait_until(|| !sockets::pairs().any(|(pair, _)| pair == of_server));
        Ok((UNREAD, "nobody read the answer".to_owned()))
    }

    pub(super) fn together(&self) {
        let count = self.requests().len();
        let begin = Barrier::new(count);
        let mut answers: Vec<io::Result<StatusAndBody>> = thread::scope(|scope| {
            let one = |at| {
                let begin = &begin;
                scope.spawn(move || {
                    let socket = self.connect();
                    begin.wait();
                    exchange(&socket?, &self.request(at, &[]))
                })
            };
            let all: Vec<_> = (0..count).map(one).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        answers.reverse();
        self.tell(|_, _| answers.pop().unwrap());
    }

    pub(super) fn in_namespaces(&self) {
        let options = [
            "--user",
            "--map-root-user",
            "--pid",
            "--fork",
            "--mount-proc",
        ];
        let output = this_by("unshare", &options, "plain").output().unwrap();
        if !Path::new(FOUND).exists() {
            self.tell_why_not(&String::from_utf8_lossy(&output.stderr));
        }
    }

    pub(super) fn in_namespaces_of_the_owner(&self) {
        let Some(sandbox) = self.0["sandbox"].as_u64() else {
            return self.tell_why_not("the owner can have none");
        };
        let options = [
            &format!("--user=/proc/{sandbox}/ns/user"),
            &format!("--pid=/proc/{sandbox}/ns/pid_for_children"),
            "--preserve-credentials",
        ];
        let output = this_by("nsenter", &options, "parent").output().unwrap();
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return self.tell(|orders, _| match orders.connect() {
                Ok(_) => panic!("{why}"),
                Err(error) => Err(error),
            });
        }
        wait_until(|| Path::new(FOUND).exists());
    }
}

//! Connections to the server that are made otherwise than usual.

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddrV4, TcpStream},
    os::fd::OwnedFd,
    thread,
};

use rustix::{
    net::{
        AddressFamily, SendFlags, SocketType, bind, connect, ipproto, sendto, socket,
        sockopt::set_socket_reuseaddr,
    },
    process::Uid,
    thread::set_thread_uid,
};

/// How a connection is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SocketKind {
    /// By an IPv6 socket, to the loopback address as IPv6 writes it.
    Mapped,
    /// To `0.0.0.0`, which is this computer.
    Unspecified,
    /// From a port that a connection to the server had which has just ended.
    UsedPort,
    /// By a socket of MPTCP, to which the server answers in TCP.
    Multipath,
    /// By a thread that is another user: for root alone.
    OfAnotherUser,
}

/// `MSG_FASTOPEN` of `linux/socket.h`.
const FAST_OPEN: SendFlags = SendFlags::from_bits_retain(0x2000_0000);
/// The user `nobody`.
const NOBODY: u32 = 65_534;
/// `TCP_TIME_WAIT` of `net/tcp_states.h`, as `/proc/net/tcp` writes it.
const ENDED: &str = "06";

impl SocketKind {
    /// # Errors
    /// `Unsupported` where this computer knows no such connections.
    pub(super) fn connect(self, port: u16) -> io::Result<TcpStream> {
        match self {
            Self::Mapped => {
                let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
                TcpStream::connect((mapped, port))
            }
            Self::Unspecified => TcpStream::connect((Ipv4Addr::UNSPECIFIED, port)),
            Self::UsedPort => from_used_port(port),
            Self::Multipath => match socket(
                AddressFamily::INET,
                SocketType::STREAM,
                Some(ipproto::MPTCP),
            ) {
                Ok(socket) => connected(socket, port),
                Err(error) => Err(unsupported(&error)),
            },
            Self::OfAnotherUser => thread::spawn(move || {
                set_thread_uid(Uid::from_raw(NOBODY)).map_err(|error| unsupported(&error))?;
                TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            })
            .join()
            .unwrap(),
        }
    }
}

fn unsupported(error: &dyn std::error::Error) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, error.to_string())
}

fn local(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

fn connected(socket: OwnedFd, port: u16) -> io::Result<TcpStream> {
    connect(&socket, &local(port))?;
    Ok(TcpStream::from(socket))
}

fn from_used_port(port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::other("no connection has ended");
    for ((near, far), state) in pairs() {
        if near != port || state != ENDED {
            continue;
        }
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        set_socket_reuseaddr(&socket, true)?;
        let made = bind(&socket, &local(far)).map_err(io::Error::from);
        match made.and_then(|()| connected(socket, port)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A connection whose first packet holds bytes, where the server takes that.
pub(super) fn fast_open(port: u16, bytes: &str) -> io::Result<TcpStream> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    let sent = sendto(&socket, bytes.as_bytes(), FAST_OPEN, &local(port))?;
    assert_eq!(sent, bytes.len());
    Ok(TcpStream::from(socket))
}

/// The ports of all TCP sockets of IPv4, near and far, each with its state (proc(5),
/// `/proc/net/tcp`).
pub(super) fn pairs() -> impl Iterator<Item = ((u16, u16), String)> {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let pair = |line: &str| {
        let fields: Vec<_> = line.split_ascii_whitespace().collect();
        let port = |field: &str| u16::from_str_radix(field.rsplit(':').next()?, 16).ok();
        let ports = (port(fields.get(1)?)?, port(fields.get(2)?)?);
        Some((ports, (*fields.get(3)?).to_owned()))
    };
    let pairs: Vec<_> = table.lines().filter_map(pair).collect();
    pairs.into_iter()
}

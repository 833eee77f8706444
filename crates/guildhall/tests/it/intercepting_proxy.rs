//! The way between the server and its companion: it passes on what it is given, can stop one
//! request at each point of its way, and breaks there.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait before looking again at what tells nobody that it changed.
const MOMENT: Duration = Duration::from_millis(100);

/// How far a request came that was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RequestProgress {
    /// The companion has heard nothing of it.
    Unsent,
    /// The companion has the half of it.
    HalfSent,
    /// The companion has it, and may be at work.
    Sent,
    /// The companion answered; nothing of that has arrived.
    Answered,
    /// The half of the answer has arrived.
    HalfAnswered,
    /// The answer has arrived.
    Done,
}

impl RequestProgress {
    /// On the way there.
    pub(crate) const THERE: [Self; 3] = [Self::Unsent, Self::HalfSent, Self::Sent];
    /// And back.
    pub(crate) const BACK: [Self; 3] = [Self::Answered, Self::HalfAnswered, Self::Done];
}

/// What becomes of the request that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interception {
    /// None is waited for.
    Open,
    /// One to this path is.
    Set(&'static str),
    /// One is held, at the door.
    Caught,
    /// It goes on to this point.
    Going(RequestProgress),
    /// It is held there.
    At,
    /// Its connections break.
    Released,
}

struct ProxyState {
    trap: Interception,
    companion: u16,
    /// Everything that the companion answered: to which path, and the whole answer.
    answers: Vec<(String, String)>,
    /// The key that was shown last.
    shown: Option<String>,
}

struct ProxyShared {
    inside: Mutex<ProxyState>,
    bell: Condvar,
}

/// The way. It stays open as long as the test runs.
pub(crate) struct InterceptingProxy {
    pub(crate) url: String,
    shared: Arc<ProxyShared>,
}

impl InterceptingProxy {
    /// A way that leads nowhere yet.
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inside = ProxyState {
            trap: Interception::Open,
            companion: 0,
            answers: Vec::new(),
            shown: None,
        };
        let shared = Arc::new(ProxyShared {
            inside: Mutex::new(inside),
            bell: Condvar::new(),
        });
        let known = Arc::clone(&shared);
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&known);
                // Whoever goes away in the middle is what is tested.
                thread::spawn(move || shared.pass(socket));
            }
        });
        Self { url, shared }
    }

    /// Leads to the companion at this port from now on.
    pub(crate) fn set_target(&self, port: u16) {
        self.shared.lock().companion = port;
    }

    /// Holds the next request to `path` before anything of it is passed on.
    pub(crate) fn catch(&self, path: &'static str) {
        self.shared
            .turn(Interception::Open, Interception::Set(path));
    }

    /// Waits until it is held.
    pub(crate) fn caught(&self) {
        self.shared.is(Interception::Caught);
    }

    /// Lets it go on to `point` and waits until it is there.
    pub(crate) fn advance(&self, point: RequestProgress) {
        self.shared
            .turn(Interception::Caught, Interception::Going(point));
        self.shared.is(Interception::At);
    }

    /// Breaks its connections.
    pub(crate) fn release(&self) {
        self.shared.turn(Interception::At, Interception::Released);
        self.shared.is(Interception::Open);
    }

    /// The key that was shown last.
    pub(crate) fn shown(&self) -> Option<String> {
        self.shared.lock().shown.clone()
    }

    /// Everything that was answered: to which path, and the whole answer.
    pub(crate) fn answers(&self) -> Vec<(String, String)> {
        self.shared.lock().answers.clone()
    }

    /// Looks until `seen` finds what it looks for, each time something passed and in between:
    /// what a server writes down tells nobody here.
    pub(crate) fn until<T>(&self, what: &str, mut seen: impl FnMut() -> Result<T, String>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            match seen() {
                Ok(found) => return found,
                Err(why) => assert!(Instant::now() < end, "{what}: {why}"),
            }
            let inside = self.shared.lock();
            drop(self.shared.bell.wait_timeout(inside, MOMENT));
        }
    }
}

impl ProxyShared {
    fn lock(&self) -> MutexGuard<'_, ProxyState> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(&self, from: Interception, to: Interception) {
        let mut inside = self.lock();
        assert_eq!(inside.trap, from);
        inside.trap = to;
        self.bell.notify_all();
    }

    /// Waits until the trap is so.
    fn is(&self, trap: Interception) {
        let waiting = self
            .bell
            .wait_timeout_while(self.lock(), PATIENCE, |inside| inside.trap != trap);
        let (inside, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        assert_eq!(inside.trap, trap);
    }

    /// Holds what passes when it should be held here.
    fn hold(&self, stops_at: Option<RequestProgress>, here: RequestProgress) -> Option<()> {
        if stops_at != Some(here) {
            return Some(());
        }
        self.turn(Interception::Going(here), Interception::At);
        self.is(Interception::Released);
        self.turn(Interception::Released, Interception::Open);
        None
    }

    /// Catches what is waited for; answers where it is to stop.
    fn trapped(&self, path: &str) -> Option<RequestProgress> {
        {
            let mut inside = self.lock();
            if inside.trap != Interception::Set(known(path)?) {
                return None;
            }
            inside.trap = Interception::Caught;
            self.bell.notify_all();
        }
        let waiting = self
            .bell
            .wait_timeout_while(self.lock(), PATIENCE, |inside| {
                inside.trap == Interception::Caught
            });
        let (inside, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        match inside.trap {
            Interception::Going(point) => Some(point),
            other => panic!("{other:?}"),
        }
    }

    /// Passes one request on, and its answer back; `None` when something broke on the way.
    fn pass(&self, mut server: TcpStream) -> Option<()> {
        let asked = request(&mut server)?;
        let path = asked.split(' ').nth(1)?.to_owned();
        if let Some(shown) = header(&asked, "authorization") {
            self.lock().shown = shown.strip_prefix("Bearer ").map(str::to_owned);
        }
        let stops_at = self.trapped(&path);
        self.hold(stops_at, RequestProgress::Unsent)?;
        let port = self.lock().companion;
        let mut companion = TcpStream::connect(("127.0.0.1", port)).ok()?;
        let (first, rest) = asked.as_bytes().split_at(asked.len() / 2);
        companion.write_all(first).ok()?;
        self.hold(stops_at, RequestProgress::HalfSent)?;
        companion.write_all(rest).ok()?;
        self.hold(stops_at, RequestProgress::Sent)?;
        let mut answer = String::new();
        companion.read_to_string(&mut answer).ok()?;
        // A code is polled for each second, as often as a service may ask for it.
        let answer = answer.replace("\"interval\":5", "\"interval\":1");
        self.lock().answers.push((path, answer.clone()));
        self.bell.notify_all();
        self.hold(stops_at, RequestProgress::Answered)?;
        let (first, rest) = answer.as_bytes().split_at(answer.len() / 2);
        // A server that was killed reads nothing, and is held here all the same.
        let _ = server.write_all(first);
        self.hold(stops_at, RequestProgress::HalfAnswered)?;
        let _ = server.write_all(rest);
        let _ = server.shutdown(Shutdown::Write);
        self.hold(stops_at, RequestProgress::Done)
    }
}

/// The paths at which a request can be caught.
pub(crate) mod paths {
    pub(crate) const METADATA: &str = "/.well-known/oauth-authorization-server";
    pub(crate) const DEVICE: &str = "/oauth/device";
    pub(crate) const TOKEN: &str = "/oauth/token";
    pub(crate) const REVOKE: &str = "/oauth/revoke";
    pub(crate) const HEARTBEAT: &str = "/v1/instances/heartbeat";
    pub(super) const ALL: [&str; 5] = [METADATA, DEVICE, TOKEN, REVOKE, HEARTBEAT];
}

fn known(path: &str) -> Option<&'static str> {
    paths::ALL.into_iter().find(|known| *known == path)
}

/// The value of a header, as it was sent.
fn header(request: &str, name: &str) -> Option<String> {
    let mut lines = request.lines().skip(1).take_while(|line| !line.is_empty());
    lines.find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name)
            .then(|| value.trim().to_owned())
    })
}

/// Reads a request to its end; answers it as the last one of its connection.
fn request(socket: &mut TcpStream) -> Option<String> {
    socket.set_read_timeout(Some(PATIENCE)).ok()?;
    let (mut bytes, mut some) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
            let length = header(&head, "content-length").map_or(Some(0), |it| it.parse().ok())?;
            if bytes.len() >= end + 4 + length {
                let body = String::from_utf8(bytes[end + 4..].to_vec()).ok()?;
                return Some(format!("{head}\r\nConnection: close\r\n\r\n{body}"));
            }
        }
        match socket.read(&mut some).ok()? {
            0 => return None,
            count => bytes.extend_from_slice(&some[..count]),
        }
    }
}

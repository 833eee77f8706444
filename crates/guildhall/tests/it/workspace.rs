//! A server with a folder agents work in, and what a person does there.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::server_process::{ServerProcess, line_of};

/// How long an event may be waited for before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// A free port of this computer alone.
const ANY: &str = "127.0.0.1:0";

/// A server, its data, and a folder for agents.
pub(crate) struct ServerWithFolder {
    pub(crate) server: ServerProcess,
    /// Where agents work.
    pub(crate) folder: PathBuf,
    /// The home of server and agents.
    pub(crate) home: PathBuf,
    /// The server's whole environment, where it does not get the test's.
    bare: Option<Vec<(String, String)>>,
    pub(crate) scratch: Scratch,
}

impl ServerWithFolder {
    /// Starts a server whose agents may work in a folder of their own.
    pub(crate) fn open(what: &str) -> Self {
        Self::open_with(what, &[])
    }

    /// The same with further variables for the server.
    pub(crate) fn open_with(what: &str, env: &[(&str, &str)]) -> Self {
        Self::open_in(Scratch::new(what), ANY, env)
    }

    /// The same with a configuration file.
    pub(crate) fn open_configured(what: &str, configuration: &str) -> Self {
        Self::open_bound(what, configuration, ANY)
    }

    /// The same, listening there.
    pub(crate) fn open_bound(what: &str, configuration: &str, bind: &str) -> Self {
        let scratch = Scratch::new(what);
        let data = scratch.path().join("data");
        fs::create_dir_all(&data).unwrap();
        fs::write(data.join("guildhall.toml"), configuration).unwrap();
        Self::open_in(scratch, bind, &[])
    }

    fn open_in(scratch: Scratch, bind: &str, env: &[(&str, &str)]) -> Self {
        let folder = scratch.path().join("work");
        let home = scratch.path().join("home");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(&home).unwrap();
        let server = start(&scratch, &home, bind, env);
        Self {
            server,
            folder,
            home,
            bare: None,
            scratch,
        }
    }

    /// Starts a server with the configuration that `configure` writes for a home and a folder,
    /// in an environment of its own.
    #[cfg(feature = "real-agents")]
    pub(crate) fn open_bare(
        what: &str,
        env: &[(&str, &str)],
        configure: impl FnOnce(&Path, &Path) -> String,
    ) -> Self {
        let scratch = Scratch::new(what);
        let [data, folder, home, temporary] =
            ["data", "work", "home", "tmp"].map(|name| scratch.path().join(name));
        for folder in [&data, &folder, &home, &temporary] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(data.join("guildhall.toml"), configure(&home, &folder)).unwrap();
        let own = [
            ("HOME", home.to_str().unwrap()),
            ("TMPDIR", temporary.to_str().unwrap()),
            ("GUILDHALL_FILES_ROOTS", scratch.path().to_str().unwrap()),
        ];
        let env: Vec<_> = own
            .iter()
            .chain(env)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Self {
            server: start_bare(&scratch, &env),
            folder,
            home,
            bare: Some(env),
            scratch,
        }
    }

    /// Kills the server as the kernel would, and starts another one on the same data.
    pub(crate) fn crash(self) -> Self {
        self.server.kill();
        let server = match &self.bare {
            None => start(&self.scratch, &self.home, ANY, &[]),
            Some(env) => start_bare(&self.scratch, env),
        };
        Self { server, ..self }
    }

    /// Opens a session of the scripted agent in the folder; answers its id.
    pub(crate) fn session(&self) -> String {
        self.session_of(&json!({"cwd": self.folder, "runtime": "rehearsal"}))
    }

    /// Opens a session in which the agent asks nobody, with a person's word for it.
    pub(crate) fn unattended(&self) -> String {
        self.session_of(&json!({"cwd": self.folder, "runtime": "rehearsal",
            "permissionMode": "autopilot", "acknowledgedAutonomy": true}))
    }

    /// Opens the session that this asks for.
    pub(crate) fn session_of(&self, ask: &Value) -> String {
        let (status, session) = self.server.ask("POST", "/api/sessions", Some(ask));
        assert_eq!(status, 201, "{session}");
        session["id"].as_str().unwrap().to_owned()
    }

    /// The folder of the server.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.scratch.path().join("data")
    }

    /// Sends a message made of these lines.
    pub(crate) fn send(&self, session: &str, lines: &[&str]) -> Value {
        let body = json!({"content": lines.join("\n")});
        let path = format!("/api/sessions/{session}/messages");
        let (status, sent) = self.server.ask("POST", &path, Some(&body));
        assert_eq!(status, 202, "{sent}");
        sent
    }

    /// One session as it is now.
    pub(crate) fn look(&self, session: &str) -> Value {
        let path = format!("/api/sessions/{session}");
        let (status, session) = self.server.ask("GET", &path, None);
        assert_eq!(status, 200, "{session}");
        session
    }

    /// Its messages.
    pub(crate) fn messages(&self, session: &str) -> Vec<Value> {
        let path = format!("/api/sessions/{session}/messages?limit=200");
        let (_, page) = self.server.ask("GET", &path, None);
        page["messages"].as_array().unwrap().clone()
    }

    /// Everything the agent said in words.
    pub(crate) fn words(&self, session: &str) -> String {
        let messages = self.messages(session);
        let said = messages
            .iter()
            .filter(|message| message["role"] == "assistant");
        let parts = said.flat_map(|message| message["parts"].as_array().unwrap());
        parts
            .filter(|part| part["type"] == "text")
            .map(|part| part["text"].as_str().unwrap())
            .collect()
    }

    /// Decides on an ask.
    pub(crate) fn decide(&self, session: &str, verb: &str, body: &Value) -> (u16, Value) {
        let path = format!("/api/sessions/{session}/{verb}");
        self.server.ask("POST", &path, Some(body))
    }

    /// The asks that wait for a person.
    pub(crate) fn asks(&self) -> Vec<Value> {
        let (_, asks) = self
            .server
            .ask("GET", "/api/sessions/pending-interactions", None);
        asks["interactions"].as_array().unwrap().clone()
    }

    /// Waits for the session's next ask.
    pub(crate) fn ask(&self, session: &str) -> Value {
        let opened = self.until(session, "interaction_opened", |_| true);
        opened["interaction"].clone()
    }

    /// Waits until `count` turns of the session ended; answers the last one's end.
    pub(crate) fn turn_ended(&self, session: &str, count: usize) -> Value {
        let mut seen = 0;
        self.until(session, "turn_ended", |_| {
            seen += 1;
            seen == count
        })
    }

    /// Waits for an event of the session, from its beginning on.
    pub(crate) fn until(
        &self,
        session: &str,
        name: &str,
        mut is_it: impl FnMut(&Value) -> bool,
    ) -> Value {
        let mut found = Value::Null;
        self.follow(session, 0, |event| {
            if event["type"] == name && is_it(&event["data"]) {
                found = event["data"].clone();
                return true;
            }
            false
        });
        found
    }

    /// Reads the session's events behind `after` until one is enough.
    pub(crate) fn follow(
        &self,
        session: &str,
        after: u64,
        is_enough: impl FnMut(&Value) -> bool,
    ) -> Vec<Value> {
        self.follow_at(&format!("/api/sessions/{session}/events"), after, is_enough)
    }

    /// Reads the events of a stream behind `after` until one is enough.
    pub(crate) fn follow_at(
        &self,
        path: &str,
        after: u64,
        mut is_enough: impl FnMut(&Value) -> bool,
    ) -> Vec<Value> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.server.port())).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\
             {}Last-Event-ID: {after}\r\n\r\n",
            line_of(self.server.authorization.as_deref())
        );
        socket.write_all(request.as_bytes()).unwrap();
        let deadline = Instant::now() + PATIENCE;
        let mut events = Vec::new();
        for line in BufReader::new(socket).lines() {
            let line = line.expect("the event that is waited for comes");
            assert!(
                Instant::now() < deadline,
                "the event that is waited for did not come; these did: {events:#?}"
            );
            let data = line.strip_prefix("data: ");
            let Some(event) = data.and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
                continue;
            };
            let is_last = is_enough(&event);
            events.push(event);
            if is_last {
                return events;
            }
        }
        panic!("the stream ended before the event that was waited for: {events:#?}");
    }

    /// A file of the folder.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    /// Writes a file of the folder.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).unwrap();
    }
}

fn start_bare(scratch: &Scratch, env: &[(String, String)]) -> ServerProcess {
    let env: Vec<_> = env
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    ServerProcess::start_bare(&scratch.path().join("data"), &env)
}

fn start(scratch: &Scratch, home: &Path, bind: &str, env: &[(&str, &str)]) -> ServerProcess {
    let data = scratch.path().join("data");
    let home = home.to_str().unwrap();
    let env = [
        &[
            ("HOME", home),
            ("GUILDHALL_FILES_ROOTS", scratch.path().to_str().unwrap()),
        ],
        env,
    ]
    .concat();
    ServerProcess::start_as(&data, &["--bind", bind], &env, None)
}

/// Waits until something is so, by looking again and again.
pub(crate) fn until(what: &str, patience: Duration, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + patience;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} within {patience:?}");
        thread::yield_now();
    }
}

//! The server under test: the real program on a data folder of its own, and what is in it.

use std::{
    cell::RefCell,
    fs::File,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use futures_util::future::try_join_all;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{Result, callers::Callers, hostile_programs};

/// What the server prints before its address.
const READY_LINE: &str = "guildhall runs at http://";
/// How long a start may take before the run is given up.
const START_MAX: Duration = Duration::from_secs(60);

/// How people are told apart in a house.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerMode {
    Local,
    Login,
}

impl ServerMode {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Login => "login",
        }
    }
}

/// A running server; dropping it kills it.
pub(crate) struct ServerUnderTest {
    pub(crate) mode: ServerMode,
    child: RefCell<Child>,
    /// Kept, because a program whose output is closed may stop at its next line.
    _output: BufReader<ChildStdout>,
    /// Where people reach it.
    pub(crate) address: SocketAddr,
    /// Where agents do.
    agents: SocketAddr,
    folder: PathBuf,
}

impl ServerUnderTest {
    /// Starts `program` below `folder`; `peers` is the address of the hostile server.
    pub(crate) fn start(
        program: &Path,
        folder: &Path,
        mode: ServerMode,
        peers: SocketAddr,
    ) -> Result<Self> {
        let own = std::env::current_exe()?;
        for name in ["data", "home", "tmp", "bin", "work/ada", "work/bob"] {
            std::fs::create_dir_all(folder.join(name))?;
        }
        for name in ["ada", "bob"] {
            let work = folder.join("work").join(name);
            std::fs::write(work.join("plan.md"), "# Plan\n\n- [ ] first\n")?;
            std::fs::write(work.join("notes.txt"), "notes\n")?;
        }
        let tally = folder.join("agent-starts");
        let configuration = format!(
            "[agents]\nenclosure = \"off\"\n[browser]\nexecutable = {own:?}\n\
             [runtimes.hostile]\ncommand = {own:?}\nargs = [{:?}, {tally:?}]\n",
            hostile_programs::AGENT
        );
        std::fs::write(folder.join("data/guildhall.toml"), configuration)?;
        let mut child = Command::new(program)
            .env_clear()
            .env("HOME", folder.join("home"))
            .env("TMPDIR", folder.join("tmp"))
            // No program of this computer is found there: no agent, no browser, no tool server.
            .env("PATH", folder.join("bin"))
            .env("GUILDHALL_LOG", "warn")
            // What is free goes back to the system at once, so that memory that grows is held:
            // else each thread keeps the largest block that it ever had, such as a password's.
            .env("MALLOC_ARENA_MAX", "2")
            .env("MALLOC_MMAP_THRESHOLD_", "131072")
            .env("MALLOC_TRIM_THRESHOLD_", "131072")
            .args([
                "serve",
                "--bind",
                "127.0.0.1:0",
                "--auth",
                mode.word(),
                "--cloud-url",
            ])
            .arg(format!("http://{peers}"))
            .arg("--root")
            .arg(folder.join("work"))
            .arg("--data-dir")
            .arg(folder.join("data"))
            .current_dir(folder.join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join("log"))?)
            .spawn()?;
        let output = child.stdout.take().ok_or("the server has no output")?;
        let (tell, told) = mpsc::channel();
        // In a thread of its own, because reading a pipe has no limit.
        std::thread::spawn(move || tell.send(read_address(BufReader::new(output))));
        let told = told.recv_timeout(START_MAX);
        let told = told.map_err(|_| "the server does not say where it listens")?;
        let (output, address) = told.map_err(|failure| {
            let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
            format!("{failure}: {log}")
        })?;
        let announced = announced(folder)?;
        let agents = announced["agentUrl"]
            .as_str()
            .and_then(|url| url.strip_prefix("http://"));
        Ok(Self {
            mode,
            child: RefCell::new(child),
            _output: output,
            address,
            agents: agents.ok_or("no listener for agents")?.parse()?,
            folder: folder.to_owned(),
        })
    }

    /// Makes those who will ask.
    pub(crate) async fn callers(&self) -> Result<Callers> {
        let folders = [self.work("ada"), self.work("bob")];
        let folders = [folders[0].as_str(), folders[1].as_str()];
        let announced = announced(&self.folder)?;
        let code = std::fs::read_to_string(self.folder.join("data/setup-code")).unwrap_or_default();
        let sign_in = announced["localToken"].as_str();
        let sign_in = sign_in.filter(|_| self.mode == ServerMode::Login);
        let sign_in = sign_in.map(|token| (code.trim(), token));
        Callers::set_up(self.address, self.agents, sign_in, folders).await
    }

    /// The folder of an agent.
    pub(crate) fn work(&self, name: &str) -> String {
        self.folder.join("work").join(name).display().to_string()
    }

    /// The database file.
    pub(crate) fn database(&self) -> PathBuf {
        self.folder.join("data/guildhall.sqlite")
    }

    /// Its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.borrow().id()
    }

    /// How often the hostile agent was started.
    pub(crate) fn agent_starts(&self) -> u64 {
        std::fs::metadata(self.folder.join("agent-starts")).map_or(0, |file| file.len())
    }

    /// The lines of its log that tell of a panic.
    pub(crate) fn panics(&self) -> Vec<String> {
        let log = std::fs::read(self.folder.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let panics = log.lines().filter(|line| line.contains("panicked"));
        panics.map(str::to_owned).collect()
    }

    /// The last lines of its log.
    pub(crate) fn last_words(&self) -> String {
        let log = std::fs::read(self.folder.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// How it ended, when it has.
    pub(crate) fn ended(&self) -> Option<String> {
        let status = self.child.borrow_mut().try_wait().ok().flatten()?;
        Some(status.to_string())
    }

    /// Asks the server to stop, and waits until it has.
    pub(crate) fn stop(self) -> Result<()> {
        let mut child = self.child.borrow_mut();
        kill_process(Pid::from_child(&child), Signal::TERM)?;
        match child.wait()? {
            status if status.success() => Ok(()),
            status => Err(format!("the server ended with {status}").into()),
        }
    }

    /// Ends what runs and what is connected: sessions are closed and tool servers removed, so that
    /// two measurements see the same.
    pub(crate) async fn wait_until_idle(&self, callers: &Callers) -> Result<()> {
        for _ in 0..20 {
            let listed = callers
                .ask("GET", "/api/sessions?limit=200", &Value::Null)
                .await?
                .json();
            let sessions = listed["sessions"].as_array().cloned().unwrap_or_default();
            let open = sessions
                .iter()
                .filter(|session| session["state"] != "closed");
            let open: Vec<&str> = open.filter_map(|session| session["id"].as_str()).collect();
            if open.is_empty() {
                break;
            }
            let closing = open.iter().map(async |id: &&str| {
                let path = format!("/api/sessions/{id}");
                callers.ask("DELETE", &path, &json!({})).await
            });
            try_join_all(closing).await?;
        }
        let agents = callers
            .ask("GET", "/api/agents", &Value::Null)
            .await?
            .json();
        for agent in agents["agents"].as_array().into_iter().flatten() {
            let path = format!(
                "/api/agents/{}/mcp-servers",
                agent["id"].as_str().unwrap_or_default()
            );
            let listed = callers.ask("GET", &path, &Value::Null).await?.json();
            for server in listed.as_array().into_iter().flatten() {
                let name = server["name"].as_str().unwrap_or_default();
                callers
                    .ask("POST", &format!("{path}/{name}/disable"), &json!({}))
                    .await?;
            }
        }
        Ok(())
    }
}

impl Drop for ServerUnderTest {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.get_mut().kill();
        let _ = self.child.get_mut().wait();
    }
}

fn announced(folder: &Path) -> Result<Value> {
    let file = std::fs::read(folder.join("data/run/server.json"))?;
    Ok(serde_json::from_slice(&file)?)
}

/// Reads what the server prints until it says where it listens; hands the rest over.
fn read_address(
    mut output: BufReader<ChildStdout>,
) -> Result<(BufReader<ChildStdout>, SocketAddr)> {
    let mut line = String::new();
    while output.read_line(&mut line)? > 0 {
        if let Some(address) = line.trim().strip_prefix(READY_LINE) {
            let address = address.parse()?;
            return Ok((output, address));
        }
        line.clear();
    }
    Err("the server ended before it was ready".into())
}

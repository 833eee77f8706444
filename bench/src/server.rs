//! The server under measurement: the real program as a child process on its own data folder.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use guildhall_world::chromium::can_be_sandboxed;
use rustix::process::{Pid, Signal, kill_process};

use crate::{Result, timeouts::PATIENCE};

/// What the server prints before its address.
const READY_LINE: &str = "guildhall runs at http://";
/// How long a start may take before the run is given up.
const START_MAX: Duration = Duration::from_secs(60);

/// The limits that the load needs raised; everything else is as shipped.
const CONFIGURATION: &str = "[limits]
connectionsMax = 16384
requestsInFlightMax = 4096
streamsMax = 8192
streamsPerHumanMax = 8192
";

/// A data folder and the program that serves it.
#[derive(Clone, Debug)]
pub(crate) struct ServerFolder {
    /// The program.
    pub(crate) binary: PathBuf,
    /// The data folder.
    pub(crate) folder: PathBuf,
}

impl ServerFolder {
    /// Makes a data folder with the raised limits.
    pub(crate) fn new(binary: &Path, folder: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("guildhall.toml"), CONFIGURATION)?;
        Ok(Self {
            binary: binary.to_owned(),
            folder,
        })
    }

    /// Makes a copy of this house, which nobody may be serving, in another folder.
    pub(crate) fn copy_to(&self, folder: PathBuf) -> Result<Self> {
        let copy = Self::new(&self.binary, folder)?;
        for suffix in ["", "-wal"] {
            let name = format!("guildhall.sqlite{suffix}");
            let from = self.folder.join(&name);
            if from.exists() {
                std::fs::copy(from, copy.folder.join(&name))?;
            }
        }
        Ok(copy)
    }

    /// The home of the user the server takes itself to run as.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.with_extension("home")
    }

    /// The database file.
    pub(crate) fn database(&self) -> PathBuf {
        self.folder.join("guildhall.sqlite")
    }

    /// Starts the server and waits until `/readyz` says 200.
    pub(crate) fn start(&self) -> Result<ServerProcess> {
        let began = Instant::now();
        std::fs::create_dir_all(self.home())?;
        let mut command = Command::new(&self.binary);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GUILDHALL_") {
                command.env_remove(name);
            }
        }
        let mut child = command
            .args(["serve", "--bind", "127.0.0.1:0", "--data-dir"])
            .arg(&self.folder)
            .env("HOME", self.home())
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("CODEX_HOME")
            .env("GUILDHALL_LOG", "warn")
            .envs((!can_be_sandboxed()).then_some(("GUILDHALL_BROWSER_NO_SANDBOX", "1")))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("the server has no output")?;
        let mut server = ServerProcess {
            child,
            output: None,
            address: ([127, 0, 0, 1], 0).into(),
            ready_after: Duration::ZERO,
        };
        // In a thread of its own, because reading a pipe has no limit.
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || tell.send(read_address(BufReader::new(output))));
        let told = told.recv_timeout(START_MAX);
        let (output, address) = told.map_err(|_| "the server does not say where it listens")??;
        (server.output, server.address) = (Some(output), address);
        while !is_ready(server.address).unwrap_or(false) {
            if began.elapsed() > START_MAX {
                return Err("the server did not become ready".into());
            }
            std::thread::yield_now();
        }
        server.ready_after = began.elapsed();
        Ok(server)
    }
}

/// A running server; dropping it kills it.
pub(crate) struct ServerProcess {
    child: Child,
    /// Kept, because a program whose output is closed may stop at its next line.
    output: Option<BufReader<ChildStdout>>,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// From the start of the process to the first good answer of `/readyz`.
    pub(crate) ready_after: Duration,
}

impl ServerProcess {
    /// Its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Bytes of memory it holds now.
    pub(crate) fn resident_bytes(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let kib: u64 = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"))
            .ok_or("the system does not say how much memory the server holds")?
            .parse()?;
        Ok(kib * 1_024)
    }

    /// Asks the server to stop and waits until it has.
    pub(crate) fn stop(mut self) -> Result<()> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.ok_or("the server has no process id")?, Signal::TERM)?;
        let began = Instant::now();
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("the server ended with {status}").into()),
                None if began.elapsed() > PATIENCE => return Err("the server does not stop".into()),
                None => std::thread::yield_now(),
            }
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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

fn is_ready(server: SocketAddr) -> Result<bool> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(START_MAX))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {server}\r\n\r\n")?;
    let mut status = [0; 12];
    stream.read_exact(&mut status)?;
    Ok(status == *b"HTTP/1.1 200")
}

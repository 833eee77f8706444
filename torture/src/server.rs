//! The server under test: the real program on a data folder of its own.

use std::{
    fmt,
    fs::{self, File},
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{
    Failure, Result,
    client::{self, Client},
    http::Connection,
    load::CLIENTS,
};

/// What the server prints before its address.
const READY_LINE: &str = "guildhall runs at http://";
/// How long a start or an end may take before it counts as a hang.
const START_MAX: Duration = Duration::from_secs(60);
/// Lines of the log that are shown.
const LOG_LINES_MAX: usize = 8;
/// Lines of the log that tell of a fault in the program.
const PANIC_WORD: &str = "panicked";

/// A data folder with what lies around it, and the program that serves it.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    /// The program of the server.
    pub(crate) program: PathBuf,
    /// What the disk under test holds: the data folder and the working folder.
    pub(crate) disk: PathBuf,
    /// Everything else; never on the disk under test.
    pub(crate) beside: PathBuf,
}

/// Where clients ask for changes.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    pub(crate) room: String,
    pub(crate) agent: String,
    /// The working folder.
    pub(crate) work: String,
}

/// Why a server did not start.
#[derive(Debug)]
pub(crate) struct StartFailure {
    /// How it ended; `None` where it did not.
    pub(crate) ended: Option<ExitStatus>,
    /// The last lines of its log.
    pub(crate) log: String,
}

impl StartFailure {
    /// Whether it ended with a code and a sentence, as a program that refuses does.
    pub(crate) fn is_refusal(&self) -> bool {
        self.ended
            .and_then(|status| status.code())
            .is_some_and(|code| (1..100).contains(&code))
            && !self.log.contains(PANIC_WORD)
    }
}

impl fmt::Display for StartFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ended {
            Some(status) => write!(f, "the server did not start ({status}): {}", self.log),
            None => write!(f, "the server hangs at its start: {}", self.log),
        }
    }
}

impl std::error::Error for StartFailure {}

impl Installation {
    /// Makes the folders on the disk and beside it, and the files that clients save.
    pub(crate) fn make(program: &Path, disk: PathBuf, beside: PathBuf) -> Result<Self> {
        for name in ["home", "tmp"] {
            fs::create_dir_all(beside.join(name))?;
        }
        let installation = Self {
            program: program.to_owned(),
            disk,
            beside,
        };
        fs::create_dir_all(installation.data())?;
        fs::create_dir_all(installation.work())?;
        fs::create_dir_all(installation.disk.join("links"))?;
        fs::write(
            installation.data().join("guildhall.toml"),
            "[agents]\nenclosure = \"off\"\n",
        )?;
        for number in 0..CLIENTS {
            let linked = Client::linked_name(number);
            File::create(installation.work().join(Client::file_name(number)))?;
            File::create(installation.work().join(&linked))?;
            fs::hard_link(
                installation.work().join(&linked),
                installation.disk.join("links").join(linked),
            )?;
        }
        Command::new("sync")
            .arg("-f")
            .arg(&installation.disk)
            .status()?;
        Ok(installation)
    }

    /// Copies what the disk holds, while no server runs, to another place.
    pub(crate) fn copy_to(&self, disk: PathBuf) -> Result<Self> {
        copy_folder(&self.disk, &disk)?;
        for number in 0..CLIENTS {
            // A copy has one name; the server is to find two.
            let linked = Client::linked_name(number);
            let second = disk.join("links").join(&linked);
            fs::remove_file(&second)?;
            fs::hard_link(disk.join("work").join(&linked), second)?;
        }
        Ok(Self {
            disk,
            ..self.clone()
        })
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.disk.join("data")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.disk.join("work")
    }

    /// The file of the store.
    pub(crate) fn database(&self) -> PathBuf {
        self.data().join("guildhall.sqlite")
    }

    /// Starts the server and waits until it listens.
    ///
    /// # Errors
    /// [`StartFailure`] when it ended or hangs.
    pub(crate) fn start(&self) -> Result<Server> {
        self.start_below(&[])
    }

    /// The same below another program, whose words come first.
    pub(crate) fn start_below(&self, words: &[String]) -> Result<Server> {
        let mut starting = self.spawn(words)?;
        let output = starting.stdout.take().ok_or("the server has no output")?;
        let (sender, receiver) = mpsc::channel();
        // In a thread of its own, because reading a pipe has no limit.
        thread::spawn(move || sender.send(read_address(BufReader::new(output))));
        let mut server = Server {
            child: starting,
            _output: None,
            address: ([127, 0, 0, 1], 0).into(),
            log: self.log(),
            traced: None,
        };
        match receiver.recv_timeout(START_MAX) {
            Ok(Some((output, address))) => {
                (server._output, server.address) = (Some(output), address);
                if !words.is_empty() {
                    server.traced = self.announced_process();
                }
                Ok(server)
            }
            Ok(None) => {
                let ended = server.wait();
                Err(self.start_failure(ended).into())
            }
            Err(_) => Err(self.start_failure(None).into()),
        }
    }

    /// Starts the server and kills it after that time, wherever in its start it is then.
    pub(crate) fn start_and_kill(&self, after: Duration) -> Result<()> {
        let mut starting = self.spawn(&[])?;
        crate::load::pause(after);
        // It fails only when it has ended already.
        let _ = starting.kill();
        starting.wait()?;
        Ok(())
    }

    /// Runs another command of the program on this data folder.
    pub(crate) fn run(&self, words: &[&str]) -> Result<Output> {
        let mut command = self.command(&[]);
        command.env("GUILDHALL_DATA_DIR", self.data()).args(words);
        Ok(command.output()?)
    }

    fn spawn(&self, words: &[String]) -> Result<Child> {
        let mut command = self.command(words);
        command
            .args(["serve", "--bind", "127.0.0.1:0", "--root"])
            .arg(self.work())
            .arg("--data-dir")
            .arg(self.data())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(self.log())?);
        Ok(command.spawn()?)
    }

    /// The program, which ends with this process whatever ends that, below the program `words`.
    fn command(&self, words: &[String]) -> Command {
        const WITH_PARENT: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];
        let mut line: Vec<&str> = WITH_PARENT.to_vec();
        if !words.is_empty() {
            line.extend(words.iter().map(String::as_str));
            line.extend(WITH_PARENT);
        }
        let mut command = Command::new(line[0]);
        command
            .args(&line[1..])
            .arg(&self.program)
            .env_clear()
            .env("HOME", self.beside.join("home"))
            .env("TMPDIR", self.beside.join("tmp"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("GUILDHALL_LOG", "warn")
            .current_dir(&self.beside);
        command
    }

    /// The process that the server says it is.
    fn announced_process(&self) -> Option<Pid> {
        let file = fs::read(self.data().join("run/server.json")).ok()?;
        let announced: Value = serde_json::from_slice(&file).ok()?;
        let id = announced["pid"].as_i64()?;
        Pid::from_raw(i32::try_from(id).ok()?)
    }

    fn log(&self) -> PathBuf {
        self.beside.join("log")
    }

    fn start_failure(&self, ended: Option<ExitStatus>) -> StartFailure {
        StartFailure {
            ended,
            log: last_lines(&self.log()),
        }
    }
}

/// A running server; dropping it kills it.
pub(crate) struct Server {
    child: Child,
    /// Kept, because a program whose output is closed may stop at its next line.
    _output: Option<BufReader<ChildStdout>>,
    pub(crate) address: SocketAddr,
    log: PathBuf,
    /// The server's own process, where another program started it.
    traced: Option<Pid>,
}

impl Server {
    /// Makes a room and an agent to ask with.
    pub(crate) fn furnish(&self, installation: &Installation) -> Result<Workspace> {
        let work = installation.work().display().to_string();
        let (room, agent) = client::furnish(self.address, &work)?;
        Ok(Workspace { room, agent, work })
    }

    /// Whether the server says that it can work, or why it cannot.
    fn readiness(&self) -> Result<Value> {
        let answer = Connection::new(self.address).get("/readyz")?;
        Ok(answer.json())
    }

    /// Waits until the server says something of its readiness that `is_it`.
    ///
    /// # Errors
    /// What it says instead, after that time.
    pub(crate) fn wait_until(
        &self,
        most: Duration,
        is_it: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let until = Instant::now() + most;
        loop {
            let said = self.readiness()?;
            if is_it(&said) {
                return Ok(said);
            }
            if Instant::now() > until {
                return Err(Failure::from(format!("the server says {said}")));
            }
            crate::load::pause(Duration::from_millis(10));
        }
    }

    /// Whether it runs still.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills it at this very moment; answers whether it ran until then.
    pub(crate) fn kill(&mut self) -> bool {
        let was_alive = self.is_alive();
        // Both fail only when it has ended already.
        match self.traced {
            // Whoever traces it ends with it.
            Some(process) => drop(kill_process(process, Signal::KILL)),
            None => drop(self.child.kill()),
        }
        let _ = self.child.wait();
        was_alive
    }

    /// Asks it to stop and waits until it has; answers how it ended.
    ///
    /// # Errors
    /// When it does not stop.
    pub(crate) fn stop(&mut self) -> Result<ExitStatus> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let ended = self.wait();
        ended.ok_or_else(|| Failure::from("the server does not stop"))
    }

    /// What its log says of a panic, if there was one.
    pub(crate) fn panic(&self) -> Option<String> {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let panic = log.lines().find(|line| line.contains(PANIC_WORD));
        panic.map(str::to_owned)
    }

    /// The last lines of its log.
    pub(crate) fn last_words(&self) -> String {
        last_lines(&self.log)
    }

    fn wait(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + START_MAX;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => crate::load::pause(Duration::from_millis(2)),
                _ => return None,
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads what the server prints until it says where it listens; hands the rest over.
fn read_address(
    mut output: BufReader<ChildStdout>,
) -> Option<(BufReader<ChildStdout>, SocketAddr)> {
    let mut line = String::new();
    while output.read_line(&mut line).is_ok_and(|length| length > 0) {
        if let Some(address) = line.trim().strip_prefix(READY_LINE) {
            let address = address.parse().ok()?;
            return Some((output, address));
        }
        line.clear();
    }
    None
}

fn last_lines(log: &Path) -> String {
    let log = fs::read(log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = log.lines().rev().take(LOG_LINES_MAX).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if entry.file_type()?.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

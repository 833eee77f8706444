//! A house with a server in it, and the command line at its door.

use std::{
    io::{BufRead, BufReader, Lines, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use guildhall_world::scratch::Scratch;
use serde_json::Value;

use crate::{cli_terminal::TerminalCommand, server_process::ServerProcess};

/// How long an answer may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A data folder and, while it runs, the server that uses it.
pub(crate) struct ServerForCli {
    scratch: Scratch,
    server: Option<ServerProcess>,
}

/// What a command said and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl ServerForCli {
    /// A house without a server.
    pub(crate) fn empty() -> Self {
        Self {
            scratch: Scratch::new("cli"),
            server: None,
        }
    }

    /// A house with a server.
    pub(crate) fn open() -> Self {
        let mut house = Self::empty();
        house.start();
        house
    }

    /// A house in which people sign in, with nobody in it yet.
    pub(crate) fn with_accounts() -> Self {
        let mut house = Self::empty();
        let data_dir = house.scratch.path().join("data");
        house.server = Some(ServerProcess::start_with(
            &data_dir,
            0,
            &["--auth", "login"],
        ));
        house
    }

    /// What the first account is made with.
    pub(crate) fn setup_code(&self) -> String {
        let code = std::fs::read_to_string(self.scratch.path().join("data/setup-code"));
        code.unwrap().trim().to_owned()
    }

    /// Starts the server, wherever a port is free.
    pub(crate) fn start(&mut self) {
        self.server = Some(ServerProcess::start(&self.scratch.path().join("data"), 0));
    }

    /// Starts the server of a user whose home is the house's folder.
    pub(crate) fn start_at_home(&mut self) {
        let home = self.folder().to_owned();
        self.start_where(&[("HOME", &home)]);
    }

    /// Starts the server with variables set.
    pub(crate) fn start_where(&mut self, env: &[(&str, &str)]) {
        self.server = Some(ServerProcess::start_in(
            &self.scratch.path().join("data"),
            env,
        ));
    }

    /// Asks the server to stop and waits for its end.
    pub(crate) fn stop(&mut self) {
        let server = self.server.take().unwrap();
        assert_eq!(server.stop(), Some(0));
    }

    /// A folder an agent may work in.
    pub(crate) fn folder(&self) -> &str {
        self.scratch.path().to_str().unwrap()
    }

    /// The command, not yet started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_guildhall"));
        command
            .args(args)
            .env("GUILDHALL_DATA_DIR", self.scratch.path().join("data"))
            .env_remove("GUILDHALL_URL")
            .env_remove("GUILDHALL_AGENT_TOKEN")
            .env_remove("GUILDHALL_API_KEY")
            .env_remove("GUILDHALL_COOKIE")
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        outcome(&mut self.command(args))
    }

    /// Starts a command at a terminal of its own.
    pub(crate) fn at_terminal(&self, args: &[&str]) -> TerminalCommand {
        TerminalCommand::start(self.command(args))
    }

    /// Runs a command that speaks with `token`.
    pub(crate) fn run_as(&self, token: &str, args: &[&str]) -> CommandOutput {
        outcome(self.command(args).env("GUILDHALL_AGENT_TOKEN", token))
    }

    /// Runs a command that reads `input`.
    pub(crate) fn run_with(&self, input: &[u8], args: &[&str]) -> CommandOutput {
        fed(&mut self.command(args), input)
    }

    /// Runs a command with a variable set, which reads `input`.
    pub(crate) fn run_where(
        &self,
        variable: (&str, &str),
        input: &[u8],
        args: &[&str],
    ) -> CommandOutput {
        fed(self.command(args).env(variable.0, variable.1), input)
    }

    /// Runs a command that must do what it is asked; its standard output.
    pub(crate) fn done(&self, args: &[&str]) -> String {
        let outcome = self.run(args);
        assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{args:?}");
        outcome.stdout
    }

    /// Runs a command that needs a card, such as `mcp add`, and again with a yes to the card that
    /// it shows; its standard output.
    pub(crate) fn approved(&self, args: &[&str]) -> String {
        let outcome = self.approved_where(("UNUSED", ""), b"", args);
        assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{args:?}");
        outcome.stdout
    }

    /// The same with a variable set, reading `input` each time.
    pub(crate) fn approved_where(
        &self,
        variable: (&str, &str),
        input: &[u8],
        args: &[&str],
    ) -> CommandOutput {
        // Before anything that a command line ends with.
        let saying = |words: &[&str]| {
            let (verb, rest) = args.split_at(2);
            self.run_where(variable, input, &[verb, words, rest].concat())
        };
        let asked = saying(&[]);
        assert_eq!((asked.code, &*asked.stdout), (5, ""), "{asked:?}");
        saying(&["--yes", &digest_of(&asked.stderr)])
    }

    /// Runs a command that the server must refuse; the code of its refusal.
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
        let outcome = self.run(&args);
        assert_eq!((outcome.code, &*outcome.stdout), (1, ""), "{args:?}");
        let envelope: Value = serde_json::from_str(&outcome.stderr).unwrap();
        envelope["code"].as_str().unwrap().to_owned()
    }

    /// Writes a file into the house's folder; its path.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.scratch.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// What the server answers to the command's `--json`.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.done(&args)).unwrap()
    }

    /// Starts a command that goes on, and hands out its lines.
    pub(crate) fn follow(&self, args: &[&str]) -> RunningCommand {
        let mut child = self
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        RunningCommand {
            child,
            lines: Some(lines),
        }
    }

    /// The body of a GET, byte for byte, read without the command line.
    pub(crate) fn body(&self, path: &str) -> String {
        let port = self.server.as_ref().unwrap().port();
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 "), "{head}");
        body.to_owned()
    }
}

/// The beginning of a card's digest, as it is shown to people or programs.
pub(crate) fn digest_of(card: &str) -> String {
    let of_json = serde_json::from_str(card).ok();
    let of_json = of_json.and_then(|card: Value| Some(card["digest"].as_str()?[..8].to_owned()));
    let of_text = || {
        let mut lines = card.lines();
        let digest = lines.find_map(|line| line.strip_prefix("Digest"))?;
        Some(digest.trim().to_owned())
    };
    of_json.or_else(of_text).expect("a digest")
}

/// A command that goes on until it is interrupted; killed when dropped.
pub(crate) struct RunningCommand {
    child: Child,
    /// `None` once nobody reads them any more.
    lines: Option<Lines<BufReader<ChildStdout>>>,
}

impl RunningCommand {
    /// The next line.
    pub(crate) fn line(&mut self) -> String {
        let lines = self.lines.as_mut().unwrap();
        lines.next().expect("a line").unwrap()
    }

    /// The next line, read as JSON.
    pub(crate) fn json(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Reads no further lines.
    pub(crate) fn close(mut self) -> Self {
        self.lines = None;
        self
    }

    /// Interrupts it as a terminal does; its exit code and what it says on standard error.
    pub(crate) fn interrupt(self) -> (Option<i32>, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.ended()
    }

    /// Waits for its end; its exit code and what it says on standard error.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let mut stderr = String::new();
        let mut pipe = self.child.stderr.take().unwrap();
        pipe.read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap().code(), stderr)
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // One that ended already is what we want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl From<std::process::Output> for CommandOutput {
    fn from(output: std::process::Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn fed(command: &mut Command, input: &[u8]) -> CommandOutput {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap().into()
}

fn outcome(command: &mut Command) -> CommandOutput {
    command.output().unwrap().into()
}

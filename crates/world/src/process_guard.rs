//! The keeper: a tiny process between the server and one agent, which leaves nothing alive.
//! It is the child subreaper of everything the agent starts, and ends all of it when the server
//! closes the agent's standard input, ends, or is killed. It passes the streams through unread.
//!
//! The only place that waits for any child: the server never does.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    time::Duration,
};

use crate::enclosure::GuardRestrictions;

/// The word of the hidden subcommand.
pub const SUBCOMMAND: &str = "keeper";

/// The program agents are kept by: this one, called with [`SUBCOMMAND`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardCommand {
    /// The program; absolute, because it is started in the agent's folder.
    pub program: PathBuf,
    /// What comes before `--` and the agent's own command.
    pub args: Vec<OsString>,
}

impl GuardCommand {
    /// This very program, also when its file was replaced meanwhile.
    pub fn own() -> Self {
        #[cfg(target_os = "linux")]
        let program = PathBuf::from("/proc/self/exe");
        #[cfg(not(target_os = "linux"))]
        let program = std::env::current_exe().unwrap_or_default();
        Self {
            program,
            args: vec![SUBCOMMAND.into()],
        }
    }
}

/// The argument that says how many seconds lie between the steps of ending what is kept.
pub const GRACE_ARGUMENT: &str = "--grace-s";
/// The argument that says by which name what is kept is called, where that is not its path.
pub const NAME_ARGUMENT: &str = "--name";

/// The argument that says that what is kept talks at descriptors 3 and 4, as Chromium does:
/// what would be its standard input comes at 3, and at 4 goes what would be its output.
pub const PIPES_ARGUMENT: &str = "--pipes";

/// What is kept, and how.
#[derive(Clone, Copy, Debug)]
pub struct GuardOptions<'a> {
    /// The program, then its arguments.
    pub command: &'a [OsString],
    /// What it is called by, where that is not its path: some programs are another one by that,
    /// or find what belongs to them beside it.
    pub name: Option<&'a OsStr>,
    /// What lies between the steps of ending it.
    pub grace: Duration,
    /// Whether it talks at descriptors 3 and 4, see [`PIPES_ARGUMENT`].
    pub is_at_pipes: bool,
    /// What it and its keeper are kept from.
    pub walls: &'a GuardRestrictions,
}

/// Exit code of a keeper that could not do its work.
const FAILED: u8 = 126;
/// Exit code when the agent's program could not be started, as shells have it.
const NOT_STARTED: u8 = 127;

/// Keeps a program until it and everything below it has ended.
///
/// When it shall end, its standard input is closed; it gets SIGTERM after the grace, and
/// everything below gets SIGKILL after another. Answers the agent's exit code, 128 and the signal
/// when one ended it. Blocks; the process must have no other children and nothing else to do.
///
/// Source: contract 3.3.2.
pub fn run_guard(what: &GuardOptions<'_>) -> u8 {
    match imp::run_guard(what) {
        Ok(code) => code,
        Err(failure) => {
            complain(&failure.what);
            failure.code
        }
    }
}

struct GuardFailure {
    code: u8,
    what: String,
}

fn failed(doing: &str) -> impl Fn(std::io::Error) -> GuardFailure {
    move |error| GuardFailure {
        code: FAILED,
        what: format!("{doing}: {error}"),
    }
}

fn complain(what: &str) {
    use std::io::Write;
    // The server reads it as the agent's last words; one that is gone reads nothing.
    let _ = writeln!(std::io::stderr(), "{what}");
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use super::{FAILED, GuardFailure, GuardOptions};

    pub(super) fn keep(_: &GuardOptions<'_>) -> Result<u8, GuardFailure> {
        Err(GuardFailure {
            code: FAILED,
            what: "agents run on Linux only".to_owned(),
        })
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::{
        fs::File,
        io,
        os::{
            fd::{AsFd, OwnedFd},
            unix::process::CommandExt,
        },
        process::{Command, Stdio},
    };

    use command_fds::{CommandFdExt, FdMapping};
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use rustix::process::{
        DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, getppid,
        kill_process_group, pidfd_open, set_child_subreaper, set_dumpable_behavior, setsid, wait,
    };
    use tokio::{
        signal::unix::{Signal as Signals, SignalKind, signal},
        sync::oneshot,
        time::timeout,
    };

    use super::{Duration, GuardFailure, GuardOptions, NOT_STARTED, failed};
    use crate::process_tree;

    /// The highest of the three descriptors that every program has.
    const STDERR: i32 = 2;
    /// How often the tree is read again while it is being killed.
    const KILL_AGAIN: Duration = Duration::from_millis(20);

    pub(super) fn run_guard(what: &GuardOptions<'_>) -> Result<u8, GuardFailure> {
        // Taken before anything can happen to it.
        let server = getppid();
        // What the owner left open for the server is not for agents.
        close_fds::set_fds_cloexec(STDERR + 1, &[]);
        // No terminal of the owner is the agent's: a session has none at first.
        setsid().map_err(|e| failed("leaving the terminal")(e.into()))?;
        // Before any thread begins, because it takes a process of one thread.
        what.walls.hide().map_err(failed("enclosing the agent"))?;
        set_child_subreaper(Some(getpid())).map_err(|e| failed("becoming subreaper")(e.into()))?;
        // No process of the agent shall open our descriptors or hold us up.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|e| failed("making memory private")(e.into()))?;
        what.walls.filter().map_err(failed("enclosing the agent"))?;
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed("starting"))?
            .block_on(async {
                let server = server
                    .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
                    .filter(|_| getppid() == server);
                let mut ends = StopSources::watch(server).map_err(failed("listening"))?;
                let mut deaths = signal(SignalKind::child()).map_err(failed("listening"))?;
                if !may_begin().map_err(failed("waiting for the server"))? {
                    return Ok(0);
                }
                Ok(ProcessGuard::start(what)?
                    .see_out(&mut ends, &mut deaths, what.grace)
                    .await)
            })
    }

    /// Waits for the one byte that says that the server knows of us; false when it went instead.
    fn may_begin() -> io::Result<bool> {
        let mut byte = [0; 1];
        Ok(rustix::io::read(io::stdin(), &mut byte)? == 1)
    }

    /// Everything that can tell a keeper to end the agent.
    struct StopSources {
        /// Answers when the server lets go of our pipe, or has ended.
        let_go: oneshot::Receiver<()>,
        terminate: Signals,
        interrupt: Signals,
        hang_up: Signals,
    }

    impl StopSources {
        fn watch(server: Option<OwnedFd>) -> io::Result<Self> {
            let stdin = io::stdin().as_fd().try_clone_to_owned()?;
            let (tell, let_go) = oneshot::channel();
            // A thread, because a runtime may watch a descriptor only by unsafe means; it ends
            // with the process.
            std::thread::Builder::new().spawn(move || {
                wait_for_end(&stdin, server.as_ref());
                // Nobody listens any more when the agent ended first.
                let _ = tell.send(());
            })?;
            Ok(Self {
                let_go,
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
                hang_up: signal(SignalKind::hangup())?,
            })
        }

        /// Waits until the agent shall end. Every branch only waits: cancel-safe.
        async fn come(&mut self) {
            tokio::select! {
                // An error is no reason to leave anything alive.
                _ = &mut self.let_go => {}
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
                _ = self.hang_up.recv() => {}
            }
        }
    }

    /// Blocks until nobody can write to `stdin` any more, or the server has ended.
    fn wait_for_end(stdin: &OwnedFd, server: Option<&OwnedFd>) {
        let Some(server) = server else {
            return;
        };
        loop {
            // Data is the agent's to read: only the end is of interest, and comes unasked.
            let mut watched = [
                PollFd::new(stdin, PollFlags::empty()),
                PollFd::new(server, PollFlags::IN),
            ];
            match poll(&mut watched, None) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Puts our own standard input and output at 3 and 4, and nothing in their places.
    fn move_to_pipes(command: &mut Command) -> io::Result<()> {
        let mappings = vec![
            FdMapping {
                parent_fd: io::stdin().as_fd().try_clone_to_owned()?,
                child_fd: 3,
            },
            FdMapping {
                parent_fd: io::stdout().as_fd().try_clone_to_owned()?,
                child_fd: 4,
            },
        ];
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.fd_mappings(mappings).map_err(io::Error::other)?;
        Ok(())
    }

    /// What it keeps. Dropped before all of it has ended, it ends us by a signal, so that the
    /// server does not take this for an end by ourselves.
    struct ProcessGuard {
        agent: Pid,
        /// How the agent ended.
        status: Option<WaitStatus>,
        /// Whether no child is left at all, and so nothing below.
        is_alone: bool,
    }

    impl Drop for ProcessGuard {
        fn drop(&mut self) {
            if !self.is_alone {
                std::process::abort();
            }
        }
    }

    impl ProcessGuard {
        fn start(what: &GuardOptions<'_>) -> Result<Self, GuardFailure> {
            let not_started = |error: io::Error| GuardFailure {
                code: NOT_STARTED,
                what: format!(
                    "{} could not be started: {error}",
                    what.command
                        .first()
                        .map_or_else(Default::default, |program| program.to_string_lossy())
                ),
            };
            let (program, args) = what
                .command
                .split_first()
                .ok_or_else(|| not_started(io::ErrorKind::InvalidInput.into()))?;
            let mut command = Command::new(program);
            command.arg0(what.name.unwrap_or(program)).args(args);
            if what.is_at_pipes {
                // It stays in our own group, whose number the server knows without us: by that
                // the server finds what is left should we be killed.
                move_to_pipes(&mut command).map_err(not_started)?;
            } else {
                command.process_group(0);
            }
            let nowhere = File::options().write(true).open("/dev/null");
            let nowhere = nowhere.map_err(failed("letting go of the output"))?;
            let child = command.spawn().map_err(not_started)?;
            let keeper = Self {
                agent: Pid::from_child(&child),
                status: None,
                is_alone: false,
            };
            // It holds copies of our pipes.
            drop(command);
            // Its end must show as the end of the agent's own output.
            rustix::stdio::dup2_stdout(nowhere)
                .map_err(io::Error::from)
                .map_err(failed("letting go of the output"))?;
            Ok(keeper)
        }

        /// Waits for the agent's end, or brings it about, and leaves nothing alive.
        async fn see_out(
            mut self,
            ends: &mut StopSources,
            deaths: &mut Signals,
            grace: Duration,
        ) -> u8 {
            let is_over = tokio::select! {
                () = self.agent_ends(deaths) => true,
                () = ends.come() => false,
            };
            if !is_over && !self.ends_within(deaths, grace).await {
                // An error means that the group is empty.
                let _ = kill_process_group(self.agent, Signal::TERM);
                self.ends_within(deaths, grace).await;
            }
            while !self.is_alone {
                process_tree::kill_below(std::process::id());
                // Whichever comes first: somebody died, or somebody was missed.
                let _ = timeout(KILL_AGAIN, deaths.recv()).await;
                self.reap();
            }
            self.code()
        }

        async fn ends_within(&mut self, deaths: &mut Signals, grace: Duration) -> bool {
            timeout(grace, self.agent_ends(deaths)).await.is_ok()
        }

        /// Waits for the agent's own process; others that came to us are reaped on the way.
        async fn agent_ends(&mut self, deaths: &mut Signals) {
            self.reap();
            while self.status.is_none() && deaths.recv().await.is_some() {
                self.reap();
            }
        }

        /// Takes note of every child that has ended.
        fn reap(&mut self) {
            loop {
                match wait(WaitOptions::NOHANG) {
                    Ok(Some((pid, status))) if pid == self.agent => self.status = Some(status),
                    Ok(Some(_)) | Err(Errno::INTR) => {}
                    Ok(None) => return,
                    Err(_) => {
                        self.is_alone = true;
                        return;
                    }
                }
            }
        }

        fn code(&self) -> u8 {
            let code = self.status.and_then(|status| {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                status.exit_status().or(signal)
            });
            // Both are below 256 as the kernel has them.
            code.and_then(|code| u8::try_from(code).ok())
                .unwrap_or(super::FAILED)
        }
    }
}

//! A program below its keeper: started in an agent's process tree, and seen out until nothing
//! below the keeper lives. What is said over its pipes is `acp` and `mcp`.

use std::{
    future::Future,
    io,
    os::unix::process::ExitStatusExt,
    path::Path,
    pin::pin,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use tokio::{
    io::AsyncWriteExt,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    task::spawn_blocking,
    time::timeout,
};

use crate::{
    cgroup::GuardCgroup,
    enclosure::Enclosure,
    process_guard::{GRACE_ARGUMENT, GuardCommand, NAME_ARGUMENT, PIPES_ARGUMENT},
    process_tree::{self, GuardRegistration, LeftoverProcesses, ProcessTrees, TreeOwner},
    stderr_tail::StderrTail,
};

/// How long the last words of a process that ended are read.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How long the keeper gets beyond the two graces it gives what it keeps.
const KEEPER_GRACE: Duration = Duration::from_secs(1);
/// How long what was killed may take to end, and how often it is looked for.
const KILLED_WAIT: Duration = Duration::from_secs(2);
const KILLED_PAUSE: Duration = Duration::from_millis(20);

/// What is started, and whose it is.
pub(crate) struct GuardedLaunch<'a> {
    pub(crate) program: &'a Path,
    /// The name it is called by, where that is not its path.
    pub(crate) name: Option<&'a Path>,
    pub(crate) args: &'a [String],
    /// The folder it starts in; absolute.
    pub(crate) cwd: &'a Path,
    /// Its complete environment.
    pub(crate) env: &'a [(String, String)],
    pub(crate) keeper: &'a GuardCommand,
    /// What it is kept from, with all that it starts.
    pub(crate) enclosure: &'a Enclosure,
    /// What everything below the keeper counts as.
    pub(crate) whose: TreeOwner,
    pub(crate) trees: &'a ProcessTrees,
    /// `NAME=value` of `env` that nothing else in the world has: what a killed keeper left
    /// behind is found by it.
    pub(crate) mark: Option<String>,
    /// How long lies between the steps of ending it.
    pub(crate) grace: Duration,
    /// Whether it talks at descriptors 3 and 4, see [`PIPES_ARGUMENT`].
    pub(crate) is_at_pipes: bool,
}

/// The ends of its streams.
pub(crate) struct StdioPipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// How it ended.
pub(crate) struct GuardedExit {
    /// Its exit code, 128 and the signal when one ended it; `None` when nobody knows.
    pub(crate) code: Option<i32>,
    /// Whether its keeper was killed by somebody else.
    pub(crate) is_lost: bool,
}

/// A program that runs below its keeper; dropped, it lets the keeper end it.
pub(crate) struct GuardedProcess {
    keeper: Child,
    pid: u32,
    mark: Option<String>,
    grace: Duration,
    /// The keeper's place among the trees, until nothing below it lives.
    kept: GuardRegistration,
    group: Option<GuardCgroup>,
}

impl GuardedProcess {
    /// Starts the keeper, enters it in `start.trees`, and only then lets the program begin.
    ///
    /// # Errors
    /// When the keeper cannot be started, such as for a folder that is gone. A program that does
    /// not exist shows as exit code 127.
    pub(crate) async fn start(start: &GuardedLaunch<'_>) -> io::Result<(Self, StdioPipes)> {
        let mut keeper = start.enclosure.spawn(command(start)?).await?;
        let pid = keeper.id().unwrap_or_default();
        let (kept, group) = enter(start, pid).await?;
        let pipes = (
            keeper.stdin.take(),
            keeper.stdout.take(),
            keeper.stderr.take(),
        );
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("no pipes"));
        };
        // The keeper waits for one byte.
        stdin.write_all(b"\n").await?;
        let process = Self {
            keeper,
            pid,
            mark: start.mark.clone(),
            grace: start.grace,
            kept,
            group,
        };
        let pipes = StdioPipes {
            stdin,
            stdout,
            stderr,
        };
        Ok((process, pipes))
    }

    /// The keeper's own number.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until `talk` or the program ends, calls `is_over`, and sees the program out.
    ///
    /// By the end of `talk` the program's standard input must be closed: that is the keeper's
    /// sign. Meanwhile `stderr` is followed into `stderr_tail`.
    pub(crate) async fn wait_until_ended(
        mut self,
        talk: impl Future<Output = ()>,
        is_over: impl Fn(),
        tail: &StderrTail,
        stderr: ChildStderr,
    ) -> GuardedExit {
        let mut follow = pin!(tail.follow(stderr));
        let mut is_read = false;
        let (status, is_killed_by_us) = {
            let mut life = pin!(live(&mut self.keeper, self.grace, talk, is_over));
            loop {
                tokio::select! {
                    status = life.as_mut() => break status,
                    () = follow.as_mut(), if !is_read => is_read = true,
                }
            }
        };
        let is_killed = status.is_none_or(|status| status.signal().is_some());
        let is_lost = is_killed && !is_killed_by_us && status.is_some();
        match is_killed {
            true => self.kill_what_is_left().await,
            false => self.kept.has_ended(),
        }
        if !is_read {
            // What is not read in time is lost; it only explains.
            let _ = timeout(LAST_WORDS, follow).await;
        }
        let code = status.and_then(|status| {
            let signal = status.signal().map(|signal| 128 + signal);
            status.code().or(signal)
        });
        GuardedExit { code, is_lost }
    }

    /// Ends what a keeper left behind that was killed itself: all in its control group, its
    /// process group, and whatever carries the mark. Says so where something stays.
    async fn kill_what_is_left(&mut self) {
        let mark = self.mark.clone();
        let left = mark.map(|mark| LeftoverProcesses {
            group: self.pid,
            mark,
        });
        // Known before anything else: what is killed may connect until then.
        self.kept.is_lost();
        let group = self.group.take();
        let kill = move || {
            let is_group_left = group.as_ref().is_some_and(|group| {
                if let Err(error) = group.kill() {
                    tracing::warn!(%error, "a control group could not be killed");
                }
                !is_soon(|| !group.is_populated())
            });
            let is_other_left = left.is_some_and(|left| !is_soon(|| left.kill() == 0));
            is_group_left || is_other_left
        };
        // An error would mean that the server ends.
        if spawn_blocking(kill).await.unwrap_or(false) {
            tracing::warn!(
                keeper = self.pid,
                "processes are left that could not be killed: end them yourself"
            );
        }
    }
}

/// Whether something comes about within a moment.
fn is_soon(is_so: impl Fn() -> bool) -> bool {
    let end = Instant::now() + KILLED_WAIT;
    while !is_so() {
        if Instant::now() >= end {
            return false;
        }
        #[expect(clippy::disallowed_methods, reason = "they are no children of ours")]
        std::thread::sleep(KILLED_PAUSE);
    }
    true
}

/// Enters a keeper in the trees, and puts it into a control group of its own where there can be
/// one.
async fn enter(
    start: &GuardedLaunch<'_>,
    keeper: u32,
) -> io::Result<(GuardRegistration, Option<GuardCgroup>)> {
    let (trees, whose, mark) = (start.trees.clone(), start.whose, start.mark.clone());
    let is_enclosed = start.enclosure.blocks_own_ports();
    let entered = spawn_blocking(move || {
        let kept = trees.register(keeper, whose, is_enclosed, mark.as_deref())?;
        Ok((kept, GuardCgroup::create_with(keeper)))
    });
    entered.await.map_err(io::Error::other)?
}

fn command(start: &GuardedLaunch<'_>) -> io::Result<Command> {
    let mut command = Command::new(&start.keeper.program);
    command
        .args(&start.keeper.args)
        .arg(GRACE_ARGUMENT)
        .arg(start.grace.as_secs().to_string());
    if let Some(name) = start.name {
        command.arg(NAME_ARGUMENT).arg(name);
    }
    if start.is_at_pipes {
        command.arg(PIPES_ARGUMENT);
    }
    command.args(start.enclosure.arguments()?);
    command
        .arg("--")
        .arg(start.program)
        .args(start.args)
        .env_clear()
        .envs(start.env.iter().map(|(name, value)| (name, value)))
        .current_dir(start.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // The keeper ends by itself when its pipe closes; a killed one could end nothing.
        .kill_on_drop(false);
    Ok(command)
}

/// Waits until either side ends, then sees the keeper out; answers how that ended, and whether
/// it had to be killed here.
async fn live(
    keeper: &mut Child,
    grace: Duration,
    talk: impl Future<Output = ()>,
    is_over: impl Fn(),
) -> (Option<ExitStatus>, bool) {
    {
        let mut talk = pin!(talk);
        tokio::select! {
            () = talk.as_mut() => is_over(),
            status = keeper.wait() => {
                is_over();
                // What it wrote before it ended is still in the pipe.
                let _ = timeout(LAST_WORDS, talk).await;
                return (status.ok(), false);
            }
        }
    }
    // The pipes are closed now, which is the keeper's sign.
    if let Ok(status) = timeout(2 * grace + KEEPER_GRACE, keeper.wait()).await {
        return (status.ok(), false);
    }
    // A keeper that is stopped itself cannot end anything.
    if let Some(pid) = keeper.id() {
        process_tree::kill_below(pid);
    }
    // An error means that it ended already.
    let _ = keeper.start_kill();
    match timeout(KEEPER_GRACE, keeper.wait()).await {
        Ok(status) => (status.ok(), true),
        Err(_) => (None, true),
    }
}

//! What a process does to be hard to recognise while it asks.

use std::{
    fs::{self, File},
    io,
    os::fd::OwnedFd,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, getrlimit, kill_process,
    set_dumpable_behavior, setrlimit,
};

/// What is so with the process while it asks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProcessDisguise {
    /// It has more descriptors than the server looks at.
    ManyDescriptors,
    /// Nobody may look into it but root.
    NotDumpable,
    /// Its keeper is stopped.
    StoppedKeeper,
    /// Its name is written as the system writes a name, a state and a parent.
    OddName,
    /// It starts others all the time, which end at once.
    ShortLived,
}

/// Ends what was begun when it is dropped.
#[expect(dead_code, reason = "held until they are dropped")]
pub(super) enum ActiveDisguise {
    Nothing,
    Descriptors(Vec<OwnedFd>),
    Stopped(StoppedProcess),
    Starting(ProcessStarter),
}

/// More than the server looks at in all processes of agents together.
const DESCRIPTORS: u64 = 17_000;
/// At most 15 bytes; the system puts brackets around it.
const ODD_NAME: &str = "x) S 1 1 1 (x";

impl ProcessDisguise {
    /// `server` is the process of the server.
    ///
    /// # Errors
    /// What the system says; `Unsupported` where this computer cannot do it.
    pub(super) fn begin(self, server: i32) -> io::Result<ActiveDisguise> {
        match self {
            Self::ManyDescriptors => many_descriptors().map(ActiveDisguise::Descriptors),
            Self::NotDumpable => {
                set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
                Ok(ActiveDisguise::Nothing)
            }
            Self::StoppedKeeper => {
                StoppedProcess::new(keeper_below(server)).map(ActiveDisguise::Stopped)
            }
            Self::OddName => {
                fs::write("/proc/self/comm", ODD_NAME)?;
                Ok(ActiveDisguise::Nothing)
            }
            Self::ShortLived => Ok(ActiveDisguise::Starting(ProcessStarter::begin())),
        }
    }
}

fn many_descriptors() -> io::Result<Vec<OwnedFd>> {
    let limit = getrlimit(Resource::Nofile);
    if limit
        .maximum
        .is_some_and(|maximum| maximum < DESCRIPTORS + 100)
    {
        let why = format!("no process may have {DESCRIPTORS} descriptors");
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let current = limit.maximum;
    setrlimit(Resource::Nofile, Rlimit { current, ..limit })?;
    // The lowest numbers are given first, so that a connection made later is looked at last.
    let open = |_| File::open("/dev/null").map(OwnedFd::from);
    (0..DESCRIPTORS).map(open).collect()
}

/// The process above this one whose parent is the server.
fn keeper_below(server: i32) -> i32 {
    let mut process = i32::try_from(std::process::id()).unwrap();
    loop {
        let parent = parent(process);
        assert!(parent > 1, "the server is above");
        if parent == server {
            return process;
        }
        process = parent;
    }
}

fn parent(process: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = stat.rsplit(") ").next().unwrap();
    fields.split(' ').nth(1).unwrap().parse().unwrap()
}

/// A process that is stopped; dropped, it goes on.
pub(super) struct StoppedProcess(Pid);

impl StoppedProcess {
    /// # Errors
    /// What the system says.
    pub(super) fn new(process: i32) -> io::Result<Self> {
        let pid = Pid::from_raw(process).unwrap();
        kill_process(pid, Signal::STOP)?;
        Ok(Self(pid))
    }
}

impl Drop for StoppedProcess {
    fn drop(&mut self) {
        // One that has ended cannot go on.
        let _ = kill_process(self.0, Signal::CONT);
    }
}

/// Threads that start processes until it is dropped.
pub(super) struct ProcessStarter {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl ProcessStarter {
    fn begin() -> Self {
        let is_over = Arc::<AtomicBool>::default();
        let start = |_| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let mut command = Command::new("/bin/true");
                    command.stdin(Stdio::null()).status().unwrap();
                }
            })
        };
        let threads = (0..2).map(start).collect();
        Self { is_over, threads }
    }
}

impl Drop for ProcessStarter {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that could not start a process has ended.
            let _ = thread.join();
        }
    }
}

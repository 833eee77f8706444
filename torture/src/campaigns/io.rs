//! Io: the n-th call of the system fails with an I/O error or for want of room, once or from then
//! on, while one client asks for one change after another.

use std::{
    fs,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use crate::{
    Result,
    campaigns::{Run, Series, is_before},
    client::{Change, Client},
    figures::Figures,
    ledger::{Ledger, Phase, locked},
    load,
    mounts::administration,
    rng::Rng,
    server::{Server, StartFailure},
};

/// Faults that one data folder goes through.
const FAULTS_OF_A_FOLDER: usize = 12;
/// How often a call fails from then on, in percent.
const STICKY_PERCENT: usize = 40;
/// Calls among which the failing one is chosen, before any run has shown how many there are.
const CALLS_AT_FIRST: usize = 12;
/// Changes after a fault that came once, of which one has to be acknowledged, and the time between.
const CHANGES_AFTER: usize = 40;
const PAUSE_AFTER: Duration = Duration::from_millis(50);

/// What is asked for, in this order.
const SCRIPT: [Change; 16] = [
    Change::Post,
    Change::Upload,
    Change::PostWithUpload,
    Change::Canvas,
    Change::Save,
    Change::SaveInPlace,
    Change::Decision,
    Change::Canvas,
    Change::Save,
    Change::Post,
    Change::SaveInPlace,
    Change::Decision,
    Change::Upload,
    Change::PostWithUpload,
    Change::Canvas,
    Change::Post,
];

/// What a change may be refused with.
const REFUSALS: &[&str] = &[
    "STORAGE_FULL",
    "STORAGE_IO_FAILED",
    "OVERLOADED",
    "FILE_SAVE_FAILED",
    "FILE_IO_FAILED",
];

/// Calls that fail together.
struct Calls {
    names: &'static str,
    errors: &'static [&'static str],
    /// The files that they have to reach; everything where there are none.
    files: &'static [&'static str],
}

/// The files of the store, below the disk.
const STORE: &[&str] = &[
    "data/guildhall.sqlite",
    "data/guildhall.sqlite-wal",
    "data/guildhall.sqlite-shm",
];

/// What fails. Of `write` only what reaches files that are written in place: the others wake
/// threads and speak with clients, which no disk can fail.
const CALLS: [Calls; 8] = [
    Calls {
        names: "fdatasync",
        errors: &["EIO", "ENOSPC"],
        files: &[],
    },
    Calls {
        names: "pwrite64",
        errors: &["EIO", "ENOSPC"],
        files: &[],
    },
    Calls {
        names: "fsync",
        errors: &["EIO", "ENOSPC"],
        files: &[],
    },
    Calls {
        names: "ftruncate",
        errors: &["EIO", "ENOSPC"],
        files: &[],
    },
    Calls {
        names: "write",
        errors: &["EIO", "ENOSPC"],
        files: &["work/linked-0.md"],
    },
    Calls {
        names: "rename,renameat,renameat2",
        errors: &["EIO", "ENOSPC"],
        files: &[],
    },
    Calls {
        names: "pread64",
        errors: &["EIO"],
        files: STORE,
    },
    Calls {
        names: "unlink,unlinkat",
        errors: &["EIO"],
        files: &[],
    },
];

/// Runs the campaign, or says why it cannot be run here.
///
/// # Errors
/// Why it could not go on.
pub(crate) fn run(run: &Run<'_>, mut figures: Figures) -> Result<Figures> {
    if let Err(why) = can_trace() {
        return Ok(figures.skipped(format!("calls of the system cannot be made to fail: {why}")));
    }
    let until = Instant::now() + run.span;
    let disk = run.folder.join("io");
    let mut counts = [None; CALLS.len()];
    while is_before(until) {
        let (series, server) = Series::open(run, &disk, Ledger::new(true))?;
        locked(&series.ledger).tolerated = REFUSALS;
        drop(server);
        for _ in 0..FAULTS_OF_A_FOLDER {
            if !is_before(until) || !fail(&series, &mut counts, &mut figures)? {
                break;
            }
        }
        series.close(&mut figures)?;
    }
    Ok(figures)
}

/// Whether strace is here and may trace.
fn can_trace() -> std::result::Result<(), String> {
    let tried = administration("strace")
        .args(["-f", "-qq", "-e", "trace=none", "true"])
        .stdin(Stdio::null())
        .output();
    match tried {
        Err(error) => Err(format!("strace could not be started ({error})")),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("strace may trace nothing ({})", said.trim()))
        }
    }
}

/// One fault with its comparison; false where the server does not come back.
fn fail(
    series: &Series<'_>,
    counts: &mut [Option<usize>; CALLS.len()],
    figures: &mut Figures,
) -> Result<bool> {
    let mut rng = series.begin(figures);
    let kind = usize::try_from(figures.attempts)? % CALLS.len();
    let calls = &CALLS[kind];
    let error = rng.pick(calls.errors);
    let number = 1 + rng.below(counts[kind].unwrap_or(CALLS_AT_FIRST));
    let is_sticky = rng.chance(STICKY_PERCENT);
    let when = format!("{number}{}", if is_sticky { "+" } else { "" });
    let fault = format!("{} fails with {error} at call {when}", calls.names);
    let log = series.installation.beside.join("strace.log");
    let words = strace(calls, error, &when, &series.installation.disk, &log);
    let was_clean = figures.is_clean_so_far();
    let started = series.installation.start_below(&words);
    let has_started = started.is_ok();
    match started {
        Ok(mut server) => {
            ask_all(series, &server, is_sticky, &mut rng, &log, figures);
            series.set_phase(Phase::Breaking);
            if !server.kill() {
                figures.violated(format!("the server ended: {}", server.last_words()));
            }
            if let Some(panic) = server.panic() {
                figures.violated(format!("a panic: {panic}"));
            }
        }
        Err(failure) => match failure.downcast_ref::<StartFailure>() {
            Some(refused) if refused.is_refusal() => figures.count("starts refused", 1),
            _ => figures.violated(failure.to_string()),
        },
    }
    let traced = fs::read_to_string(&log).unwrap_or_default();
    figures.faults += u64::from(traced.contains("(INJECTED)"));
    if has_started {
        // A start that was refused made few of them.
        let found = calls_of_a_thread(&traced);
        counts[kind] = Some(counts[kind].unwrap_or(1).max(found));
    }
    let is_back = series.restart(figures).is_some();
    if was_clean && !figures.is_clean_so_far() {
        figures.violated(format!("the fault before was: {fault}"));
    }
    Ok(is_back)
}

/// Asks for everything in the script; after a fault that came once, a change has to be taken.
fn ask_all(
    series: &Series<'_>,
    server: &Server,
    is_sticky: bool,
    rng: &mut Rng,
    log: &Path,
    figures: &mut Figures,
) {
    series.set_phase(Phase::Working);
    let load = Rng::of_attempt(rng.next(), 0);
    let mut client = Client::new(0, server.address, &series.workspace, &series.ledger, load);
    let mut asked = client.deny_pending();
    for (n, change) in SCRIPT.into_iter().enumerate() {
        asked = asked.and_then(|()| client.ask(change));
        if n == SCRIPT.len() / 2 {
            asked = asked.and_then(|()| client.back_up().map(|_| ()));
        }
    }
    let refused = locked(&series.ledger).refusals;
    figures.count(
        "refused",
        std::mem::take(&mut locked(&series.ledger).refusals),
    );
    let has_failed =
        refused > 0 || fs::read_to_string(log).is_ok_and(|traced| traced.contains("(INJECTED)"));
    if asked.is_ok() && has_failed && !is_sticky {
        let before = locked(&series.ledger).acknowledgements;
        for _ in 0..CHANGES_AFTER {
            asked = client.ask(Change::Post);
            if asked.is_err() || locked(&series.ledger).acknowledgements > before {
                break;
            }
            load::pause(PAUSE_AFTER);
        }
        if locked(&series.ledger).acknowledgements == before {
            figures.violated("no change is taken after a fault that came once");
        }
    }
    if let Err(error) = asked {
        locked(&series.ledger).unanswered(&error);
    }
}

/// The words of strace, which stand before the server's.
fn strace(calls: &Calls, error: &str, when: &str, disk: &Path, log: &Path) -> Vec<String> {
    let mut words = vec![
        "strace".to_owned(),
        "-f".to_owned(),
        "--seccomp-bpf".to_owned(),
        "-qq".to_owned(),
        "-o".to_owned(),
        log.display().to_string(),
    ];
    for file in calls.files {
        words.extend(["-P".to_owned(), disk.join(file).display().to_string()]);
    }
    words.extend([
        "-e".to_owned(),
        format!("trace={}", calls.names),
        "-e".to_owned(),
        format!("inject={}:error={error}:when={when}", calls.names),
    ]);
    words
}

/// The most calls that one thread made: strace counts for each thread.
fn calls_of_a_thread(log: &str) -> usize {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for line in log.lines().filter(|line| !line.contains("resumed>")) {
        if let Some((thread, _)) = line.split_once(' ') {
            *counts.entry(thread).or_default() += 1;
        }
    }
    counts.values().copied().max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_of_the_busiest_thread_are_counted() {
        let log = "1 fsync(3) = 0\n2 fsync(4 <unfinished ...>\n1 fsync(3) = 0\n\
                   2 <... fsync resumed>) = 0\n";
        assert_eq!(calls_of_a_thread(log), 2);
        assert_eq!(calls_of_a_thread(""), 0);
    }

    #[test]
    fn the_server_runs_below_a_strace_that_fails_one_call() {
        let words = strace(&CALLS[4], "EIO", "3+", Path::new("/d"), Path::new("/log"));
        assert_eq!(
            words.join(" "),
            "strace -f --seccomp-bpf -qq -o /log -P /d/work/linked-0.md -e trace=write -e \
             inject=write:error=EIO:when=3+"
        );
    }
}

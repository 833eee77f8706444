//! What one agent can make everybody else wait: an agent that is not enclosed runs a program among
//! whose descriptors, threads or processes the holder of each new connection is looked for.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Instant,
};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use serde_json::json;

use crate::{
    Result,
    agent_enclosure::open_session,
    http_client::{HttpClient, get, post},
    measure::DurationSamples,
    raise_descriptor_limit,
    result_table::{Measurement, ResultRow, Target},
    server::{ServerFolder, ServerProcess},
    timeouts::with_timeout,
};

/// The first argument of the program that the agent runs; the second is a [`Crowd`]'s name.
pub(crate) const WORD: &str = "hold-descriptors";
/// The file that says how many it holds.
const READY: &str = "ready";

/// Requests of each row.
const REQUESTS: usize = 60;
/// What anybody may wait longer.
const LONGER_MAX_MS: f64 = 50.0;

/// What the agent's program holds.
#[derive(Clone, Copy, Debug)]
enum Crowd {
    /// Descriptors, or as many as the system allows, which each of some threads shows.
    Descriptors,
    /// Threads of a process that hides what it has open.
    Threads,
    /// Processes, or as many as the system allows.
    Processes,
}

impl Crowd {
    const ALL: [Self; 3] = [Self::Descriptors, Self::Threads, Self::Processes];
    const DESCRIPTORS_MAX: usize = 20_000;
    const DESCRIPTOR_THREADS: usize = 100;
    const HIDDEN_THREADS: usize = 8_000;
    const PROCESSES_MAX: usize = 4_000;

    const fn name(self) -> &'static str {
        match self {
            Self::Descriptors => "descriptors",
            Self::Threads => "threads",
            Self::Processes => "processes",
        }
    }

    /// What `held` of it are, in words.
    fn described(self, held: &str) -> String {
        match self {
            Self::Descriptors => {
                format!("{held} descriptors × {} threads", Self::DESCRIPTOR_THREADS)
            }
            Self::Threads => format!("{held} threads that hide their descriptors"),
            Self::Processes => format!("{held} processes"),
        }
    }
}

/// How long requests took.
struct RequestTimes {
    new: DurationSamples,
    open: DurationSamples,
}

/// The rows of a new connection and of one that is open, beside each crowd.
pub(crate) async fn measure(house: &ServerFolder) -> Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    for crowd in Crowd::ALL {
        rows.extend(beside(crowd, house).await?);
    }
    Ok(rows)
}

async fn beside(crowd: Crowd, house: &ServerFolder) -> Result<[ResultRow; 2]> {
    let folder = house.home().join(crowd.name());
    fs::create_dir_all(&folder)?;
    let ask = json!({"cwd": folder, "runtime": "rehearsal", "permissionMode": "autopilot",
        "acknowledgedAutonomy": true});
    let server = house.start()?;
    let mut client = HttpClient::connect(server.address).await?;
    let session = open_session(&mut client, &server, &ask, false).await?;
    server.stop()?;

    // The agent is not enclosed from its next start on.
    let server = house.start()?;
    let mut client = HttpClient::connect(server.address).await?;
    let path = format!("/api/sessions/{session}/messages");
    let said = |text: String| post(server.address, &path, &json!({ "content": text }));
    client.expect(&said("#clock".to_owned()), 202).await?;
    let calm = waits(&server, &mut client).await?;
    let program = std::env::current_exe()?;
    let call = json!({"command": [program, WORD, crowd.name()]});
    client
        .expect(&said(format!("#call run_command {call}")), 202)
        .await?;
    let ready = folder.join(READY);
    with_timeout("the program of the agent", until_there(&ready)).await?;
    let held = crowd.described(&fs::read_to_string(ready)?);
    let crowded = waits(&server, &mut client).await?;
    server.stop()?;

    let row = |work: &str, (crowded, calm): (&DurationSamples, &DurationSamples)| ResultRow {
        work: format!("{work}, beside an agent with {held}, p99, longer by"),
        measured: Measurement::Millis(crowded.percentile_ms(99.0) - calm.percentile_ms(99.0)),
        limit: Some((
            Measurement::Millis(calm.percentile_ms(99.0)),
            "beside a calm one",
        )),
        targets: vec![Target::AtMost(Measurement::Millis(LONGER_MAX_MS))],
    };
    Ok([
        row("new connection", (&crowded.new, &calm.new)),
        row("open connection", (&crowded.open, &calm.open)),
    ])
}

/// Asks what everybody may ask, over new connections and by turns over `open`.
async fn waits(server: &ServerProcess, open: &mut HttpClient) -> Result<RequestTimes> {
    let request = get(server.address, "/api/health");
    let (mut new, mut again) = (DurationSamples::default(), DurationSamples::default());
    for _ in 0..REQUESTS {
        let began = Instant::now();
        let mut client = HttpClient::connect(server.address).await?;
        client.expect(&request, 200).await?;
        new.push(began.elapsed());
        let began = Instant::now();
        open.expect(&request, 200).await?;
        again.push(began.elapsed());
    }
    Ok(RequestTimes { new, open: again })
}

async fn until_there(file: &Path) -> Result<()> {
    while !file.exists() {
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// The program that the agent runs: it holds what `name` says until it is killed.
pub(crate) fn hold(name: Option<&str>) -> Result<()> {
    let named = |crowd: &Crowd| Some(crowd.name()) == name;
    let crowd = Crowd::ALL.into_iter().find(named).ok_or("no such crowd")?;
    match crowd {
        Crowd::Descriptors => {
            raise_descriptor_limit()?;
            let opened = (0..Crowd::DESCRIPTORS_MAX).map_while(|_| File::open("/dev/null").ok());
            let mut held: Vec<File> = opened.collect();
            // The file that says so takes one.
            held.pop();
            rest_in(Crowd::DESCRIPTOR_THREADS)?;
            tell(held.len())?;
            rest(held)
        }
        Crowd::Threads => {
            set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
            rest_in(Crowd::HIDDEN_THREADS)?;
            tell(Crowd::HIDDEN_THREADS)?;
            rest(())
        }
        Crowd::Processes => {
            let mut sleep = Command::new("sleep");
            sleep.arg("infinity").stdin(Stdio::null());
            let started = (0..Crowd::PROCESSES_MAX).map_while(|_| sleep.spawn().ok());
            let held: Vec<_> = started.collect();
            tell(held.len())?;
            rest(held)
        }
    }
}

/// Makes this process one of `count` threads, the first one included.
fn rest_in(count: usize) -> Result<()> {
    const STACK_BYTES: usize = 16 * 1024;
    for _ in 1..count {
        let builder = thread::Builder::new().stack_size(STACK_BYTES);
        builder.spawn(|| rest(()))?;
    }
    Ok(())
}

/// Holds `held` until the process is killed.
fn rest<T>(held: T) -> ! {
    let _held = held;
    loop {
        thread::park();
    }
}

/// Written beside and renamed: whoever sees it sees all of it.
fn tell(held: usize) -> Result<()> {
    let written = Path::new("held");
    fs::write(written, held.to_string())?;
    Ok(fs::rename(written, READY)?)
}

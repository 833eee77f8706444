//! What one agent can make everybody else wait: an agent that is not enclosed holds very many
//! descriptors in many threads, among which the holder of each new connection is looked for.

use std::{
    fs::{self, File},
    path::Path,
    thread,
    time::Instant,
};

use serde_json::json;

use crate::{
    Result,
    enclosure::open_session,
    http::{Client, get, post},
    measure::Times,
    raise_descriptor_limit,
    server::{House, Server},
    table::{Amount, Row, Target},
    waiting::patiently,
};

/// The first argument of the program that the agent runs.
pub(crate) const WORD: &str = "hold-descriptors";
/// Descriptors that it holds, or as many as the system allows.
const DESCRIPTORS_MAX: usize = 20_000;
/// Threads that each show all of them.
const THREADS: usize = 100;
/// The file that says how many it holds.
const READY: &str = "ready";

/// Requests of each row.
const REQUESTS: usize = 60;
/// What anybody may wait longer.
const LONGER_MAX_MS: f64 = 50.0;

/// How long requests took.
struct Waits {
    new: Times,
    open: Times,
}

/// The rows of a new connection and of one that is open.
pub(crate) async fn measure(house: &House) -> Result<Vec<Row>> {
    let folder = house.home().join("descriptors");
    fs::create_dir_all(&folder)?;
    let server = house.start()?;
    let ask = json!({"cwd": folder, "runtime": "rehearsal", "permissionMode": "autopilot",
        "acknowledgedAutonomy": true});
    let mut client = Client::connect(server.address).await?;
    let session = open_session(&mut client, &server, &ask, false).await?;
    server.stop()?;

    // The agent is not enclosed from its next start on.
    let server = house.start()?;
    let mut client = Client::connect(server.address).await?;
    let path = format!("/api/sessions/{session}/messages");
    let said = |text: String| post(server.address, &path, &json!({ "content": text }));
    client.expect(&said("#clock".to_owned()), 202).await?;
    let calm = waits(&server, &mut client).await?;
    let program = std::env::current_exe()?;
    let call = json!({"command": [program, WORD]});
    client
        .expect(&said(format!("#call run_command {call}")), 202)
        .await?;
    let ready = folder.join(READY);
    patiently("the program of the agent", until_there(&ready)).await?;
    let descriptors = fs::read_to_string(ready)?;
    let crowded = waits(&server, &mut client).await?;
    server.stop()?;

    let row = |work: &str, (crowded, calm): (&Times, &Times)| Row {
        work: format!(
            "{work}, beside an agent with {descriptors} descriptors × {THREADS} threads, p99, \
             longer by"
        ),
        measured: Amount::Millis(crowded.percentile_ms(99.0) - calm.percentile_ms(99.0)),
        limit: Some((
            Amount::Millis(calm.percentile_ms(99.0)),
            "beside a calm one",
        )),
        targets: vec![Target::AtMost(Amount::Millis(LONGER_MAX_MS))],
    };
    Ok(vec![
        row("new connection", (&crowded.new, &calm.new)),
        row("open connection", (&crowded.open, &calm.open)),
    ])
}

/// Asks what everybody may ask, over new connections and by turns over `open`.
async fn waits(server: &Server, open: &mut Client) -> Result<Waits> {
    let request = get(server.address, "/api/health");
    let (mut new, mut again) = (Times::default(), Times::default());
    for _ in 0..REQUESTS {
        let began = Instant::now();
        let mut client = Client::connect(server.address).await?;
        client.expect(&request, 200).await?;
        new.push(began.elapsed());
        let began = Instant::now();
        open.expect(&request, 200).await?;
        again.push(began.elapsed());
    }
    Ok(Waits { new, open: again })
}

async fn until_there(file: &Path) -> Result<()> {
    while !file.exists() {
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// The program that the agent runs: it holds its descriptors until it is killed.
pub(crate) fn hold() -> Result<()> {
    raise_descriptor_limit()?;
    let opened = (0..DESCRIPTORS_MAX).map_while(|_| File::open("/dev/null").ok());
    let mut held: Vec<File> = opened.collect();
    // The file that says so takes one.
    held.pop();
    let wait = || {
        loop {
            thread::park();
        }
    };
    // The first thread is one of them.
    for _ in 1..THREADS {
        thread::spawn(wait);
    }
    // Written beside and renamed: whoever sees it sees all of it.
    let written = Path::new("held");
    fs::write(written, held.len().to_string())?;
    fs::rename(written, READY)?;
    wait()
}

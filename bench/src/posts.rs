//! Posts: durable ones, by many clients and by one, in a room without agents.
//! Server, store and disk are measured by turns, so that all meet the same weather on the machine.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use guildhall_domain::ids::RoomId;
use serde_json::json;

use crate::{
    Result, Scale,
    http_client::{HttpClient, post},
    machine,
    measure::{self, DurationSamples},
    result_table::{Measurement, ResultRow, Target},
    seeded_store::{SeededStore, TEXT},
    server::{ServerFolder, ServerProcess},
};

/// Clients that post at the same time, and posts that one bare commit takes.
const CLIENTS: usize = 32;
/// Bare commits under way: one runs while the next one waits, so that the writer never does.
const BARE_COMMITS: usize = 2;
/// Turns of each.
const ROUNDS: u32 = 3;

/// The server and the store to compare it with.
pub(crate) struct ServerAndBareStore<'a> {
    /// The server.
    pub(crate) server: &'a ServerProcess,
    /// A copy of its house that nobody serves.
    pub(crate) bare: &'a ServerFolder,
    /// The room to post in; both have it.
    pub(crate) room: RoomId,
}

/// Many clients: posts a second, beside the same rows written without server, hall and hand-over
/// in commits of [`CLIENTS`] posts.
pub(crate) async fn by_many(pair: &ServerAndBareStore<'_>, scale: &Scale) -> Result<ResultRow> {
    let (span, room) = (scale.span.rounds(ROUNDS), pair.room);
    let filling = Arc::new(SeededStore::open(pair.bare).await?);
    let write = move || {
        let filling = Arc::clone(&filling);
        async move { filling.post_batch(room, CLIENTS as u64).await }
    };
    let mut clients = HttpClient::connect_many(pair.server.address, CLIENTS).await?;
    let request = request(pair);
    let (mut rate, mut bare) = (0.0, 0.0);
    for _ in 0..ROUNDS {
        bare += measure::operation_rate(BARE_COMMITS, CLIENTS as u64, span, write.clone()).await?;
        rate += measure::rate(&mut clients, &request, 201, span).await?;
    }
    let rounds = f64::from(ROUNDS);
    Ok(ResultRow {
        work: format!("durable posts, {CLIENTS} clients"),
        measured: Measurement::PerSecond(rate / rounds),
        limit: Some((Measurement::PerSecond(bare / rounds), "bare inserts")),
        targets: vec![
            Target::AtLeast(Measurement::PerSecond(5_000.0)),
            Target::ShareAtLeast(0.3),
        ],
    })
}

/// One client: how long a post takes, beside one sync of the disk; and how much of that is the
/// store's own commit of the same rows.
pub(crate) async fn by_one(pair: &ServerAndBareStore<'_>, scale: &Scale) -> Result<Vec<ResultRow>> {
    let span = scale.span.rounds(ROUNDS);
    let filling = SeededStore::open(pair.bare).await?;
    let mut client = HttpClient::connect(pair.server.address).await?;
    let request = request(pair);
    let (mut posts, mut commits, mut syncs) = (
        DurationSamples::default(),
        DurationSamples::default(),
        DurationSamples::default(),
    );
    for _ in 0..ROUNDS {
        syncs.add(machine::disk_syncs(&pair.bare.folder, span.measured / 2)?);
        commits.add(commits_of_one(&filling, pair.room, span.measured / 2).await?);
        posts.add(measure::times(&mut client, || request.clone(), 201, span).await?);
    }
    let sync = Measurement::Millis(syncs.percentile_ms(50.0));
    let row = |work: &str, times: &DurationSamples, targets| ResultRow {
        work: work.to_owned(),
        measured: Measurement::Millis(times.percentile_ms(50.0)),
        limit: Some((sync, "one disk sync")),
        targets,
    };
    Ok(vec![
        row(
            "durable posts, 1 client, p50",
            &posts,
            vec![Target::TimesAtMost(3.0)],
        ),
        row("of that, the store's own commit, p50", &commits, Vec::new()),
    ])
}

async fn commits_of_one(
    filling: &SeededStore,
    room: RoomId,
    span: Duration,
) -> Result<DurationSamples> {
    let mut times = DurationSamples::default();
    let end = Instant::now() + span;
    while Instant::now() < end {
        let began = Instant::now();
        filling.post_batch(room, 1).await?;
        times.push(began.elapsed());
    }
    Ok(times)
}

fn request(pair: &ServerAndBareStore<'_>) -> Vec<u8> {
    let path = format!("/api/rooms/{}/entries", pair.room);
    post(pair.server.address, &path, &json!({ "text": TEXT }))
}

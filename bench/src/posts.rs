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
    http_client::{Client, post},
    machine,
    measure::{self, Times},
    result_table::{Amount, Row, Target},
    seeded_store::{Filling, TEXT},
    server::{House, Server},
};

/// Clients that post at the same time, and posts that one bare commit takes.
const CLIENTS: usize = 32;
/// Bare commits under way: one runs while the next one waits, so that the writer never does.
const BARE_COMMITS: usize = 2;
/// Turns of each.
const ROUNDS: u32 = 3;

/// The server and the store to compare it with.
pub(crate) struct Pair<'a> {
    /// The server.
    pub(crate) server: &'a Server,
    /// A copy of its house that nobody serves.
    pub(crate) bare: &'a House,
    /// The room to post in; both have it.
    pub(crate) room: RoomId,
}

/// Many clients: posts a second, beside the same rows written without server, hall and hand-over
/// in commits of [`CLIENTS`] posts.
pub(crate) async fn by_many(pair: &Pair<'_>, scale: &Scale) -> Result<Row> {
    let (span, room) = (scale.span.rounds(ROUNDS), pair.room);
    let filling = Arc::new(Filling::open(pair.bare).await?);
    let write = move || {
        let filling = Arc::clone(&filling);
        async move { filling.post_batch(room, CLIENTS as u64).await }
    };
    let mut clients = Client::connect_many(pair.server.address, CLIENTS).await?;
    let request = request(pair);
    let (mut rate, mut bare) = (0.0, 0.0);
    for _ in 0..ROUNDS {
        bare += measure::deeds(BARE_COMMITS, CLIENTS as u64, span, write.clone()).await?;
        rate += measure::rate(&mut clients, &request, 201, span).await?;
    }
    let rounds = f64::from(ROUNDS);
    Ok(Row {
        work: format!("durable posts, {CLIENTS} clients"),
        measured: Amount::PerSecond(rate / rounds),
        limit: Some((Amount::PerSecond(bare / rounds), "bare inserts")),
        targets: vec![
            Target::AtLeast(Amount::PerSecond(5_000.0)),
            Target::ShareAtLeast(0.3),
        ],
    })
}

/// One client: how long a post takes, beside one sync of the disk; and how much of that is the
/// store's own commit of the same rows.
pub(crate) async fn by_one(pair: &Pair<'_>, scale: &Scale) -> Result<Vec<Row>> {
    let span = scale.span.rounds(ROUNDS);
    let filling = Filling::open(pair.bare).await?;
    let mut client = Client::connect(pair.server.address).await?;
    let request = request(pair);
    let (mut posts, mut commits, mut syncs) =
        (Times::default(), Times::default(), Times::default());
    for _ in 0..ROUNDS {
        syncs.add(machine::disk_syncs(&pair.bare.folder, span.measured / 2)?);
        commits.add(commits_of_one(&filling, pair.room, span.measured / 2).await?);
        posts.add(measure::times(&mut client, || request.clone(), 201, span).await?);
    }
    let sync = Amount::Millis(syncs.percentile_ms(50.0));
    let row = |work: &str, times: &Times, targets| Row {
        work: work.to_owned(),
        measured: Amount::Millis(times.percentile_ms(50.0)),
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

async fn commits_of_one(filling: &Filling, room: RoomId, span: Duration) -> Result<Times> {
    let mut times = Times::default();
    let end = Instant::now() + span;
    while Instant::now() < end {
        let began = Instant::now();
        filling.post_batch(room, 1).await?;
        times.push(began.elapsed());
    }
    Ok(times)
}

fn request(pair: &Pair<'_>) -> Vec<u8> {
    let path = format!("/api/rooms/{}/entries", pair.room);
    post(pair.server.address, &path, &json!({ "text": TEXT }))
}

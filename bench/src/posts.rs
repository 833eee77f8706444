//! Posts: durable ones, by many clients and by one, in a room without agents.

use std::{sync::Arc, time::Instant};

use guildhall_domain::ids::RoomId;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    Failure, Result, Scale,
    filling::{Filling, TEXT},
    http::{Client, post},
    machine,
    measure::{self, Span, Tally, Times},
    server::{House, Server},
    table::{Amount, Row, Target},
};

/// Clients that post at the same time, and posts that one bare commit takes.
const CLIENTS: usize = 32;
/// Bare commits under way: one runs while the next one waits, so that the writer never does.
const BARE_COMMITS: usize = 2;

/// What the store takes without the server in front, in a copy of the house.
pub(crate) struct Bare {
    /// Posts a second, [`CLIENTS`] of them in each commit: the same statements, and no hand-over.
    pub(crate) rate: f64,
    /// How long one post in a commit of its own takes.
    pub(crate) single: Times,
}

/// Measures the store by itself.
pub(crate) async fn bare(house: &House, room: RoomId, scale: &Scale) -> Result<Bare> {
    let filling = Arc::new(Filling::open(house).await?);
    let rate = bare_rate(&filling, room, scale).await?;
    let mut single = Times::default();
    let end = Instant::now() + scale.span.measured / 2;
    while Instant::now() < end {
        let began = Instant::now();
        filling.post_batch(room, 1).await?;
        single.push(began.elapsed());
    }
    Ok(Bare { rate, single })
}

async fn bare_rate(filling: &Arc<Filling>, room: RoomId, scale: &Scale) -> Result<f64> {
    let mut running = JoinSet::new();
    let start = Tally::begin(scale.span);
    for _ in 0..BARE_COMMITS {
        let (filling, mut tally) = (Arc::clone(filling), start);
        running.spawn(async move {
            loop {
                filling.post_batch(room, CLIENTS as u64).await?;
                if !tally.add(CLIENTS as u64) {
                    return Ok::<_, Failure>(tally);
                }
            }
        });
    }
    let mut tallies = Vec::new();
    while let Some(ended) = running.join_next().await {
        tallies.push(ended??);
    }
    Ok(Tally::per_second(scale.span, &tallies))
}

/// Many clients: how many posts a second.
pub(crate) async fn by_many(
    server: &Server,
    room: RoomId,
    bare: f64,
    scale: &Scale,
) -> Result<Row> {
    let mut clients = Client::connect_many(server.address, CLIENTS).await?;
    let rate = measure::rate(&mut clients, &request(server, room), 201, scale.span).await?;
    Ok(Row {
        work: format!("durable posts, {CLIENTS} clients"),
        measured: Amount::PerSecond(rate),
        limit: Some((Amount::PerSecond(bare), "bare inserts")),
        targets: vec![
            Target::AtLeast(Amount::PerSecond(5_000.0)),
            Target::ShareAtLeast(0.3),
        ],
    })
}

/// One client: how long a post takes, beside one sync of the disk measured before and after; and
/// how long the store alone takes for one post a commit.
pub(crate) async fn by_one(
    server: &Server,
    house: &House,
    room: RoomId,
    bare: &Times,
    scale: &Scale,
) -> Result<Vec<Row>> {
    let half = scale.span.measured / 4;
    let before = machine::disk_syncs(&house.folder, half)?;
    let mut client = Client::connect(server.address).await?;
    let request = request(server, room);
    let span = Span {
        warm_up: scale.span.warm_up / 2,
        ..scale.span
    };
    let times = measure::times(&mut client, || request.clone(), 201, span).await?;
    let syncs = before.and(machine::disk_syncs(&house.folder, half)?);
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
            &times,
            vec![Target::TimesAtMost(3.0)],
        ),
        row("of that, the store's own commit, p50", bare, Vec::new()),
    ])
}

fn request(server: &Server, room: RoomId) -> Vec<u8> {
    let path = format!("/api/rooms/{room}/entries");
    post(server.address, &path, &json!({ "text": TEXT }))
}

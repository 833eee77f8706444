//! The listing of rooms: its rate, and what entries that it does not show cost it.

use std::sync::Arc;

use crate::{
    Result, Scale,
    http_client::{HttpClient, get},
    measure,
    result_table::{Measurement, ResultRow, Target},
    seeded_store::{SeededStore, unread_counts},
    server::ServerProcess,
};

/// Clients that ask at the same time.
const CLIENTS: usize = 4;
/// Turns of the two servers: measured alternately, both meet the same weather on the machine.
const ROUNDS: u32 = 5;

/// How many listings a second the store reads without the server in front.
pub(crate) async fn bare_rate(filling: SeededStore, scale: &Scale) -> Result<f64> {
    let filling = Arc::new(filling);
    let list = move || {
        let filling = Arc::clone(&filling);
        async move { filling.list_rooms().await }
    };
    measure::operation_rate(CLIENTS, 1, scale.span.rounds(2), list).await
}

/// Says whether the counts are as exact as promised.
pub(crate) async fn check_counts(server: &ServerProcess, unread: u64) -> Result<()> {
    let told: u64 = unread_counts(server).await?.iter().sum();
    if told == unread {
        Ok(())
    } else {
        Err(format!("{unread} posts are unread, and the listing tells of {told}").into())
    }
}

/// The listing with few entries in the store and with many, by turns.
pub(crate) async fn listing(
    few: &ServerProcess,
    many: &ServerProcess,
    bare: f64,
    scale: &Scale,
) -> Result<Vec<ResultRow>> {
    let span = scale.span.rounds(ROUNDS);
    let mut sides = [ListingSide::new(few).await?, ListingSide::new(many).await?];
    for _ in 0..ROUNDS {
        for side in &mut sides {
            let rate = measure::rate(&mut side.clients, &side.request, 200, span).await?;
            side.rate += rate / f64::from(ROUNDS);
        }
    }
    let [few, many] = sides.map(|side| side.rate);
    Ok(vec![
        ResultRow {
            work: format!("list of {} rooms, {CLIENTS} clients", scale.rooms),
            measured: Measurement::PerSecond(few),
            limit: Some((Measurement::PerSecond(bare), "bare reads")),
            targets: vec![Target::AtLeast(Measurement::PerSecond(500.0))],
        },
        ResultRow {
            work: format!("the same beside {} entries", scale.entries),
            measured: Measurement::PerSecond(many),
            limit: Some((Measurement::PerSecond(few), "with few entries")),
            targets: vec![
                Target::AtLeast(Measurement::PerSecond(500.0)),
                Target::ShareAtLeast(0.8),
            ],
        },
    ])
}

/// One of the two servers, with its clients and what it reached so far.
struct ListingSide {
    clients: Vec<HttpClient>,
    request: Vec<u8>,
    rate: f64,
}

impl ListingSide {
    async fn new(server: &ServerProcess) -> Result<Self> {
        Ok(Self {
            clients: HttpClient::connect_many(server.address, CLIENTS).await?,
            request: get(server.address, "/api/rooms"),
            rate: 0.0,
        })
    }
}

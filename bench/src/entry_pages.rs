//! Pages of entries: 50 out of a room with very many, anywhere in it.

use std::time::Instant;

use guildhall_domain::{entries::EntriesQuery, ids::RoomId};
use guildhall_store::entries;

use crate::{
    Result, Scale,
    http_client::{HttpClient, get},
    measure::{self, DurationSamples, SeededRandom},
    result_table::{Measurement, ResultRow, Target},
    seeded_store::SeededStore,
    server::ServerProcess,
};

/// Entries of a page.
const PAGE: u32 = 50;

/// How long the same pages take in the store without the server in front.
pub(crate) async fn bare_times(
    filling: &SeededStore,
    room: RoomId,
    scale: &Scale,
) -> Result<DurationSamples> {
    let mut dice = SeededRandom(2);
    let mut times = DurationSamples::default();
    let end = Instant::now() + scale.span.measured / 2;
    while Instant::now() < end {
        let ask = EntriesQuery {
            before: Some(position(&mut dice, scale)),
            after: None,
            limit: PAGE,
        };
        let began = Instant::now();
        let read = filling
            .store
            .read(move |db| entries::page(db, room, 0, ask));
        read.await.map_err(crate::broken)?;
        times.push(began.elapsed());
    }
    Ok(times)
}

/// One client that jumps about in the room.
pub(crate) async fn anywhere(
    server: &ServerProcess,
    room: RoomId,
    bare: &DurationSamples,
    scale: &Scale,
) -> Result<ResultRow> {
    let mut client = HttpClient::connect(server.address).await?;
    let mut dice = SeededRandom(1);
    let next = || {
        let before = position(&mut dice, scale);
        let path = format!("/api/rooms/{room}/entries?limit={PAGE}&before={before}");
        get(server.address, &path)
    };
    let times = measure::times(&mut client, next, 200, scale.span).await?;
    Ok(ResultRow {
        work: format!("page of {PAGE} out of {} entries, p99", scale.entries),
        measured: Measurement::Millis(times.percentile_ms(99.0)),
        limit: Some((Measurement::Millis(bare.percentile_ms(99.0)), "bare read")),
        targets: vec![Target::AtMost(Measurement::Millis(5.0))],
    })
}

/// A place in the room with a whole page before it.
fn position(dice: &mut SeededRandom, scale: &Scale) -> u64 {
    let page = u64::from(PAGE);
    page + 1 + dice.next_below(scale.entries.saturating_sub(page).max(1))
}

//! Pages of entries: 50 out of a room with very many, anywhere in it.

use std::time::Instant;

use guildhall_domain::{entries::EntriesAsk, ids::RoomId};
use guildhall_store::entries;

use crate::{
    Result, Scale,
    http_client::{Client, get},
    measure::{self, Dice, Times},
    result_table::{Amount, Row, Target},
    seeded_store::Filling,
    server::Server,
};

/// Entries of a page.
const PAGE: u32 = 50;

/// How long the same pages take in the store without the server in front.
pub(crate) async fn bare_times(filling: &Filling, room: RoomId, scale: &Scale) -> Result<Times> {
    let mut dice = Dice(2);
    let mut times = Times::default();
    let end = Instant::now() + scale.span.measured / 2;
    while Instant::now() < end {
        let ask = EntriesAsk {
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
    server: &Server,
    room: RoomId,
    bare: &Times,
    scale: &Scale,
) -> Result<Row> {
    let mut client = Client::connect(server.address).await?;
    let mut dice = Dice(1);
    let next = || {
        let before = position(&mut dice, scale);
        let path = format!("/api/rooms/{room}/entries?limit={PAGE}&before={before}");
        get(server.address, &path)
    };
    let times = measure::times(&mut client, next, 200, scale.span).await?;
    Ok(Row {
        work: format!("page of {PAGE} out of {} entries, p99", scale.entries),
        measured: Amount::Millis(times.percentile_ms(99.0)),
        limit: Some((Amount::Millis(bare.percentile_ms(99.0)), "bare read")),
        targets: vec![Target::AtMost(Amount::Millis(5.0))],
    })
}

/// A place in the room with a whole page before it.
fn position(dice: &mut Dice, scale: &Scale) -> u64 {
    let page = u64::from(PAGE);
    page + 1 + dice.throw(scale.entries.saturating_sub(page).max(1))
}

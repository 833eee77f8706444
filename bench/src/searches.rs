//! Searches: the newest 20 among very many entries, by a rare word and by one that all hold.

use guildhall_domain::ids::RoomId;

use crate::{
    Result, Scale,
    http_client::{HttpClient, get},
    measure,
    result_table::{Measurement, ResultRow, Target},
    seeded_store::RARE,
    server::ServerProcess,
};

/// One client that searches, everywhere and in a room with few entries.
pub(crate) async fn rare_and_common(
    server: &ServerProcess,
    small_room: RoomId,
    scale: &Scale,
) -> Result<Vec<ResultRow>> {
    let mut client = HttpClient::connect(server.address).await?;
    let mut rows = Vec::new();
    for (what, query, most_ms) in [
        ("a rare word", format!("q={RARE}"), 30.0),
        ("a common word", "q=build".to_owned(), 120.0),
        ("a common word's beginning", "q=thou".to_owned(), 120.0),
        ("two common words", "q=the+build".to_owned(), 120.0),
        (
            "a common word in a small room",
            format!("q=build&roomId={small_room}"),
            120.0,
        ),
    ] {
        let path = format!("/api/search?{query}");
        let next = || get(server.address, &path);
        let times = measure::times(&mut client, next, 200, scale.span).await?;
        rows.push(ResultRow {
            work: format!("search {} entries for {what}, p99", scale.entries),
            measured: Measurement::Millis(times.percentile_ms(99.0)),
            limit: None,
            targets: vec![Target::AtMost(Measurement::Millis(most_ms))],
        });
    }
    Ok(rows)
}

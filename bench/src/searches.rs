//! Searches: the newest 20 among very many entries, by a rare word and by one that all hold.

use guildhall_domain::ids::RoomId;

use crate::{
    Result, Scale,
    http_client::{Client, get},
    measure,
    result_table::{Amount, Row, Target},
    seeded_store::RARE,
    server::Server,
};

/// One client that searches, everywhere and in a room with few entries.
pub(crate) async fn rare_and_common(
    server: &Server,
    small_room: RoomId,
    scale: &Scale,
) -> Result<Vec<Row>> {
    let mut client = Client::connect(server.address).await?;
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
        rows.push(Row {
            work: format!("search {} entries for {what}, p99", scale.entries),
            measured: Amount::Millis(times.percentile_ms(99.0)),
            limit: None,
            targets: vec![Target::AtMost(Amount::Millis(most_ms))],
        });
    }
    Ok(rows)
}

//! Searches: one word among very many entries, one that few hold and one that all do.

use crate::{
    Result, Scale, filling,
    http::{Client, get},
    measure::{self, Dice},
    server::Server,
    table::{Amount, Row, Target},
};

/// Words that every entry holds.
const COMMON: [&str; 5] = ["build", "green", "timer", "event", "thousand"];

/// One client that asks for one word after another.
pub(crate) async fn words(server: &Server, scale: &Scale) -> Result<Vec<Row>> {
    let mut dice = Dice(3);
    let entries = scale.entries;
    let rare = move || filling::rare_word(dice.throw(entries));
    let mut turns = COMMON.iter().cycle();
    let common = move || turns.next().copied().unwrap_or_default().to_owned();
    Ok(vec![
        one(server, scale, "rare", rare, 30.0).await?,
        one(server, scale, "common", common, 120.0).await?,
    ])
}

async fn one(
    server: &Server,
    scale: &Scale,
    kind: &str,
    mut word: impl FnMut() -> String,
    at_most_ms: f64,
) -> Result<Row> {
    let mut client = Client::connect(server.address).await?;
    let next = || get(server.address, &format!("/api/search?q={}", word()));
    let times = measure::times(&mut client, next, 200, scale.span).await?;
    Ok(Row {
        work: format!("search for a {kind} word in {} entries, p99", scale.entries),
        measured: Amount::Millis(times.percentile_ms(99.0)),
        limit: None,
        targets: vec![Target::AtMost(Amount::Millis(at_most_ms))],
    })
}

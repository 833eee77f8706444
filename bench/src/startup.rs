//! Starts: how soon a server is ready, and what it weighs at rest and on the disk.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use crate::{
    Result,
    http_client::{Client, get},
    measure::Times,
    result_table::{Amount, Row, Target},
    server::House,
};

/// Starts of each server; the middle one counts.
const STARTS: u32 = 9;

/// Starts of each house, by what its row is called.
pub(crate) fn ready(houses: &[(&House, String)]) -> Result<Vec<Row>> {
    let Some((first, _)) = houses.first() else {
        return Ok(Vec::new());
    };
    let bare = bare_times(&first.binary)?.percentile_ms(50.0);
    let row = |(house, work): &(&House, String)| {
        let mut times = Times::default();
        for _ in 0..STARTS {
            let server = house.start()?;
            times.push(server.ready_after);
            server.stop()?;
        }
        Ok(Row {
            work: format!("start to ready, {work}, p50"),
            measured: Amount::Millis(times.percentile_ms(50.0)),
            limit: Some((Amount::Millis(bare), "bare process")),
            targets: vec![Target::AtMost(Amount::Millis(100.0))],
        })
    };
    houses.iter().map(row).collect()
}

/// The memory of a server at rest that has shown its page once.
pub(crate) async fn memory_at_rest(house: &House) -> Result<Row> {
    let server = house.start()?;
    let mut client = Client::connect(server.address).await?;
    // A build without the page has none to show; the figure is the server's either way.
    client.ask(&get(server.address, "/")).await?;
    let bytes = server.resident_bytes()?;
    server.stop()?;
    Ok(Row {
        work: "memory at rest, small store".to_owned(),
        measured: Amount::Mib(bytes as f64 / 1_024.0 / 1_024.0),
        limit: None,
        targets: vec![Target::AtMost(Amount::Mib(30.0))],
    })
}

/// The size of the program as it is given away.
pub(crate) fn size(binary: &Path) -> Result<Row> {
    let bytes = std::fs::metadata(binary)?.len();
    Ok(Row {
        work: "stripped `dist` program".to_owned(),
        measured: Amount::Mb(bytes as f64 / 1_000_000.0),
        limit: None,
        targets: vec![Target::AtMost(Amount::Mb(25.0))],
    })
}

/// How long the same program takes to start and end when it has nothing to do.
fn bare_times(binary: &Path) -> Result<Times> {
    let mut times = Times::default();
    for _ in 0..STARTS {
        let began = Instant::now();
        let status = Command::new(binary)
            .arg("--version")
            .stdout(Stdio::null())
            .status()?;
        times.push(began.elapsed());
        if !status.success() {
            return Err(format!("the program ended with {status}").into());
        }
    }
    Ok(times)
}

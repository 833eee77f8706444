//! Starts: how soon a server is ready, and what it weighs at rest and on the disk.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use crate::{
    Result,
    http_client::{HttpClient, get},
    measure::DurationSamples,
    result_table::{Measurement, ResultRow, Target},
    server::ServerFolder,
};

/// Starts of each server; the middle one counts.
const STARTS: u32 = 9;

/// Starts of each house, by what its row is called.
pub(crate) fn ready(houses: &[(&ServerFolder, String)]) -> Result<Vec<ResultRow>> {
    let Some((first, _)) = houses.first() else {
        return Ok(Vec::new());
    };
    let bare = bare_times(&first.binary)?.percentile_ms(50.0);
    let row = |(house, work): &(&ServerFolder, String)| {
        let mut times = DurationSamples::default();
        for _ in 0..STARTS {
            let server = house.start()?;
            times.push(server.ready_after);
            server.stop()?;
        }
        Ok(ResultRow {
            work: format!("start to ready, {work}, p50"),
            measured: Measurement::Millis(times.percentile_ms(50.0)),
            limit: Some((Measurement::Millis(bare), "bare process")),
            targets: vec![Target::AtMost(Measurement::Millis(100.0))],
        })
    };
    houses.iter().map(row).collect()
}

/// The memory of a server at rest that has shown its page once.
pub(crate) async fn idle_memory(house: &ServerFolder) -> Result<ResultRow> {
    let server = house.start()?;
    let mut client = HttpClient::connect(server.address).await?;
    // A build without the page has none to show; the figure is the server's either way.
    client.ask(&get(server.address, "/")).await?;
    let bytes = server.resident_bytes()?;
    server.stop()?;
    Ok(ResultRow {
        work: "memory at rest, small store".to_owned(),
        measured: Measurement::Mib(bytes as f64 / 1_024.0 / 1_024.0),
        limit: None,
        targets: vec![Target::AtMost(Measurement::Mib(30.0))],
    })
}

/// The size of the program as it is given away.
pub(crate) fn size(binary: &Path) -> Result<ResultRow> {
    let bytes = std::fs::metadata(binary)?.len();
    Ok(ResultRow {
        work: "stripped `dist` program".to_owned(),
        measured: Measurement::Mb(bytes as f64 / 1_000_000.0),
        limit: None,
        targets: vec![Target::AtMost(Measurement::Mb(25.0))],
    })
}

/// How long the same program takes to start and end when it has nothing to do.
fn bare_times(binary: &Path) -> Result<DurationSamples> {
    let mut times = DurationSamples::default();
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

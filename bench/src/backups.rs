//! Backups: how much longer the slowest posts take while a backup of very many entries is made.

use std::{pin::pin, time::Instant};

use guildhall_domain::ids::RoomId;
use serde_json::json;

use crate::{
    Result, Scale,
    http_client::{HttpClient, post},
    measure::{self, DurationSamples},
    result_table::{Measurement, ResultRow, Target},
    seeded_store::TEXT,
    server::ServerProcess,
};

/// Posts of one client in `room`: their 99th percentile while a backup is made, less the one
/// without.
pub(crate) async fn posts_beside_one(
    server: &ServerProcess,
    room: RoomId,
    scale: &Scale,
) -> Result<ResultRow> {
    let address = server.address;
    let path = format!("/api/rooms/{room}/entries");
    let request = post(address, &path, &json!({ "text": TEXT }));
    let mut client = HttpClient::connect(address).await?;
    let alone = measure::times(&mut client, || request.clone(), 201, scale.span).await?;

    let mut backing_up = HttpClient::connect(address).await?;
    let backup = post(address, "/api/backups", &json!({}));
    let mut backup = pin!(backing_up.expect(&backup, 201));
    let mut beside = DurationSamples::default();
    loop {
        let began = Instant::now();
        tokio::select! {
            biased;
            posted = client.expect(&request, 201) => {
                posted?;
                beside.push(began.elapsed());
            }
            // What is on its way when the backup is made is not counted.
            made = &mut backup => {
                made?;
                break;
            }
        }
    }
    let more = beside.percentile_ms(99.0) - alone.percentile_ms(99.0);
    Ok(ResultRow {
        work: format!(
            "posts while a backup of {} entries is made, p99 more than without",
            scale.entries
        ),
        measured: Measurement::Millis(more.max(0.0)),
        limit: None,
        targets: vec![Target::AtMost(Measurement::Millis(50.0))],
    })
}

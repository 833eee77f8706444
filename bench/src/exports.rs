//! Exports: a room with very many entries leaves whole, and what that costs the server.

use std::time::{Duration, Instant};

use guildhall_domain::{entries::EntriesQuery, ids::RoomId, limits};
use guildhall_store::entries;
use tokio::io::AsyncReadExt;

use crate::{
    Result, Scale,
    http_client::{HttpClient, find, get},
    result_table::{Measurement, ResultRow, Target},
    seeded_store::SeededStore,
    server::ServerProcess,
    timeouts::with_timeout,
};

/// Bytes after which the server's memory is looked at again.
const LOOK_EVERY: usize = 8 * 1024 * 1024;
/// Bytes read at once.
const READ_BYTES: usize = 256 * 1024;
/// What the last line of a whole export begins with.
const SUMMARY: &[u8] = b"{\"type\":\"summary\"";

/// How long the same entries take to be read from the store, without making lines of them.
pub(crate) async fn bare_time(filling: &SeededStore, room: RoomId) -> Result<Duration> {
    let began = Instant::now();
    let mut last = 0;
    loop {
        let ask = EntriesQuery {
            before: None,
            after: Some(last),
            limit: limits::EXPORT_PAGE,
        };
        let read = filling
            .store
            .read(move |db| entries::page(db, room, 0, ask));
        let page = read.await.map_err(crate::broken)?.value;
        last = page.entries.last().map_or(last, |entry| entry.seq);
        if !page.has_more {
            return Ok(began.elapsed());
        }
    }
}

/// One reader that takes what comes as fast as it comes.
pub(crate) async fn whole_room(
    server: &ServerProcess,
    room: RoomId,
    bare: Duration,
    scale: &Scale,
) -> Result<Vec<ResultRow>> {
    let before = server.resident_bytes()?;
    let began = Instant::now();
    let request = get(server.address, &format!("/api/rooms/{room}/export"));
    let mut stream = HttpClient::connect(server.address)
        .await?
        .into_stream(&request)
        .await?;
    let (mut bytes, mut look_at, mut most) = (0, LOOK_EVERY, before);
    let mut part = vec![0; READ_BYTES];
    let mut tail = Vec::new();
    // The last chunk of the transfer is empty, and nothing follows it.
    while !tail.ends_with(b"\r\n0\r\n\r\n") {
        let read = with_timeout("an export", stream.read(&mut part)).await?;
        if read == 0 {
            return Err("the server closed the connection within an export".into());
        }
        bytes += read;
        if bytes >= look_at {
            most = most.max(server.resident_bytes()?);
            look_at += LOOK_EVERY;
        }
        tail.extend_from_slice(&part[..read]);
        let kept = tail.len().saturating_sub(1_024);
        tail.drain(..kept);
    }
    let took = began.elapsed().as_secs_f64();
    if find(&tail, SUMMARY).is_none() {
        return Err("an export has no summary".into());
    }
    let megabytes = bytes as f64 / 1_000_000.0;
    let bare = megabytes / bare.as_secs_f64();
    let growth = most.saturating_sub(before) as f64 / (1_024.0 * 1_024.0);
    Ok(vec![
        ResultRow {
            work: format!("export of {} entries", scale.entries),
            measured: Measurement::MbPerSecond(megabytes / took),
            limit: Some((Measurement::MbPerSecond(bare), "bare reads")),
            targets: vec![Target::AtLeast(Measurement::MbPerSecond(50.0))],
        },
        ResultRow {
            work: "memory it takes meanwhile".to_owned(),
            measured: Measurement::Mib(growth),
            limit: None,
            targets: vec![Target::AtMost(Measurement::Mib(20.0))],
        },
    ])
}

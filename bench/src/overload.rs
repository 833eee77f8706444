//! What everybody waits while twice as many connections are made as the server keeps, half of them
//! by peers that never finish what they send.

use std::{io::ErrorKind, path::Path, time::Instant};

use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::{
    Result,
    http_client::{HttpClient, get, post, post_with},
    measure::DurationSamples,
    result_table::{Measurement, ResultRow, Target},
    server::{ServerFolder, ServerProcess},
};

/// Connections that the server keeps unless it is configured.
const CONNECTIONS_MAX: usize = 8_192;
/// Connections that are made.
const CONNECTIONS: usize = 2 * CONNECTIONS_MAX;
/// Descriptors that are left to everything else here.
const SPARE_DESCRIPTORS: usize = 512;
/// Requests of each row.
const REQUESTS: usize = 20;
/// What nobody may wait longer than.
const WAIT_MAX_MS: f64 = 250.0;

/// What a slow peer sends, one after another; no request of it ever ends.
const UNFINISHED: [&str; 3] = [
    "GET / HTTP/1.1\r\nHost: loc",
    "POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
     Content-Length: 1000\r\n\r\n{",
    "POST /api/rooms HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
     Content-Length: 1000\r\n\r\n{",
];

/// How long each kind of request took.
#[derive(Default)]
struct OverloadTimes {
    page: DurationSamples,
    readiness: DurationSamples,
    decision: DurationSamples,
}

/// The rows of the page, readiness and a decision.
pub(crate) async fn measure(house: &ServerFolder) -> Result<Vec<ResultRow>> {
    // With the limits as shipped.
    std::fs::write(house.folder.join("guildhall.toml"), "")?;
    let server = house.start()?;
    let folder = house.home().join("overload");
    std::fs::create_dir_all(&folder)?;
    let calm = waits(&server, pending(&server, &folder, "calm").await?).await?;
    let cards = pending(&server, &folder, "crowded").await?;
    let crowd = crowd(&server).await?;
    let crowded = waits(&server, cards).await?;
    let count = crowd.len();
    drop(crowd);
    server.stop()?;
    let row = |work: &str, crowded: &DurationSamples, calm: &DurationSamples| ResultRow {
        work: format!("{work}, beside {count} connections, half of them unfinished, p99"),
        measured: Measurement::Millis(crowded.percentile_ms(99.0)),
        limit: Some((Measurement::Millis(calm.percentile_ms(99.0)), "beside none")),
        targets: vec![Target::AtMost(Measurement::Millis(WAIT_MAX_MS))],
    };
    Ok(vec![
        row("the page", &crowded.page, &calm.page),
        row("readiness", &crowded.readiness, &calm.readiness),
        row("a decision of the owner", &crowded.decision, &calm.decision),
    ])
}

/// Makes the connections, which stay open as long as the server lets them: by turns one that asks
/// once and rests, and one that never finishes what it sends.
async fn crowd(server: &ServerProcess) -> Result<Vec<TcpStream>> {
    let room = crate::descriptor_limit().saturating_sub(SPARE_DESCRIPTORS);
    let finished = get(server.address, "/api/health");
    let mut crowd = Vec::with_capacity(CONNECTIONS);
    for n in 0..CONNECTIONS.min(room) {
        let mut stream = TcpStream::connect(server.address).await?;
        let sent = match n % 2 {
            0 => finished.as_slice(),
            _ => UNFINISHED[n / 2 % UNFINISHED.len()].as_bytes(),
        };
        match stream.write_all(sent).await {
            Err(error) if !is_closed(error.kind()) => return Err(error.into()),
            Ok(()) | Err(_) => crowd.push(stream),
        }
    }
    Ok(crowd)
}

/// Whether the server made room meanwhile.
fn is_closed(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
}

/// Asks each over a connection of its own.
async fn waits(server: &ServerProcess, cards: Vec<String>) -> Result<OverloadTimes> {
    let mut waits = OverloadTimes::default();
    for card in cards {
        let deny = post(server.address, &format!("{card}/deny"), &json!({}));
        let (page, readiness) = (get(server.address, "/"), get(server.address, "/readyz"));
        for (times, request) in [
            (&mut waits.page, &page),
            (&mut waits.readiness, &readiness),
            (&mut waits.decision, &deny),
        ] {
            let began = Instant::now();
            let mut client = HttpClient::connect(server.address).await?;
            client.expect(request, 200).await?;
            times.push(began.elapsed());
        }
    }
    Ok(waits)
}

/// Asks for as many cards as there are decisions to make; answers their addresses.
async fn pending(server: &ServerProcess, folder: &Path, name: &str) -> Result<Vec<String>> {
    let mut client = HttpClient::connect(server.address).await?;
    let ask = json!({"cwd": folder, "runtime": "rehearsal"});
    let open = post(server.address, "/api/sessions", &ask);
    let session: Value = serde_json::from_slice(client.expect(&open, 201).await?)?;
    let id = session["agentId"]
        .as_str()
        .ok_or("a new session has no agent")?;
    let path = format!("/api/agents/{id}/mcp-servers");
    let mut cards = Vec::new();
    for n in 0..REQUESTS {
        let connection = json!({"transport": "stdio", "command": "/bin/true", "args": []});
        let ask = json!({"name": format!("{name}-{n}"), "connection": connection});
        let request = post_with(server.address, &path, "Prefer: wait=0\r\n", &ask);
        let required: Value = serde_json::from_slice(client.expect(&request, 202).await?)?;
        let approval = required["approvalId"].as_str().ok_or("a card has no id")?;
        cards.push(format!("/api/approvals/{approval}"));
    }
    Ok(cards)
}

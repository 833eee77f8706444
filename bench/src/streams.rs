//! Streams: how long one entry takes to the last of very many, and what an open one weighs.

use std::{
    io::Write,
    net::{Ipv4Addr, SocketAddr, TcpListener as StdListener, TcpStream as StdStream},
    time::Instant,
};

use guildhall_domain::ids::RoomId;
use serde_json::json;
use tokio::{
    net::TcpStream,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
};

use crate::{
    Failure, Result, Scale,
    http_client::{HttpClient, get, post},
    measure::DurationSamples,
    result_table::{Measurement, ResultRow, Target},
    seeded_store::TEXT,
    server::ServerProcess,
    sse_client::{SNAPSHOT, SseClient},
    timeouts::with_timeout,
};

/// Entries sent, one after the other.
const ENTRIES: u32 = 20;

/// How every new entry begins on a stream.
const ENTRY: &[u8] = b"event: entry_added\n";

/// One entry to all streams of its room, and the memory they take.
pub(crate) async fn entry_to_all_streams(
    server: &ServerProcess,
    room: RoomId,
    scale: &Scale,
) -> Result<Vec<ResultRow>> {
    let request = get(server.address, &format!("/api/rooms/{room}/events"));
    let resting = server.resident_bytes()?;
    let mut crowd = StreamReaders::default();
    for _ in 0..scale.streams {
        let client = HttpClient::connect(server.address).await?;
        let mut reader = SseClient::new(client.into_stream(&request).await?);
        reader.until(SNAPSHOT).await?;
        crowd.join(reader);
    }
    let open = server.resident_bytes()?;
    let mut poster = HttpClient::connect(server.address).await?;
    let entry = post(
        server.address,
        &format!("/api/rooms/{room}/entries"),
        &json!({ "text": TEXT }),
    );
    let mut times = DurationSamples::default();
    for _ in 0..ENTRIES {
        let began = Instant::now();
        poster.expect(&entry, 201).await?;
        times.push(crowd.all_have_it().await? - began);
    }
    let busy = server.resident_bytes()?;
    crowd.leave().await;
    let bare = bare_times(scale).await?;
    let memory = open.max(busy).saturating_sub(resting) as f64 / scale.streams as f64;
    Ok(vec![
        ResultRow {
            work: format!(
                "one entry to {} streams, slowest of {ENTRIES}",
                scale.streams
            ),
            measured: Measurement::Millis(times.longest_ms()),
            limit: Some((Measurement::Millis(bare.longest_ms()), "bare sockets")),
            targets: vec![Target::AtMost(Measurement::Millis(250.0))],
        },
        ResultRow {
            work: "the same, p50".to_owned(),
            measured: Measurement::Millis(times.percentile_ms(50.0)),
            limit: Some((
                Measurement::Millis(bare.percentile_ms(50.0)),
                "bare sockets",
            )),
            targets: Vec::new(),
        },
        ResultRow {
            work: "memory of an open stream".to_owned(),
            measured: Measurement::Kib(memory / 1_024.0),
            limit: None,
            targets: vec![Target::AtMost(Measurement::Kib(64.0))],
        },
    ])
}

/// The same bytes written straight to as many sockets, one after the other.
async fn bare_times(scale: &Scale) -> Result<DurationSamples> {
    let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address: SocketAddr = listener.local_addr()?;
    let mut crowd = StreamReaders::default();
    let mut sockets = Vec::with_capacity(scale.streams);
    for _ in 0..scale.streams {
        let far = TcpStream::connect(address).await?;
        let (near, _) = listener.accept()?;
        near.set_nodelay(true)?;
        crowd.join(SseClient::new(far));
        sockets.push(near);
    }
    let mut times = DurationSamples::default();
    for _ in 0..ENTRIES {
        let began = Instant::now();
        let writer = std::thread::spawn(move || write_to_all(sockets));
        times.push(crowd.all_have_it().await? - began);
        sockets = writer.join().map_err(|_| "the writing thread broke")??;
    }
    crowd.leave().await;
    Ok(times)
}

fn write_to_all(mut sockets: Vec<StdStream>) -> Result<Vec<StdStream>> {
    // As long as an entry's frame is.
    let frame = format!("id: 1\nevent: entry_added\ndata: {}\n\n", "x".repeat(900));
    for socket in &mut sockets {
        socket.write_all(frame.as_bytes())?;
    }
    Ok(sockets)
}

/// Readers of as many streams, who tell when each has an entry.
struct StreamReaders {
    readers: JoinSet<Result<()>>,
    tell: UnboundedSender<Instant>,
    told: UnboundedReceiver<Instant>,
}

impl Default for StreamReaders {
    fn default() -> Self {
        let (tell, told) = unbounded_channel();
        Self {
            readers: JoinSet::new(),
            tell,
            told,
        }
    }
}

impl StreamReaders {
    fn join(&mut self, mut reader: SseClient) {
        let tell = self.tell.clone();
        self.readers.spawn(async move {
            loop {
                reader.until(ENTRY).await?;
                tell.send(Instant::now())?;
            }
        });
    }

    /// The moment at which the last reader has the next entry.
    async fn all_have_it(&mut self) -> Result<Instant> {
        let all = async {
            let mut last = Instant::now();
            for _ in 0..self.readers.len() {
                last = self.told.recv().await.ok_or("nobody reads any more")?;
            }
            Ok::<_, Failure>(last)
        };
        with_timeout("the last stream's entry", all).await
    }

    async fn leave(mut self) {
        self.readers.shutdown().await;
    }
}

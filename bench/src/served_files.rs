//! Files by signed address and previews of dev servers, beside nginx at the same work: answers a
//! second to many clients, and the processor time that one of them takes.

use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    Result, Scale,
    http_client::{HttpClient, get, get_with, post},
    machine,
    measure::{self, MeasuringTime},
    nginx::{Nginx, PROXIED},
    result_table::{Measurement, ResultRow, Target},
    server::{ServerFolder, ServerProcess},
};

/// Clients that ask at the same time.
const CLIENTS: usize = 32;
/// Turns of the two.
const ROUNDS: u32 = 3;
/// A file that is small beside what is done for each answer, and one that is not.
const FILES: [(&str, &str, usize, f64); 2] = [
    ("4 KB", "small.txt", 4 * 1_024, 0.5),
    ("1 MB", "large.txt", 1_024 * 1_024, 0.4),
];
/// What a preview is to reach of nginx.
const PROXY_SHARE: f64 = 0.5;

/// The rows of both; nginx serves the same files, and passes on to the same upstream.
pub(crate) async fn measure(
    house: &ServerFolder,
    server: &ServerProcess,
    program: &Path,
    scale: &Scale,
) -> Result<Vec<ResultRow>> {
    let served = house.home().join("served");
    std::fs::create_dir_all(&served)?;
    for (_, name, size, _) in FILES {
        let line = "All of this is said once more on the next line, and then again.\n";
        std::fs::write(served.join(name), line.repeat(size / line.len()))?;
    }
    let folder = house.folder.with_extension("nginx");
    let dev = Nginx::start(program, &folder.join("dev"), &served, None)?;
    let nginx = Nginx::start(program, &folder.join("peer"), &served, Some(dev.address))?;
    let mut client = HttpClient::connect(server.address).await?;
    let mut rows = Vec::new();

    let ask = json!({"kind": "serve", "cwd": served});
    let (_, way) = sign(&mut client, server.address, &ask).await?;
    for (size, name, bytes, share) in FILES {
        let request = get(server.address, &format!("{way}{name}"));
        let ours = NginxOrServer::new(server.process(), server.address, request).await?;
        let request = get(nginx.address, &format!("/{name}"));
        let peer = NginxOrServer::new(nginx.process(), nginx.address, request).await?;
        let work = format!("{size} file by signed address, {CLIENTS} clients");
        rows.extend(
            ServerAndNginx { ours, peer, bytes }
                .rows(work, share, scale)
                .await?,
        );
    }

    let ask = json!({"kind": "proxy", "port": dev.address.port()});
    let (preview, way) = sign(&mut client, server.address, &ask).await?;
    let (_, token) = way.split_once('=').ok_or("an address has no token")?;
    let (size, name, bytes, _) = FILES[0];
    // What a browser holds once it opened the address.
    let cookie = format!("Cookie: guildhall_preview_{}={token}\r\n", preview.port());
    let request = get_with(preview, &format!("/{name}"), &cookie);
    let ours = NginxOrServer::new(server.process(), preview, request).await?;
    let request = get(nginx.address, &format!("{PROXIED}{name}"));
    let peer = NginxOrServer::new(nginx.process(), nginx.address, request).await?;
    let work = format!("{size} answer through a preview, {CLIENTS} clients");
    let pair = ServerAndNginx { ours, peer, bytes };
    rows.extend(pair.rows(work, PROXY_SHARE, scale).await?);
    Ok(rows)
}

/// Asks for an address; where it leads, and what is asked for there.
async fn sign(
    client: &mut HttpClient,
    server: SocketAddr,
    ask: &Value,
) -> Result<(SocketAddr, String)> {
    let request = post(server, "/api/workbench/sign", ask);
    let signed: Value = serde_json::from_slice(client.expect(&request, 200).await?)?;
    let url = signed["url"].as_str().and_then(|url| {
        let (host, way) = url.strip_prefix("http://")?.split_once('/')?;
        Some((host.parse().ok()?, format!("/{way}")))
    });
    url.ok_or_else(|| format!("no address was signed: {signed}").into())
}

/// The server and nginx, asked for the same.
struct ServerAndNginx {
    ours: NginxOrServer,
    peer: NginxOrServer,
    /// How long each answer is.
    bytes: usize,
}

impl ServerAndNginx {
    async fn rows(mut self, work: String, share: f64, scale: &Scale) -> Result<Vec<ResultRow>> {
        let ours = self.ours.answer().await?;
        if ours.len() != self.bytes || ours != self.peer.answer().await? {
            return Err(format!("nginx and the server do not answer the same: {work}").into());
        }
        let span = scale.span.rounds(ROUNDS);
        for _ in 0..ROUNDS {
            self.peer.turn(span).await?;
            self.ours.turn(span).await?;
        }
        let (ours, peer) = (self.ours, self.peer);
        Ok(vec![
            ResultRow {
                work,
                measured: Measurement::PerSecond(ours.rate()),
                limit: Some((Measurement::PerSecond(peer.rate()), "nginx")),
                targets: vec![Target::ShareAtLeast(share)],
            },
            ResultRow {
                work: "the same, processor time of an answer".to_owned(),
                measured: Measurement::Micros(ours.busy_us()),
                limit: Some((Measurement::Micros(peer.busy_us()), "nginx")),
                targets: Vec::new(),
            },
        ])
    }
}

/// One of the two, with its clients and what it did so far.
struct NginxOrServer {
    process: u32,
    clients: Vec<HttpClient>,
    request: Vec<u8>,
    answers: f64,
    took: Duration,
    busy: Duration,
}

impl NginxOrServer {
    async fn new(process: u32, address: SocketAddr, request: Vec<u8>) -> Result<Self> {
        Ok(Self {
            process,
            clients: HttpClient::connect_many(address, CLIENTS).await?,
            request,
            answers: 0.0,
            took: Duration::ZERO,
            busy: Duration::ZERO,
        })
    }

    async fn answer(&mut self) -> Result<Vec<u8>> {
        let client = self.clients.first_mut().ok_or("there is no client")?;
        Ok(client.expect(&self.request, 200).await?.to_vec())
    }

    /// Warms up, then counts answers and processor time.
    async fn turn(&mut self, span: MeasuringTime) -> Result<()> {
        self.asked(span.warm_up).await?;
        let (busy, began) = (machine::processor_time(self.process)?, Instant::now());
        self.answers += self.asked(span.measured).await?;
        self.took += began.elapsed();
        self.busy += machine::processor_time(self.process)?.saturating_sub(busy);
        Ok(())
    }

    /// How many answers come within `measured`.
    async fn asked(&mut self, measured: Duration) -> Result<f64> {
        let span = MeasuringTime {
            warm_up: Duration::ZERO,
            measured,
        };
        let rate = measure::rate(&mut self.clients, &self.request, 200, span).await?;
        Ok(rate * measured.as_secs_f64())
    }

    fn rate(&self) -> f64 {
        self.answers / self.took.as_secs_f64()
    }

    fn busy_us(&self) -> f64 {
        self.busy.as_secs_f64() * 1_000_000.0 / self.answers
    }
}

//! The local browser: how long one waits for its pictures, and what looking on costs.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use futures_util::{SinkExt, StreamExt};
use guildhall_world::chromium::can_be_sandboxed;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    process::Command,
    task::JoinSet,
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderValue},
};

use crate::{
    Failure, Result,
    http_client::{HttpClient, get, post},
    machine,
    measure::DurationSamples,
    result_table::{Measurement, ResultRow, Target},
    server::{ServerFolder, ServerProcess},
    timeouts::{PATIENCE, with_timeout},
};

/// How often it is opened.
const OPENS: usize = 5;
/// Keys that are counted.
const KEYS: usize = 60;
/// Bytes of the header of a picture.
const HEADER_BYTES: usize = 24;
/// Who looks on at most.
const VIEWERS_MAX: usize = 4;
/// How long an animation is looked at by one, and then by four.
const WATCHED: Duration = Duration::from_secs(4);

/// A page that is full of words or has none, by turns with each key, and that moves on `/moving`.
const PAGE: &str = "<!doctype html><title>bench</title>
<style>body { margin: 0; font: 16px serif } i { position: absolute; width: 64px; height: 64px }</style>
<body><script>
const words = 'A picture of many letters is larger than one of none. '.repeat(200);
let full = false;
addEventListener('keydown', () => {
  full = !full;
  document.body.textContent = full ? words : '';
});
if (location.pathname === '/moving') {
  document.body.innerHTML = '<i style=\"background: teal\"></i>';
  const step = now => {
    document.querySelector('i').style.left = `${now / 4 % 600}px`;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}
</script>";

/// The rows about the local browser.
pub(crate) async fn measure(house: &ServerFolder, chromium: &Path) -> Result<Vec<ResultRow>> {
    let (site, _serving) = serve().await?;
    let server = house.start()?;
    let resting = server.resident_bytes()?;
    let mut opens = DurationSamples::default();
    for _ in 0..OPENS {
        opens.push(opened(&server, site).await?);
        closed(&server).await?;
    }
    let bare = bare_loads(house, chromium, site).await?;
    opened(&server, site).await?;
    let keys = keys(&server).await?;
    let beside = server.resident_bytes()?.saturating_sub(resting);
    let (one, four) = watched(&server, site).await?;
    closed(&server).await?;
    server.stop()?;
    Ok(vec![
        ResultRow {
            work: "local browser, open to the first picture, p50".to_owned(),
            measured: Measurement::Millis(opens.percentile_ms(50.0)),
            limit: Some((
                Measurement::Millis(bare.percentile_ms(50.0)),
                "Chromium alone loads the page and ends",
            )),
            targets: vec![Target::AtMost(Measurement::Millis(1_500.0))],
        },
        ResultRow {
            work: "key to the changed picture, p50".to_owned(),
            measured: Measurement::Millis(keys.percentile_ms(50.0)),
            limit: None,
            targets: vec![Target::AtMost(Measurement::Millis(150.0))],
        },
        ResultRow {
            work: "the same, p95".to_owned(),
            measured: Measurement::Millis(keys.percentile_ms(95.0)),
            limit: None,
            targets: Vec::new(),
        },
        ResultRow {
            work: "Chromium's processor time a picture, four viewers".to_owned(),
            measured: Measurement::Millis(four),
            limit: Some((Measurement::Millis(one), "one viewer")),
            // What is encoded once costs the same however many see it; a quarter is the weather.
            targets: vec![Target::TimesAtMost(1.25)],
        },
        ResultRow {
            work: "memory of the server beside the open browser".to_owned(),
            measured: Measurement::Mib(beside as f64 / (1_024.0 * 1_024.0)),
            limit: None,
            targets: vec![Target::AtMost(Measurement::Mib(20.0))],
        },
    ])
}

/// One who looks on.
struct StreamViewer {
    socket: WebSocketStream<TcpStream>,
    view: u64,
    inputs: u64,
    /// Pictures it has had, and what was said last beside them, to tell of when nothing more comes.
    pictures: u64,
    last: String,
}

impl StreamViewer {
    /// Joins; the state is the first that is said.
    async fn join(server: SocketAddr) -> Result<Self> {
        let mut request =
            format!("ws://{server}/api/local-browser/stream").into_client_request()?;
        request.headers_mut().append(
            "Sec-WebSocket-Protocol",
            HeaderValue::from_static("guildhall-browser.v1"),
        );
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let joined = client_async(request, stream);
        let (socket, _) = with_timeout("the browser's stream", joined).await?;
        Ok(Self {
            socket,
            view: 0,
            inputs: 0,
            pictures: 0,
            last: String::new(),
        })
    }

    async fn say(&mut self, words: &Value) -> Result<()> {
        let said = self.socket.send(Message::text(words.to_string()));
        with_timeout("the browser's stream", said).await
    }

    /// Asks for the pictures of the tab that is shown, once there is one.
    async fn look(&mut self) -> Result<()> {
        let looks = with_timeout("a tab to look at", self.looks()).await;
        looks.map_err(|failure| self.told(&failure))
    }

    async fn looks(&mut self) -> Result<()> {
        loop {
            let said = self.next().await?;
            let StreamMessage::Words(state) = said else {
                continue;
            };
            if state["type"] == "state" && state["status"] == "connected" {
                let tab = &state["selectedTabId"];
                let ask =
                    json!({"type": "view", "tabId": tab, "maxWidth": 4096, "maxHeight": 4096});
                return self.say(&ask).await;
            }
        }
    }

    /// The next picture's bytes, which are acknowledged.
    async fn picture(&mut self) -> Result<usize> {
        let picture = with_timeout("the next picture", self.next_picture()).await;
        picture.map_err(|failure| self.told(&failure))
    }

    fn told(&self, failure: &Failure) -> Failure {
        let (pictures, inputs, last) = (self.pictures, self.inputs, &self.last);
        format!("{failure}, after {pictures} and {inputs} keys; said last: {last}").into()
    }

    async fn next_picture(&mut self) -> Result<usize> {
        loop {
            match self.next().await? {
                StreamMessage::Picture { sequence, bytes } => {
                    self.pictures += 1;
                    let view = self.view;
                    let ack = json!({"type": "ack", "viewId": view, "sequence": sequence});
                    self.say(&ack).await?;
                    return Ok(bytes);
                }
                StreamMessage::Words(words) if words["type"] == "view" => {
                    self.view = words["viewId"].as_u64().ok_or("a view has no number")?;
                }
                StreamMessage::Words(words) if words["ok"] == false => {
                    return Err(format!("a key was refused: {words}").into());
                }
                StreamMessage::Words(_) => {}
            }
        }
    }

    /// Presses a key and lets it go.
    async fn press(&mut self) -> Result<()> {
        self.inputs += 1;
        let key = |what: &str| json!({"type": what, "key": "a", "code": "KeyA", "modifiers": 0});
        let steps = json!([key("keyDown"), key("keyUp")]);
        let (id, view) = (self.inputs, self.view);
        self.say(&json!({"type": "input", "id": id, "viewId": view, "steps": steps}))
            .await
    }

    async fn next(&mut self) -> Result<StreamMessage> {
        loop {
            let message = self.socket.next().await;
            match message.ok_or("the browser's stream ended")?? {
                Message::Text(text) => {
                    self.last = text.to_string();
                    return Ok(StreamMessage::Words(serde_json::from_str(text.as_str())?));
                }
                Message::Binary(bytes) => {
                    let sequence = bytes.get(8..12).ok_or("a picture has no header")?;
                    return Ok(StreamMessage::Picture {
                        sequence: u32::from_be_bytes(sequence.try_into()?),
                        bytes: bytes.len() - HEADER_BYTES,
                    });
                }
                _ => {}
            }
        }
    }
}

/// What is said on the stream.
enum StreamMessage {
    Words(Value),
    Picture { sequence: u32, bytes: usize },
}

/// How long it takes from asking for the browser to its first picture.
async fn opened(server: &ServerProcess, site: SocketAddr) -> Result<Duration> {
    let mut viewer = StreamViewer::join(server.address).await?;
    let mut client = HttpClient::connect(server.address).await?;
    let ask = json!({"mode": "embedded", "url": format!("http://{site}/")});
    let began = Instant::now();
    let request = post(server.address, "/api/local-browser/open", &ask);
    client.expect(&request, 200).await?;
    viewer.look().await?;
    viewer.picture().await?;
    Ok(began.elapsed())
}

/// Closes it, and waits until it is.
async fn closed(server: &ServerProcess) -> Result<()> {
    let mut client = HttpClient::connect(server.address).await?;
    let request = post(server.address, "/api/local-browser/close", &json!({}));
    client.expect(&request, 200).await?;
    let began = Instant::now();
    loop {
        let state = state(&mut client, server).await?;
        if state["status"] == "disconnected" {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            return Err(format!("the browser does not close: {state}").into());
        }
    }
}

/// What the browser is now.
async fn state(client: &mut HttpClient, server: &ServerProcess) -> Result<Value> {
    let request = get(server.address, "/api/local-browser");
    Ok(serde_json::from_slice(client.expect(&request, 200).await?)?)
}

/// How long Chromium by itself takes to start, load the page and end, in a profile that is not new.
async fn bare_loads(
    house: &ServerFolder,
    chromium: &Path,
    site: SocketAddr,
) -> Result<DurationSamples> {
    let profile = house.home().join("bare-profile");
    let mut times = DurationSamples::default();
    for _ in 0..=OPENS {
        let began = Instant::now();
        let ending = Command::new(chromium)
            .args(["--headless=new", "--dump-dom", "--no-first-run"])
            .args((!can_be_sandboxed()).then_some("--no-sandbox"))
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("http://{site}/"))
            .env("HOME", house.home())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .status();
        let ended = with_timeout("Chromium by itself", ending).await?;
        if !ended.success() {
            return Err(format!("Chromium by itself ended with {ended}").into());
        }
        times.push(began.elapsed());
    }
    Ok(times)
}

/// How long it takes from a key until the picture shows what the key did.
async fn keys(server: &ServerProcess) -> Result<DurationSamples> {
    let mut viewer = StreamViewer::join(server.address).await?;
    viewer.look().await?;
    let empty = viewer.picture().await?;
    let mut times = DurationSamples::default();
    for key in 0..KEYS {
        let began = Instant::now();
        viewer.press().await?;
        // A page full of words makes a picture many times as large as an empty one.
        let is_full = key % 2 == 0;
        while (viewer.picture().await? > 3 * empty) != is_full {}
        times.push(began.elapsed());
    }
    Ok(times)
}

/// What a picture of an animation costs Chromium, in milliseconds, with one viewer and with four.
async fn watched(server: &ServerProcess, site: SocketAddr) -> Result<(f64, f64)> {
    let mut client = HttpClient::connect(server.address).await?;
    let state = state(&mut client, server).await?;
    let tab = state["selectedTabId"].as_str().ok_or("no tab is shown")?;
    let ask = json!({"url": format!("http://{site}/moving")});
    let path = format!("/api/local-browser/tabs/{tab}/navigate");
    client
        .expect(&post(server.address, &path, &ask), 200)
        .await?;
    let one = cost(server, 1).await?;
    Ok((one, cost(server, VIEWERS_MAX).await?))
}

/// What a picture costs Chromium with so many viewers, in milliseconds.
async fn cost(server: &ServerProcess, viewers: usize) -> Result<f64> {
    let mut watching = JoinSet::new();
    let busy = machine::processor_time_of_descendants(server.process())?;
    let end = Instant::now() + WATCHED;
    for _ in 0..viewers {
        let address = server.address;
        watching.spawn(async move {
            let mut viewer = StreamViewer::join(address).await?;
            viewer.look().await?;
            let mut seen = 0_u32;
            while Instant::now() < end {
                viewer.picture().await?;
                seen += 1;
            }
            Ok::<_, Failure>(seen)
        });
    }
    let mut most = 0;
    while let Some(seen) = watching.join_next().await {
        most = most.max(seen??);
    }
    let busy = machine::processor_time_of_descendants(server.process())?.saturating_sub(busy);
    Ok(busy.as_secs_f64() * 1_000.0 / f64::from(most.max(1)))
}

/// A site of its own, where the page is.
async fn serve() -> Result<(SocketAddr, JoinSet<()>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut answering = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            answering.spawn(answer(stream));
        }
    });
    Ok((address, serving))
}

/// Answers whatever is asked with the page.
async fn answer(mut stream: TcpStream) {
    let mut asked = [0; 4_096];
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{PAGE}",
        PAGE.len()
    );
    // A browser that hangs up asks again.
    if stream.read(&mut asked).await.is_ok() {
        let _ = stream.write_all(head.as_bytes()).await;
    }
}

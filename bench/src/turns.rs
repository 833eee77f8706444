//! Turns: what lies between a person's words and the agent, and between the agent's words and
//! the person, while every agent there may be is at work.
//!
//! The scripted agent says when a prompt came to it and when it speaks, by the clock that all
//! processes of the machine share. The same agents without the server, over their own pipes, are
//! what the rows stand beside.

use std::{net::SocketAddr, process::Stdio, time::Duration};

use guildhall_domain::ids::SessionId;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    task::JoinSet,
    time::timeout,
};

use crate::{
    Failure, Result, Scale,
    http_client::{HttpClient, find, get, post},
    measure::{DurationSamples, MeasuringTime, SeededRandom, now_ns},
    result_table::{Measurement, ResultRow, Target},
    server::{ServerFolder, ServerProcess},
    sessions::{AGENTS, StoredSessions},
    sse_client::{SNAPSHOT, SseClient},
};

/// How long one turn may take before the run is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest pause of an agent at its own pace, in milliseconds, before and after it speaks.
const PAUSE_MS: u64 = 100;

/// How an answer's text begins on a session's stream.
const TEXT: &[u8] = b"event: text_appended\n";
/// How the end of a turn begins there.
const TURN_ENDED: &[u8] = b"event: turn_ended\n";
/// What the scripted agent says before its two times.
const TIMES: &[u8] = b"clock ";

/// When what happened in a turn, in nanoseconds of the shared clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnTimestamps {
    /// The message leaves the client.
    sent: u64,
    /// The client has the answer that it was accepted.
    accepted: u64,
    /// The agent has the prompt.
    came: u64,
    /// The agent speaks.
    said: u64,
    /// The client has its words.
    seen: u64,
}

impl TurnTimestamps {
    /// From the message's leaving until the agent has it.
    pub(crate) fn until_prompt(self) -> Duration {
        Duration::from_nanos(self.came.saturating_sub(self.sent))
    }
}

/// How the turns follow one another.
#[derive(Clone, Copy, Debug)]
enum TurnPace {
    /// The agent takes its time before and after it speaks, as one does that thinks.
    Thinking,
    /// None takes any time: as many turns as the machine holds.
    Headlong,
}

impl TurnPace {
    fn script(self, dice: &mut SeededRandom) -> String {
        match self {
            Self::Thinking => {
                let (before, after) = (dice.next_below(PAUSE_MS), dice.next_below(PAUSE_MS));
                format!("#slow {before}\n#clock\n#slow {after}")
            }
            Self::Headlong => "#clock".to_owned(),
        }
    }
}

/// A session of each agent, through the server and without it.
pub(crate) struct AgentSessions {
    served: Vec<SessionPeer>,
    piped: Vec<SessionPeer>,
}

impl AgentSessions {
    /// Wakes every agent by a first turn.
    pub(crate) async fn open_with_first_turn(
        server: &ServerProcess,
        house: &ServerFolder,
        sessions: &StoredSessions,
    ) -> Result<Self> {
        let (mut served, mut piped) = (Vec::new(), Vec::new());
        for (n, session) in sessions.of_each_agent().iter().enumerate() {
            let mut peer = ServedSession::connect(server.address, *session).await?;
            peer.turn("#clock").await?;
            served.push(SessionPeer::Served(peer));
            let mut peer = PipedSession::start(house, n).await?;
            peer.turn("#clock").await?;
            piped.push(SessionPeer::Piped(Box::new(peer)));
        }
        Ok(Self { served, piped })
    }

    /// The rows of all at once, at their own pace and headlong.
    pub(crate) async fn measure(mut self, scale: &Scale) -> Result<Vec<ResultRow>> {
        let mut served = TurnTimes::default();
        let mut bare = TurnTimes::default();
        let span = scale.span.rounds(2);
        for _ in 0..2 {
            bare.add(all(&mut self.piped, TurnPace::Thinking, span).await?);
            served.add(all(&mut self.served, TurnPace::Thinking, span).await?);
        }
        let headlong_bare = all(&mut self.piped, TurnPace::Headlong, span).await?;
        let headlong = all(&mut self.served, TurnPace::Headlong, span).await?;
        let rate = |of: &TurnTimes| {
            Measurement::PerSecond(of.seen.count() as f64 / span.measured.as_secs_f64())
        };
        let mut rows = overhead(&served, &bare);
        rows.push(ResultRow {
            work: format!("turns without a pause, {AGENTS} sessions"),
            measured: rate(&headlong),
            limit: Some((rate(&headlong_bare), "bare agents")),
            targets: Vec::new(),
        });
        for (work, times, bare) in [
            (
                "prompt to the agent",
                &headlong.handed,
                &headlong_bare.handed,
            ),
            ("text to the stream", &headlong.seen, &headlong_bare.seen),
        ] {
            rows.push(row(&format!("meanwhile, {work}, p99"), (times, bare), 99.0));
        }
        Ok(rows)
    }
}

/// The rows of agents at their own pace.
fn overhead(served: &TurnTimes, bare: &TurnTimes) -> Vec<ResultRow> {
    let mut rows = Vec::new();
    for (work, times, bare) in [
        (
            "prompt accepted to prompt at the agent",
            &served.handed,
            &bare.handed,
        ),
        ("agent's text to text on a stream", &served.seen, &bare.seen),
    ] {
        rows.push(ResultRow {
            targets: vec![Target::AtMost(Measurement::Millis(15.0))],
            ..row(
                &format!("{work}, {AGENTS} sessions, p99"),
                (times, bare),
                99.0,
            )
        });
        rows.push(row("the same, p50", (times, bare), 50.0));
    }
    rows.push(row(
        "prompt sent to prompt at the agent, p99",
        (&served.asked, &bare.asked),
        99.0,
    ));
    rows
}

fn row(work: &str, (times, bare): (&DurationSamples, &DurationSamples), percent: f64) -> ResultRow {
    ResultRow {
        work: work.to_owned(),
        measured: Measurement::Millis(times.percentile_ms(percent)),
        limit: Some((
            Measurement::Millis(bare.percentile_ms(percent)),
            "bare agents",
        )),
        targets: Vec::new(),
    }
}

/// What many turns took.
#[derive(Clone, Debug, Default)]
struct TurnTimes {
    /// From the message's leaving until the agent has it.
    asked: DurationSamples,
    /// From the answer that it was accepted until the agent has it; 0 when that was sooner.
    handed: DurationSamples,
    /// From the agent's words until the client has them.
    seen: DurationSamples,
}

impl TurnTimes {
    fn push(&mut self, way: TurnTimestamps) {
        let between = |from: u64, to: u64| Duration::from_nanos(to.saturating_sub(from));
        self.asked.push(between(way.sent, way.came));
        self.handed.push(between(way.accepted, way.came));
        self.seen.push(between(way.said, way.seen));
    }

    fn add(&mut self, more: Self) {
        self.asked.add(more.asked);
        self.handed.add(more.handed);
        self.seen.add(more.seen);
    }
}

/// Lets all of them have turns at the same time, each one after the other.
async fn all(
    peers: &mut Vec<SessionPeer>,
    pace: TurnPace,
    span: MeasuringTime,
) -> Result<TurnTimes> {
    let counted_from = std::time::Instant::now() + span.warm_up;
    let end = counted_from + span.measured;
    let mut running = JoinSet::new();
    for (n, mut peer) in peers.drain(..).enumerate() {
        running.spawn(async move {
            let mut dice = SeededRandom(n as u64);
            let mut figures = TurnTimes::default();
            loop {
                let began = std::time::Instant::now();
                let way = peer.turn(&pace.script(&mut dice)).await?;
                if began >= end {
                    return Ok::<_, Failure>((peer, figures));
                }
                if began >= counted_from {
                    figures.push(way);
                }
            }
        });
    }
    let mut figures = TurnTimes::default();
    while let Some(done) = running.join_next().await {
        let (peer, its) = done??;
        peers.push(peer);
        figures.add(its);
    }
    Ok(figures)
}

/// Somebody to have turns with.
enum SessionPeer {
    Served(ServedSession),
    Piped(Box<PipedSession>),
}

impl SessionPeer {
    async fn turn(&mut self, script: &str) -> Result<TurnTimestamps> {
        match self {
            Self::Served(peer) => peer.turn(script).await,
            Self::Piped(peer) => peer.turn(script).await,
        }
    }
}

/// A session of the server, with a client that sends and one that watches.
pub(crate) struct ServedSession {
    client: HttpClient,
    frames: SseClient,
    server: SocketAddr,
    path: String,
}

impl ServedSession {
    /// Watches a session from now on.
    pub(crate) async fn connect(server: SocketAddr, session: SessionId) -> Result<Self> {
        let request = get(server, &format!("/api/sessions/{session}/events"));
        let stream = HttpClient::connect(server)
            .await?
            .into_stream(&request)
            .await?;
        let mut frames = SseClient::new(stream);
        frames.until(SNAPSHOT).await?;
        Ok(Self {
            client: HttpClient::connect(server).await?,
            frames,
            server,
            path: format!("/api/sessions/{session}/messages"),
        })
    }

    /// Has a turn whose script says `#clock` once and nothing else.
    pub(crate) async fn turn(&mut self, script: &str) -> Result<TurnTimestamps> {
        let request = post(self.server, &self.path, &json!({ "content": script }));
        let turn = async {
            let sent = now_ns();
            self.client.expect(&request, 202).await?;
            let accepted = now_ns();
            let text = self.frames.take(TEXT).await?;
            let seen = now_ns();
            self.frames.until(TURN_ENDED).await?;
            let (came, said) = times_in(&text)?;
            Ok(TurnTimestamps {
                sent,
                accepted,
                came,
                said,
                seen,
            })
        };
        timeout(PATIENCE, turn)
            .await
            .map_err(|_| "a turn does not end")?
    }
}

/// A session of an agent that the load generator itself speaks with.
struct PipedSession {
    /// Killed when dropped.
    _agent: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    session: Value,
    asked: u64,
}

impl PipedSession {
    async fn start(house: &ServerFolder, n: usize) -> Result<Self> {
        let cwd = house.home().join(format!("bare-agent-{n}"));
        std::fs::create_dir_all(&cwd)?;
        let mut agent = Command::new(&house.binary)
            .arg("rehearsal-agent")
            .current_dir(&cwd)
            .env("HOME", house.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = agent.stdin.take().ok_or("an agent has no input")?;
        let output = agent.stdout.take().ok_or("an agent has no output")?;
        let mut piped = Self {
            _agent: agent,
            input,
            output: BufReader::new(output).lines(),
            session: Value::Null,
            asked: 0,
        };
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        piped.ask("initialize", &hello).await?;
        piped.answer().await?;
        let open = json!({ "cwd": cwd, "mcpServers": [] });
        piped.ask("session/new", &open).await?;
        piped.session = piped.answer().await?["sessionId"].take();
        Ok(piped)
    }

    async fn turn(&mut self, script: &str) -> Result<TurnTimestamps> {
        let prompt = json!({
            "sessionId": self.session, "prompt": [{ "type": "text", "text": script }],
        });
        let sent = now_ns();
        self.ask("session/prompt", &prompt).await?;
        let text = loop {
            let line = self.line().await?;
            if find(line.as_bytes(), TIMES).is_some() {
                break line;
            }
        };
        let seen = now_ns();
        self.answer().await?;
        let (came, said) = times_in(text.as_bytes())?;
        Ok(TurnTimestamps {
            sent,
            accepted: sent,
            came,
            said,
            seen,
        })
    }

    async fn ask(&mut self, method: &str, params: &Value) -> Result<()> {
        self.asked += 1;
        let (id, mut line) = (self.asked, String::new());
        let ask = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        line.push_str(&ask.to_string());
        line.push('\n');
        self.input.write_all(line.as_bytes()).await?;
        Ok(self.input.flush().await?)
    }

    /// The result of what was asked last; what comes before it is dropped.
    async fn answer(&mut self) -> Result<Value> {
        loop {
            let mut message: Value = serde_json::from_str(&self.line().await?)?;
            if message["id"] != self.asked {
                continue;
            }
            return match message["error"].take() {
                Value::Null => Ok(message["result"].take()),
                error => Err(format!("an agent refused: {error}").into()),
            };
        }
    }

    async fn line(&mut self) -> Result<String> {
        let line = timeout(PATIENCE, self.output.next_line()).await;
        let line = line.map_err(|_| "an agent says nothing")??;
        Ok(line.ok_or("an agent ended")?)
    }
}

/// The two times that a scripted agent's text tells: when the prompt came, when it was said.
fn times_in(text: &[u8]) -> Result<(u64, u64)> {
    let begins = find(text, TIMES).ok_or("an agent's text tells no times")?;
    let text = String::from_utf8_lossy(&text[begins + TIMES.len()..]);
    let mut times = text.split(' ').map(str::parse::<u64>);
    match (times.next(), times.next()) {
        (Some(Ok(came)), Some(Ok(said))) => Ok((came, said)),
        _ => Err(format!("no two times: {text}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_times_are_found_wherever_the_text_stands() {
        let frame = b"event: text_appended\ndata: {\"text\":\"clock 12 345 \",\"offset\":0}\n\n";
        assert_eq!(times_in(frame).unwrap(), (12, 345));
        assert!(times_in(b"\"text\":\"clock 12\"").is_err());
        assert!(times_in(b"\"text\":\"hello\"").is_err());
    }
}

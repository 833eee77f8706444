//! `guildhall events` and `guildhall rooms events`: what happens, as it happens.
//! A broken connection is made again with the last position, so that every event is printed
//! once and in order, also across restarts of the server.

use std::{collections::HashMap, time::Duration};

use clap::Args;
use http::Method;
use serde_json::Value;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{MissedTickBehavior, interval, timeout},
};

use super::{
    cli_context::{CliContext, names_of, room_name},
    entries, escaped_text,
    failure::Failure,
    http_client::{RequestParts, StreamingResponse},
    output::write_stderr,
    request_target::RequestTarget,
    sse_frames::{SseFrame, SseParser},
};

/// Least time from one attempt to connect to the next. Source: contract 1.10, `retry: 1000`.
const RETRY_EVERY: Duration = Duration::from_secs(1);
/// How long a stream may be silent: three of the server's heartbeats.
const SILENCE_MAX: Duration = Duration::from_secs(45);

/// What to follow.
#[derive(Clone, Debug, Args)]
pub(crate) struct FollowArgs {
    /// `hall`, `room:<room>` or `agent:<agent>`; may be given more than once [default: everything]
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    #[command(flatten)]
    position: StreamPositionArgs,
}

/// Where to go on from.
#[derive(Clone, Debug, Args)]
pub(crate) struct StreamPositionArgs {
    /// Begin behind this event, as an earlier run printed it [default: a snapshot, then what comes]
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// The log that the position belongs to
    #[arg(long, value_name = "ID", requires = "after")]
    log: Option<String>,
}

/// Runs `guildhall events`.
pub(super) async fn run(desk: &CliContext, ask: FollowArgs) -> Result<(), Failure> {
    let mut target = RequestTarget::new("/api/events");
    for scope in &ask.scopes {
        target = target.query("scope", Some(scope_id(desk, scope).await?));
    }
    follow(desk, target, ask.position).await
}

/// Prints the frames of a stream until the person interrupts or the server refuses.
pub(super) async fn follow(
    desk: &CliContext,
    target: RequestTarget,
    position: StreamPositionArgs,
) -> Result<(), Failure> {
    follow_only(desk, target, position, |_| true).await
}

/// The same, of the events those alone whose name `is_wanted`.
pub(super) async fn follow_only(
    desk: &CliContext,
    target: RequestTarget,
    position: StreamPositionArgs,
    is_wanted: fn(&str) -> bool,
) -> Result<(), Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut follower = EventFollower {
        desk,
        target,
        is_wanted,
        cursor: position.after,
        log: position.log,
        names: HashMap::new(),
    };
    let outcome = tokio::select! {
        outcome = follower.run() => outcome,
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    };
    if let (Ok(()), Some(cursor)) = (&outcome, follower.cursor) {
        write_stderr(&format!("guildhall: go on with --after {cursor}\n"));
    }
    outcome
}

struct EventFollower<'a> {
    desk: &'a CliContext,
    target: RequestTarget,
    is_wanted: fn(&str) -> bool,
    /// The last position that was printed.
    cursor: Option<u64>,
    /// The log it belongs to, when known.
    log: Option<String>,
    /// What people call authors and rooms, by id.
    names: HashMap<String, String>,
}

impl EventFollower<'_> {
    async fn run(&mut self) -> Result<(), Failure> {
        let log = self.desk.client.log_id().await?;
        if self.desk.output.is_for_people() {
            self.names = self.desk.names().await?;
        }
        let mut pace = interval(RETRY_EVERY);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut was_connected = false;
        let mut is_told = false;
        loop {
            pace.tick().await;
            match self.connect().await {
                Ok(stream) => {
                    was_connected = true;
                    is_told = false;
                    // From here on the position is of this log, whatever runs there next time.
                    self.log = Some(log.clone());
                    self.read(stream).await?;
                }
                Err(failure) if was_connected && may_pass(&failure) => {}
                Err(failure) => return Err(failure),
            }
            if !is_told {
                is_told = true;
                write_stderr("guildhall: the stream ended; trying again every second\n");
            }
        }
    }

    async fn connect(&self) -> Result<StreamingResponse, Failure> {
        let log = self.cursor.and(self.log.as_ref());
        let target = self.target.clone().query("log", log);
        let load = RequestParts {
            last_event_id: self.cursor,
            ..RequestParts::default()
        };
        let opened = self.desk.client.open(Method::GET, target.as_str(), load);
        let opened = timeout(SILENCE_MAX, opened)
            .await
            .map_err(|_| Failure::Unreached("the server did not answer in time.".to_owned()))??;
        if opened.status.is_success() && opened.is_stream() {
            return Ok(opened);
        }
        Err(Failure::Answered(opened.whole().await?))
    }

    /// Prints frames until the stream ends, however it does.
    async fn read(&mut self, mut stream: StreamingResponse) -> Result<(), Failure> {
        let mut frames = SseParser::default();
        while let Ok(Ok(Some(bytes))) = timeout(SILENCE_MAX, stream.next()).await {
            let Ok(frames) = frames.take(&bytes) else {
                let why = "the server sent an event that is too long to be one.";
                return Err(Failure::Unreadable(why.to_owned()));
            };
            for frame in frames {
                self.show(&frame)?;
                // Only now: what was not printed must come again.
                self.cursor = frame.id.or(self.cursor);
            }
        }
        Ok(())
    }

    fn show(&mut self, frame: &SseFrame) -> Result<(), Failure> {
        let Some(data) = &frame.data else {
            return Ok(());
        };
        let is_state = matches!(frame.event.as_str(), "snapshot" | "reset");
        if !is_state && !(self.is_wanted)(&frame.event) {
            return Ok(());
        }
        let output = &self.desk.output;
        if output.is_ids() {
            return match frame.id {
                Some(seq) if !is_state => output.line(&seq.to_string()),
                _ => Ok(()),
            };
        }
        if !output.is_for_people() {
            // Events and signals say their type themselves.
            return if is_state {
                output.json_line(&format!("{{\"type\":\"{}\",\"data\":{data}}}", frame.event))
            } else {
                output.json_line(data)
            };
        }
        let event: Value = serde_json::from_str(data)
            .map_err(|error| Failure::Unreadable(format!("an event cannot be read: {error}.")))?;
        self.learn(&event["data"]);
        output.line(&output.safe_line(&self.sentence(frame, &event)))
    }

    /// Notes the names that an event tells.
    fn learn(&mut self, data: &Value) {
        self.names.extend(names_of(&data["author"]));
        if let Some(id) = data["room"]["id"].as_str() {
            self.names.insert(id.to_owned(), room_name(&data["room"]));
        }
    }

    fn name(&self, id: &str) -> String {
        self.names.get(id).map_or(id, String::as_str).to_owned()
    }

    /// One frame on one line: number, time, where, who, what happened and to what.
    fn sentence(&self, frame: &SseFrame, event: &Value) -> String {
        let name = &frame.event;
        match name.as_str() {
            "snapshot" => return format!("{:>8}  snapshot", frame.id.unwrap_or_default()),
            "reset" => {
                let reason = event["reason"].as_str().unwrap_or_default();
                return format!("{:>8}  reset ({reason})", "");
            }
            _ => {}
        }
        let seq = frame.id.map(|seq| seq.to_string()).unwrap_or_default();
        let at = event["at"].as_str().unwrap_or_default();
        let place = event["scope"].as_str().unwrap_or_default();
        let place = self.name(place.split_once(':').map_or(place, |(_, id)| id));
        let actor = self.name(event["actorId"].as_str().unwrap_or_default());
        let detail = self.detail(&event["data"]);
        format!("{seq:>8}  {at}  {place:<12}  {actor:<12}  {name:<19}  {detail}")
    }

    /// What an event is about: a post's text, a name, else all that is known.
    fn detail(&self, data: &Value) -> String {
        if data["entry"].is_object() {
            return entries::words(&data["entry"]);
        }
        if data["reactions"].is_array() {
            return entries::reactions(data);
        }
        if let Some(title) = data.pointer("/document/title").and_then(Value::as_str) {
            return format!("{} {title}", escaped_text::of(&data["change"]));
        }
        for ask in ["interaction", "approval"] {
            if let Some(title) = data[ask]["title"].as_str() {
                return format!("{} {title}", escaped_text::of(&data[ask]["id"]));
            }
        }
        if let Some(id) = data["approvalId"].as_str() {
            return format!("{id} {}", escaped_text::of(&data["state"]));
        }
        if let Some(resolution) = data["resolution"].as_str() {
            return format!("{} {resolution}", escaped_text::of(&data["id"]));
        }
        if data["keys"].is_array() {
            return escaped_text::of(&data["keys"]);
        }
        if data["room"].is_object() {
            return room_name(&data["room"]);
        }
        for author in ["/member/authorId", "/author/id", "/agent/authorId"] {
            if let Some(id) = data.pointer(author).and_then(Value::as_str) {
                return self.name(id);
            }
        }
        let id = |member: &str| data[member].as_str();
        match (id("authorId"), id("roomId"), data["lastReadSeq"].as_u64()) {
            (Some(_), Some(room), Some(seq)) => format!("{} read to {seq}", self.name(room)),
            (Some(author), _, None) => self.name(author),
            _ => id("agentId").map_or_else(|| data.to_string(), |agent| self.name(agent)),
        }
    }
}

/// Whether trying again may help.
fn may_pass(failure: &Failure) -> bool {
    match failure {
        Failure::Unreached(_) | Failure::CutOff(_) => true,
        Failure::Answered(answer) => {
            answer.status.is_server_error() || answer.status == http::StatusCode::TOO_MANY_REQUESTS
        }
        Failure::Usage(_)
        | Failure::Unapproved { .. }
        | Failure::Declined(_)
        | Failure::Unreadable(_)
        | Failure::Io(_) => false,
    }
}

/// The scope with the id of what it names.
async fn scope_id(desk: &CliContext, scope: &str) -> Result<String, Failure> {
    Ok(match scope.split_once(':') {
        Some(("room", room)) => format!("room:{}", desk.room_id(room).await?),
        Some(("agent", agent)) => format!("agent:{}", desk.agent_id(agent).await?),
        _ => scope.to_owned(),
    })
}

//! The stage: a server whose runtime is one real agent, the model server it asks, and sessions.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use guildhall_fake_llm::{FakeLlm, real_agents::RealAgent};
use guildhall_world::chromium;
use serde_json::{Value, json};

use super::agent_differences::AgentDifferences;
use crate::workspace::{ServerWithFolder, until};

/// A variable that guildhall sets itself.
pub(super) const INJECTED: &str = "OPENCODE_CONFIG_CONTENT";
/// The row about sessions of the agent's own command line, which are found by its transcripts.
const TERMINAL_SESSIONS: u32 = 13;
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Variables of the server that no agent may see.
pub(super) const SECRETS: [(&str, &str); 4] = [
    ("AWS_SECRET_ACCESS_KEY", "leak"),
    ("GUILDHALL_METRICS_TOKEN", "leak"),
    ("IS_SANDBOX", "yes"),
    ("NODE_OPTIONS", ""),
];

/// A server, an agent, and the model it asks.
pub(super) struct RealAgentServer {
    pub(super) agent: RealAgent,
    pub(super) facts: AgentDifferences,
    pub(super) llm: FakeLlm,
    /// Files of the real home that agents keep, before the suite.
    pub(super) home_before: Vec<String>,
    t: Option<ServerWithFolder>,
}

impl RealAgentServer {
    pub(super) fn open(agent: RealAgent, facts: AgentDifferences) -> Self {
        let llm = FakeLlm::start().unwrap();
        let t = open(&agent, &llm, None);
        Self {
            home_before: real_home(),
            agent,
            facts,
            llm,
            t: Some(t),
        }
    }

    /// The server and its folder.
    pub(super) fn t(&self) -> &ServerWithFolder {
        self.t.as_ref().expect("the server runs")
    }

    /// Another server, whose agent has one more variable.
    pub(super) fn another(&self, variable: (&str, &str)) -> ServerWithFolder {
        open(&self.agent, &self.llm, Some(variable))
    }

    /// Kills the server and starts it again.
    pub(super) fn crash(&mut self) {
        let t = self.t.take().expect("the server runs");
        self.t = Some(t.crash());
    }

    /// Takes the server away, for good.
    pub(super) fn take(&mut self) -> ServerWithFolder {
        self.t.take().expect("the server runs")
    }

    /// Another folder to work in, with what the agent needs there.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.t().scratch.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        let (home, llm) = (&self.t().home, self.llm.address());
        self.agent.set_up(home, &folder, &llm).unwrap();
        folder
    }

    /// A session in the main folder, in the mode that asks.
    pub(super) fn open_session(&self) -> SessionReader<'_> {
        SessionReader::open(self.t(), &self.agent.name, &self.t().folder, &json!({}))
    }

    /// A session in another folder.
    pub(super) fn open_session_in(&self, folder: &Path) -> SessionReader<'_> {
        SessionReader::open(self.t(), &self.agent.name, folder, &json!({}))
    }

    /// Waits until the agent itself wrote down that it said this. It does so a little after a
    /// turn's end, and one that is killed before has forgotten it.
    pub(super) fn until_remembered(&self, words: &str) {
        let has_no_transcript = self.agent.expected_failures.contains(&TERMINAL_SESSIONS);
        let said = json!(words).to_string();
        let is_said = |line: &str| line.contains("\"assistant\"") && line.contains(&said);
        until("it wrote that down", PATIENCE, || {
            has_no_transcript || transcripts(&self.t().home).lines().any(is_said)
        });
    }

    /// What the model was asked last, and what the server said on its errors.
    pub(super) fn account(&self) -> String {
        let requests = self.llm.requests();
        let last = &requests[requests.len().saturating_sub(6)..];
        let asked: Vec<_> = last
            .iter()
            .map(|it| {
                format!(
                    "{} {} {} {}",
                    it.path,
                    it.status,
                    it.picked,
                    it.result_texts.join("|")
                )
            })
            .collect();
        let log = self.t.as_ref().and_then(|t| {
            let log = t.scratch.path().join("data/test.log");
            fs::read_to_string(log).ok()
        });
        let log = log.unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(8).collect();
        format!(
            "the model was asked:\n{}\nthe server said:\n{}",
            asked.join("\n"),
            lines.join("\n")
        )
    }
}

/// All transcripts below a folder.
fn transcripts(folder: &Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .map(|path| match path.extension() {
            _ if path.is_dir() => transcripts(&path),
            Some(end) if end == "jsonl" => fs::read_to_string(&path).unwrap_or_default(),
            Some(_) | None => String::new(),
        })
        .collect()
}

fn open(agent: &RealAgent, llm: &FakeLlm, more: Option<(&str, &str)>) -> ServerWithFolder {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut env = vec![("PATH", path.as_str()), ("LANG", "C.UTF-8")];
    env.extend(SECRETS);
    if !chromium::can_be_sandboxed() {
        env.push(("GUILDHALL_BROWSER_NO_SANDBOX", "1"));
    }
    let what = format!("real-{}", agent.name);
    ServerWithFolder::open_bare(&what, &env, |home, folder| {
        let mut variables = agent.set_up(home, folder, &llm.address()).unwrap();
        variables.retain(|(name, _)| name != INJECTED);
        variables.extend(more.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| format!("{name} = {}", json!(value)))
            .collect();
        format!(
            "[runtimes.{kind}]\ncommand = {}\nargs = {}\n[runtimes.{kind}.env]\n{}\n",
            json!(agent.program),
            json!(agent.arguments),
            variables.join("\n"),
            kind = agent.name,
        )
    })
}

/// What agents keep in a home, with when it last changed.
pub(super) fn real_home() -> Vec<String> {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let kept = [
        ".claude",
        ".claude.json",
        ".codex",
        ".config/opencode",
        ".local/share/opencode",
        ".local/state/opencode",
        ".cache/opencode",
    ];
    let changed = |name: &&str| {
        let changed = fs::metadata(home.join(name)).and_then(|it| it.modified());
        format!("{name} {:?}", changed.ok())
    };
    kept.iter().map(changed).collect()
}

/// What comes next in a turn.
#[derive(Debug)]
pub(super) enum TurnStop {
    /// A card.
    Card(Value),
    /// The turn's end.
    End(Value),
}

/// A session, read on from where its reader is; closed when dropped.
pub(super) struct SessionReader<'a> {
    t: &'a ServerWithFolder,
    pub(super) id: String,
    /// The session as it was opened.
    pub(super) opened: Value,
    seq: u64,
    /// Asks that were seen already; a changed one is told again.
    seen: BTreeSet<String>,
    is_kept: bool,
}

impl<'a> SessionReader<'a> {
    /// Opens a session with these members beside folder and runtime.
    pub(super) fn open(t: &'a ServerWithFolder, kind: &str, folder: &Path, more: &Value) -> Self {
        let mut body = json!({"cwd": folder, "runtime": kind});
        let members = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(members);
        let (status, opened) = t.server.ask("POST", "/api/sessions", Some(&body));
        assert_eq!(status, 201, "{opened}");
        Self {
            id: opened["id"].as_str().unwrap().to_owned(),
            t,
            opened,
            seq: 0,
            seen: BTreeSet::new(),
            is_kept: false,
        }
    }

    /// Goes on with a session of before, at whatever comes next.
    pub(super) fn again(t: &'a ServerWithFolder, known: SavedSession) -> Self {
        let opened = t.look(&known.id);
        let SavedSession { id, seq, seen } = known;
        Self {
            t,
            id,
            opened,
            seq,
            seen,
            is_kept: false,
        }
    }

    /// Leaves the session open, for [`SessionReader::again`].
    pub(super) fn keep(mut self) -> SavedSession {
        self.is_kept = true;
        SavedSession {
            id: self.id.clone(),
            seq: self.seq,
            seen: self.seen.clone(),
        }
    }

    pub(super) fn send(&self, lines: &[&str]) -> Value {
        self.t.send(&self.id, lines)
    }

    /// Reads on to an event that is enough.
    pub(super) fn until<T>(&mut self, mut wanted: impl FnMut(&str, &Value) -> Option<T>) -> T {
        let mut found = None;
        let events = self.t.follow(&self.id, self.seq, |event| {
            found = wanted(event["type"].as_str().unwrap_or_default(), &event["data"]);
            found.is_some()
        });
        if let Some(seq) = events.last().and_then(|event| event["seq"].as_u64()) {
            self.seq = seq;
        }
        found.unwrap()
    }

    /// Reads on to the next card or the turn's end.
    pub(super) fn next(&mut self) -> TurnStop {
        let seen = self.seen.clone();
        let next = self.until(|name, data| match name {
            "interaction_opened" if !seen.contains(data["interaction"]["id"].as_str().unwrap()) => {
                Some(TurnStop::Card(data["interaction"].clone()))
            }
            "turn_ended" => Some(TurnStop::End(data.clone())),
            _ => None,
        });
        if let TurnStop::Card(card) = &next {
            self.seen.insert(card["id"].as_str().unwrap().to_owned());
        }
        next
    }

    pub(super) fn card(&mut self) -> Value {
        match self.next() {
            TurnStop::Card(card) => card,
            TurnStop::End(end) => {
                panic!("the turn ended without a card: {end}; {:?}", self.calls())
            }
        }
    }

    pub(super) fn end(&mut self) -> Value {
        match self.next() {
            TurnStop::End(end) => end,
            TurnStop::Card(card) => panic!("an unexpected card: {card}"),
        }
    }

    /// Decides on a card as a person does: by what it shows now.
    pub(super) fn decide(&self, verb: &str, card: &Value, more: &Value) {
        for _ in 0..10 {
            let asks = self.t.asks();
            let now = asks.iter().find(|ask| ask["id"] == card["id"]);
            let now = now.unwrap_or_else(|| panic!("the card is gone: {card}"));
            let mut body = json!({"toolCallId": now["toolCallId"], "digest": now["digest"]});
            let members = more.as_object().unwrap().clone();
            body.as_object_mut().unwrap().extend(members);
            let (status, answer) = self.t.decide(&self.id, verb, &body);
            if answer["code"] == "INTERACTION_CHANGED" {
                continue;
            }
            assert_eq!(status, 200, "{answer}");
            return;
        }
        panic!("the card does not stop changing: {card}");
    }

    pub(super) fn approve(&self, card: &Value) {
        self.decide("approve", card, &json!({}));
    }

    /// Has the agent's shell run a line: asked about, approved, done.
    pub(super) fn run(&mut self, shell: &str) {
        self.send(&[shell]);
        let card = self.card();
        self.approve(&card);
        assert_eq!(self.end()["outcome"], "end_turn", "{:?}", self.calls());
    }

    /// Every tool call so far.
    pub(super) fn calls(&self) -> Vec<Value> {
        let messages = self.t.messages(&self.id);
        let parts = messages
            .iter()
            .flat_map(|it| it["parts"].as_array().unwrap());
        parts
            .filter(|part| part["type"] == "tool_call")
            .cloned()
            .collect()
    }

    /// What the server told beside messages.
    pub(super) fn notices(&self) -> String {
        let messages = self.t.messages(&self.id);
        let told = messages.iter().filter(|it| it["role"] == "notice");
        told.map(Value::to_string).collect()
    }

    pub(super) fn words(&self) -> String {
        self.t.words(&self.id)
    }

    pub(super) fn look(&self) -> Value {
        self.t.look(&self.id)
    }
}

/// A session that is gone on with later.
pub(super) struct SavedSession {
    pub(super) id: String,
    seq: u64,
    seen: BTreeSet<String>,
}

impl Drop for SessionReader<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            let path = format!("/api/sessions/{}", self.id);
            // An answer that does not come has failed the test already.
            let _ = crate::server_process::ask(self.t.server.port(), "DELETE", &path, None);
        }
    }
}

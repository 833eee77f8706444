//! What a check needs to know of a furnished workspace beside what is stored: who is in it, what
//! they were answered, and which secrets they hold.

use std::{collections::BTreeMap, fs, path::Path};

use guildhall_domain::Timestamp;
use guildhall_testkit::{TestCaller, TestHall, TestResponse, compress, decompress, pack};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The packed data folder beneath the folder of a fixture.
const DATA: &str = "data";
/// The file of the agents that run.
pub(super) const OF_PROCESSES: &str = "unenclosed-agents.json";
/// The facts beneath it.
const FACTS: &str = "facts.json.packed";

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Facts {
    /// When the workspace was left.
    pub(super) now_ms: i64,
    pub(super) owner: SignedIn,
    pub(super) pia: SignedIn,
    pub(super) agents: BTreeMap<String, AgentToken>,
    /// An API key of the owner's.
    pub(super) api_key: String,
    /// What the cookie of a trusted browser holds.
    pub(super) trusted_browser: String,
    /// Ids, by what they name.
    pub(super) ids: BTreeMap<String, String>,
    /// What was read.
    pub(super) reads: Vec<Read>,
    /// What streams replayed.
    pub(super) replays: Vec<Replay>,
    /// What was asked for under a key of its own.
    pub(super) keyed: Vec<Keyed>,
    /// What waits for a person's approval.
    pub(super) gated: Vec<Gated>,
    /// Who was sent away to sign in, by the flow's name.
    pub(super) sent_away: BTreeMap<String, SentAway>,
}

/// A person who is signed in.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SignedIn {
    pub(super) author: String,
    pub(super) cookie: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AgentToken {
    pub(super) id: String,
    pub(super) author: String,
    pub(super) token: String,
}

/// A `GET` and what it was answered.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Read {
    pub(super) by: String,
    pub(super) path: String,
    pub(super) status: u16,
    pub(super) body: String,
}

/// A stream from its beginning up to an event, as it came.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Replay {
    pub(super) by: String,
    pub(super) path: String,
    pub(super) until: u64,
    pub(super) body: String,
}

/// A request with an `Idempotency-Key`, and what it was answered.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Keyed {
    pub(super) by: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) key: String,
    pub(super) request: Value,
    pub(super) status: u16,
    pub(super) body: String,
}

/// A request that waits for a person, and the token to repeat it with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Gated {
    pub(super) by: String,
    pub(super) path: String,
    pub(super) request: Value,
    pub(super) approval: String,
    pub(super) token: String,
}

/// What a browser was sent away with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SentAway {
    pub(super) state: String,
    pub(super) cookie: String,
}

impl SignedIn {
    pub(super) fn of(person: &TestCaller) -> Self {
        Self {
            author: person.author().to_owned(),
            cookie: person.cookie().to_owned(),
        }
    }
}

impl AgentToken {
    pub(super) fn of(agent: &TestCaller) -> Self {
        Self {
            id: agent.agent().to_owned(),
            author: agent.author().to_owned(),
            token: agent.token().to_owned(),
        }
    }
}

impl Facts {
    /// Whoever is called this, at the hall that has the workspace now.
    pub(super) fn caller(&self, t: &TestHall, name: &str) -> TestCaller {
        match name {
            "owner" => t.owner(),
            "pia" => {
                let SignedIn { author, cookie } = &self.pia;
                t.nobody().signed_in(cookie.clone(), author.clone())
            }
            "program" => t.owner().with_key(&self.api_key),
            agent => {
                let AgentToken { id, author, token } = &self.agents[agent];
                t.known_agent(id, author, token)
            }
        }
    }

    pub(super) fn id(&self, name: &str) -> &str {
        self.ids.get(name).unwrap_or_else(|| panic!("no id {name}"))
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now_ms)
    }

    /// Keeps a workspace that was left, and what is known of it, in the new folder `fixture`.
    pub(super) fn keep(&self, data: &Path, fixture: &Path) {
        pack(data, &fixture.join(DATA));
        // It names processes of this computer since it was started, and no others.
        fs::remove_file(fixture.join(DATA).join(OF_PROCESSES)).unwrap();
        let facts = serde_json::to_vec(self).unwrap();
        fs::write(fixture.join(FACTS), compress(&facts)).unwrap();
    }

    /// The facts of a fixture.
    pub(super) fn of(fixture: &Path) -> Self {
        let facts = decompress(&fs::read(fixture.join(FACTS)).unwrap());
        serde_json::from_slice(&facts).unwrap()
    }
}

/// The packed data folder of a fixture.
pub(super) fn packed(fixture: &Path) -> std::path::PathBuf {
    fixture.join(DATA)
}

/// The body of an answer, without the ports of the hall, which are others each time.
pub(super) fn body(answer: &TestResponse) -> String {
    const HOST: &str = "127.0.0.1:";
    let text = answer.text();
    let mut parts = text.split(HOST);
    let mut body = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        body.push_str(HOST);
        body.push_str(part.trim_start_matches(|it: char| it.is_ascii_digit()));
    }
    body
}

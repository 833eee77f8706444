//! A real agent whose command is a hostile program: it knows token, port, data folder and
//! command line, and tries every way to decide by itself or to get what would let it.
//! Source: contract 1.14 (7, 18, 22), 3.1, 3.12 (1, 7).

use std::fs;

use serde_json::{Value, json};

use crate::{
    intruder::{self, Way},
    workspace::Workspace,
};

use Way::{
    At, CommandLine, HandedOn, Hidden, KeptAlive, Orphaned, Pipelined, Relayed, Shows, WholeAddress,
};

/// Nobody, or an agent that may not.
const REFUSED: &[u16] = &[401, 403];
/// A head that cannot be read may also be refused as such.
const MALFORMED: &[u16] = &[400, 401, 403];
/// Nobody listens there.
const NO_DOOR: &[u16] = &[0, 401, 403];
/// These, where what only people use is not there.
const REFUSED_OR_NO_ROUTE: &[u16] = &[401, 403, 404, 405];
const MALFORMED_OR_NO_ROUTE: &[u16] = &[400, 401, 403, 404, 405];

/// A way in, its name before, and what the server may answer to it.
type Entry = (&'static str, Way, &'static [u16]);

/// Every way in.
pub(crate) const WAYS: &[Entry] = &[
    ("nothing shown", Shows(&[]), REFUSED),
    ("its own token", Shows(&["X-Service-Agent: {own}"]), REFUSED),
    (
        "another agent's token",
        Shows(&["X-Service-Agent: {other}"]),
        REFUSED,
    ),
    (
        "an invented token",
        Shows(&["X-Service-Agent: gha_owner"]),
        REFUSED,
    ),
    ("an empty token", Shows(&["X-Service-Agent: "]), REFUSED),
    (
        "its own token twice",
        Shows(&["X-Service-Agent: {own}", "X-Service-Agent: {own}"]),
        REFUSED,
    ),
    (
        "its own token as a bearer's",
        Shows(&["Authorization: Bearer {own}"]),
        REFUSED,
    ),
    (
        "another's token as a bearer's",
        Shows(&["Authorization: Bearer {other}"]),
        REFUSED,
    ),
    (
        "two tokens that differ",
        Shows(&["X-Service-Agent: {own}", "Authorization: Bearer {other}"]),
        REFUSED,
    ),
    (
        "a stolen API key",
        Shows(&["Authorization: Bearer {key}"]),
        REFUSED,
    ),
    (
        "the local token of the discovery file",
        Shows(&["Authorization: Bearer {local}"]),
        REFUSED,
    ),
    (
        "another scheme",
        Shows(&["Authorization: Basic b3duZXI6b3duZXI="]),
        REFUSED,
    ),
    (
        "a forged cookie",
        Shows(&["Cookie: guildhall_{port}=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]),
        REFUSED,
    ),
    (
        "the look of the page",
        Shows(&[
            "Origin: {url}",
            "Referer: {url}/",
            "Sec-Fetch-Site: same-origin",
            "Sec-Fetch-Mode: cors",
            "User-Agent: Mozilla/5.0",
        ]),
        REFUSED,
    ),
    (
        "the word of a proxy",
        Shows(&[
            "Forwarded: for=127.0.0.1",
            "X-Forwarded-For: 127.0.0.1",
            "X-Real-IP: 127.0.0.1",
        ]),
        REFUSED,
    ),
    (
        "the name of this computer",
        Shows(&["Host: localhost:{port}"]),
        REFUSED,
    ),
    (
        "a name of somebody else",
        Shows(&["Host: owner.localhost:{port}"]),
        REFUSED,
    ),
    (
        "two hosts",
        Shows(&["Host: 127.0.0.1:{port}", "Host: localhost:{port}"]),
        MALFORMED,
    ),
    ("the whole address as target", WholeAddress, MALFORMED),
    (
        "an upgrade to a WebSocket",
        Shows(&[
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]),
        REFUSED,
    ),
    ("the other loopback", At("[::1]:{port}"), NO_DOOR),
    (
        "another address of this computer",
        At("127.0.0.2:{port}"),
        NO_DOOR,
    ),
    ("a connection used before", KeptAlive, REFUSED),
    ("behind a harmless request", Pipelined, REFUSED),
    ("a connection handed to a child", HandedOn, REFUSED),
    ("a connection that nobody holds", Hidden(&[]), REFUSED),
    (
        "the local token on a connection that nobody holds",
        Hidden(&["Authorization: Bearer {local}"]),
        REFUSED,
    ),
    ("an orphan in a session of its own", Orphaned, REFUSED),
    ("a grandchild that passes on", Relayed, REFUSED),
    (
        "the command line as itself",
        CommandLine(&[
            ("GUILDHALL_URL", "{url}"),
            ("GUILDHALL_AGENT_TOKEN", "{own}"),
        ]),
        REFUSED,
    ),
    (
        "the command line without a token",
        CommandLine(&[("GUILDHALL_URL", "{url}")]),
        REFUSED,
    ),
    (
        "the command line with a stolen key",
        CommandLine(&[("GUILDHALL_URL", "{url}"), ("GUILDHALL_API_KEY", "{key}")]),
        REFUSED,
    ),
    (
        "the command line by the discovery file and its local token",
        CommandLine(&[("GUILDHALL_DATA_DIR", "{data}")]),
        REFUSED,
    ),
];

/// Without the enclosure, which keeps them from connecting at all: this is what stands behind it.
pub(crate) const BARE: &str = "[agents]\nenclosure = \"off\"\n";
/// With all parts of it; else no agent starts.
pub(crate) const ENCLOSED: &str = "[agents]\nenclosure = \"required\"\n";

#[test]
fn nothing_an_agent_shows_lets_it_decide_or_take_what_would_let_it() {
    let t = Workspace::open_configured("hostile-shows", BARE);
    try_all(&t, |(_, way, _)| matches!(way, Shows(_)));
}

#[test]
fn no_connection_an_agent_makes_lets_it_decide_or_take_what_would_let_it() {
    let t = Workspace::open_configured("hostile-connects", BARE);
    try_all(&t, |(_, way, _)| !matches!(way, Shows(_)));
}

#[test]
fn where_people_sign_in_the_secrets_of_the_data_folder_open_nothing_to_an_agent() {
    let mut t = Workspace::open_configured(
        "hostile-login",
        &format!("{BARE}[auth]\nmode = \"login\"\n"),
    );
    let code = fs::read_to_string(t.data_dir().join("setup-code")).unwrap();
    let first = json!({"email": "ada@example.org", "displayName": "Ada",
        "password": "correct horse battery", "setupCode": code.trim()});
    let (status, made) = t.server.ask("POST", "/api/auth/register", Some(&first));
    assert_eq!(status, 201, "{made}");
    t.server.authorization = Some(format!("Bearer {}", discovered(&t)));
    try_all(&t, |(name, ..)| {
        name.contains("local token") || name.contains("cookie") || name.contains("nothing")
    });
}

/// The local token as every program of this user can read it; one that is none in mode `local`.
fn discovered(t: &Workspace) -> String {
    let file = fs::read(t.server.discovery_file()).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let token = file["localToken"].as_str();
    token
        .unwrap_or("ghl_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
        .to_owned()
}

/// In the enclosure none of them even begins.
#[test]
fn an_enclosed_agent_connects_to_the_main_listener_in_no_way() {
    let t = Workspace::open_configured("hostile-enclosed", ENCLOSED);
    // The command line says that no server answers.
    let out_of_reach = |way: &Way| match way {
        CommandLine(_) => &[500][..],
        _ => &[0][..],
    };
    try_at(&t, &t.server.url, |_| true, |(_, way, _)| out_of_reach(way));
}

/// What they can connect to is a listener at which nobody is known but by a token, and which has
/// nothing that only people use.
#[test]
fn at_the_listener_for_agents_no_way_decides_or_takes_what_would_let_it() {
    let t = Workspace::open_configured("hostile-agents", ENCLOSED);
    // What the process does beside that makes no difference there.
    let is_tried = |(_, way, _): &Entry| matches!(*way, Shows(_) | HandedOn | Hidden(&[]));
    let allowed = |(_, _, at_main): &Entry| match *at_main == MALFORMED {
        true => MALFORMED_OR_NO_ROUTE,
        false => REFUSED_OR_NO_ROUTE,
    };
    try_at(&t, &t.server.agent_url(), is_tried, allowed);
}

fn try_all(t: &Workspace, wanted: impl Fn(&Entry) -> bool) {
    try_at(t, &t.server.url, wanted, |(_, _, allowed)| allowed);
}

#[expect(clippy::print_stdout, reason = "the ways that were tried are listed")]
fn try_at(
    t: &Workspace,
    url: &str,
    wanted: impl Fn(&Entry) -> bool,
    allowed: impl Fn(&Entry) -> &'static [u16],
) {
    let stage = Stage::set(t, url);
    let (before, glance) = (stage.picture(), stage.glance());
    let mut turns = 0;
    for (at, entry) in WAYS.iter().enumerate().filter(|(_, entry)| wanted(entry)) {
        let (name, allowed) = (entry.0, allowed(entry));
        turns += 1;
        let run = json!({"command": intruder::command(at)});
        t.send(&stage.own, &[&format!("#call run_command {run}")]);
        t.turn_ended(&stage.own, turns);
        let found = intruder::found(&t.folder);
        assert_eq!(found.len(), stage.requests.len(), "{name}");
        for one in &found {
            let status = u16::try_from(one["status"].as_u64().unwrap()).unwrap();
            assert!(allowed.contains(&status), "{name}: {one}");
        }
        assert_eq!(stage.glance(), glance, "{name}: nothing changed");
        let mut statuses: Vec<_> = found.iter().map(|one| one["status"].clone()).collect();
        statuses.sort_by_key(Value::as_u64);
        statuses.dedup();
        let count = found.len();
        println!("{turns}. {name}: {count} requests, answered {statuses:?}");
    }
    assert_eq!(stage.picture(), before, "nothing changed");
    for folder in [&t.folder, &stage.folder] {
        assert!(!folder.join("fell").exists(), "no tool ran");
    }
}

/// An unattended agent that runs commands, and all it would like to get at.
struct Stage<'a> {
    t: &'a Workspace,
    /// The session whose commands are hostile.
    own: String,
    /// Another agent's folder.
    folder: std::path::PathBuf,
    requests: Vec<Value>,
}

const TOUCH: &str = r#"#call run_command {"command":["touch","fell"]}"#;
const FORM: &str = r#"#ask {"type":"object","properties":{"way":{"type":"string"}}}"#;

impl<'a> Stage<'a> {
    /// With orders for the listener at this address.
    fn set(t: &'a Workspace, url: &str) -> Self {
        let folder = t.folder.with_file_name("other");
        fs::create_dir_all(&folder).unwrap();
        let own = t.unattended();
        let (calm, asking) = (t.session(), t.session());
        let other = t.session_of(&json!({"cwd": folder, "runtime": "rehearsal"}));
        let opened = [(&calm, TOUCH), (&asking, FORM), (&other, TOUCH)];
        let asks = opened.map(|(session, lines)| {
            t.send(session, &[lines]);
            t.ask(session)
        });
        let agent = |session: &str| t.look(session)["agentId"].as_str().unwrap().to_owned();
        let (ada, bob) = (agent(&own), agent(&other));
        let mut stage = Self {
            t,
            own,
            folder,
            requests: Vec::new(),
        };
        let [calm, asking, other] = asks;
        stage.on_asks(&calm, &other, &asking);
        stage.on_approvals([&calm, &other, &asking]);
        stage.on_sessions(&calm, &other);
        stage.on_agents(&ada, &bob);
        stage.on_the_house();
        let mint = |path: &str| {
            let (status, made) = t
                .server
                .ask("POST", path, Some(&json!({"label": "stolen"})));
            assert_eq!(status, 201, "{made}");
            made
        };
        let mine = mint(&format!("/api/agents/{ada}/tokens"))["token"].clone();
        let others = mint(&format!("/api/agents/{bob}/tokens"))["token"].clone();
        let key = mint("/api/auth/keys")["key"].clone();
        let port = url.rsplit(':').next();
        let orders = json!({"port": port, "url": url,
            "data": t.data_dir(), "binary": env!("CARGO_BIN_EXE_guildhall"), "own": mine,
            "other": others, "key": key, "local": discovered(t), "requests": stage.requests});
        intruder::instruct(&t.folder, &orders);
        stage
    }

    fn wish(&mut self, name: &str, method: &str, path: String, body: Value) {
        let request = [
            ("name", name.into()),
            ("method", method.into()),
            ("path", path.into()),
            ("body", body),
        ];
        self.requests.push(request.into_iter().collect());
    }

    /// The same, which the command line has words of its own for.
    fn wish_by(&mut self, name: &str, (ask, verb): (&Value, &str), body: Value, words: &[&str]) {
        let (session, call) = (text(ask, "sessionId"), text(ask, "toolCallId"));
        let path = format!("/api/sessions/{session}/{verb}");
        self.wish(name, "POST", path, body);
        let mut command = vec!["asks", words[0], &call, "--session", &session];
        command.extend(&words[1..]);
        self.requests.last_mut().unwrap()["command"] = json!(command);
    }

    fn on_asks(&mut self, own: &Value, other: &Value, question: &Value) {
        for (whose, ask) in [("its own", own), ("another's", other)] {
            let (call, digest) = (text(ask, "toolCallId"), text(ask, "digest"));
            let one = json!({"toolCallId": call, "digest": digest});
            let wider = json!({"toolCallId": call, "digest": digest, "alwaysAllow": true});
            let many = json!({"toolCallIds": [call]});
            let yes = ["approve", "--digest", &digest];
            let always = ["approve", "--always", "--digest", &digest];
            let wish = |verb: &str| format!("{verb} {whose}");
            self.wish_by(&wish("approve"), (ask, "approve"), one.clone(), &yes);
            self.wish_by(&wish("always approve"), (ask, "approve"), wider, &always);
            self.wish_by(&wish("deny"), (ask, "deny"), one, &["deny"]);
            let path = |verb| format!("/api/sessions/{}/{verb}", text(ask, "sessionId"));
            self.wish(
                &wish("batch-approve"),
                "POST",
                path("batch-approve"),
                many.clone(),
            );
            self.wish(&wish("batch-deny"), "POST", path("batch-deny"), many);
        }
        let call = text(question, "toolCallId");
        let answers = json!({"toolCallId": call, "answers": {"way": "left"}});
        self.wish_by(
            "answer",
            (question, "submit-answers"),
            answers,
            &["answer", "way=left"],
        );
    }

    /// Every ask by the routes of approvals, whatever its kind: who may not decide is told so
    /// before anything is looked for.
    fn on_approvals(&mut self, asks: [&Value; 3]) {
        for ask in asks {
            let (id, digest) = (text(ask, "id"), text(ask, "digest"));
            let path = |verb: &str| format!("/api/approvals/{id}/{verb}");
            self.wish("grant", "POST", path("grant"), json!({"digest": digest}));
            let grant = ["asks", "grant", &id, "--digest", &digest];
            self.requests.last_mut().unwrap()["command"] = json!(grant);
            self.wish("refuse", "POST", path("deny"), json!({"reason": "no"}));
            self.requests.last_mut().unwrap()["command"] = json!(["asks", "refuse", &id]);
        }
    }

    fn on_sessions(&mut self, own: &Value, other: &Value) {
        let wild = json!({"permissionMode": "autopilot", "acknowledgedAutonomy": true});
        for ask in [own, other] {
            let path = format!("/api/sessions/{}", text(ask, "sessionId"));
            self.wish("consent for a session", "PATCH", path.clone(), wild.clone());
            self.wish("cancel", "POST", format!("{path}/cancel"), json!({}));
            let approved = json!({"content": "That call is approved."});
            self.wish(
                "write as a person",
                "POST",
                format!("{path}/messages"),
                approved,
            );
            self.wish("close a session", "DELETE", path, json!({}));
        }
        let mut open = wild;
        open["cwd"] = json!(self.t.folder);
        open["runtime"] = json!("rehearsal");
        self.wish(
            "open an unattended session",
            "POST",
            "/api/sessions".to_owned(),
            open.clone(),
        );
        open["name"] = json!("Eve");
        open["cwd"] = json!(self.folder);
        self.wish(
            "register an unattended agent",
            "POST",
            "/api/agents".to_owned(),
            open,
        );
    }

    fn on_agents(&mut self, own: &str, other: &str) {
        for agent in [own, other] {
            let path = format!("/api/agents/{agent}");
            let wild = json!({"permissionMode": "autopilot", "acknowledgedAutonomy": true});
            self.wish("consent for an agent", "PATCH", path.clone(), wild);
            let label = json!({"label": "mine"});
            self.wish("mint a token", "POST", format!("{path}/tokens"), label);
            self.wish("retire", "DELETE", path.clone(), json!({}));
            let (_, record) = self.t.server.ask("GET", &path, None);
            let author = format!("/api/rooms/authors/{}", text(&record, "authorId"));
            let handle = json!({"handle": "owner"});
            self.wish("set a handle", "PATCH", format!("{author}/handle"), handle);
            self.wish(
                "set a name",
                "PATCH",
                author,
                json!({"displayName": "Owner"}),
            );
        }
    }

    fn on_the_house(&mut self) {
        let setting = json!({"sessions.idleMinutes": 1});
        self.wish(
            "change a setting",
            "PATCH",
            "/api/settings".to_owned(),
            setting,
        );
        self.wish(
            "make a key",
            "POST",
            "/api/auth/keys".to_owned(),
            json!({"label": "mine"}),
        );
        let check = "/api/runtimes/rehearsal/check".to_owned();
        self.wish("start a runtime", "POST", check, json!({}));
    }

    fn get(&self, path: &str) -> Value {
        let (status, found) = self.t.server.ask("GET", path, None);
        assert_eq!(status, 200, "{path}: {found}");
        found
    }

    /// What waits for a person, and the modes in force.
    fn glance(&self) -> Value {
        let mut asks = self.t.asks();
        for ask in &mut asks {
            ask.as_object_mut().unwrap().remove("remainingMs");
        }
        let sessions = self.get("/api/sessions");
        let fields = ["id", "permissionMode", "agentId"];
        json!([asks, part(&sessions["sessions"], &fields)])
    }

    /// All that an agent must not be able to change, as a person sees it.
    fn picture(&self) -> Value {
        let agents = self.get("/api/agents")["agents"]
            .as_array()
            .unwrap()
            .clone();
        let agents = agents.iter().map(|agent| {
            let id = text(agent, "id");
            let tokens = self.get(&format!("/api/agents/{id}/tokens"));
            // The server mints one for each session that it opens, that of the attack as well.
            let tokens = tokens["tokens"].as_array().unwrap().iter();
            let minted = tokens.filter(|token| token["sessionId"].is_null()).cloned();
            let tokens = part(&minted.collect(), &["id", "label", "revokedAt"]);
            let fields = ["id", "name", "handle", "permissionMode", "state", "rev"];
            json!([part(&json!([agent]), &fields), tokens])
        });
        let authors = self.get("/api/rooms/authors");
        json!({"glance": self.glance(), "agents": agents.collect::<Vec<_>>(),
            "keys": part(&self.get("/api/auth/keys")["keys"], &["id"]),
            "settings": self.get("/api/settings"),
            "authors": part(&authors["authors"], &["id", "handle", "displayName"])})
    }
}

fn text(of: &Value, member: &str) -> String {
    of[member].as_str().unwrap().to_owned()
}

/// These members of every object of a list, in the order of their ids.
fn part(list: &Value, members: &[&str]) -> Value {
    let mut list = list.as_array().unwrap_or_else(|| panic!("{list}")).clone();
    list.sort_by_key(|one| text(one, "id"));
    let of = |one: &Value| -> Value { members.iter().map(|name| one[*name].clone()).collect() };
    list.iter().map(of).collect()
}

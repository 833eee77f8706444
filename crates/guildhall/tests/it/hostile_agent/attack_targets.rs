//! What hostile programs would like to get at, and how it looks to a person.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::workspace::ServerWithFolder;

/// An unattended agent that runs commands, and all it would like to get at.
pub(crate) struct AttackTargets<'a> {
    t: &'a ServerWithFolder,
    /// The session whose commands are hostile.
    pub(crate) own: String,
    /// Another agent's folder.
    pub(crate) folder: PathBuf,
    pub(crate) requests: Vec<Value>,
    /// Ids of what there is, by the kind of thing.
    pub(crate) ids: BTreeMap<&'static str, String>,
    /// What the intruder knows, without its requests.
    pub(crate) orders: Value,
    /// A program of the owner in namespaces of its own, which the intruder may enter.
    _sandbox: Option<SandboxProcess>,
}

const TOUCH: &str = r#"#call run_command {"command":["touch","fell"]}"#;
const FORM: &str = r#"#ask {"type":"object","properties":{"way":{"type":"string"}}}"#;

impl<'a> AttackTargets<'a> {
    /// With orders for the listener at this address.
    pub(crate) fn set(t: &'a ServerWithFolder, url: &str) -> Self {
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
        let agent = |session: &str| text(&t.look(session), "agentId");
        let (ada, bob) = (agent(&own), agent(&other));
        let mint = |path: &str| {
            let (status, made) = t
                .server
                .ask("POST", path, Some(&json!({"label": "stolen"})));
            assert_eq!(status, 201, "{made}");
            made
        };
        let mine = mint(&format!("/api/agents/{ada}/tokens"));
        let others = mint(&format!("/api/agents/{bob}/tokens"));
        let key = mint("/api/auth/keys");
        let sandbox = SandboxProcess::start();
        let orders = json!({"port": url.rsplit(':').next(), "url": url,
            "data": t.data_dir(), "binary": env!("CARGO_BIN_EXE_guildhall"),
            "own": mine["token"], "other": others["token"], "key": key["key"],
            "local": local_token(t), "trusted": trusted_cookie(t), "server": t.server.pid(),
            "sandbox": sandbox.as_ref().map(|sandbox| sandbox.0.id())});
        let mut stage = Self {
            t,
            own,
            folder,
            requests: Vec::new(),
            ids: BTreeMap::new(),
            orders,
            _sandbox: sandbox,
        };
        let [calm, asking, other] = asks;
        stage.on_asks(&calm, &other, &asking);
        stage.on_approvals([&calm, &other, &asking]);
        stage.on_sessions(&calm, &other);
        stage.on_agents(&ada, &bob);
        stage.on_the_house();
        stage.ids = BTreeMap::from([
            ("agent", bob),
            ("session", text(&calm, "sessionId")),
            ("approval", text(&calm, "id")),
            ("token", text(&others, "id")),
            ("key", text(&key, "id")),
        ]);
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

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, found) = self.t.server.ask("GET", path, None);
        assert_eq!(status, 200, "{path}: {found}");
        found
    }

    /// What waits for a person, and the modes in force.
    pub(crate) fn snapshot(&self) -> Value {
        let mut asks = self.t.asks();
        for ask in &mut asks {
            ask.as_object_mut().unwrap().remove("remainingMs");
        }
        let sessions = self.get("/api/sessions");
        let fields = ["id", "permissionMode", "agentId"];
        json!([asks, part(&sessions["sessions"], &fields)])
    }

    /// All that an agent must not be able to change, as a person sees it.
    pub(crate) fn protected_state(&self) -> Value {
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
        json!({"glance": self.snapshot(), "agents": agents.collect::<Vec<_>>(),
            "keys": part(&self.get("/api/auth/keys")["keys"], &["id"]),
            "settings": self.get("/api/settings"),
            "authors": part(&authors["authors"], &["id", "handle", "displayName"])})
    }
}

pub(crate) fn text(of: &Value, member: &str) -> String {
    of[member].as_str().unwrap().to_owned()
}

/// These members of every object of a list, in the order of their ids.
fn part(list: &Value, members: &[&str]) -> Value {
    let mut list = list.as_array().unwrap_or_else(|| panic!("{list}")).clone();
    list.sort_by_key(|one| text(one, "id"));
    let of = |one: &Value| -> Value { members.iter().map(|name| one[*name].clone()).collect() };
    list.iter().map(of).collect()
}

/// A program of the owner in a user and a process namespace of its own, such as a browser's
/// sandbox or a container; any program of the same user may enter them.
struct SandboxProcess(Child);

impl SandboxProcess {
    /// None where the system lets nobody make such namespaces.
    fn start() -> Option<Self> {
        let mut child = Command::new("unshare")
            .args([
                "--user",
                "--map-root-user",
                "--pid",
                "--fork",
                "--kill-child",
            ])
            .args(["sh", "-c", "echo it runs; exec sleep 600"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut said).unwrap();
        let sandbox = Self(child);
        (said == "it runs\n").then_some(sandbox)
    }
}

impl Drop for SandboxProcess {
    fn drop(&mut self) {
        // One that never ran has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The local token as every program of this user can read it; one that is none in mode `local`.
pub(crate) fn local_token(t: &ServerWithFolder) -> String {
    let file = fs::read(t.server.discovery_file()).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let token = file["localToken"].as_str();
    token
        .unwrap_or("ghl_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
        .to_owned()
}

/// The cookie of a browser that the owner trusts, `name=value`, as it lies in its profile.
fn trusted_cookie(t: &ServerWithFolder) -> String {
    let (status, link) = t.server.ask("POST", "/api/auth/open", Some(&json!({})));
    assert_eq!(status, 201, "{link}");
    t.server.cookie("GET", &text(&link, "path"), None)
}

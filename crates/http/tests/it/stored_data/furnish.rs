//! Furnishing a workspace with something of every kind that is stored.

use guildhall_domain::callers::AuthMode;
use guildhall_testkit::{HallOptions, TestCaller, TestHall, soon};
use serde_json::{Value, json};

use super::{
    connectors,
    facts::{AgentToken, Facts, Gated, Keyed, Read, Replay, SentAway, SignedIn, body},
    reading,
    services::{CLIENT_SECRET, DEV_SERVER, HEADER, ROOT, Services, VARIABLE},
};
use crate::{
    canvas, cloud_service_stub, mcp,
    mcp_servers::{ask, at},
    reactions::reaction,
    saves::{CONTENT, hash},
    sessions,
    test_values::{list, text},
    threads,
    turns::{due, post, room_of},
};

/// Opens a hall, furnishes it, and starts it anew, so that nothing but the store knows of it.
pub(super) async fn furnish(services: &Services) -> (TestHall, Facts) {
    let mut t = TestHall::open_with(services.options(&services.other_cloud)).await;
    services.install_agent(&t);
    cloud_service_stub::begin(&t).await;
    let trusted_browser = trusted_browser(&mut t, services).await;
    t.restart_with(services.options(&services.cloud)).await;
    link(&t, services).await;
    let mut facts = people(&t, trusted_browser).await;
    rooms(&t, &mut facts).await;
    documents(&t, &mut facts).await;
    work(&t, &mut facts).await;
    tool_servers(&t, services, &mut facts).await;
    connectors::furnish(&t, &mut facts).await;
    settings(&t).await;
    t.owner().ask("POST", "/api/backups").send().await.ok(201);
    t.restart().await;
    facts.now_ms = t.now().as_millis();
    // The last event is one that everybody hears.
    t.say(&t.owner(), facts.id("room"), "Done").await;
    for (by, path) in reading::paths(&facts) {
        let answer = facts.caller(&t, &by).get(&path).await;
        let (status, body) = (answer.status, body(&answer));
        assert!(status == 200 || by != "owner", "{path}: {status} {body}");
        facts.reads.push(Read {
            by,
            path,
            status,
            body,
        });
    }
    for (by, path, scope) in reading::streams(&facts) {
        let until = reading::newest(&t, &scope);
        let body = reading::replay(&t, &facts.caller(&t, by), &path, until).await;
        facts.replays.push(Replay {
            by: by.to_owned(),
            path,
            until,
            body,
        });
    }
    (t, facts)
}

/// Lets a browser be trusted; answers what its cookie holds.
async fn trusted_browser(t: &mut TestHall, services: &Services) -> String {
    let local = HallOptions {
        mode: AuthMode::Local,
        ..services.options(&services.other_cloud)
    };
    t.restart_with(local).await;
    let link = t.owner().post("/api/auth/open", json!({})).await.ok(201);
    let opened = t.in_doubt().get(&text(&link["path"])).await;
    let pair = opened.header("set-cookie").split(';').next().unwrap();
    let (_, value) = pair.split_once('=').unwrap();
    value.to_owned()
}

async fn link(t: &TestHall, services: &Services) {
    services
        .cloud
        .says(cloud_service_stub::DeviceCodeReply::Key);
    cloud_service_stub::begin(t).await;
    cloud_service_stub::poll(t).await;
    cloud_service_stub::becomes(t, "linked").await;
    let check = t.owner().post("/api/cloud/link/check", json!({})).await;
    check.ok(200);
}

async fn people(t: &TestHall, trusted_browser: String) -> Facts {
    let (owner, pia) = (t.owner(), t.person("Pia").await);
    let mut facts = Facts {
        now_ms: 0,
        owner: SignedIn::of(&owner),
        pia: SignedIn::of(&pia),
        agents: Default::default(),
        api_key: t.key(&owner, "script").await,
        trusted_browser,
        ids: Default::default(),
        reads: Vec::new(),
        replays: Vec::new(),
        keyed: Vec::new(),
        gated: Vec::new(),
        sent_away: Default::default(),
    };
    // One who is invited and never came.
    let invited = json!({"email": "ivo@example.org", "displayName": "Ivo"});
    let path = "/api/auth/accounts";
    owner.post(path, invited).await.ok(201);
    for handle in ["boss", "olga"] {
        let ask = json!({ "handle": handle });
        owner.patch(&owner.handle_url(), ask).await.ok(200);
    }
    let change = json!({"emoji": "🦉", "color": "#336699", "displayName": "Olga O."});
    owner.patch(&owner.author_url(), change).await.ok(200);
    let autopilot = json!({"name": "cleo", "cwd": t.folder("cleo"), "responseMode": "silent",
        "description": "Reviews", "permissionMode": "autopilot", "acknowledgedAutonomy": true});
    for (name, agent) in [
        ("ada", t.bystander("ada").await),
        ("bob", t.agent("bob").await),
        ("cleo", t.agent_of(autopilot).await),
    ] {
        facts.agents.insert(name.to_owned(), AgentToken::of(&agent));
    }
    let gone = t.bystander("dan").await;
    let path = format!("/api/agents/{}", gone.agent());
    owner.delete(&path).await.ok(200);
    facts
}

async fn rooms(t: &TestHall, facts: &mut Facts) {
    let [owner, pia, ada] = ["owner", "pia", "ada"].map(|name| facts.caller(t, name));
    let room = t.channel(&owner, "Operations", &[&ada, &pia]).await;
    let root = t.say(&owner, &room, "Who ships the release, @ada?").await;
    threads::reply(&ada, &root, "I do, @olga").await;
    threads::reply(&pia, &root, "Thank you").await;
    for (by, emoji) in [(&ada, "%F0%9F%91%8D"), (&pia, "%F0%9F%8E%89")] {
        let path = reaction(&root, emoji);
        by.ask("PUT", &path).send().await.ok(200);
    }
    let secret = t.say(&pia, &room, "Said by mistake").await;
    let path = format!("/api/rooms/{room}/entries/{}", text(&secret["id"]));
    pia.delete(&path).await.ok(200);
    let png: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR and so on";
    let plan = t.upload(&owner, &room, ("plan.txt", "text/plain", &b"The plan"[..]));
    let (plan, picture) = (
        plan.await,
        t.upload(&owner, &room, ("p.png", "image/png", png)).await,
    );
    let unposted = t
        .upload(&owner, &room, ("draft.txt", "text/plain", &b"A draft"[..]))
        .await;
    let post = json!({"text": "The plan", "attachmentIds": [plan["id"], picture["id"]]});
    keyed(
        t,
        facts,
        ("owner", "POST", &format!("/api/rooms/{room}/entries")),
        "entry",
        post,
    )
    .await;
    let path = format!("/api/rooms/{room}/read-cursor");
    pia.put(&path, json!({"lastReadSeq": 2})).await.ok(200);
    let limits = json!({"topic": "Ships on Friday", "ambientMaxEntries": 12});
    owner
        .patch(&format!("/api/rooms/{room}"), limits)
        .await
        .ok(200);
    let old = t.channel(&owner, "Old plans", &[&ada]).await;
    t.say(&owner, &old, "Nobody needs these").await;
    let path = format!("/api/rooms/{old}/members/{}", ada.author());
    owner.delete(&path).await.ok(204);
    let path = format!("/api/rooms/{old}");
    owner.patch(&path, json!({"archived": true})).await.ok(200);
    let direct = json!({"kind": "dm", "memberIds": [ada.author()]});
    let direct = keyed(t, facts, ("owner", "POST", "/api/rooms"), "room", direct).await;
    for (name, id) in [
        ("room", &json!(room)),
        ("old room", &json!(old)),
        ("direct room", &direct["id"]),
        ("entry", &root["id"]),
        ("plan", &plan["id"]),
        ("draft", &unposted["id"]),
    ] {
        facts.ids.insert(name.to_owned(), text(id));
    }
}

async fn documents(t: &TestHall, facts: &mut Facts) {
    let (owner, ada) = (t.owner(), facts.caller(t, "ada"));
    let room = facts.id("room").to_owned();
    let file = |name: &str| format!("{ROOT}/files/{name}");
    let mut notes = Value::Null;
    for content in [
        json!({"type": "file", "sourcePath": file("notes.md")}),
        json!({"type": "url", "url": "http://a.example"}),
        json!({"type": "browser", "url": "localhost:5173"}),
        json!({"type": "markdown", "content": "# hello\r\n"}),
        json!({"type": "diff", "sourcePath": file("app.diff")}),
        json!({"type": "json", "data": {"passed": 12}}),
        json!({"type": "widget", "definition": {"any": [1, {"b": null}]}}),
        json!({"type": "image", "src": "data:image/png;base64,AAAA"}),
        json!({"type": "pdf", "src": file("plan.pdf")}),
        json!({"type": "model3d", "src": "https://a.example/a.glb"}),
        json!({"type": "audio", "src": file("call.ogg")}),
        json!({"type": "video", "src": file("talk.mp4")}),
        json!({"type": "csv", "src": file("counts.csv")}),
        json!({"type": "mcp_app", "serverName": "s", "uri": "ui://a"}),
    ] {
        let ask = json!({"content": content, "pinned": true});
        let document = owner.post(&canvas::of(&room), ask).await.ok(201);
        if notes.is_null() {
            notes = document;
        }
    }
    let page = canvas::open(&ada, &room, 1).await;
    for (verb, ask) in [("thread", json!({})), ("editing", json!({"editing": true}))] {
        let path = format!("{}/{verb}", canvas::at(&room, &page));
        let answer = owner.post(&path, ask).await;
        assert!(answer.status < 300, "{}", answer.text());
    }
    let cwd = format!("{ROOT}/files");
    let save = json!({"cwd": cwd, "path": "notes.md", "content": "# Notes\nShip it.\n",
        "documentSave": {"documentId": notes["id"],
            "eventId": "01980000-0000-7000-8000-000000000001",
            "expectedFileHash": hash("# Notes\n"), "incarnation": notes["incarnation"]}});
    owner.put(CONTENT, save).await.ok(200);
    let save = json!({"cwd": cwd, "path": "app.rs", "content": "fn main() { run() }\n"});
    keyed(t, facts, ("owner", "PUT", CONTENT), "save", save).await;
    let signed = json!({"kind": "serve", "cwd": format!("{ROOT}/files/site"), "path": ""});
    let signed = owner.post("/api/workbench/sign", signed).await.ok(200);
    let url = text(&signed["url"]);
    let path = url.find("/api/").map(|at| url[at..].to_owned()).unwrap();
    for (name, id) in [("notes", text(&notes["id"])), ("site", path)] {
        facts.ids.insert(name.to_owned(), id);
    }
}

/// Sessions and turns.
async fn work(t: &TestHall, facts: &mut Facts) {
    let [owner, ada, bob] = ["owner", "ada", "bob"].map(|name| facts.caller(t, name));
    let room = room_with(t, &bob).await;
    post(&owner, &room, "What is left to do?").await;
    due(t).await;
    let replied = async || {
        let path = format!("/api/rooms/{room}/entries");
        let page = owner.get(&path).await.ok(200);
        list(&page["entries"])
            .iter()
            .any(|it| it["text"] == "The release is ready.")
    };
    soon("the agent's reply", async { while !replied().await {} }).await;
    let waits = post(&owner, &room, "And after that?").await;
    let turn = text(&waits[0]["id"]);

    let talk = sessions::open(&owner, &ada, json!({})).await;
    let messages = format!("{}/messages", sessions::at(&talk));
    owner
        .post(&messages, json!({"content": "Hello"}))
        .await
        .ok(202);
    is_in(t, &talk, "idle", 2).await;
    let document = canvas::page(2);
    let path = format!("{}/canvas", sessions::at(&talk));
    keyed(
        t,
        facts,
        ("owner", "POST", &path),
        "session-document",
        document,
    )
    .await;

    let asks = sessions::open(&owner, &ada, json!({"title": "Asks"})).await;
    let messages = format!("{}/messages", sessions::at(&asks));
    for content in ["#ask", "Then write the notes"] {
        owner
            .post(&messages, json!({ "content": content }))
            .await
            .ok(202);
    }
    let both = async { while t.pending().await.len() < 2 {} };
    soon("a call and a question", both).await;
    for (name, id) in [
        ("turn room", room),
        ("turn", turn),
        ("session", text(&talk["id"])),
        ("asking session", text(&asks["id"])),
    ] {
        facts.ids.insert(name.to_owned(), id);
    }
}

/// A room in which this agent answers always.
async fn room_with(t: &TestHall, agent: &TestCaller) -> String {
    // Agents are hushed there, which is taken back.
    let script = std::fs::read_to_string(t.programs().join("guildhall")).unwrap();
    let room = room_of(t, &[(agent, "always")]).await;
    t.install("guildhall", &script);
    room
}

/// Waits until a session is in `state` with so many messages.
async fn is_in(t: &TestHall, session: &Value, state: &str, messages: usize) {
    let path = sessions::at(session);
    let is_so = async || {
        let now = t.owner().get(&path).await.ok(200);
        let said = t.owner().get(&format!("{path}/messages")).await.ok(200);
        now["state"] == state && list(&said["messages"]).len() >= messages
    };
    soon("the end of a turn", async { while !is_so().await {} }).await;
}

async fn tool_servers(t: &TestHall, services: &Services, facts: &mut Facts) {
    let [owner, ada, bob] = ["owner", "ada", "bob"].map(|name| facts.caller(t, name));
    let program = json!({"transport": "stdio", "command": format!("{ROOT}/tools/tool"),
        "args": ["--quiet"], "env": {"KEY": VARIABLE}});
    let header = json!({"transport": "http", "url": format!("{}/mcp", services.tools.origin),
        "headers": {"Authorization": format!("Bearer {HEADER}")}});
    let web = services.sign_in.connection();
    // Answers that show values are kept sealed.
    for (name, connection) in [("program", &program), ("header", &header), ("web", &web)] {
        keyed_approved(t, facts, "owner", &at(&ada), ask(name, connection)).await;
    }
    for name in ["program", "header"] {
        let path = format!("{}/{name}/test", at(&ada));
        owner.post(&path, json!({})).await.ok(200);
    }
    // Signed in, and what signs in is kept.
    let path = format!("{}/web/signin", at(&ada));
    let started = owner.post(&path, json!({})).await.ok(200);
    let away = leave(t, &text(&started["signInUrl"])).await;
    come_back(t, &away).await;
    // On its way, with a client that a person typed.
    owner
        .post_approved(&at(&bob), ask("web", &web))
        .await
        .ok(200);
    let client = json!({"clientId": "mine", "clientSecret": CLIENT_SECRET});
    let path = format!("{}/web", at(&bob));
    owner.put(&format!("{path}/client"), client).await.ok(200);
    let path = format!("{path}/signin");
    let started = owner.post(&path, json!({})).await.ok(200);
    let away = leave(t, &text(&started["signInUrl"])).await;
    facts.sent_away.insert("tool server".to_owned(), away);
    facts
        .ids
        .insert("sign-in".to_owned(), text(&started["flowId"]));
    // Waits for a person.
    let missing = json!({"transport": "stdio", "command": "/nonexistent/tool"});
    gated(t, facts, "ada", &at(&ada), ask("wanted", &missing)).await;
    // Looks different now than when it was approved.
    owner
        .post_approved(&at(&bob), ask("changed", &header))
        .await
        .ok(200);
    let path = format!("{}/changed/test", at(&bob));
    owner.post(&path, json!({})).await.ok(200);
    services.tools.rewords("Reads and writes a file");
    let changed = owner.post(&path, json!({})).await.ok(200);
    assert_eq!(changed["pinChanged"], true, "{changed}");
    let changed = owner.get(&format!("{}/changed", at(&bob))).await.ok(200);
    facts
        .ids
        .insert("repin".to_owned(), text(&changed["approvalId"]));
    services.tools.rewords("Reads a file");
    let wish = json!({"toolkit": "rehearsal", "access": "read", "purpose": "to read notes"});
    let asked = mcp::done(&bob, "connector_request_access", wish).await;
    facts.ids.insert("access".to_owned(), text(&asked["id"]));
    // Shown once: a repeat is told so.
    let path = format!("/api/agents/{}/tokens", ada.agent());
    keyed(
        t,
        facts,
        ("owner", "POST", &path),
        "token",
        json!({"label": "spare"}),
    )
    .await;
}

async fn settings(t: &TestHall) {
    let change = json!({"agents.enclosure": "off", "agents.reachContainers": true,
        "agents.hiddenFolders": ["/usr/share/doc"], "browser.agentOrigins": ["http://a.example"],
        "rooms.maxPostsPerTurn": 5, "server.trustedProxies": ["192.0.2.0/24"],
        "server.allowedHosts": ["hall.example"], "workbench.previewPorts": "7810-7812",
        "runtimes.default": "rehearsal"});
    t.owner().patch("/api/settings", change).await.ok(200);
    let ask = json!({"kind": "proxy", "port": DEV_SERVER});
    t.owner().post("/api/workbench/sign", ask).await.ok(200);
}

/// Asks twice under a key; what the repeat was answered is what is to be answered from then on.
pub(super) async fn keyed(
    t: &TestHall,
    facts: &mut Facts,
    (by, method, path): (&str, &str, &str),
    key: &str,
    request: Value,
) -> Value {
    let caller = facts.caller(t, by);
    let send = || {
        let ask = caller.ask(method, path).header("idempotency-key", key);
        ask.json(&request).send()
    };
    let first = send().await;
    assert!(first.status < 300, "{}: {}", first.asked, first.text());
    let again = send().await;
    facts.keyed.push(Keyed {
        by: by.to_owned(),
        method: method.to_owned(),
        path: path.to_owned(),
        key: key.to_owned(),
        request: request.clone(),
        status: again.status,
        body: again.text(),
    });
    first.body
}

/// The same for what needs a card, which its caller approves.
async fn keyed_approved(t: &TestHall, facts: &mut Facts, by: &str, path: &str, request: Value) {
    let key = text(&request["name"]);
    let ask = facts.caller(t, by).ask("POST", path);
    let ask = ask.header("idempotency-key", &key).json(&request);
    ask.approved().await.ok(200);
    keyed(t, facts, (by, "POST", path), &key, request).await;
}

/// Asks for what a person must allow first, and waits for nobody.
pub(super) async fn gated(t: &TestHall, facts: &mut Facts, by: &str, path: &str, request: Value) {
    let ask = facts.caller(t, by).ask("POST", path);
    let required = ask.header("prefer", "wait=0").json(&request).send().await;
    let required = required.ok(202);
    facts.gated.push(Gated {
        by: by.to_owned(),
        path: path.to_owned(),
        request,
        approval: text(&required["approvalId"]),
        token: text(&required["approvalToken"]),
    });
}

/// Follows the link of a sign-in as far as this server goes.
pub(super) async fn leave(t: &TestHall, link: &str) -> SentAway {
    let (_, ticket) = link.rsplit_once('/').unwrap();
    let sent = t.owner().get(&format!("/api/oauth/go/{ticket}")).await;
    assert_eq!(sent.status, 303, "{}", sent.text());
    let (_, state) = sent.header("location").split_once("state=").unwrap();
    let cookie = sent.header("set-cookie").split(';').next().unwrap();
    SentAway {
        state: state.split('&').next().unwrap().to_owned(),
        cookie: cookie.to_owned(),
    }
}

/// Comes back from a sign-in with a code.
pub(super) async fn come_back(t: &TestHall, away: &SentAway) {
    let path = format!("/api/oauth/callback?state={}&code=good", away.state);
    let browser = t.nobody().with("cookie", &away.cookie);
    let browser = browser
        .with("sec-fetch-site", "cross-site")
        .with("sec-fetch-mode", "navigate")
        .with("sec-fetch-dest", "document");
    let page = browser.get(&path).await;
    assert_eq!(page.status, 200, "{}", page.text());
}

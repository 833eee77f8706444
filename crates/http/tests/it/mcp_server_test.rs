//! Reaching tool servers: the test that somebody asks for, and the short look before an address
//! is added. Source: contract 4.4, 4.6.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
    time::timeout,
};

use crate::{
    mcp_servers::{CANARY, address, ask, at, program},
    test_values::column,
};

/// What the counterpart answers from now on.
#[derive(Clone)]
enum StubBehaviour {
    /// These tools: name and description.
    Tools(Vec<(&'static str, &'static str)>),
    /// 401 with this challenge.
    Challenge(&'static str),
    /// An error that says back what it was sent.
    Echo,
    /// No tools, told when a second one asks for them at the same time, or soon after.
    Crowd(Arc<ConcurrentCallers>),
    /// This status, with this line in the head.
    Status(&'static str),
    /// A page for people.
    Page,
}

/// Who asks for tools at the same time.
#[derive(Default)]
struct ConcurrentCallers {
    now: AtomicUsize,
    most: AtomicUsize,
    grew: Notify,
}

impl ConcurrentCallers {
    async fn wait(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        if now == 1 {
            // Nobody else is what is hoped for, so this takes its time.
            let _ = timeout(Duration::from_millis(400), self.grew.notified()).await;
        } else {
            self.grew.notify_one();
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A tool server of another program, at an address of this computer.
struct McpServerStub {
    url: String,
    mood: Arc<Mutex<StubBehaviour>>,
    /// Requests that came.
    asked: Arc<AtomicUsize>,
    _serving: JoinSet<()>,
}

impl McpServerStub {
    async fn start(mood: StubBehaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (mood, asked) = (Arc::new(Mutex::new(mood)), Arc::new(AtomicUsize::new(0)));
        let mut serving = JoinSet::new();
        let (moods, count) = (Arc::clone(&mood), Arc::clone(&asked));
        serving.spawn(async move {
            let mut lines = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (moods, count) = (Arc::clone(&moods), Arc::clone(&count));
                lines.spawn(async move {
                    // A client that goes away ends its line.
                    let _ = serve(socket, &moods, &count).await;
                });
            }
        });
        Self {
            url,
            mood,
            asked,
            _serving: serving,
        }
    }

    fn is_now(&self, mood: StubBehaviour) {
        *self.mood.lock().unwrap() = mood;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn connection(&self) -> Value {
        json!({"transport": "http", "url": self.url, "headers": {}})
    }
}

async fn serve(
    mut socket: TcpStream,
    mood: &Mutex<StubBehaviour>,
    count: &AtomicUsize,
) -> std::io::Result<()> {
    let (read, mut write) = socket.split();
    let mut read = BufReader::new(read);
    loop {
        let (mut length, mut key, mut first) = (0, String::new(), String::new());
        loop {
            let mut line = String::new();
            if read.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if first.is_empty() {
                line.clone_into(&mut first);
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "x-key" => value.trim().clone_into(&mut key),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        read.read_exact(&mut body).await?;
        count.fetch_add(1, Ordering::SeqCst);
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mood = mood.lock().unwrap().clone();
        if let (StubBehaviour::Crowd(crowd), "tools/list") = (&mood, method(&message)) {
            crowd.wait().await;
        }
        let (head, body) = match (first.starts_with("POST"), &mood) {
            (true, _) | (_, StubBehaviour::Challenge(_) | StubBehaviour::Status(_)) => {
                answer(&message, &mood, &key)
            }
            (false, _) => ("405 Method Not Allowed".to_owned(), String::new()),
        };
        let kind = match mood {
            StubBehaviour::Page => "content-type: text/html",
            _ => "content-type: application/json",
        };
        let length = body.len();
        let whole = format!("HTTP/1.1 {head}\r\n{kind}\r\ncontent-length: {length}\r\n\r\n{body}");
        write.write_all(whole.as_bytes()).await?;
    }
}

fn method(message: &Value) -> &str {
    message["method"].as_str().unwrap_or_default()
}

fn answer(message: &Value, mood: &StubBehaviour, key: &str) -> (String, String) {
    let ok = |result: Value| {
        let whole = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        ("200 OK".to_owned(), whole.to_string())
    };
    let no = |code: i32, text: &str| {
        let error = json!({"code": code, "message": text});
        let whole = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
        ("200 OK".to_owned(), whole.to_string())
    };
    if let StubBehaviour::Challenge(challenge) = mood {
        let head = format!("401 Unauthorized\r\nwww-authenticate: {challenge}");
        return (head, String::new());
    }
    if let StubBehaviour::Status(status) = mood {
        return ((*status).to_owned(), String::new());
    }
    if let StubBehaviour::Page = mood {
        return ("200 OK".to_owned(), "<p>Welcome".to_owned());
    }
    match (message["method"].as_str(), mood) {
        (Some("initialize"), _) => ok(json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "counterpart", "version": "1"},
        })),
        (Some("tools/list"), StubBehaviour::Tools(tools)) => {
            let tool = |(name, text): &(&str, &str)| {
                json!({"name": name, "description": text, "inputSchema": {"type": "object"},
                    "annotations": {"title": "Shown", "readOnlyHint": *name == "read"}})
            };
            ok(json!({"tools": tools.iter().map(tool).collect::<Vec<_>>()}))
        }
        (Some("tools/list"), StubBehaviour::Crowd(_)) => ok(json!({"tools": []})),
        (Some("tools/list"), _) => no(-32000, &format!("the key {key} is no good")),
        (Some(_), _) if message["id"].is_null() => ("202 Accepted".to_owned(), String::new()),
        _ => no(-32601, "there is no such method"),
    }
}

async fn test(by: &TestCaller, agent: &TestCaller, name: &str) -> Value {
    let path = format!("{}/{name}/test", at(agent));
    let mut tested = by.post(&path, json!({})).await.ok(200);
    assert!(tested["durationMs"].is_u64(), "{tested}");
    tested.as_object_mut().unwrap().remove("durationMs");
    tested
}

async fn grant(owner: &TestCaller, question: &Value) {
    let path = format!("/api/approvals/{}/grant", question["id"].as_str().unwrap());
    let digest = json!({"digest": question["digest"]});
    owner.post(&path, digest).await.ok(200);
}

fn failed(code: &str, error: &str) -> Value {
    json!({"ok": false, "toolCount": null, "tools": [], "needsAuth": false, "code": code,
        "error": error, "pinChanged": false})
}

#[tokio::test]
async fn a_test_lists_the_tools_pins_the_first_and_takes_no_others() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let there =
        McpServerStub::start(StubBehaviour::Tools(vec![("read", "r"), ("write", "w")])).await;
    owner
        .post_approved(&at(&ada), ask("web", &there.connection()))
        .await
        .ok(200);
    let mut events = t.events();
    let tested = test(&ada, &ada, "web").await;
    let expected = json!({
        "ok": true, "toolCount": 2, "needsAuth": false, "code": null, "error": null,
        "pinChanged": false,
        "tools": [{"name": "read", "title": "Shown", "readOnly": true, "destructive": false},
            {"name": "write", "title": "Shown", "readOnly": false, "destructive": true}],
    });
    assert_eq!(tested, expected);
    assert_eq!(
        events.names(),
        ["mcp_server_status_changed", "mcp_server_pinned"]
    );
    let entry = owner.get(&format!("{}/web", at(&ada))).await.ok(200);
    assert_eq!(
        (&entry["status"], &entry["toolCount"], &entry["rev"]),
        (&json!("ready"), &json!(2), &json!(1))
    );
    let pin = entry["pin"]["toolsSha256"].clone();
    assert!(pin.is_string());
    // The same again changes nothing.
    test(&owner, &ada, "web").await;
    events.none();
    // One word of one tool is another tool.
    there.is_now(StubBehaviour::Tools(vec![("read", "r"), ("write", "w!")]));
    let tested = test(&owner, &ada, "web").await;
    assert_eq!(
        (&tested["ok"], &tested["code"], &tested["pinChanged"]),
        (&json!(false), &json!("TOOLS_CHANGED"), &json!(true))
    );
    assert_eq!(tested["toolCount"], 2);
    // The server asks whether it may go on; until then it is not reached any more.
    assert_eq!(
        events.names(),
        ["approval_requested", "mcp_server_status_changed"]
    );
    let entry = owner.get(&format!("{}/web", at(&ada))).await.ok(200);
    assert_eq!(entry["status"], "needsApproval");
    assert_eq!(entry["pin"]["toolsSha256"], pin);
    let before = there.asked();
    let held = test(&ada, &ada, "web").await;
    assert_eq!(held["code"], "NEEDS_APPROVAL");
    assert_eq!(there.asked(), before);
    let question = format!("/api/approvals/{}", entry["approvalId"].as_str().unwrap());
    let question = owner.get(&question).await.ok(200);
    assert_eq!(question["card"]["before"]["tool write"]["description"], "w");
    assert_eq!(question["card"]["after"]["tool write"]["description"], "w!");
    grant(&owner, &question).await;
    let mut events = t.events();
    assert_eq!(test(&owner, &ada, "web").await["ok"], true);
    events.none();
    // One that is gone narrows the pin, and may not come back by itself.
    there.is_now(StubBehaviour::Tools(vec![("read", "r")]));
    assert_eq!(test(&owner, &ada, "web").await["ok"], true);
    assert_eq!(events.names(), ["mcp_server_pinned"]);
    there.is_now(StubBehaviour::Tools(vec![("read", "r"), ("write", "w")]));
    assert_eq!(test(&owner, &ada, "web").await["pinChanged"], true);
    // A person who sends the connection again begins anew.
    let other = json!({"transport": "http", "url": format!("{}?again", there.url)});
    let path = format!("{}/web", at(&ada));
    let patched = owner
        .patch_approved(&path, json!({"connection": other}))
        .await
        .ok(200);
    assert_eq!(patched[0]["pin"]["toolsSha256"], Value::Null);
    assert_eq!(test(&owner, &ada, "web").await["toolCount"], 2);
}

#[tokio::test]
async fn an_address_that_wants_a_sign_in_says_so_before_it_is_added() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let there = McpServerStub::start(StubBehaviour::Challenge("Bearer scope=\"x\"")).await;
    let added = owner
        .post_approved(&at(&ada), ask("web", &there.connection()))
        .await
        .ok(200);
    assert_eq!(added[0]["connection"]["authKind"], "oauth2");
    assert_eq!(
        (&added[0]["status"], &added[0]["authStatus"]),
        (&json!("needsSignIn"), &json!("needs-auth"))
    );
    let tested = test(&owner, &ada, "web").await;
    assert_eq!(
        (&tested["needsAuth"], &tested["code"]),
        (&json!(true), &json!("NEEDS_SIGN_IN"))
    );
    // Another way of signing in is not one of ours; a test tells that one is wanted all the same.
    there.is_now(StubBehaviour::Challenge("Basic realm=\"x\""));
    let plain = owner
        .post_approved(&at(&ada), ask("plain", &there.connection()))
        .await
        .ok(200);
    assert_eq!(plain[1]["connection"].get("authKind"), None);
    assert_eq!(plain[1]["status"], "unknown");
    assert_eq!(test(&owner, &ada, "plain").await["needsAuth"], true);
    let plain = owner.get(&format!("{}/plain", at(&ada))).await.ok(200);
    assert_eq!(plain["status"], "needsSignIn");
    // With a word of its own about who asks, nobody is asked before.
    there.is_now(StubBehaviour::Challenge("Bearer"));
    let before = there.asked();
    let mut own = there.connection();
    own["headers"] = json!({"authorization": "Bearer x"});
    owner
        .post_approved(&at(&ada), ask("own", &own))
        .await
        .ok(200);
    assert_eq!(there.asked(), before);
    // Another connection is looked at anew, without that word or at another address.
    let path = format!("{}/own", at(&ada));
    let body = json!({"connection": there.connection()});
    let bare = owner.patch_approved(&path, body).await.ok(200);
    assert_eq!(bare[2]["connection"]["authKind"], "oauth2");
    let before = there.asked();
    let moved = json!({"connection": {"transport": "sse", "url": there.url}});
    let moved = owner.patch_approved(&path, moved).await.ok(200);
    assert_eq!(moved[2]["connection"]["authKind"], "oauth2");
    assert_eq!(moved[2]["status"], "needsSignIn");
    assert!(there.asked() > before);
}

#[tokio::test]
async fn no_packet_precedes_a_persons_word() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let there = McpServerStub::start(StubBehaviour::Challenge("Bearer")).await;
    let add = ada.ask("POST", &at(&ada)).header("prefer", "wait=0");
    let add = add.json(&ask("web", &there.connection()));
    add.send().await.ok(202);
    let wrong = json!({"name": "guildhall", "connection": there.connection()});
    t.owner()
        .post(&at(&ada), wrong)
        .await
        .refused(400, "RESERVED_NAME");
    assert_eq!(there.asked(), 0);
}

#[tokio::test]
async fn a_test_reaches_nothing_that_is_off_or_not_what_was_approved() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let there = McpServerStub::start(StubBehaviour::Tools(Vec::new())).await;
    owner
        .post_approved(&at(&ada), ask("web", &there.connection()))
        .await
        .ok(200);
    owner
        .post_approved(&at(&ada), ask("tool", &program(&t)))
        .await
        .ok(200);
    let before = there.asked();
    owner
        .post(&format!("{}/web/disable", at(&ada)), json!({}))
        .await
        .ok(200);
    let off = test(&ada, &ada, "web").await;
    assert_eq!(off, failed("DISABLED", "The server is switched off."));
    assert_eq!(there.asked(), before);
    std::fs::remove_file(t.programs().join("tool")).unwrap();
    let mut events = t.events();
    let missing = test(&owner, &ada, "tool").await;
    assert_eq!(
        missing,
        failed("COMMAND_NOT_FOUND", "The program cannot be found.")
    );
    assert_eq!(
        events.next("mcp_server_status_changed")["status"],
        "commandMissing"
    );
    // What stands there now is another program: a person is asked about it, once.
    t.install("tool", "#!/bin/sh\n# another\n");
    let mut changed = failed(
        "PIN_CHANGED",
        "The program is not the one that was approved; it was not started.",
    );
    changed["pinChanged"] = true.into();
    assert_eq!(test(&owner, &ada, "tool").await, changed);
    assert_eq!(
        events.names(),
        ["approval_requested", "mcp_server_status_changed"]
    );
    assert_eq!(
        test(&ada, &ada, "tool").await["code"],
        json!("NEEDS_APPROVAL")
    );
    events.none();
    assert!(t.hall().process_trees().is_empty());
    owner
        .post(&format!("{}/none/test", at(&ada)), json!({}))
        .await
        .refused(404, "SERVER_NOT_FOUND");
}

#[tokio::test]
async fn what_a_server_says_back_of_a_secret_is_not_told() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let there = McpServerStub::start(StubBehaviour::Echo).await;
    let mut connection = there.connection();
    connection["headers"] = json!({"X-Key": CANARY});
    owner
        .post_approved(&at(&ada), ask("web", &connection))
        .await
        .ok(200);
    for by in [&owner, &ada] {
        let tested = test(by, &ada, "web").await;
        assert_eq!(tested["code"], "REFUSED");
        let error = tested["error"].as_str().unwrap();
        assert!(error.contains("the key *** is no good"), "{error}");
    }
    // Nobody is there at all.
    owner
        .post_approved(&at(&ada), ask("none", &address()))
        .await
        .ok(200);
    let tested = test(&owner, &ada, "none").await;
    assert_eq!(tested["code"], "UNREACHABLE", "{tested}");
    assert!(!tested.to_string().contains(CANARY));
    let listed = owner.get(&at(&ada)).await.ok(200);
    assert_eq!(column(&listed, "status"), ["unknown", "unknown"]);
}

#[tokio::test]
async fn one_test_of_a_server_runs_at_a_time() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let crowd = Arc::new(ConcurrentCallers::default());
    let there = McpServerStub::start(StubBehaviour::Tools(Vec::new())).await;
    for name in ["web", "other"] {
        owner
            .post_approved(&at(&ada), ask(name, &there.connection()))
            .await
            .ok(200);
    }
    there.is_now(StubBehaviour::Crowd(Arc::clone(&crowd)));
    let (first, second) = tokio::join!(test(&owner, &ada, "web"), test(&ada, &ada, "WEB"));
    assert_eq!((&first["ok"], &second["ok"]), (&json!(true), &json!(true)));
    assert_eq!(crowd.most.load(Ordering::SeqCst), 1);
    // Another server is not held up by it.
    tokio::join!(test(&owner, &ada, "web"), test(&ada, &ada, "other"));
    assert_eq!(crowd.most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_test_that_fails_says_in_which_way() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let there = McpServerStub::start(StubBehaviour::Tools(Vec::new())).await;
    owner
        .post_approved(&at(&ada), ask("web", &there.connection()))
        .await
        .ok(200);
    let mut events = t.events();
    for (mood, code, needs_auth) in [
        (
            StubBehaviour::Status("500 Internal Server Error"),
            "HTTP_STATUS",
            false,
        ),
        (StubBehaviour::Status("404 Not Found"), "HTTP_STATUS", false),
        (StubBehaviour::Page, "PROTOCOL_ERROR", false),
        (StubBehaviour::Echo, "REFUSED", false),
    ] {
        there.is_now(mood);
        let tested = test(&owner, &ada, "web").await;
        assert_eq!(
            (&tested["ok"], &tested["code"], &tested["needsAuth"]),
            (&json!(false), &json!(code), &json!(needs_auth)),
            "{tested}"
        );
        assert_eq!(
            (&tested["toolCount"], &tested["tools"]),
            (&json!(null), &json!([]))
        );
        let error = tested["error"].as_str().unwrap();
        assert!((1..=400).contains(&error.chars().count()), "{error}");
        events.none();
        // One that goes well again: what failed before counts no longer.
        there.is_now(StubBehaviour::Tools(Vec::new()));
        assert_eq!(test(&owner, &ada, "web").await["ok"], true);
        events.all();
    }
    // A sign-in that allows too little is one that is wanted.
    there.is_now(StubBehaviour::Status(
        "403 Forbidden\r\nwww-authenticate: Bearer error=\"insufficient_scope\"",
    ));
    let tested = test(&owner, &ada, "web").await;
    assert_eq!(
        (&tested["code"], &tested["needsAuth"]),
        (&json!("INSUFFICIENT_SCOPE"), &json!(true))
    );
    let changed = events.next("mcp_server_status_changed");
    assert_eq!(changed["status"], "needsSignIn");
}

#[tokio::test]
async fn a_server_that_three_tests_do_not_reach_counts_as_failing_until_one_does() {
    let t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let there = McpServerStub::start(StubBehaviour::Page).await;
    owner
        .post_approved(&at(&ada), ask("web", &there.connection()))
        .await
        .ok(200);
    for expected in ["unknown", "unknown", "failing", "failing"] {
        assert_eq!(test(&ada, &ada, "web").await["code"], "PROTOCOL_ERROR");
        let entry = owner.get(&format!("{}/web", at(&ada))).await.ok(200);
        assert_eq!(entry["status"], expected);
        assert_eq!(entry["statusDetail"].is_string(), expected == "failing");
    }
    there.is_now(StubBehaviour::Tools(Vec::new()));
    assert_eq!(test(&ada, &ada, "web").await["ok"], true);
    there.is_now(StubBehaviour::Page);
    for _ in 0..2 {
        test(&ada, &ada, "web").await;
        let entry = owner.get(&format!("{}/web", at(&ada))).await.ok(200);
        assert_eq!(entry["status"], "ready");
    }
}

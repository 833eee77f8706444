//! Sessions: opening them, with every refusal in its order, and finding them again.
//! Source: contract 3.1, 3.5, 3.6.4.

use guildhall_domain::runtimes::RuntimeDefinition;
use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

use crate::{
    test_values::{column, text, wrong_fields},
    turns::due,
};

/// A session of the terminal, in the folder `cwd`.
pub(crate) const ON_DISK: &str = "5b1f7c2e-8d34-4e0a-9c61-2f7d0a4be913";
const MINE: &str = "0e7c6f0a-1b2c-4d3e-8f90-a1b2c3d4e5f6";
const NOWHERE: &str = "7d0a4be9-1b2c-4d3e-8f90-a1b2c3d4e5f6";

/// Writes the transcript of a session of Claude Code's own command line.
pub(crate) fn on_disk(t: &TestHall, cwd: &str) {
    let folder = t.home().join(".claude/projects/-work");
    std::fs::create_dir_all(&folder).unwrap();
    let line = json!({"type": "user", "cwd": cwd, "sessionId": ON_DISK, "version": "2",
        "timestamp": "2026-02-03T09:00:00.000Z", "uuid": NOWHERE, "isSidechain": false,
        "message": {"role": "user", "content": "Count the words"}});
    std::fs::write(folder.join(format!("{ON_DISK}.jsonl")), format!("{line}\n")).unwrap();
}

/// A session of `agent`.
pub(crate) async fn open(by: &TestCaller, agent: &TestCaller, more: Value) -> Value {
    let mut ask = json!({"agentId": agent.agent()});
    for (field, value) in more.as_object().unwrap() {
        ask[field] = value.clone();
    }
    by.post("/api/sessions", ask).await.ok(201)
}

/// The address of a session.
pub(crate) fn at(session: &Value) -> String {
    format!("/api/sessions/{}", text(&session["id"]))
}

#[tokio::test]
async fn a_session_is_opened_with_an_agent_as_its_row_says_and_told_once() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let mut log = t.events();
    let ask = json!({"agentId": ada.agent(), "title": " Tally "});
    let opened = t.owner().post("/api/sessions", ask).await;
    assert_eq!(opened.header("etag"), "\"1\"");
    let session = opened.ok(201);
    for (field, value) in [
        ("agentId", json!(ada.agent())),
        ("runtime", json!("rehearsal")),
        ("runtimeSessionId", json!("")),
        ("title", json!("Tally")),
        ("cwd", json!(t.folder("ada"))),
        ("permissionMode", json!("default")),
        ("state", json!("idle")),
        ("origin", json!("person")),
        ("roomId", Value::Null),
        ("readOnly", json!(false)),
        ("queuedCount", json!(0)),
    ] {
        assert_eq!(session[field], value, "{field}");
    }
    assert_eq!(log.next("session_created")["session"], session);
    for caller in [&t.owner(), &ada] {
        assert_eq!(caller.get(&at(&session)).await.ok(200), session);
    }
    let bob = t.agent("bob").await;
    bob.get(&at(&session))
        .await
        .refused(404, "SESSION_NOT_FOUND");
    assert_eq!(
        bob.get("/api/sessions").await.ok(200)["sessions"],
        json!([])
    );
}

#[tokio::test]
async fn opening_is_refused_in_the_order_of_the_table() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, gone) = (t.agent("ada").await, t.agent("gone").await);
    let taken = open(&owner, &ada, json!({"id": MINE})).await;
    assert_eq!(taken["id"], MINE);
    let retired = format!("/api/agents/{}", gone.agent());
    owner.delete(&retired).await.ok(200);
    let missing = format!("{}/none", t.folder("new"));
    let file = format!("{}/file", t.folder("new"));
    std::fs::write(&file, "x").unwrap();
    let before = t.rows();
    for (ask, status, code) in [
        (json!({}), 400, "VALIDATION_FAILED"),
        (
            json!({"agentId": ada.agent(), "cwd": "/"}),
            400,
            "VALIDATION_FAILED",
        ),
        (
            json!({"cwd": "here", "runtime": "none"}),
            400,
            "VALIDATION_FAILED",
        ),
        (
            json!({"agentId": ada.agent(), "id": MINE, "resumeId": ON_DISK}),
            400,
            "VALIDATION_FAILED",
        ),
        (
            json!({"agentId": ada.agent(), "id": "x"}),
            400,
            "VALIDATION_FAILED",
        ),
        (
            json!({"cwd": "/", "runtime": "none", "permissionMode": "none"}),
            400,
            "UNKNOWN_RUNTIME",
        ),
        (
            json!({"cwd": "/", "runtime": "rehearsal", "permissionMode": "none"}),
            400,
            "UNSUPPORTED_PERMISSION_MODE",
        ),
        (
            json!({"cwd": "/", "permissionMode": "none"}),
            403,
            "OUTSIDE_BOUNDARY",
        ),
        (
            json!({"cwd": missing, "permissionMode": "none"}),
            404,
            "NOT_FOUND",
        ),
        (
            json!({"cwd": file, "permissionMode": "none"}),
            400,
            "NOT_A_DIRECTORY",
        ),
        (
            json!({"cwd": t.folder("new"), "permissionMode": "none", "resumeId": ON_DISK}),
            400,
            "UNSUPPORTED_PERMISSION_MODE",
        ),
        (
            json!({"agentId": NOWHERE, "permissionMode": "none", "resumeId": ON_DISK}),
            404,
            "AGENT_NOT_FOUND",
        ),
        (
            json!({"agentId": gone.agent(), "permissionMode": "none", "id": MINE}),
            400,
            "UNSUPPORTED_PERMISSION_MODE",
        ),
        (
            json!({"agentId": gone.agent(), "resumeId": ON_DISK}),
            404,
            "SESSION_NOT_FOUND",
        ),
        (
            json!({"agentId": gone.agent(), "id": MINE}),
            409,
            "SESSION_EXISTS",
        ),
        (
            json!({"agentId": gone.agent(), "permissionMode": "autopilot"}),
            409,
            "AGENT_RETIRED",
        ),
        (
            json!({"agentId": ada.agent(), "permissionMode": "autopilot"}),
            428,
            "AUTONOMY_NOT_ACKNOWLEDGED",
        ),
    ] {
        let answer = owner.post("/api/sessions", ask.clone()).await;
        assert_eq!(answer.status, status, "{ask}: {}", answer.text());
        answer.refused(status, code);
        ada.post("/api/sessions", ask)
            .await
            .refused(403, "HUMANS_ONLY");
    }
    let without_tokens = |rows: String| -> Vec<String> {
        let rows = rows.lines().filter(|row| !row.starts_with("tokens\t"));
        rows.map(str::to_owned).collect()
    };
    assert_eq!(without_tokens(t.rows()), without_tokens(before));
}

#[tokio::test]
async fn a_runtime_named_with_an_agent_is_the_agents() {
    let mut t = TestHall::open().await;
    let other = RuntimeDefinition {
        kind: "mine".to_owned(),
        command: Some("mine".to_owned()),
        ..RuntimeDefinition::default()
    };
    t.restart_with_runtimes(vec![other]).await;
    let ada = t.agent("ada").await;
    let ask = json!({"agentId": ada.agent(), "runtime": "mine"});
    let details = t.owner().post("/api/sessions", ask).await;
    let details = details.refused(400, "VALIDATION_FAILED");
    assert_eq!(wrong_fields(&details), ["runtime"]);
    open(&t.owner(), &ada, json!({"runtime": "rehearsal"})).await;
}

#[tokio::test]
async fn the_same_request_under_an_id_opens_one_session_whatever_became_of_its_folder() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let cwd = t.folder("new");
    let ask = json!({"id": MINE, "cwd": cwd});
    let first = owner.post("/api/sessions", ask.clone()).await.ok(201);
    std::fs::remove_dir(&cwd).unwrap();
    let before = t.rows();
    let again = owner.post("/api/sessions", ask.clone()).await.ok(200);
    assert_eq!(again, first);
    assert_eq!(t.rows(), before);
    std::fs::create_dir(&cwd).unwrap();
    let other = json!({"id": MINE, "cwd": cwd, "title": "Other"});
    owner
        .post("/api/sessions", other)
        .await
        .refused(409, "SESSION_EXISTS");
    // The id is read in either case.
    let upper = json!({"id": MINE.to_uppercase(), "cwd": cwd});
    assert_eq!(owner.post("/api/sessions", upper).await.ok(200), first);
}

#[tokio::test]
async fn a_repeat_under_a_key_is_answered_as_before_whatever_became_of_its_folder() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (cwd, other) = (t.folder("new"), t.folder("other"));
    let send = async |path: &str, key: &str, ask: &Value| {
        let ask = owner.ask("POST", path).json(ask);
        ask.header("idempotency-key", key).send().await
    };
    for (path, key, ask) in [
        ("/api/sessions", "a", json!({"cwd": cwd})),
        ("/api/sessions", "b", json!({"cwd": cwd, "id": MINE})),
        ("/api/agents", "c", json!({"name": "x", "cwd": other})),
    ] {
        for folder in [&cwd, &other] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let first = send(path, key, &ask).await.ok(201);
        for folder in [&cwd, &other] {
            let _absent = std::fs::remove_dir(folder);
        }
        let before = t.rows();
        let again = send(path, key, &ask).await;
        assert_eq!(again.header("idempotency-replayed"), "true");
        assert_eq!(again.ok(201), first);
        assert_eq!(t.rows(), before);
        let reused = send(path, key, &json!({"name": "y", "cwd": other})).await;
        reused.refused(422, "IDEMPOTENCY_KEY_REUSED");
    }
    // Another key under a known id finds its session, and so does its own repeat.
    let ask = json!({"cwd": cwd, "id": MINE});
    send("/api/sessions", "d", &ask).await.ok(200);
    let again = send("/api/sessions", "d", &ask).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    again.ok(200);
}

#[tokio::test]
async fn a_folder_without_an_agent_gets_one_which_is_the_owners_to_ask_for() {
    let t = TestHall::open_login().await;
    let (owner, pia) = (t.owner(), t.person("Pia").await);
    let ask = json!({"cwd": t.folder("tally"), "permissionMode": "autopilot"});
    let key = t.key(&owner, "program").await;
    let before = t.rows();
    pia.post("/api/sessions", ask.clone())
        .await
        .refused(403, "OWNER_ONLY");
    owner
        .post("/api/sessions", ask.clone())
        .await
        .refused(428, "AUTONOMY_NOT_ACKNOWLEDGED");
    let mut said = ask.clone();
    said["acknowledgedAutonomy"] = true.into();
    t.stranger()
        .with_key(&key)
        .post("/api/sessions", said.clone())
        .await
        .refused(403, "INTERACTIVE_ONLY");
    let kept = |rows: &str| -> Vec<String> {
        let is_kept = |row: &&str| !row.starts_with("sign_ins\t") && !row.starts_with("api_keys\t");
        rows.lines().filter(is_kept).map(str::to_owned).collect()
    };
    assert_eq!(kept(&t.rows()), kept(&before));
    let session = owner.post("/api/sessions", said).await.ok(201);
    let agent = format!("/api/agents/{}", text(&session["agentId"]));
    let agent = owner.get(&agent).await.ok(200);
    assert_eq!(agent["name"], "tally");
    // Mode and word are this session's alone.
    let modes = (&session["permissionMode"], &agent["permissionMode"]);
    assert_eq!(modes, (&json!("autopilot"), &json!("default")));
    let next = pia.post("/api/sessions", json!({"cwd": t.folder("tally")}));
    let next = next.await.ok(201);
    assert_eq!(next["agentId"], session["agentId"]);
    assert_eq!(next["permissionMode"], "default");
}

#[tokio::test]
async fn a_session_runs_unattended_with_a_persons_word_for_itself_or_its_agent_alone() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let wild = json!({"permissionMode": "autopilot"});
    let said = json!({"permissionMode": "autopilot", "acknowledgedAutonomy": true});
    let first = open(&owner, &ada, said.clone()).await;
    let second = open(&owner, &ada, json!({})).await;
    // One session's word is none for another.
    let refused = owner.patch(&at(&second), wild.clone()).await;
    let details = refused.refused(428, "AUTONOMY_NOT_ACKNOWLEDGED");
    assert_eq!(details, json!({"mode": "autopilot"}));
    for mode in ["plan", "autopilot"] {
        let ask = json!({"permissionMode": mode});
        owner.patch(&at(&first), ask).await.ok(200);
    }
    // The agent's is one for all of its sessions.
    let agent = format!("/api/agents/{}", ada.agent());
    owner.patch(&agent, said).await.ok(200);
    let mut log = t.events();
    owner.patch(&at(&second), wild).await.ok(200);
    let events = log.all();
    let changed = &events[0];
    assert_eq!(changed["type"], "session_mode_changed");
    for (field, value) in [
        ("from", json!("default")),
        ("to", json!("autopilot")),
        ("by", json!("person")),
        ("acknowledged", json!(true)),
    ] {
        assert_eq!(changed["data"][field], value, "{field}");
    }
    // A mode that needs no word has none.
    let calm = json!({"permissionMode": "plan", "acknowledgedAutonomy": true});
    owner.patch(&at(&second), calm).await.ok(200);
    assert_eq!(log.all()[0]["data"]["acknowledged"], false);
    open(&owner, &ada, json!({})).await;
}

#[tokio::test]
async fn sessions_are_listed_newest_change_first_by_state_agent_and_folder() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let mut made = Vec::new();
    for agent in [&ada, &bob, &ada, &ada] {
        t.advance(1);
        made.push(text(&open(&owner, agent, json!({})).await["id"]));
    }
    t.advance(1);
    owner
        .delete(&format!("/api/sessions/{}", made[0]))
        .await
        .ok(200);
    let order = [0, 3, 2, 1].map(|n| made[n].clone());
    let ids = async |query: &str| {
        let listed = owner.get(&format!("/api/sessions?{query}")).await.ok(200);
        assert_eq!(listed["warnings"], json!([]));
        column(&listed["sessions"], "id")
    };
    assert_eq!(ids("").await, order);
    assert_eq!(ids("state=closed").await, order[..1]);
    assert_eq!(ids("state=idle").await, order[1..]);
    let of_ada = format!("agentId={}", ada.agent());
    assert_eq!(ids(&of_ada).await, order[..3]);
    let folder = t.folder("bob");
    for cwd in [
        folder.clone(),
        format!("{folder}/../bob"),
        format!("{folder}/"),
    ] {
        assert_eq!(ids(&format!("cwd={cwd}")).await, order[3..], "{cwd}");
    }
    assert_eq!(ids("cwd=/nowhere").await, [""; 0]);
    for query in ["state=busy", "source=x", "limit=0", "cursor=x"] {
        let refused = owner.get(&format!("/api/sessions?{query}")).await;
        refused.refused(400, "VALIDATION_FAILED");
    }
    // Page by page, each once.
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let listed = owner.get(&format!("/api/sessions?limit=2{cursor}")).await;
        let listed = listed.ok(200);
        found.extend(column(&listed["sessions"], "id"));
        match listed["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(found, order);
}

#[tokio::test]
async fn the_sessions_of_a_rooms_turns_are_told_to_people() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    let path = format!("/api/rooms/{room}/sessions");
    assert_eq!(owner.get(&path).await.ok(200), json!({"bindings": []}));
    let mut log = t.events();
    t.say(&owner, &room, "@ada look").await;
    due(&t).await;
    let mut events = log.all().into_iter();
    let opened = events.find(|event| event["type"] == "session_created");
    let session = opened.expect("the room's session")["data"]["session"]["id"].clone();
    let binding = json!({"authorId": ada.author(), "sessionId": session});
    assert_eq!(
        owner.get(&path).await.ok(200),
        json!({"bindings": [binding]})
    );
    ada.get(&path).await.refused(403, "HUMANS_ONLY");
    let nowhere = format!("/api/rooms/{NOWHERE}/sessions");
    owner.get(&nowhere).await.refused(404, "ROOM_NOT_FOUND");
}

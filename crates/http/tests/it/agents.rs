//! The registry of agents. Source: contract 3.2.

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

use crate::test_values::{column, text};

async fn agent(by: &TestCaller, id: &str) -> Value {
    by.get(&format!("/api/agents/{id}")).await.ok(200)
}

#[tokio::test]
async fn a_registered_agent_has_a_row_an_author_a_handle_and_a_seat_in_team() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let cwd = t.folder("ada");
    let mut events = t.events();
    let made = owner
        .post("/api/agents", json!({"name": "  Ada L. ", "cwd": cwd}))
        .await
        .ok(201);
    let now = "2026-09-21T14:13:20.000Z";
    let expected = json!({
        "id": made["id"], "authorId": made["authorId"], "handle": "ada-l", "name": "Ada L.",
        "description": "", "runtime": "rehearsal", "cwd": cwd, "responseMode": "engaged",
        "permissionMode": "default", "model": "", "effort": "", "enclosed": true, "state": "ready",
        "liveProcess": false, "createdAt": now, "updatedAt": now,
    });
    assert_eq!(made, expected);
    let told = events.all();
    let names: Vec<&str> = told
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    let expected = [
        "author_updated",
        "agent_created",
        "room_member_added",
        "room_updated",
    ];
    assert_eq!(names, expected, "the first agent takes the seat of team");
    assert_eq!(told[1]["data"]["agent"], made);
    assert_eq!(told[1]["scope"], format!("agent:{}", text(&made["id"])));
    let author = owner
        .get(&format!("/api/rooms/authors/{}", text(&made["authorId"])))
        .await
        .ok(200);
    let expected = json!({
        "id": made["authorId"], "kind": "agent", "displayName": "Ada L.", "emoji": "", "color": "",
        "imageUrl": "", "agentRef": made["id"], "handle": "ada-l", "retired": false,
    });
    assert_eq!(
        (&author, &told[0]["data"]["author"]),
        (&expected, &expected)
    );
    let outside = json!({"name": "Bob", "cwd": t.folder("bob"), "joinTeam": false,
        "runtime": "rehearsal", "description": "d", "responseMode": "silent",
        "permissionMode": "plan", "model": "m", "effort": "high"});
    let bob = owner.post("/api/agents", outside).await.ok(201);
    assert_eq!(events.names(), ["author_updated", "agent_created"]);
    let chosen = ["silent", "plan", "m", "high", "d"].map(|word| json!(word));
    let fields = [
        "responseMode",
        "permissionMode",
        "model",
        "effort",
        "description",
    ];
    assert_eq!(fields.map(|field| bob[field].clone()), chosen);
    let team = format!("/api/rooms/{}/members", t.team().await);
    let members = owner.get(&team).await.ok(200);
    assert_eq!(
        column(&members["members"], "authorId"),
        [owner.author().to_owned(), text(&made["authorId"])]
    );
}

#[tokio::test]
async fn registering_is_refused_in_the_order_of_the_table() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let (cwd, inside) = (t.folder("ada"), t.folder("new"));
    std::fs::write(format!("{inside}/file"), "x").unwrap();
    let data = t.scratch().join("data").to_str().unwrap().to_owned();
    let file = format!("{inside}/file");
    let missing = format!("{inside}/none");
    let outside = t.scratch().to_str().unwrap().to_owned();
    let before = t.rows();
    let ask = |cwd: &str, runtime: &str, mode: &str| json!({"name": "x", "cwd": cwd, "runtime": runtime, "permissionMode": mode});
    for (body, status, code) in [
        (
            json!({"cwd": "relative", "runtime": "none"}),
            400,
            "VALIDATION_FAILED",
        ),
        (ask("relative", "none", "none"), 400, "VALIDATION_FAILED"),
        (ask("/nowhere", "none", "none"), 400, "UNKNOWN_RUNTIME"),
        (
            ask("/nowhere", "claude-code", "default"),
            400,
            "UNKNOWN_RUNTIME",
        ),
        (
            ask("/nowhere", "rehearsal", "none"),
            400,
            "UNSUPPORTED_PERMISSION_MODE",
        ),
        (
            ask("/nowhere", "rehearsal", "autopilot"),
            403,
            "OUTSIDE_BOUNDARY",
        ),
        (ask("/", "rehearsal", "plan"), 403, "OUTSIDE_BOUNDARY"),
        (ask(&outside, "rehearsal", "plan"), 403, "OUTSIDE_BOUNDARY"),
        (ask(&data, "rehearsal", "plan"), 403, "OUTSIDE_BOUNDARY"),
        (
            ask(&format!("{inside}/../.."), "rehearsal", "plan"),
            403,
            "OUTSIDE_BOUNDARY",
        ),
        (ask(&missing, "rehearsal", "autopilot"), 404, "NOT_FOUND"),
        (ask(&file, "rehearsal", "autopilot"), 400, "NOT_A_DIRECTORY"),
        (ask(&cwd, "rehearsal", "autopilot"), 409, "AGENT_EXISTS"),
        (
            ask(&inside, "rehearsal", "autopilot"),
            428,
            "AUTONOMY_NOT_ACKNOWLEDGED",
        ),
    ] {
        let details = owner
            .post("/api/agents", body.clone())
            .await
            .refused(status, code);
        let expected = match code {
            "AGENT_EXISTS" => json!({"agentId": ada.agent()}),
            "AUTONOMY_NOT_ACKNOWLEDGED" => json!({"mode": "autopilot"}),
            "UNSUPPORTED_PERMISSION_MODE" => {
                json!({"supported": ["default", "accept-edits", "plan", "autopilot"]})
            }
            "VALIDATION_FAILED" => continue,
            _ => Value::Null,
        };
        assert_eq!(details, expected, "{body}");
        // Before any of this, an agent is turned away.
        ada.post("/api/agents", body)
            .await
            .refused(403, "OWNER_ONLY");
    }
    let tokens_aside = |rows: String| -> Vec<String> {
        rows.lines()
            .filter(|row| !row.starts_with("tokens\t"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(tokens_aside(t.rows()), tokens_aside(before));
    let mut acknowledged = ask(&inside, "rehearsal", "autopilot");
    acknowledged["acknowledgedAutonomy"] = true.into();
    owner.post("/api/agents", acknowledged).await.ok(201);
}

#[tokio::test]
async fn handles_are_derived_from_names_and_numbered_when_taken() {
    let t = TestHall::open().await;
    let longest = "n".repeat(64);
    let cut = "n".repeat(32);
    let cut_again = format!("{}-2", "n".repeat(30));
    for (n, (name, handle)) in [
        ("Ada", "ada"),
        ("ada", "ada-2"),
        ("ADA!", "ada-3"),
        ("Build & Test", "build-test"),
        ("...x1...", "x1"),
        ("guildhall", "guildhall-2"),
        ("everyone", "everyone-2"),
        ("日本", ""),
        ("x", ""),
        (&longest, &cut),
        (&longest, &cut_again),
    ]
    .into_iter()
    .enumerate()
    {
        let ask = json!({"name": name, "cwd": t.folder(&n.to_string())});
        let made = t.owner().post("/api/agents", ask).await.ok(201);
        assert_eq!(made["handle"], handle, "{name}");
    }
}

#[tokio::test]
async fn retiring_ends_tokens_and_memberships_and_keeps_the_handle_for_the_author() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let second = ada
        .clone()
        .with_agent_token(&t.mint(ada.agent(), "second").await);
    let room = t.channel(&owner, "Ops", &[&ada]).await;
    t.say(&ada, &room, "hello").await;
    let path = format!("/api/agents/{}", ada.agent());
    t.advance(1);
    let mut events = t.events();
    let retired = owner.delete(&path).await.ok(200);
    assert_eq!(
        (&retired["state"], &retired["handle"]),
        (&json!("retired"), &json!(""))
    );
    let mut names = events.names();
    names.sort();
    assert_eq!(
        names,
        [
            "agent_retired",
            "agent_token_revoked",
            "agent_token_revoked",
            "author_updated",
            "room_member_removed",
            "room_member_removed",
            "room_updated",
        ]
    );
    assert_eq!(
        owner.delete(&path).await.ok(200),
        retired,
        "retiring twice changes nothing"
    );
    events.none();
    for dead in [&ada, &second] {
        dead.get("/api/rooms")
            .await
            .refused(401, "AGENT_IDENTITY_UNVERIFIED");
    }
    let author = owner.get(&ada.author_url()).await.ok(200);
    assert_eq!(
        (&author["retired"], &author["handle"]),
        (&json!(true), &json!(""))
    );
    let kept = owner
        .get(&format!("{}/handles", ada.author_url()))
        .await
        .ok(200);
    assert_eq!(column(&kept["reserved"], "handle"), ["ada"]);
    owner
        .patch(&owner.handle_url(), json!({"handle": "ada"}))
        .await
        .refused(409, "HANDLE_RESERVED");
    let look = json!({"displayName": "x"});
    owner
        .patch(&ada.author_url(), look)
        .await
        .refused(409, "AUTHOR_NOT_CHANGEABLE");
    owner
        .patch(&path, json!({"name": "x"}))
        .await
        .refused(409, "AGENT_RETIRED");
    let label = json!({"label": "x"});
    owner
        .post(&format!("{path}/tokens"), label)
        .await
        .refused(404, "AGENT_NOT_FOUND");
    let detail = owner.get(&format!("/api/rooms/{room}")).await.ok(200);
    assert_eq!(column(&detail["members"], "authorId"), [owner.author()]);
    assert_eq!(
        column(&detail["formerAuthors"], "id"),
        [ada.author()],
        "history keeps the author"
    );
    assert_eq!(owner.get("/api/agents").await.ok(200)["agents"], json!([]));
    let all = owner.get("/api/agents?includeRetired=true").await.ok(200);
    assert_eq!(all, json!({"agents": [retired], "warnings": []}));
    let listed = owner.get("/api/rooms/authors?kind=agent").await.ok(200);
    assert_eq!(listed["authors"], json!([]));
    let listed = owner
        .get("/api/rooms/authors?kind=agent&includeRetired=1")
        .await
        .ok(200);
    assert_eq!(column(&listed["authors"], "id"), [ada.author()]);
}

#[tokio::test]
async fn registering_the_same_folder_again_revives_the_author() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    owner
        .delete(&format!("/api/agents/{}", ada.agent()))
        .await
        .ok(200);
    let again = t.agent("ada").await;
    assert_eq!(again.author(), ada.author());
    assert_ne!(again.agent(), ada.agent());
    let author = owner.get(&ada.author_url()).await.ok(200);
    let expected = (&json!(false), &json!("ada"), &json!(again.agent()));
    assert_eq!(
        (&author["retired"], &author["handle"], &author["agentRef"]),
        expected
    );
    ada.get("/api/rooms")
        .await
        .refused(401, "AGENT_IDENTITY_UNVERIFIED");
    again.get("/api/rooms").await.ok(200);
    // Another folder is another agent, whatever its name.
    let other = owner
        .post("/api/agents", json!({"name": "ada", "cwd": t.folder("b")}))
        .await
        .ok(201);
    assert_ne!(other["authorId"], ada.author());
}

#[tokio::test]
async fn an_agent_is_changed_by_the_owner_alone() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let path = format!("/api/agents/{}", ada.agent());
    let mut row = agent(&owner, ada.agent()).await;
    let mut events = t.events();
    for (ask, changes) in [
        (
            json!({"description": "builds"}),
            vec![("description", "builds")],
        ),
        (
            json!({"responseMode": "silent"}),
            vec![("responseMode", "silent")],
        ),
        (
            json!({"permissionMode": "plan", "model": "m"}),
            vec![("permissionMode", "plan"), ("model", "m")],
        ),
        (
            json!({"permissionMode": "accept-edits", "acknowledgedAutonomy": true}),
            vec![("permissionMode", "accept-edits")],
        ),
    ] {
        t.advance(60);
        for (field, value) in changes {
            row[field] = value.into();
        }
        let changed = owner.patch(&path, ask.clone()).await.ok(200);
        assert_ne!(changed["updatedAt"], row["updatedAt"]);
        row["updatedAt"] = changed["updatedAt"].clone();
        assert_eq!(changed, row, "{ask}");
        assert_eq!(events.next("agent_updated")["agent"], row);
        assert_eq!(
            owner.patch(&path, ask).await.ok(200),
            row,
            "again changes nothing"
        );
        events.none();
    }
    // Neither the folder nor the runtime moves, and what is unknown is ignored.
    let fixed = json!({"cwd": "/", "runtime": "codex", "state": "retired", "id": "x"});
    assert_eq!(owner.patch(&path, fixed).await.ok(200), row);
    events.none();
    t.advance(1);
    let renamed = owner.patch(&path, json!({"name": "Ada L."})).await.ok(200);
    assert_eq!(
        (&renamed["name"], &renamed["handle"]),
        (&json!("Ada L."), &json!("ada"))
    );
    events.all();

    let before = t.rows();
    for (path, ask, status, code) in [
        (
            "/api/agents/x",
            json!({"name": ""}),
            400,
            "VALIDATION_FAILED",
        ),
        (
            "/api/agents/x",
            json!({"name": "fine"}),
            404,
            "AGENT_NOT_FOUND",
        ),
        (
            &path,
            json!({"permissionMode": "none"}),
            400,
            "UNSUPPORTED_PERMISSION_MODE",
        ),
    ] {
        owner.patch(path, ask).await.refused(status, code);
    }
    owner
        .patch(&path, json!({"permissionMode": "default"}))
        .await
        .ok(200);
    let ask = json!({"permissionMode": "autopilot", "name": "x"});
    let details = owner
        .patch(&path, ask)
        .await
        .refused(428, "AUTONOMY_NOT_ACKNOWLEDGED");
    assert_eq!(details, json!({"mode": "autopilot"}));
    owner
        .patch(
            &path,
            json!({"permissionMode": "autopilot", "acknowledgedAutonomy": true}),
        )
        .await
        .ok(200);
    let rows = |rows: String| {
        rows.lines()
            .filter(|row| row.starts_with("agents\t"))
            .count()
    };
    assert_eq!(rows(t.rows()), rows(before));
}

#[tokio::test]
async fn an_agent_sees_its_own_row_and_no_other() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let all = t.owner().get("/api/agents").await.ok(200);
    assert_eq!(
        column(&all["agents"], "id"),
        [ada.agent(), bob.agent()],
        "as registered"
    );
    for own in [&ada, &bob] {
        let seen = own.get("/api/agents?includeRetired=true").await.ok(200);
        assert_eq!(column(&seen["agents"], "id"), [own.agent()]);
        agent(own, own.agent()).await;
    }
    let other = format!("/api/agents/{}", bob.agent());
    ada.get(&other).await.refused(404, "AGENT_NOT_FOUND");
    for (method, rest) in [
        ("PATCH", ""),
        ("DELETE", ""),
        ("GET", "/tokens"),
        ("POST", "/tokens"),
        ("DELETE", "/tokens/x"),
    ] {
        for id in [ada.agent(), bob.agent(), "x"] {
            let path = format!("/api/agents/{id}{rest}");
            let ask = ada
                .ask(method, &path)
                .header("content-type", "application/json")
                .body("{{");
            ask.send().await.refused(403, "OWNER_ONLY");
        }
    }
}

#[tokio::test]
async fn an_agent_may_ask_for_240_changes_a_minute_and_reads_as_it_likes() {
    let t = TestHall::open().await;
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let team = t.team().await;
    let path = format!("/api/rooms/{team}/signals");
    let typing = json!({"kind": "typing", "on": true});
    let mut asked = 0;
    let refused = loop {
        let answer = ada.post(&path, typing.clone()).await;
        if answer.status != 204 {
            break answer;
        }
        asked += 1;
        assert!(asked < 2_000, "there is a limit");
    };
    // The bucket refills while the test runs, so there is a little more than 240.
    assert!(asked >= 240, "{asked}");
    assert_eq!(refused.header("retry-after"), "1");
    refused.refused(429, "RATE_LIMITED");
    ada.get("/api/rooms").await.ok(200);
    bob.post(&path, typing.clone()).await.ok(204);
    t.owner().post(&path, typing).await.ok(204);
    // A gate comes before the limit, so a refusal of the gate stays one.
    ada.patch(&ada.handle_url(), json!({}))
        .await
        .refused(403, "HUMANS_ONLY");
}

//! Checking that a workspace which was furnished earlier is still all there: read, replayed,
//! unsealed, and gone on with.

use std::{fs, path::Path};

use guildhall_domain::callers::AuthMode;
use guildhall_testkit::{HallOptions, PASSWORD, TestHall, soon};
use serde_json::{Value, json};

use super::{
    facts::{self, Facts},
    furnish::come_back,
    reading, secrets,
    services::{CLIENT_SECRET, HEADER, KEY, ROOT, Services, VARIABLE},
};
use crate::{
    cloud_service_stub,
    connector_fixtures::RUN,
    mcp_servers::{ask, at},
    signin_server_stub::{RecordedRequest, SigninServerStub},
    test_values::{list, text},
    turns::look,
};

/// Seconds after which access tokens are renewed.
const TOKENS_OLD_S: i64 = 3_541;

/// Opens a copy of the fixture, which migrates it, and demands everything that was furnished.
pub(super) async fn check(fixture: &Path, services: &Services) {
    let facts = Facts::of(fixture);
    let mut t = open(fixture, &facts, services).await;
    secrets::check(&t.database(), &t.data_dir());
    reads(&t, &facts).await;
    served_folder(&t, &facts).await;
    replays(&t, &facts).await;
    repeats(&t, &facts).await;
    backups(&t).await;
    people(&t).await;
    tool_servers(&t, &facts, services).await;
    connectors(&t, &facts, services).await;
    sign_ins(&t, &facts, services).await;
    approvals(&t, &facts).await;
    asks(&t, &facts).await;
    turns(&t, &facts).await;
    cloud(&mut t, services).await;
    typed_code(&t, &facts, services).await;
    renewed_tokens(&t, &facts, services).await;
    trusted_browser(&mut t, &facts, services).await;
    t.close().await;
}

/// A hall on a copy of the fixture's data folder, at the moment it was left.
pub(super) async fn open(fixture: &Path, facts: &Facts, services: &Services) -> TestHall {
    let owner = (facts.owner.author.clone(), facts.owner.cookie.clone());
    let options = services.options(&services.cloud);
    let packed = facts::packed(fixture);
    let t = TestHall::open_packed(&packed, facts.now(), owner, options).await;
    services.install_agent(&t);
    // What these services gave out before.
    for n in 1..=2 {
        services.sign_in.takes_token(&format!("canary-access-{n}"));
    }
    t
}

async fn reads(t: &TestHall, facts: &Facts) {
    for read in &facts.reads {
        let answer = facts.caller(t, &read.by).get(&read.path).await;
        let now = facts::body(&answer);
        let is_same = answer.status == read.status && holds(&parsed(&now), &parsed(&read.body));
        assert!(
            is_same,
            "{} reads {}: {} {now}\nthen: {} {}",
            read.by, read.path, answer.status, read.status, read.body
        );
    }
}

fn parsed(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| json!(body))
}

/// Whether an answer of now has all of one of then, in the same places. Fields may be added to
/// the interface, and settings to their list.
fn holds(now: &Value, then: &Value) -> bool {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => then
            .iter()
            .all(|(name, then)| now.get(name).is_some_and(|now| holds(now, then))),
        (Value::Array(now), Value::Array(then))
            if then.first().is_some_and(|one| one["key"].is_string()) =>
        {
            then.iter()
                .all(|then| now.iter().any(|now| holds(now, then)))
        }
        (Value::Array(now), Value::Array(then)) => {
            now.len() == then.len() && now.iter().zip(then).all(|(now, then)| holds(now, then))
        }
        _ => now == then,
    }
}

/// An address that was signed is still known, although its folder may be another one by now.
async fn served_folder(t: &TestHall, facts: &Facts) {
    let site = facts.id("site");
    let answer = t.nobody().get(site).await;
    let is_other = answer.body["code"] == "OUTSIDE_BOUNDARY";
    assert!(
        is_other || answer.text() == "<h1>Release</h1>",
        "{}: {}",
        answer.asked,
        answer.text()
    );
    let changed = t
        .nobody()
        .get(&site.replace("v4.local.", "v4.local.A"))
        .await;
    assert_ne!(
        changed.body["code"],
        "OUTSIDE_BOUNDARY",
        "{}",
        changed.text()
    );
}

async fn replays(t: &TestHall, facts: &Facts) {
    for then in &facts.replays {
        let by = facts.caller(t, &then.by);
        let now = reading::replay(t, &by, &then.path, then.until).await;
        for (now, then) in now.lines().zip(then.body.lines()) {
            assert_eq!(now, then);
        }
        assert_eq!(now, then.body, "{} is replayed {}", then.by, then.path);
    }
}

async fn repeats(t: &TestHall, facts: &Facts) {
    let mut events = t.events();
    for keyed in &facts.keyed {
        let ask = facts.caller(t, &keyed.by).ask(&keyed.method, &keyed.path);
        let ask = ask.header("idempotency-key", &keyed.key);
        let answer = ask.json(&keyed.request).send().await;
        let now = (answer.status, answer.text());
        let then = (keyed.status, keyed.body.clone());
        assert_eq!(now, then, "{} under the key {}", answer.asked, keyed.key);
    }
    events.none();
}

async fn backups(t: &TestHall) {
    let listed = t.owner().get("/api/backups").await.ok(200);
    let kept = list(&listed["backups"]);
    assert!(!kept.is_empty(), "a backup is kept");
    for backup in kept {
        let path = format!("/api/backups/{}/verify", text(&backup["id"]));
        let verified = t.owner().ask("POST", &path).send().await.ok(200);
        assert_eq!(verified["isWhole"], true, "{verified}");
    }
}

async fn people(t: &TestHall) {
    for email in ["owner@example.org", "pia@example.org"] {
        let again = t.sign_in(email, PASSWORD).await;
        again.get("/api/rooms").await.ok(200);
    }
}

/// The last request of a place.
fn last(place: &SigninServerStub, what: &str) -> RecordedRequest {
    let asked = place.asked_of(what).pop();
    asked.unwrap_or_else(|| panic!("nobody asked {what}"))
}

async fn tool_servers(t: &TestHall, facts: &Facts, services: &Services) {
    let (owner, ada) = (t.owner(), facts.caller(t, "ada"));
    for name in ["program", "header", "web"] {
        let path = format!("{}/{name}/test", at(&ada));
        let tested = owner.post(&path, json!({})).await.ok(200);
        assert_eq!(tested["ok"], true, "{name}: {tested}");
    }
    let heard = fs::read_to_string(format!("{ROOT}/tools/heard")).unwrap();
    assert_eq!(heard, VARIABLE);
    let shown = |place: &SigninServerStub| last(place, "POST /mcp").authorization;
    assert_eq!(shown(&services.tools), format!("Bearer {HEADER}"));
    assert_eq!(shown(&services.sign_in), "Bearer canary-access-1");
}

/// Runs an operation with an account; answers what its service was asked.
async fn run(t: &TestHall, facts: &Facts, services: &Services, name: &str) -> RecordedRequest {
    let body = json!({"agentId": facts.agents["ada"].id, "arguments": {},
        "connectionId": facts.id(&format!("{name} account")),
        "operationRevisionId": facts.id(&format!("{name} operation"))});
    let ran = t.owner().post(RUN, body).await.ok(200);
    assert_eq!(ran["result"]["status"], "success", "{ran}");
    last(&services.sign_in, "GET /notes")
}

async fn connectors(t: &TestHall, facts: &Facts, services: &Services) {
    assert_eq!(run(t, facts, services, "keyed").await.key, KEY);
    let asked = run(t, facts, services, "signed-in").await;
    assert_eq!(asked.authorization, "Bearer canary-access-2");
}

/// Who was sent away before comes back.
async fn sign_ins(t: &TestHall, facts: &Facts, services: &Services) {
    let (owner, bob) = (t.owner(), facts.caller(t, "bob"));
    let flow = format!(
        "/api/connectors/authentication-flows/{}",
        facts.id("connector flow")
    );
    let of_server = format!("{}/web/signin/{}", at(&bob), facts.id("sign-in"));
    for (name, path, member, state, client) in [
        (
            "tool server",
            of_server,
            "status",
            "connected",
            format!("client_secret={CLIENT_SECRET}"),
        ),
        (
            "connector",
            flow,
            "state",
            "connected",
            "client_id=registered-client".to_owned(),
        ),
    ] {
        come_back(t, &facts.sent_away[name]).await;
        let over = owner.get(&path).await.ok(200);
        assert_eq!(over[member], state, "{name}: {over}");
        let body = last(&services.sign_in, "POST /token").body;
        for part in ["code=good", "code_verifier=", &client] {
            assert!(body.contains(part), "{name}: {part} in {body}");
        }
    }
}

async fn digest(t: &TestHall, approval: &str) -> Value {
    let path = format!("/api/approvals/{approval}");
    let shown = t.owner().get(&path).await.ok(200);
    assert_eq!(shown["state"], "pending", "{shown}");
    json!({"digest": shown["digest"]})
}

async fn decide(t: &TestHall, approval: &str, verb: &str, body: Value) {
    let path = format!("/api/approvals/{approval}/{verb}");
    t.owner().post(&path, body).await.ok(200);
}

/// What waits for a person is decided, and what was allowed is done.
async fn approvals(t: &TestHall, facts: &Facts) {
    for gated in &facts.gated {
        let card = digest(t, &gated.approval).await;
        decide(t, &gated.approval, "grant", card).await;
        let ask = facts.caller(t, &gated.by).ask("POST", &gated.path);
        let ask = ask.header("x-service-approval", &gated.token);
        let done = ask.header("prefer", "wait=0").json(&gated.request);
        done.send().await.ok(200);
    }
    let bob = facts.caller(t, "bob");
    let card = digest(t, facts.id("repin")).await;
    decide(t, facts.id("repin"), "grant", card).await;
    let path = format!("{}/changed", at(&bob));
    let changed = t.owner().get(&path).await.ok(200);
    assert_eq!(changed["approvalId"], Value::Null, "{changed}");
    digest(t, facts.id("access")).await;
    decide(t, facts.id("access"), "deny", json!({"reason": "not now"})).await;
    // New ones are asked for and allowed as before.
    let missing = json!({"transport": "stdio", "command": "/nonexistent/tool"});
    let owner = t.owner();
    let added = owner.post_approved(&at(&bob), ask("new", &missing)).await;
    added.ok(200);
}

/// What a session's agent asked is decided: it is told, and a yes counts for the same call again.
async fn asks(t: &TestHall, facts: &Facts) {
    let owner = t.owner();
    let session = format!("/api/sessions/{}", facts.id("asking session"));
    let waiting = t.pending().await;
    let of_kind = |kind: &str| {
        let mut found = waiting.iter().filter(|it| it["kind"] == kind);
        found
            .next()
            .unwrap_or_else(|| panic!("no {kind} in {waiting:?}"))
    };
    let (call, question) = (of_kind("tool_call"), of_kind("question"));
    let yes = json!({"toolCallId": call["toolCallId"], "digest": call["digest"]});
    owner.post(&format!("{session}/approve"), yes).await.ok(200);
    let answers = json!({"toolCallId": question["id"], "digest": question["digest"],
        "answers": {"way": "left", "steps": "3"}});
    let path = format!("{session}/submit-answers");
    owner.post(&path, answers).await.ok(200);
    let path = format!("{session}/messages");
    owner.post(&path, json!({"content": "#ask"})).await.ok(202);
    let path = format!("/api/approvals/{}", text(&call["id"]));
    let used = async { while owner.get(&path).await.ok(200)["state"] != "consumed" {} };
    soon("the use of a yes", used).await;
}

/// A turn that was to start goes on.
async fn turns(t: &TestHall, facts: &Facts) {
    let path = format!(
        "/api/rooms/{}/turns/{}",
        facts.id("turn room"),
        facts.id("turn")
    );
    t.advance(1);
    look(t).await;
    let over = async {
        loop {
            let turn = t.owner().get(&path).await.ok(200);
            if !turn["endedAt"].is_null() {
                return turn;
            }
        }
    };
    let over = soon("the end of a turn", over).await;
    assert!(over["replyEntryId"].is_string(), "{over}");
}

/// The key of the one service is shown to it, and the other one is asked on about its code.
async fn cloud(t: &mut TestHall, services: &Services) {
    let path = "/api/cloud/link/check";
    t.owner().post(path, json!({})).await.ok(200);
    assert_eq!(cloud_service_stub::link(t).await["state"], "linked");
    t.restart_with(services.options(&services.other_cloud))
        .await;
    services
        .other_cloud
        .says(cloud_service_stub::DeviceCodeReply::Key);
    let is_linked = async || cloud_service_stub::link(t).await["state"] == "linked";
    within_a_minute(t, "a link", is_linked).await;
    let asked = services.other_cloud.last("/oauth/token");
    assert!(asked.contains(cloud_service_stub::DEVICE_CODE), "{asked}");
    t.restart_with(services.options(&services.cloud)).await;
}

/// Lets a minute go by at most, second by second, until something is so; whatever became due in it
/// needs no more time to happen.
async fn within_a_minute(t: &TestHall, what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..60 {
        t.advance(1);
        if is_so().await {
            return;
        }
    }
    soon(what, async { while !is_so().await {} }).await;
}

/// A code is typed elsewhere at last.
async fn typed_code(t: &TestHall, facts: &Facts, services: &Services) {
    let path = format!(
        "/api/connectors/authentication-flows/{}",
        facts.id("device flow")
    );
    let token = json!({"access_token": "canary-typed", "token_type": "bearer"});
    services.sign_in.answers("/device-token", 200, token);
    let is_over = async || t.owner().get(&path).await.ok(200)["state"] != "pending";
    within_a_minute(t, "the end of a sign-in", is_over).await;
    let over = t.owner().get(&path).await.ok(200);
    assert_eq!(over["state"], "connected", "{over}");
    let asked = last(&services.sign_in, "POST /device-token").body;
    assert!(asked.contains("device_code=canary-device-code"), "{asked}");
}

/// Tokens that are too old are renewed with the ones that came with them.
async fn renewed_tokens(t: &TestHall, facts: &Facts, services: &Services) {
    t.advance(TOKENS_OLD_S);
    let path = format!("{}/web/test", at(&facts.caller(t, "ada")));
    let tested = t.owner().post(&path, json!({})).await.ok(200);
    assert_eq!(tested["ok"], true, "{tested}");
    run(t, facts, services, "signed-in").await;
    let asked = services.sign_in.asked_of("POST /token");
    for n in 1..=2 {
        let shown = format!("refresh_token=canary-refresh-{n}");
        let is_shown = asked.iter().any(|it| it.body.contains(&shown));
        assert!(is_shown, "{shown} in {asked:?}");
    }
    let is_client = |it: &RecordedRequest| {
        it.body.contains("refresh_token=canary-refresh-2") && it.body.contains(CLIENT_SECRET)
            || it.authorization.starts_with("Basic ")
    };
    assert!(asked.iter().any(is_client), "{asked:?}");
}

async fn trusted_browser(t: &mut TestHall, facts: &Facts, services: &Services) {
    let local = HallOptions {
        mode: AuthMode::Local,
        ..services.options(&services.cloud)
    };
    t.restart_with(local).await;
    let cookie = format!("guildhall_trusted_{}={}", t.port(), facts.trusted_browser);
    let settled = t.in_doubt().with("cookie", &cookie);
    settled.get("/api/rooms").await.ok(200);
}

//! Agents known by their processes, and connections nobody can be sure of.
//! Source: contract 1.4, rows 1 and 1b, "in doubt".

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

async fn who(by: &TestCaller) -> Value {
    by.get("/api/auth/whoami").await.ok(200)["caller"].clone()
}

fn agent(author: &TestCaller, name: &str, credential: &str) -> Value {
    json!({"kind": "agent", "authorId": author.author(), "displayName": name,
        "credential": credential})
}

#[tokio::test]
async fn a_process_of_an_agent_is_that_agent_whatever_it_leaves_out() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let process = t.process_of(&ada);
    let expected = agent(&ada, "ada", "process");
    assert_eq!(who(&process).await, expected);
    let whoami = process.get("/api/auth/whoami").await.ok(200);
    assert_eq!(whoami["ownerHere"], false);

    let key = t.key(&t.owner(), "laptop").await;
    assert_eq!(who(&process.clone().with_key(&key)).await, expected);
    let owners = json!({"name": "eve", "cwd": t.folder("eve")});
    process
        .post("/api/agents", owners)
        .await
        .refused(403, "OWNER_ONLY");
    let keys = process
        .post("/api/auth/keys", json!({"label": "mine"}))
        .await;
    keys.refused(403, "HUMANS_ONLY");
    t.say(&process, &t.team().await, "hello").await;
}

#[tokio::test]
async fn a_cookie_makes_no_person_of_an_agents_process() {
    let t = TestHall::open_login().await;
    let ada = t.agent("ada").await;
    let process = t.process_of(&ada);
    let cookie = format!("guildhall_{}={}", t.port(), t.owner().cookie());
    let dressed = process.with("cookie", &cookie);
    assert_eq!(who(&dressed).await, agent(&ada, "ada", "process"));
}

#[tokio::test]
async fn a_header_shown_by_a_process_names_its_own_agent_or_nobody() {
    let t = TestHall::open().await;
    let (ada, eve) = (t.agent("ada").await, t.agent("eve").await);
    let process = t.process_of(&ada);
    let own = process.clone().with_agent_token(ada.token());
    assert_eq!(who(&own).await, agent(&ada, "ada", "agent-token"));
    let bearer = format!("Bearer {}", eve.token());
    for (what, borrowed) in [
        ("another's", process.clone().with_agent_token(eve.token())),
        (
            "another's, for MCP",
            process.clone().with("authorization", &bearer),
        ),
        ("an unknown one", process.clone().with_agent_token("gha_x")),
        ("an empty one", process.clone().with("x-service-agent", "")),
    ] {
        assert_eq!(who(&borrowed).await, Value::Null, "{what}");
        let refused = borrowed.get("/api/rooms").await;
        refused.refused(401, "AGENT_IDENTITY_UNVERIFIED");
    }
}

#[tokio::test]
async fn a_process_of_a_retired_agent_is_nobody() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let process = t.process_of(&ada);
    process.get("/api/rooms").await.ok(200);
    t.owner()
        .delete(&format!("/api/agents/{}", ada.agent()))
        .await
        .ok(200);
    process
        .get("/api/rooms")
        .await
        .refused(401, "AGENT_IDENTITY_UNVERIFIED");
    assert_eq!(who(&process).await, Value::Null);
}

#[tokio::test]
async fn a_process_below_the_server_without_an_agent_is_nobody() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    for stray in [t.stray(), t.stray().with_agent_token(ada.token())] {
        assert_eq!(who(&stray).await, Value::Null);
        let refused = stray.get("/api/rooms").await;
        refused.refused(401, "AGENT_IDENTITY_UNVERIFIED");
        stray.get("/api/health").await.ok(200);
    }
}

#[tokio::test]
async fn a_connection_in_doubt_is_nobody_whatever_it_shows() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let key = t.key(&t.owner(), "backup").await;
    let key = format!("Bearer {key}");
    for doubtful in [
        t.in_doubt(),
        t.in_doubt().with_agent_token(ada.token()),
        t.in_doubt().with("authorization", &key),
        t.in_doubt().with("cookie", "guildhall_trusted_1=x"),
    ] {
        assert_eq!(who(&doubtful).await, Value::Null);
        let refused = doubtful.get("/api/rooms").await;
        assert!(refused.text().contains("guildhall open"), "what helps");
        refused.refused(401, "CALLER_IN_DOUBT");
        doubtful.get("/api/health").await.ok(200);
    }
}

#[tokio::test]
async fn nobody_in_doubt_and_no_agent_signs_in_or_registers() {
    let t = TestHall::open_login().await;
    let ada = t.agent("ada").await;
    for path in ["/api/auth/login", "/api/auth/register"] {
        for (by, code) in [
            (t.in_doubt(), "CALLER_IN_DOUBT"),
            (t.process_of(&ada), "AGENT_IDENTITY_UNVERIFIED"),
            (t.stray(), "AGENT_IDENTITY_UNVERIFIED"),
        ] {
            by.post(path, json!({})).await.refused(401, code);
        }
    }
}

/// The cookie of an address that the owner makes beyond doubt, and that is opened once.
#[tokio::test]
async fn an_address_that_the_owner_made_settles_the_doubt_once() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let make = || async {
        let link = owner.post("/api/auth/open", json!({})).await.ok(201);
        link["path"].as_str().unwrap().to_owned()
    };
    t.in_doubt()
        .post("/api/auth/open", json!({}))
        .await
        .refused(401, "CALLER_IN_DOUBT");
    let path = make().await;
    let opened = t.in_doubt().get(&path).await;
    assert_eq!((opened.status, opened.header("location")), (303, "/"));
    let cookie = opened.header("set-cookie").split(';').next().unwrap();
    let settled = t.in_doubt().with("cookie", cookie);
    assert_eq!(who(&settled).await["kind"], "owner");
    settled.get("/api/rooms").await.ok(200);
    // Opened already.
    t.in_doubt().get(&path).await.refused(401, "TOKEN_EXPIRED");
    let late = make().await;
    t.advance(5 * 60);
    t.in_doubt().get(&late).await.refused(401, "TOKEN_EXPIRED");
    // It says nothing else: another user stays another user, and an agent an agent.
    let ada = t.agent("ada").await;
    let agent = t.process_of(&ada).with("cookie", cookie);
    assert_eq!(who(&agent).await["kind"], "agent");
    let stranger = t.stranger().with("cookie", cookie);
    stranger
        .get("/api/rooms")
        .await
        .refused(401, "NOT_THE_OWNER");
    owner.delete("/api/auth/open").await.ok(204);
    settled
        .get("/api/rooms")
        .await
        .refused(401, "CALLER_IN_DOUBT");
}

#[tokio::test]
async fn a_person_reads_on_a_page_why_a_link_does_not_count() {
    let t = TestHall::open().await;
    let link = t.owner().post("/api/auth/open", json!({})).await.ok(201);
    let path = link["path"].as_str().unwrap();
    let accept = "text/html,application/xhtml+xml,*/*;q=0.8";
    let browser = t.in_doubt().with("accept", accept);
    assert_eq!(browser.get(path).await.status, 303);
    let used = browser.get(path).await;
    assert_eq!(used.status, 401);
    assert_eq!(used.header("content-type"), "text/html; charset=utf-8");
    let text = used.text();
    for part in [
        "was opened already",
        "<code>guildhall open</code>",
        "href=\"/\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Programs are told as everywhere.
    t.in_doubt().get(path).await.refused(401, "TOKEN_EXPIRED");
    // And whoever is in doubt at another page of ours is told what settles it.
    let doubtful = browser.get("/api/oauth/start/x").await;
    assert_eq!(doubtful.status, 401);
    assert!(doubtful.text().contains("<code>guildhall open</code>"));
}

/// Such as one that a tool server made a guildhall send, by naming this server as its sign-in's.
#[tokio::test]
async fn what_a_guildhall_sends_makes_nobody_the_owner() {
    let t = TestHall::open().await;
    let sent = |caller: TestCaller| caller.with("guildhall-outgoing", "1");
    let owner = sent(t.owner());
    assert_eq!(who(&owner).await, Value::Null);
    owner.get("/api/rooms").await.refused(401, "NOT_THE_OWNER");
    let ada = t.agent("ada").await;
    assert_eq!(who(&sent(t.process_of(&ada))).await["kind"], "agent");
    let key = t.key(&t.owner(), "of another guildhall").await;
    let program = sent(t.nobody()).with("authorization", &format!("Bearer {key}"));
    assert_eq!(who(&program).await["kind"], "owner");
}

/// The mark is a header that anybody can send: who is nobody without it is nobody with it.
#[tokio::test]
async fn the_mark_of_a_server_makes_nobody_somebody() {
    let t = TestHall::open().await;
    let (ada, key) = (t.agent("ada").await, t.key(&t.owner(), "stolen").await);
    let key = format!("Bearer {key}");
    let link = t.owner().post("/api/auth/open", json!({})).await.ok(201);
    let opened = t.in_doubt().get(link["path"].as_str().unwrap()).await;
    let trusted = opened.header("set-cookie").split(';').next().unwrap();
    for nobody in [t.in_doubt(), t.unknown_socket_caller()] {
        let marked = nobody.with("guildhall-outgoing", "1");
        for shown in [
            marked.clone(),
            marked.clone().with("authorization", &key),
            marked.clone().with("cookie", trusted),
            marked.with_agent_token(ada.token()),
        ] {
            assert_eq!(who(&shown).await, Value::Null);
            shown.get("/api/rooms").await.refused(401, "NOT_THE_OWNER");
        }
    }
}

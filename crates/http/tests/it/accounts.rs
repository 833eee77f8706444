//! Accounts: the first one, further ones and their end. Source: contract 1.4.

use std::os::unix::fs::PermissionsExt;

use guildhall_domain::callers::AuthMode;
use guildhall_testkit::{HallOptions, LOCAL_TOKEN, PASSWORD, TestCaller, TestHall, TestResponse};
use serde_json::{Value, json};

use crate::test_values::{column, list, text, wrong_fields};

fn registration(code: &str) -> Value {
    json!({"email": " Ada@Example.org ", "password": PASSWORD, "displayName": " Ada ",
        "setupCode": code})
}

async fn register(by: &TestCaller, ask: Value) -> TestResponse {
    by.post("/api/auth/register", ask).await
}

/// The owner's programs at this computer, in mode `login`.
fn local_program(t: &TestHall) -> TestCaller {
    let here = t.owner().on_loopback();
    here.with("authorization", &format!("Bearer {LOCAL_TOKEN}"))
}

#[tokio::test]
async fn before_the_first_account_nobody_is_anybody_and_the_door_says_what_to_do() {
    let t = TestHall::open_without_owner().await;
    let health = t.nobody().get("/api/health").await.ok(200);
    assert_eq!(
        (&health["mode"], &health["setupRequired"]),
        (&json!("login"), &json!(true))
    );
    let nobody = json!({"mode": "login", "caller": null, "ownerHere": false,
        "registrationOpen": true});
    for caller in [t.nobody(), t.owner(), t.stranger(), local_program(&t)] {
        assert_eq!(caller.get("/api/auth/whoami").await.ok(200), nobody);
        for path in [
            "/api/rooms",
            "/api/auth/accounts",
            "/api/auth/keys",
            "/api/events",
        ] {
            caller.get(path).await.refused(401, "SETUP_REQUIRED");
        }
    }
    let file = t.scratch().join("data").join("setup-code");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert_eq!(t.setup_code().len(), 26);
    // The house has its room and its own author, and no people.
    assert!(!t.rows().contains("members\t"));
}

#[tokio::test]
async fn the_first_account_is_the_owners_and_closes_the_door_behind_itself() {
    let t = TestHall::open_without_owner().await;
    let code = t.setup_code();
    let mut events = t.events();
    // As people copy it: in small letters and groups.
    let written = format!("{}-{} ", code[..13].to_lowercase(), &code[13..]);
    let answer = register(&t.nobody(), registration(&written)).await;
    let port = t.port();
    let cookie = answer.header("set-cookie").to_owned();
    let value = cookie.strip_prefix(&format!("guildhall_{port}=")).unwrap();
    let (value, attributes) = value.split_once("; ").unwrap();
    assert_eq!(
        attributes,
        "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict"
    );
    assert_eq!(value.len(), 43);
    let account = answer.ok(201);
    let expected = json!({"id": account["id"], "email": "ada@example.org", "displayName": "Ada",
        "role": "owner", "authorId": account["authorId"],
        "createdAt": "2026-09-21T14:13:20.000Z"});
    assert_eq!(account, expected);
    assert_eq!(
        events.names(),
        ["author_updated", "room_member_added", "account_created"]
    );

    let owner = t
        .nobody()
        .with("cookie", &format!("guildhall_{port}={value}"));
    let who = owner.get("/api/auth/whoami").await.ok(200);
    let expected = json!({"mode": "login", "ownerHere": false, "registrationOpen": false,
        "caller": {"kind": "owner", "authorId": account["authorId"], "displayName": "Ada",
            "credential": "cookie"}});
    assert_eq!(who, expected);
    let listed = owner.get("/api/auth/accounts").await.ok(200);
    assert_eq!(listed, json!({"accounts": [account], "nextCursor": null}));
    let rooms = owner.get("/api/rooms").await.ok(200);
    let team = text(&rooms["rooms"][0]["id"]);
    let detail = owner.get(&format!("/api/rooms/{team}")).await.ok(200);
    assert_eq!(detail["viewerIsOwner"], true);
    assert_eq!(
        column(&detail["members"], "authorId"),
        [text(&account["authorId"])]
    );
    assert!(!t.scratch().join("data").join("setup-code").exists());

    let rows = t.rows();
    for code in [code.as_str(), "wrong"] {
        let again = register(&t.nobody(), registration(code)).await;
        again.refused(403, "REGISTRATION_CLOSED");
    }
    assert_eq!(t.rows(), rows);
    events.none();
}

#[tokio::test]
async fn a_registration_is_refused_in_order_and_changes_nothing() {
    let mut t = TestHall::open_without_owner().await;
    let before = t.rows();
    let bad = json!({"email": "ada", "password": "short", "displayName": "", "setupCode": ""});
    let details = register(&t.nobody(), bad)
        .await
        .refused(400, "VALIDATION_FAILED");
    assert_eq!(
        wrong_fields(&details),
        ["displayName", "email", "password", "setupCode"]
    );
    let details = register(&t.nobody(), json!({}))
        .await
        .refused(400, "VALIDATION_FAILED");
    assert_eq!(
        wrong_fields(&details),
        ["displayName", "email", "password", "setupCode"]
    );
    // Only wrong codes count, and only of their address.
    for _ in 0..10 {
        let wrong = register(&t.nobody(), registration("WRONG")).await;
        wrong.refused(403, "SETUP_CODE_WRONG");
    }
    let code = t.setup_code();
    let closed = register(&t.nobody(), registration(&code)).await;
    assert_eq!(closed.header("retry-after"), "900");
    closed.refused(429, "RATE_LIMITED");
    let elsewhere = register(&t.stranger(), registration("WRONG")).await;
    elsewhere.refused(403, "SETUP_CODE_WRONG");
    assert_eq!(t.rows(), before);
    t.advance(900);
    let old = code;
    t.restart().await;
    let code = t.setup_code();
    assert_ne!(code, old, "each start has its own code");
    let with_old = register(&t.nobody(), registration(&old)).await;
    with_old.refused(403, "SETUP_CODE_WRONG");
    register(&t.nobody(), registration(&code)).await.ok(201);
    t.restart().await;
    assert!(!t.scratch().join("data").join("setup-code").exists());
}

#[tokio::test]
async fn the_first_account_takes_over_the_owner_of_mode_local_and_gives_it_back() {
    let mut t = TestHall::open().await;
    let local = t.owner();
    local
        .patch(&local.handle_url(), json!({"handle": "boss"}))
        .await
        .ok(200);
    let key = t.key(&local, "script").await;
    let login = HallOptions {
        mode: AuthMode::Login,
        ..HallOptions::default()
    };
    t.restart_with(login).await;
    let script = t.nobody().with_key(&key);
    script.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
    local.get("/api/rooms").await.refused(401, "SETUP_REQUIRED");
    let mut events = t.events();
    let account = register(&t.nobody(), registration(&t.setup_code()))
        .await
        .ok(201);
    assert_eq!(
        (&account["authorId"], &account["role"]),
        (&json!(local.author()), &json!("owner"))
    );
    assert_eq!(events.names(), ["author_updated", "account_created"]);
    let me = script.get("/api/rooms/authors/me").await.ok(200);
    assert_eq!(
        (&me["displayName"], &me["handle"]),
        (&json!("Ada"), &json!("boss"))
    );
    local.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
    t.restart_with(HallOptions::default()).await;
    let me = local.get("/api/rooms/authors/me").await.ok(200);
    assert_eq!(
        (&me["id"], &me["handle"]),
        (&json!(local.author()), &json!("boss"))
    );
    script.get("/api/auth/whoami").await.ok(200);
}

#[tokio::test]
async fn an_installation_that_began_with_accounts_has_an_owner_in_mode_local_too() {
    let mut t = TestHall::open_without_owner().await;
    t.restart_with(HallOptions::default()).await;
    let who = t.owner().get("/api/auth/whoami").await.ok(200);
    assert_eq!(who["caller"]["kind"], "owner");
    let rooms = t.owner().get("/api/rooms").await.ok(200);
    assert_eq!(rooms["rooms"][0]["unreadCount"], 0, "a member of team");
}

#[tokio::test]
async fn whoever_is_invited_chooses_a_password_before_anything_else() {
    let t = TestHall::open_login().await;
    let owner = t.owner();
    let ask = json!({"email": "Bob@example.org", "displayName": "Bob"});
    let mut events = t.events();
    let made = owner.post("/api/auth/accounts", ask.clone()).await.ok(201);
    let account = &made["account"];
    let expected = json!({"id": account["id"], "email": "bob@example.org", "displayName": "Bob",
        "role": "person", "authorId": account["authorId"],
        "createdAt": "2026-09-21T14:13:20.000Z"});
    assert_eq!(account, &expected);
    assert_eq!(
        events.names(),
        ["author_updated", "room_member_added", "account_created"]
    );
    owner
        .post("/api/auth/accounts", ask)
        .await
        .refused(409, "EMAIL_TAKEN");

    let invitation = text(&made["invitePassword"]);
    assert!(invitation.len() >= 20, "{invitation}");
    let bob = t.sign_in("bob@example.org", &invitation).await;
    let who = bob.get("/api/auth/whoami").await.ok(200);
    assert_eq!(who["caller"]["kind"], "person");
    for path in [
        "/api/rooms",
        "/api/events",
        "/api/auth/keys",
        "/api/rooms/authors/me",
    ] {
        bob.get(path).await.refused(403, "PASSWORD_CHANGE_REQUIRED");
    }
    let typing = json!({"kind": "typing", "on": true});
    let signals = format!("/api/rooms/{}/signals", t.team().await);
    bob.post(&signals, typing)
        .await
        .refused(403, "PASSWORD_CHANGE_REQUIRED");
    bob.get("/api/auth/accounts")
        .await
        .refused(403, "OWNER_ONLY");
    bob.post("/api/auth/logout", json!({})).await.ok(204);
    let bob = t.sign_in("bob@example.org", &invitation).await;
    let same = json!({"current": invitation, "next": invitation});
    let details = bob
        .post("/api/auth/password", same)
        .await
        .refused(400, "VALIDATION_FAILED");
    assert_eq!(wrong_fields(&details), ["next"]);
    let change = json!({"current": invitation, "next": PASSWORD});
    bob.post("/api/auth/password", change).await.ok(204);
    bob.get("/api/rooms").await.ok(200);
    t.sign_in("bob@example.org", PASSWORD)
        .await
        .get("/api/rooms")
        .await
        .ok(200);
}

#[tokio::test]
async fn accounts_are_listed_page_by_page_and_there_are_at_most_100() {
    let t = TestHall::open_login().await;
    let owner = t.owner();
    let add = async |n: usize| {
        let ask = json!({"email": format!("{n}@example.org"), "displayName": "P"});
        owner.post("/api/auth/accounts", ask).await
    };
    for n in 1..100 {
        add(n).await.ok(201);
    }
    let rows = t.rows();
    let details = add(100).await.refused(409, "LIMIT_REACHED");
    assert_eq!(details, json!({"limit": "accounts"}));
    assert_eq!(t.rows(), rows);
    let first = owner.get("/api/auth/accounts?limit=60").await;
    assert!(first.header("link").contains("rel=\"next\""));
    let first = first.ok(200);
    let cursor = text(&first["nextCursor"]);
    let path = format!("/api/auth/accounts?limit=60&cursor={cursor}");
    let second = owner.get(&path).await.ok(200);
    let mut emails = column(&first["accounts"], "email");
    assert_eq!(emails.len(), 60);
    emails.extend(column(&second["accounts"], "email"));
    let expected = (1..100).map(|n| format!("{n}@example.org"));
    let expected: Vec<String> = ["owner@example.org".to_owned()]
        .into_iter()
        .chain(expected)
        .collect();
    assert_eq!((emails, &second["nextCursor"]), (expected, &Value::Null));
    let foreign = format!("/api/auth/keys?cursor={cursor}");
    owner.get(&foreign).await.refused(400, "VALIDATION_FAILED");
}

#[tokio::test]
async fn a_removed_account_leaves_its_history_and_nothing_else() {
    let t = TestHall::open_login().await;
    let owner = t.owner();
    let bob = t.person("Bob").await;
    bob.patch(&bob.handle_url(), json!({"handle": "bob"}))
        .await
        .ok(200);
    let script = t.nobody().with_key(&t.key(&bob, "script").await);
    let room = t.channel(&bob, "Ops", &[&owner]).await;
    t.say(&bob, &room, "hello").await;
    let mut ending = t.stream(&bob, "/api/events", None).await;
    ending.expect("snapshot").await;
    let mut socket = t.socket(&script, "/api/events").await;
    let listed = owner.get("/api/auth/accounts").await.ok(200);
    let ids = column(&listed["accounts"], "id");
    let path = |id: &str| format!("/api/auth/accounts/{id}");
    owner
        .delete(&path(&ids[0]))
        .await
        .refused(409, "OWNER_ACCOUNT");
    owner
        .delete(&path("x"))
        .await
        .refused(404, "ACCOUNT_NOT_FOUND");
    bob.delete(&path(&ids[1])).await.refused(403, "OWNER_ONLY");

    let mut events = t.events();
    owner.delete(&path(&ids[1])).await.ok(204);
    let expected = [
        "room_member_removed",
        "room_member_removed",
        "author_updated",
        "account_removed",
    ];
    assert_eq!(events.names(), expected);
    ending.end().await;
    assert_eq!(socket.closed().await, 4401);
    for gone in [&bob, &script] {
        gone.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
    }
    let ask = json!({"email": "bob@example.org", "password": PASSWORD});
    let login = t.nobody().post("/api/auth/login", ask).await;
    login.refused(401, "INVALID_CREDENTIALS");
    let author = owner.get(&bob.author_url()).await.ok(200);
    assert_eq!(
        (&author["retired"], &author["handle"]),
        (&json!(true), &json!(""))
    );
    let detail = owner.get(&format!("/api/rooms/{room}")).await.ok(200);
    assert_eq!(column(&detail["members"], "authorId"), [owner.author()]);
    assert_eq!(column(&detail["formerAuthors"], "id"), [bob.author()]);
    owner
        .delete(&path(&ids[1]))
        .await
        .refused(404, "ACCOUNT_NOT_FOUND");
    // The address is free again, and whoever gets it is somebody else.
    assert_ne!(t.person("Bob").await.author(), bob.author());
}

#[tokio::test]
async fn in_mode_local_there_are_no_accounts_to_speak_of() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let rows = t.rows();
    let login = json!({"email": "a@b", "password": PASSWORD});
    let change = json!({"current": PASSWORD, "next": format!("{PASSWORD}!")});
    let invite = json!({"email": "a@b", "displayName": "A"});
    for (path, ask) in [
        ("/api/auth/register", registration("CODE")),
        ("/api/auth/login", login),
        ("/api/auth/logout", json!({})),
        ("/api/auth/password", change),
        ("/api/auth/accounts", invite),
    ] {
        owner.post(path, ask).await.refused(409, "AUTH_MODE_LOCAL");
    }
    owner
        .get("/api/auth/accounts")
        .await
        .refused(409, "AUTH_MODE_LOCAL");
    owner
        .delete("/api/auth/accounts/x")
        .await
        .refused(409, "AUTH_MODE_LOCAL");
    let health = owner.get("/api/health").await.ok(200);
    assert_eq!(
        (&health["mode"], &health["setupRequired"]),
        (&json!("local"), &json!(false))
    );
    // A token of the discovery file means nothing here.
    local_program(&t)
        .get("/api/rooms")
        .await
        .refused(401, "AUTH_REQUIRED");
    assert_eq!(t.rows(), rows);
}

#[tokio::test]
async fn a_repeated_invitation_makes_one_account_and_shows_its_password_once() {
    let t = TestHall::open_login().await;
    let ask = json!({"email": "bob@example.org", "displayName": "Bob"});
    let send = async || {
        let ask = t.owner().ask("POST", "/api/auth/accounts").json(&ask);
        ask.header("idempotency-key", "k").send().await
    };
    let made = send().await.ok(201);
    let details = send().await.refused(409, "SECRET_ALREADY_SHOWN");
    assert_eq!(details, json!({"id": made["account"]["id"]}));
    let listed = t.owner().get("/api/auth/accounts").await.ok(200);
    assert_eq!(list(&listed["accounts"]).len(), 2);
}

#[tokio::test]
async fn the_local_token_is_the_owner_at_this_computer_and_nobody_anywhere_else() {
    let t = TestHall::open_login().await;
    let program = local_program(&t);
    let who = program.get("/api/auth/whoami").await.ok(200);
    let expected = json!({"mode": "login", "ownerHere": true, "registrationOpen": false,
        "caller": {"kind": "owner", "authorId": t.owner().author(), "displayName": "Olga",
            "credential": "local-token"}});
    assert_eq!(who, expected);
    program.get("/api/auth/accounts").await.ok(200);
    let bearer = format!("Bearer {LOCAL_TOKEN}");
    for other in [t.stranger(), t.nobody()] {
        let other = other.with("authorization", &bearer);
        other.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
    }
    let hidden = t.unknown_socket_caller().with("authorization", &bearer);
    hidden.get("/api/rooms").await.refused(401, "NOT_THE_OWNER");
    let ask = json!({"current": PASSWORD, "next": "another password"});
    program
        .post("/api/auth/password", ask)
        .await
        .refused(403, "INTERACTIVE_ONLY");
}

//! Signing in and out. Source: contract 1.4, 1.11.

use guildhall_testkit::{PASSWORD, TestCaller, TestHall, TestResponse};
use serde_json::{Value, json};

use crate::{
    agent_tokens::is_at_rest,
    test_values::{text, wrong_fields},
};

const DAY: i64 = 24 * 3_600;
const OWNER: &str = "owner@example.org";

async fn login(by: &TestCaller, email: &str, password: &str) -> TestResponse {
    let ask = json!({"email": email, "password": password});
    by.post("/api/auth/login", ask).await
}

async fn change(by: &TestCaller, current: &str, next: &str) -> TestResponse {
    let ask = json!({"current": current, "next": next});
    by.post("/api/auth/password", ask).await
}

#[tokio::test]
async fn a_person_signs_in_and_gets_the_cookie_of_the_pages_scheme() {
    let t = TestHall::open_login().await;
    let port = t.port();
    let plain = login(&t.nobody(), " OWNER@example.org", PASSWORD).await;
    let cookie = plain.header("set-cookie").to_owned();
    assert!(
        cookie.starts_with(&format!("guildhall_{port}=")),
        "{cookie}"
    );
    assert!(cookie.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict"));
    let account = plain.ok(200);
    let listed = t.owner().get("/api/auth/accounts").await.ok(200);
    assert_eq!(account, listed["accounts"][0]);

    let page = t
        .nobody()
        .with("origin", &format!("https://127.0.0.1:{port}"));
    let secure = login(&page, OWNER, PASSWORD).await;
    let cookie = secure.header("set-cookie").to_owned();
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert!(pair.starts_with("__Host-guildhall="), "{cookie}");
    assert_eq!(
        attributes,
        "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure"
    );
    page.clone()
        .with("cookie", pair)
        .get("/api/rooms")
        .await
        .ok(200);
    // A forwarded scheme is a word of whoever sends it.
    let forwarded = t.nobody().with("x-forwarded-proto", "https");
    let answer = login(&forwarded, OWNER, PASSWORD).await;
    assert!(answer.header("set-cookie").starts_with("guildhall_"));

    // The cookie of another server on this computer is nothing here.
    let value = t.owner().cookie().to_owned();
    let bob = t.person("Bob").await;
    for cookie in [
        format!("guildhall_{}={value}", port ^ 1),
        format!("guildhall_{port}=nonsense"),
        format!(
            "guildhall_{port}={value}; guildhall_{port}={}",
            bob.cookie()
        ),
    ] {
        let caller = t.nobody().with("cookie", &cookie);
        caller.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
    }
    // What any page of this computer can set takes nobody's place, and locks nobody out.
    let junk: String = (0..20).map(|n| format!("guildhall_{port}={n}; ")).collect();
    for both in [
        format!("__Host-guildhall=nonsense; guildhall_{port}={value}"),
        format!("__Host-guildhall={value}; guildhall_{port}=nonsense"),
        format!(
            "__Host-guildhall={}; guildhall_{port}={value}",
            bob.cookie()
        ),
        format!("{junk}guildhall_{port}={value}"),
        format!("guildhall_{port}=nonsense; guildhall_{port}={value}"),
        format!("guildhall_{port}={value}; guildhall_{port}=; guildhall_{port}={value}"),
    ] {
        let caller = t.nobody().with("cookie", &both);
        caller.get("/api/rooms").await.ok(200);
    }
}

#[tokio::test]
async fn an_unknown_address_and_a_wrong_password_are_told_alike() {
    let t = TestHall::open_login().await;
    let before = t.rows();
    let wrong = login(&t.nobody(), OWNER, "not the password").await;
    let unknown = login(&t.nobody(), "nobody@example.org", "not the password").await;
    assert_eq!(wrong.bytes, unknown.bytes);
    for answer in [wrong, unknown] {
        assert_eq!(
            answer.header("www-authenticate"),
            "Bearer realm=\"guildhall\""
        );
        assert_eq!(answer.header("set-cookie"), "");
        answer.refused(401, "INVALID_CREDENTIALS");
    }
    let ask = json!({"email": "x", "password": ""});
    let details = t
        .nobody()
        .post("/api/auth/login", ask)
        .await
        .refused(400, "VALIDATION_FAILED");
    assert_eq!(wrong_fields(&details), ["email", "password"]);
    assert_eq!(t.rows(), before);
}

#[tokio::test]
async fn ten_wrong_passwords_close_an_account_for_a_while_and_their_address_to_wrong_ones() {
    let t = TestHall::open_login().await;
    let bob = t.person("Bob").await;
    // Signing in rightly costs nothing.
    for _ in 0..12 {
        login(&t.nobody(), OWNER, PASSWORD).await.ok(200);
    }
    for _ in 0..10 {
        login(&t.nobody(), OWNER, "wrong")
            .await
            .refused(401, "INVALID_CREDENTIALS");
    }
    t.advance(60);
    // The account is closed from everywhere, the address to all that is wrong: who is behind the
    // same proxy signs in.
    login(&t.nobody(), "bob@example.org", PASSWORD)
        .await
        .ok(200);
    for (by, email, password) in [
        (t.stranger(), OWNER, PASSWORD),
        (t.nobody(), "bob@example.org", "wrong"),
        (t.nobody(), "nobody@example.org", "wrong"),
    ] {
        let closed = login(&by, email, password).await;
        assert_eq!(closed.header("retry-after"), "840");
        closed.refused(429, "RATE_LIMITED");
    }
    login(&t.stranger(), "bob@example.org", PASSWORD)
        .await
        .ok(200);
    change(&bob, "wrong", "another password")
        .await
        .refused(429, "RATE_LIMITED");
    t.owner().get("/api/rooms").await.ok(200);
    t.advance(840);
    login(&t.nobody(), OWNER, PASSWORD).await.ok(200);
    // Beside the two before.
    for _ in 0..8 {
        change(&bob, "wrong", "another password")
            .await
            .refused(401, "INVALID_CREDENTIALS");
    }
    let closed = login(&t.stranger(), "bob@example.org", PASSWORD).await;
    closed.refused(429, "RATE_LIMITED");
}

#[tokio::test]
async fn signing_out_ends_this_sign_in_and_its_streams_alone() {
    let t = TestHall::open_login().await;
    let (laptop, phone) = (
        t.sign_in(OWNER, PASSWORD).await,
        t.sign_in(OWNER, PASSWORD).await,
    );
    let key = t.nobody().with_key(&t.key(&laptop, "script").await);
    let mut ending = t.stream(&laptop, "/api/events", None).await;
    let mut staying = t.stream(&phone, "/api/events", None).await;
    ending.expect("snapshot").await;
    staying.expect("snapshot").await;
    let mut socket = t.socket(&laptop, "/api/events").await;
    let answer = laptop.post("/api/auth/logout", json!({})).await;
    let cookie = format!(
        "guildhall_{}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict",
        t.port()
    );
    assert_eq!(answer.header("set-cookie"), cookie);
    answer.ok(204);
    laptop.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
    ending.end().await;
    assert_eq!(socket.closed().await, 4401);
    let told = staying.expect("signed_out").await;
    assert_eq!(told.inner(), &json!({"authorId": t.owner().author()}));
    // A key has no sign-in to end.
    key.get("/api/rooms").await.ok(200);
    let rows = t.rows();
    key.post("/api/auth/logout", json!({})).await.ok(204);
    assert_eq!(t.rows(), rows);
    for still in [&phone, &key, &t.owner()] {
        still.get("/api/rooms").await.ok(200);
    }
}

#[tokio::test]
async fn a_new_password_ends_every_other_sign_in_and_every_key() {
    let t = TestHall::open_login().await;
    let bob = t.person("Bob").await;
    let (owner, phone) = (t.owner(), t.sign_in(OWNER, PASSWORD).await);
    let script = t.nobody().with_key(&t.key(&owner, "script").await);
    let bobs = t.nobody().with_key(&t.key(&bob, "script").await);
    let mut ending = [
        t.stream(&phone, "/api/events", None).await,
        t.stream(&script, "/api/events", None).await,
    ];
    let mut staying = t.stream(&owner, "/api/events", None).await;
    for stream in ending.iter_mut().chain([&mut staying]) {
        stream.expect("snapshot").await;
    }
    let mut socket = t.socket(&phone, "/api/events").await;
    let next = "another password";
    let before = t.rows();
    for (by, current, next, status, code) in [
        (&owner, PASSWORD, "too short", 400, "VALIDATION_FAILED"),
        (&owner, PASSWORD, PASSWORD, 400, "VALIDATION_FAILED"),
        (&owner, "wrong", next, 401, "INVALID_CREDENTIALS"),
        (&script, PASSWORD, next, 403, "INTERACTIVE_ONLY"),
        (&script, "wrong", "", 403, "INTERACTIVE_ONLY"),
    ] {
        change(by, current, next).await.refused(status, code);
    }
    let at_rest = |rows: &str| -> Vec<String> {
        let is_use = |row: &&str| row.starts_with("api_keys\t");
        rows.lines()
            .filter(|row| !is_use(row))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(at_rest(&t.rows()), at_rest(&before));

    let mut events = t.events();
    change(&owner, PASSWORD, next).await.ok(204);
    let told = events.next("password_changed");
    assert_eq!(told, json!({"authorId": owner.author()}));
    for stream in &mut ending {
        stream.end().await;
    }
    assert_eq!(socket.closed().await, 4401);
    staying.expect("password_changed").await;
    for gone in [&phone, &script] {
        gone.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
    }
    for still in [&owner, &bob, &bobs] {
        still.get("/api/rooms").await.ok(200);
    }
    login(&t.nobody(), OWNER, PASSWORD)
        .await
        .refused(401, "INVALID_CREDENTIALS");
    login(&t.nobody(), OWNER, next).await.ok(200);
}

#[tokio::test]
async fn a_sign_in_dies_of_seven_days_without_use_and_of_thirty_days_of_age() {
    let mut t = TestHall::open_login().await;
    let idle = t.sign_in(OWNER, PASSWORD).await;
    let busy = t.sign_in(OWNER, PASSWORD).await;
    let used = |t: &TestHall| {
        t.rows()
            .lines()
            .filter(|row| row.starts_with("sign_ins\t"))
            .count()
    };
    t.advance(7 * DAY - 1);
    t.restart().await;
    busy.get("/api/rooms").await.ok(200);
    t.advance(1);
    idle.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
    for _ in 0..22 {
        t.advance(DAY);
        busy.get("/api/rooms").await.ok(200);
    }
    t.advance(DAY - 1);
    busy.get("/api/rooms").await.ok(200);
    t.advance(1);
    busy.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
    // What no longer counts is cleared away by the next one.
    assert_eq!(used(&t), 3);
    t.sign_in(OWNER, PASSWORD).await;
    assert_eq!(used(&t), 1);
}

#[tokio::test]
async fn a_sign_ins_use_is_written_every_five_minutes_at_most() {
    let t = TestHall::open_login().await;
    let mut rows = t.rows();
    for (passes, writes) in [(299, false), (1, true), (299, false), (1, true)] {
        t.advance(passes);
        t.owner().get("/api/rooms").await.ok(200);
        let now = t.rows();
        assert_eq!(now != rows, writes, "{passes}");
        rows = now;
    }
}

#[tokio::test]
async fn no_secret_of_a_person_is_kept_anywhere() {
    let t = TestHall::open_without_owner().await;
    let code = t.setup_code();
    let ask = json!({"email": OWNER, "password": PASSWORD, "displayName": "O", "setupCode": code});
    let answer = t.nobody().post("/api/auth/register", ask).await;
    let pair = answer.header("set-cookie").split(';').next().unwrap();
    let (name, value) = pair.split_once('=').unwrap();
    let owner = t.nobody().with("cookie", &format!("{name}={value}"));
    let key = t.key(&owner, "canary-label").await;
    let invite = json!({"email": "bob@example.org", "displayName": "Bob"});
    let invited = owner.post("/api/auth/accounts", invite).await.ok(201);
    let invitation = text(&invited["invitePassword"]);
    let bob = t.sign_in("bob@example.org", &invitation).await;
    login(&t.nobody(), OWNER, "canary of a wrong password")
        .await
        .refused(401, "INVALID_CREDENTIALS");
    owner
        .get(&format!("/api/rooms/{key}"))
        .await
        .refused(404, "ROOM_NOT_FOUND");
    let shown = [
        owner.get("/metrics").await.text(),
        owner.get("/api/auth/keys").await.text(),
        owner.get("/api/auth/accounts").await.text(),
        owner.get("/api/auth/whoami").await.text(),
        t.rows(),
    ];
    for secret in [
        PASSWORD,
        "canary of a wrong password",
        &code,
        value,
        &key,
        &key[4..],
        &invitation,
        bob.cookie(),
    ] {
        assert!(!shown.iter().any(|text| text.contains(secret)), "{secret}");
        assert!(!is_at_rest(&t.scratch(), secret), "{secret}");
    }
    assert!(
        is_at_rest(&t.scratch(), "canary-label"),
        "the search finds what is there"
    );
}

#[tokio::test]
async fn an_agent_header_that_stands_for_nobody_outweighs_a_valid_cookie() {
    let t = TestHall::open_login().await;
    let ada = t.agent("ada").await;
    let (code, body) = ("AGENT_IDENTITY_UNVERIFIED", json!({"bad": true}));
    for caller in [
        t.unverifiable(),
        t.owner().with_agent_token(""),
        t.owner().with("authorization", "Bearer gha_x"),
    ] {
        caller.get("/api/rooms").await.refused(401, code);
        caller
            .patch(&ada.handle_url(), body.clone())
            .await
            .refused(401, code);
        // Where anybody may come in, nobody looks at it.
        login(&caller, OWNER, PASSWORD).await.ok(200);
        let who = caller.get("/api/auth/whoami").await.ok(200);
        assert_eq!(who["caller"], Value::Null);
    }
    // A live one is that agent, over the cookie; anything else in its place is nobody.
    let both = t.owner().with_agent_token(ada.token());
    both.patch(&ada.handle_url(), body)
        .await
        .refused(403, "HUMANS_ONLY");
    for authorization in ["Basic b3duZXI6", "Bearer ghk_x", "Bearer nonsense", ""] {
        let caller = t.owner().with("authorization", authorization);
        caller.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
    }
}

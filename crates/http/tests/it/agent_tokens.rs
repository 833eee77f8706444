//! Agent tokens: shown once, kept as a digest, ended in time. Source: contract 1.4.

use std::path::Path;

use guildhall_testkit::{TestCaller, TestHall};
use serde_json::{Value, json};

use crate::test_values::{list, text};

const DAY: i64 = 24 * 3_600;

/// Whether any file beneath `folder` holds these bytes.
pub(crate) fn is_at_rest(folder: &Path, secret: &str) -> bool {
    std::fs::read_dir(folder).unwrap().any(|item| {
        let path = item.unwrap().path();
        if path.is_dir() {
            return is_at_rest(&path, secret);
        }
        let bytes = std::fs::read(path).unwrap();
        bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes())
    })
}

#[tokio::test]
async fn a_token_is_shown_once_and_never_again_anywhere() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let path = format!("/api/agents/{}/tokens", ada.agent());
    let mut events = t.events();
    let minted = owner
        .post(&path, json!({"label": " laptop "}))
        .await
        .ok(201);
    let secret = text(&minted["token"]);
    let expected = json!({
        "id": minted["id"], "agentId": ada.agent(), "label": "laptop", "token": secret,
        "createdAt": "2026-09-21T14:13:20.000Z", "idleExpiresAt": "2026-09-28T14:13:20.000Z",
        "expiresAt": "2026-10-21T14:13:20.000Z",
    });
    assert_eq!(minted, expected);
    let alphabet = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let body = secret.strip_prefix("gha_").unwrap();
    assert!(body.len() == 43 && body.chars().all(alphabet), "{secret}");
    let told = events.next("agent_token_created");
    assert_eq!(
        told,
        json!({"agentId": ada.agent(), "tokenId": minted["id"]})
    );

    let listed = owner.get(&path).await.ok(200);
    let row = list(&listed["tokens"]).last().unwrap().clone();
    let expected = json!({
        "id": minted["id"], "label": "laptop", "origin": "person", "sessionId": null,
        "createdAt": minted["createdAt"], "lastUsedAt": null,
        "idleExpiresAt": minted["idleExpiresAt"], "expiresAt": minted["expiresAt"],
        "revokedAt": null,
    });
    assert_eq!(row, expected);
    // Used, refused, revoked: it is written nowhere, neither whole nor its random part.
    let laptop = ada.clone().with_agent_token(&secret);
    laptop.get("/api/rooms").await.ok(200);
    laptop
        .get(&format!("/api/rooms/{secret}"))
        .await
        .refused(404, "ROOM_NOT_FOUND");
    owner
        .delete(&format!("{path}/{}", text(&minted["id"])))
        .await
        .ok(204);
    laptop
        .get("/api/rooms")
        .await
        .refused(401, "AGENT_IDENTITY_UNVERIFIED");
    let metrics = owner.get("/metrics").await.text();
    let shown = [
        owner.get(&path).await.text(),
        metrics,
        t.rows(),
        laptop.get("/api/rooms").await.text(),
    ];
    for secret in [secret.as_str(), body, ada.token()] {
        assert!(!shown.iter().any(|text| text.contains(secret)));
        assert!(
            !is_at_rest(&t.scratch(), secret),
            "nothing of a token lies on the disk"
        );
    }
    assert!(
        is_at_rest(&t.scratch(), "laptop"),
        "the search finds what is there"
    );
}

#[tokio::test]
async fn minting_listing_and_revoking_are_refused_in_order() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let path = format!("/api/agents/{}/tokens", ada.agent());
    let before = t.rows();
    for label in ["", "   ", "a\nb", &"l".repeat(81)] {
        let nowhere = "/api/agents/x/tokens";
        owner
            .post(nowhere, json!({"label": label}))
            .await
            .refused(400, "VALIDATION_FAILED");
    }
    let label = json!({"label": "x"});
    owner
        .post("/api/agents/x/tokens", label)
        .await
        .refused(404, "AGENT_NOT_FOUND");
    owner
        .get("/api/agents/x/tokens")
        .await
        .refused(404, "AGENT_NOT_FOUND");
    owner
        .delete("/api/agents/x/tokens/x")
        .await
        .refused(404, "AGENT_NOT_FOUND");
    owner
        .delete(&format!("{path}/x"))
        .await
        .refused(404, "TOKEN_NOT_FOUND");
    let bobs = owner
        .get(&format!("/api/agents/{}/tokens", bob.agent()))
        .await
        .ok(200);
    let bobs = text(&bobs["tokens"][0]["id"]);
    owner
        .delete(&format!("{path}/{bobs}"))
        .await
        .refused(404, "TOKEN_NOT_FOUND");
    assert_eq!(t.rows(), before);
    bob.get("/api/rooms").await.ok(200);
}

#[tokio::test]
async fn a_revoked_token_is_refused_at_once_and_its_streams_end() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let ada = t.agent("ada").await;
    let path = format!("/api/agents/{}/tokens", ada.agent());
    let other = ada
        .clone()
        .with_agent_token(&t.mint(ada.agent(), "other").await);
    let team = t.team().await;
    let rooms = format!("/api/rooms/{team}/events");
    let mut ending = [
        t.stream(&ada, "/api/events", None).await,
        t.stream(&ada, &rooms, None).await,
    ];
    let mut socket = t.socket(&ada, "/api/events").await;
    let mut staying = t.stream(&other, "/api/events", None).await;
    for stream in ending.iter_mut().chain([&mut staying]) {
        stream.expect("snapshot").await;
    }
    let listed = owner.get(&path).await.ok(200);
    let id = text(&listed["tokens"][0]["id"]);
    let mut events = t.events();
    owner.delete(&format!("{path}/{id}")).await.ok(204);
    ada.get("/api/rooms")
        .await
        .refused(401, "AGENT_IDENTITY_UNVERIFIED");
    let told = events.next("agent_token_revoked");
    assert_eq!(told, json!({"agentId": ada.agent(), "tokenId": id}));
    for stream in &mut ending {
        stream.end().await;
    }
    assert_eq!(socket.closed().await, 4401);
    // Another token of the same agent lives on.
    staying.expect("agent_token_revoked").await;
    t.say(&owner, &team, "hello").await;
    staying.expect("entry_added").await;
    // Revoking twice changes nothing.
    let rows = t.rows();
    owner.delete(&format!("{path}/{id}")).await.ok(204);
    assert_eq!(t.rows(), rows);
    let listed = owner.get(&path).await.ok(200);
    assert_eq!(listed["tokens"][0]["revokedAt"], "2026-09-21T14:13:20.000Z");
}

async fn is_live(caller: &TestCaller) -> bool {
    match caller.get("/api/rooms").await {
        answer if answer.status == 200 => true,
        answer => {
            assert_eq!(
                answer.refused(401, "AGENT_IDENTITY_UNVERIFIED"),
                Value::Null
            );
            false
        }
    }
}

#[tokio::test]
async fn a_token_dies_of_seven_days_without_use() {
    let mut t = TestHall::open().await;
    let ada = t.agent("ada").await;
    t.advance(7 * DAY - 1);
    assert!(is_live(&ada).await);
    t.restart().await;
    t.advance(7 * DAY - 1);
    assert!(is_live(&ada).await, "its use was remembered");
    t.advance(7 * DAY);
    assert!(!is_live(&ada).await);
    // A token is not brought to life again by trying.
    assert!(!is_live(&ada).await);
}

#[tokio::test]
async fn a_token_dies_of_thirty_days_of_age_however_much_it_is_used() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    for _ in 0..29 {
        t.advance(DAY);
        assert!(is_live(&ada).await);
    }
    t.advance(DAY - 1);
    assert!(is_live(&ada).await);
    t.advance(1);
    assert!(!is_live(&ada).await);
}

#[tokio::test]
async fn a_tokens_use_is_written_every_five_minutes_at_most() {
    let t = TestHall::open().await;
    let ada = t.agent("ada").await;
    let path = format!("/api/agents/{}/tokens", ada.agent());
    let mut events = t.events();
    for (passes, used) in [
        (10, "2026-09-21T14:13:30.000Z"),
        (200, "2026-09-21T14:13:30.000Z"),
        (99, "2026-09-21T14:13:30.000Z"),
        (1, "2026-09-21T14:18:30.000Z"),
        (299, "2026-09-21T14:18:30.000Z"),
    ] {
        t.advance(passes);
        ada.get("/api/rooms").await.ok(200);
        let listed = t.owner().get(&path).await.ok(200);
        assert_eq!(listed["tokens"][0]["lastUsedAt"], used, "{passes}");
    }
    events.none();
}

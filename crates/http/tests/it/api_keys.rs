//! API keys. Source: contract 1.4, "Accounts, sessions, keys".

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

use crate::test_values::{column, list, text};

#[tokio::test]
async fn a_key_is_shown_once_and_speaks_for_its_maker_from_anywhere_in_both_modes() {
    for t in [TestHall::open().await, TestHall::open_login().await] {
        let owner = t.owner();
        let mut events = t.events();
        let made = owner
            .post("/api/auth/keys", json!({"label": " script "}))
            .await
            .ok(201);
        let key = text(&made["key"]);
        let expected = json!({"id": made["id"], "label": "script", "key": key,
            "createdAt": "2026-09-21T14:13:20.000Z"});
        assert_eq!(made, expected);
        let alphabet = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let body = key.strip_prefix("ghk_").unwrap();
        assert!(body.len() == 43 && body.chars().all(alphabet), "{key}");
        let told = events.next("api_key_created");
        assert_eq!(
            told,
            json!({"authorId": owner.author(), "keyId": made["id"]})
        );
        let row = |used: Value| {
            json!({"id": made["id"], "authorId": owner.author(),
            "label": "script", "createdAt": made["createdAt"], "lastUsedAt": used})
        };
        let listed = owner.get("/api/auth/keys").await.ok(200);
        assert_eq!(
            listed,
            json!({"keys": [row(Value::Null)], "nextCursor": null})
        );

        let script = t.nobody().with_key(&key);
        let who = script.get("/api/auth/whoami").await.ok(200);
        let caller = (
            &who["caller"]["kind"],
            &who["caller"]["credential"],
            &who["caller"]["authorId"],
        );
        assert_eq!(
            caller,
            (&json!("owner"), &json!("api-key"), &json!(owner.author()))
        );
        t.agent_of(json!({"name": "ada", "cwd": t.folder("ada")}))
            .await;
        script.get("/api/auth/keys").await.ok(200);
        for (passes, used) in [
            (299, "2026-09-21T14:13:20.000Z"),
            (1, "2026-09-21T14:18:20.000Z"),
            (299, "2026-09-21T14:18:20.000Z"),
        ] {
            t.advance(passes);
            script.get("/api/rooms").await.ok(200);
            let listed = owner.get("/api/auth/keys").await.ok(200);
            assert_eq!(listed["keys"][0], row(used.into()), "{passes}");
        }
    }
}

#[tokio::test]
async fn a_person_has_at_most_fifty_keys_with_readable_labels() {
    let t = TestHall::open_login().await;
    let (owner, bob) = (t.owner(), t.person("Bob").await);
    for label in ["", "  ", "a\nb", &"l".repeat(81)] {
        let refused = owner.post("/api/auth/keys", json!({"label": label})).await;
        refused.refused(400, "VALIDATION_FAILED");
    }
    for n in 0..50 {
        t.key(&owner, &n.to_string()).await;
    }
    let rows = t.rows();
    let refused = owner.post("/api/auth/keys", json!({"label": "x"})).await;
    assert_eq!(refused.refused(409, "TOO_MANY_KEYS"), Value::Null);
    assert_eq!(t.rows(), rows);
    t.key(&bob, "each person has its own").await;
    let first = owner.get("/api/auth/keys").await.ok(200);
    assert_eq!(list(&first["keys"]).len(), 50);
    let path = format!("/api/auth/keys?cursor={}", text(&first["nextCursor"]));
    let second = owner.get(&path).await.ok(200);
    assert_eq!(column(&second["keys"], "authorId"), [bob.author()]);
}

#[tokio::test]
async fn a_key_is_revoked_by_its_person_or_the_owner_and_its_streams_end() {
    let t = TestHall::open_login().await;
    let (owner, bob, eve) = (t.owner(), t.person("Bob").await, t.person("Eve").await);
    let bobs = [t.key(&bob, "one").await, t.key(&bob, "two").await];
    let listed = bob.get("/api/auth/keys").await.ok(200);
    let ids = column(&listed["keys"], "id");
    assert_eq!(column(&listed["keys"], "label"), ["one", "two"]);
    assert_eq!(eve.get("/api/auth/keys").await.ok(200)["keys"], json!([]));
    assert_eq!(
        column(&owner.get("/api/auth/keys").await.ok(200)["keys"], "id"),
        ids
    );
    let path = |id: &str| format!("/api/auth/keys/{id}");
    let before = t.rows();
    eve.delete(&path(&ids[0]))
        .await
        .refused(404, "KEY_NOT_FOUND");
    owner.delete(&path("x")).await.refused(404, "KEY_NOT_FOUND");
    assert_eq!(t.rows(), before);
    for ((by, id), key) in [&bob, &owner].into_iter().zip(&ids).zip(&bobs) {
        let script = t.nobody().with_key(key);
        let mut ending = t.stream(&script, "/api/events", None).await;
        ending.expect("snapshot").await;
        let mut socket = t.socket(&script, "/api/events").await;
        let mut events = t.events();
        by.delete(&path(id)).await.ok(204);
        let told = events.next("api_key_revoked");
        assert_eq!(told, json!({"authorId": bob.author(), "keyId": id}));
        ending.end().await;
        assert_eq!(socket.closed().await, 4401);
        script.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
        by.delete(&path(id)).await.refused(404, "KEY_NOT_FOUND");
    }
    bob.get("/api/rooms").await.ok(200);
}

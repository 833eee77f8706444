//! Who may say what agents are kept from: a person at a screen, and nobody in their place.

use guildhall_testkit::TestHall;
use serde_json::{Value, json};

#[tokio::test]
async fn an_agent_is_enclosed_until_the_owner_at_a_screen_says_otherwise() {
    let t = TestHall::open_login().await;
    let owner = t.owner();
    let program = t.nobody().with_key(&t.key(&owner, "script").await);
    let ask = json!({"name": "Ada", "cwd": t.folder("ada")});
    let agent = owner.post("/api/agents", ask).await.ok(201);
    assert_eq!(agent["enclosed"], true);
    let path = format!("/api/agents/{}", agent["id"].as_str().unwrap());
    let set = |enclosed: bool| json!({"enclosed": enclosed});
    let refused = program.patch(&path, set(false)).await;
    refused.refused(403, "INTERACTIVE_ONLY");
    assert_eq!(owner.get(&path).await.ok(200), agent, "nothing changed");
    let open = owner.patch(&path, set(false)).await.ok(200);
    assert_eq!(open["enclosed"], false);
    assert_eq!(owner.get(&path).await.ok(200)["enclosed"], false);
    // What keeps it from more needs no person, and neither does what is so already.
    program.patch(&path, set(false)).await.ok(200);
    assert_eq!(
        program.patch(&path, set(true)).await.ok(200)["enclosed"],
        true
    );
}

#[tokio::test]
async fn what_all_agents_are_kept_from_is_changed_by_the_owner_at_a_screen() {
    let t = TestHall::open_login().await;
    let owner = t.owner();
    let program = t.nobody().with_key(&t.key(&owner, "script").await);
    for (key, value) in [
        ("agents.enclosure", json!("off")),
        ("agents.hiddenFolders", json!(["/srv/keys"])),
        ("agents.reachContainers", json!(true)),
        ("agents.reachTerminals", json!(true)),
        ("agents.reachUserServices", json!(true)),
        ("storage.backupFolder", json!(t.home())),
    ] {
        // One of several is enough.
        let ask = json!({"rooms.maxPostsPerTurn": 4, key: value});
        let before = owner.get("/api/settings").await.ok(200);
        let refused = program.patch("/api/settings", ask.clone()).await;
        refused.refused(403, "INTERACTIVE_ONLY");
        assert_eq!(owner.get("/api/settings").await.ok(200), before, "{key}");
        owner.patch("/api/settings", ask).await.ok(200);
        let back = json!({"rooms.maxPostsPerTurn": 5, key: Value::Null});
        owner.patch("/api/settings", back).await.ok(200);
    }
    let other = json!({"rooms.maxPostsPerTurn": 6});
    program.patch("/api/settings", other).await.ok(200);
}

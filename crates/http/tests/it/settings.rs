//! Settings. Source: contract 1.12b and 2.9.

use guildhall_domain::settings::{self, Setting, SettingSource, SettingValue as Set};
use guildhall_testkit::{HallOptions, TestCaller, TestHall};
use serde_json::{Value, json};

async fn setting(by: &TestCaller, key: &str) -> Value {
    let all = by.get("/api/settings").await.ok(200);
    let found = all["settings"].as_array().unwrap().iter();
    found
        .into_iter()
        .find(|setting| setting["key"] == key)
        .unwrap()
        .clone()
}

fn brief(setting: &Value) -> (Value, Value, Value) {
    let field = |name: &str| setting[name].clone();
    (field("value"), field("default"), field("source"))
}

#[tokio::test]
async fn every_setting_is_listed_by_key_with_its_value_and_who_said_so() {
    let t = TestHall::open().await;
    let all = t.owner().get("/api/settings").await.ok(200);
    let listed: Vec<&str> = all["settings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|setting| setting["key"].as_str().unwrap())
        .collect();
    let known: Vec<&str> = settings::ALL.iter().map(|setting| setting.key).collect();
    assert_eq!(listed, known);
    assert_eq!(
        setting(&t.owner(), "rooms.maxAgentDepth").await,
        json!({
            "key": "rooms.maxAgentDepth", "value": 30, "default": 30, "source": "default",
            "restartNeeded": false,
            "description": "How many automatic replies may follow a person's post; 0 stops them all.",
        })
    );
    t.agent("ada")
        .await
        .get("/api/settings")
        .await
        .refused(403, "OWNER_ONLY");
}

#[tokio::test]
async fn a_change_is_stored_told_and_dropped_again() {
    let mut t = TestHall::open().await;
    let key = "rooms.maxPostsPerTurn";
    let mut events = t.events();
    let owner = t.owner();
    owner.patch("/api/settings", json!({key: 5})).await.ok(200);
    let told = events.next("settings_changed");
    assert_eq!(told, json!({"keys": [key]}));
    t.restart().await;
    let owner = t.owner();
    assert_eq!(
        brief(&setting(&owner, key).await),
        (json!(5), json!(3), json!("stored"))
    );
    owner
        .patch("/api/settings", json!({key: null}))
        .await
        .ok(200);
    assert_eq!(
        brief(&setting(&owner, key).await),
        (json!(3), json!(3), json!("default"))
    );
}

#[tokio::test]
async fn one_wrong_key_leaves_everything_as_it_is() {
    static FLAGGED: [(&Setting, SettingSource, Set); 1] = [(
        &settings::MAX_POSTS_PER_TURN,
        SettingSource::Flag,
        Set::Number(2),
    )];
    let t = TestHall::open_with(HallOptions {
        configured: &FLAGGED,
        ..HallOptions::default()
    })
    .await;
    let owner = t.owner();
    let (rows, mut events) = (t.rows(), t.events());
    for (wrong, status, code, details) in [
        (
            json!({"rooms.unknown": 1}),
            400,
            "UNKNOWN_SETTING",
            json!({"keys": ["rooms.unknown"]}),
        ),
        (
            json!({"rooms.maxCanvasOpsPerTurn": 99}),
            400,
            "VALIDATION_FAILED",
            json!({"formErrors": [], "fieldErrors": {"rooms.maxCanvasOpsPerTurn": ["must be 1 to 10"]}}),
        ),
        (
            json!({"rooms.defaultAgent": "01a1fe26-ce7a-77e6-9c51-69b26c991bbe"}),
            400,
            "VALIDATION_FAILED",
            json!({"formErrors": [], "fieldErrors": {"rooms.defaultAgent": ["there is no such agent"]}}),
        ),
        (
            json!({"files.roots": ["relative"]}),
            400,
            "VALIDATION_FAILED",
            json!({"formErrors": [], "fieldErrors": {"files.roots": ["relative is no folder here"]}}),
        ),
        (
            json!({"rooms.maxPostsPerTurn": 5}),
            409,
            "SETTING_FIXED",
            json!({"keys": ["rooms.maxPostsPerTurn"]}),
        ),
        (
            json!({"rooms.maxPostsPerTurn": null}),
            409,
            "SETTING_FIXED",
            json!({"keys": ["rooms.maxPostsPerTurn"]}),
        ),
    ] {
        let mut patch = wrong.clone();
        patch["rooms.maxAgentDepth"] = json!(1);
        let refused = owner.patch("/api/settings", patch).await;
        assert_eq!(refused.refused(status, code), details, "{wrong}");
    }
    assert_eq!(t.rows(), rows);
    events.none();
    assert_eq!(
        brief(&setting(&owner, "rooms.maxPostsPerTurn").await),
        (json!(2), json!(3), json!("flag"))
    );
}

#[tokio::test]
async fn a_limit_reaches_every_room_that_inherits_it_and_their_revisions_stay() {
    let t = TestHall::open().await;
    let (owner, team) = (t.owner(), t.team().await);
    let own = t.channel(&owner, "Own", &[]).await;
    let own_path = format!("/api/rooms/{own}");
    owner
        .patch(&own_path, json!({"maxAgentDepth": 7}))
        .await
        .ok(200);
    let tag = owner.get(&own_path).await.header("etag").to_owned();
    let mut events = t.events();
    owner
        .patch("/api/settings", json!({"rooms.maxAgentDepth": 2}))
        .await
        .ok(200);
    let told = events.all();
    let [changed, updated] = told.as_slice() else {
        panic!("two events: {told:?}");
    };
    assert_eq!(changed["type"], "settings_changed");
    assert_eq!(updated["data"]["room"]["id"], json!(team));
    assert_eq!(updated["data"]["room"]["maxAgentDepth"], 2);
    let depth = async |room: &str| owner.get(&format!("/api/rooms/{room}")).await;
    assert_eq!(depth(&team).await.header("etag"), "\"1\"");
    assert_eq!(depth(&team).await.ok(200)["maxAgentDepth"], 2);
    assert_eq!(depth(&own).await.header("etag"), tag);
    assert_eq!(depth(&own).await.ok(200)["maxAgentDepth"], 7);
    let listed = owner.get("/api/rooms").await.ok(200);
    let team_listed = listed["rooms"].as_array().unwrap().iter();
    let team_listed = team_listed
        .into_iter()
        .find(|room| room["id"] == json!(team));
    assert_eq!(team_listed.unwrap()["maxAgentDepth"], 2);
    // The same again is no change.
    let mut events = t.events();
    owner
        .patch("/api/settings", json!({"rooms.maxAgentDepth": 2}))
        .await
        .ok(200);
    events.none();
}

#[tokio::test]
async fn the_default_agent_sits_in_the_fallback_seat_of_the_team() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    let team = format!("/api/rooms/{}", t.team().await);
    let seat = async || owner.get(&team).await.ok(200)["fallbackSeatAuthorId"].clone();
    assert_eq!(seat().await, json!(ada.author()));
    owner
        .patch("/api/settings", json!({"rooms.defaultAgent": bob.agent()}))
        .await
        .ok(200);
    assert_eq!(seat().await, json!(bob.author()));
    owner
        .delete(&format!("/api/agents/{}", bob.agent()))
        .await
        .ok(200);
    assert_eq!(seat().await, json!(ada.author()));
}

#[tokio::test]
async fn a_file_is_overruled_by_what_is_stored_and_counts_again_after_it() {
    static FILED: [(&Setting, SettingSource, Set); 1] = [(
        &settings::MAX_AGENT_DEPTH,
        SettingSource::File,
        Set::Number(9),
    )];
    let mut t = TestHall::open_with(HallOptions {
        configured: &FILED,
        ..HallOptions::default()
    })
    .await;
    let (owner, key) = (t.owner(), "rooms.maxAgentDepth");
    assert_eq!(setting(&owner, key).await["value"], 9);
    owner.patch("/api/settings", json!({key: 4})).await.ok(200);
    assert_eq!(setting(&owner, key).await["value"], 4);
    owner
        .patch("/api/settings", json!({key: null}))
        .await
        .ok(200);
    assert_eq!(brief(&setting(&owner, key).await).2, json!("file"));
    // A start without the file forgets it, and whoever listens hears of it.
    let mut events = t.events();
    t.restart_with(HallOptions::default()).await;
    assert_eq!(events.names(), ["settings_changed", "room_updated"]);
    assert_eq!(brief(&setting(&t.owner(), key).await).0, json!(30));
}

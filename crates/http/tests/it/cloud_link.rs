//! The link to a cloud service: every way it begins and ends, what a restart makes of it, and
//! that its secrets stay where they are. Source: contract 5.9, 5.10 and 5.14.

use guildhall_testkit::{TestHall, soon, until};
use serde_json::{Value, json};

use crate::cloud_service_stub::{
    CANARY, CloudServiceStub, DEVICE_CODE, DeviceCodeReply, becomes, begin, link, linked, poll,
};

/// What state, note and account are.
fn short(link: &Value) -> Value {
    json!([link["state"], link["relinkOutcome"], link["accountLabel"]])
}

/// What was told by events of this name.
fn told(events: &[Value], name: &str) -> Vec<Value> {
    let named = events.iter().filter(|event| event["type"] == name);
    named.map(|event| event["data"].clone()).collect()
}

async fn post(t: &TestHall, path: &str) -> Value {
    t.owner().post(path, json!({})).await.ok(200)
}

#[tokio::test]
async fn without_a_service_everything_says_so() {
    let t = TestHall::open().await;
    let nothing = json!({"state": "idle", "accountLabel": null, "lastHeartbeatAt": null,
        "relinkOutcome": null, "pending": null, "approvedCode": null});
    assert_eq!(link(&t).await, nothing);
    assert_eq!(post(&t, "/api/cloud/link/cancel").await, nothing);
    let status = t.owner().get("/api/cloud/status").await.ok(200);
    assert_eq!(
        status,
        json!({"configured": false, "linked": false, "accountLabel": null, "lastHeartbeatAt": null})
    );
    let checked = post(&t, "/api/cloud/link/check").await;
    assert_eq!(checked["linked"], false);
    assert_eq!(post(&t, "/api/cloud/unlink").await, json!({"ok": true}));
    let start = t.owner().post("/api/cloud/link/start", json!({})).await;
    start.refused(503, "CLOUD_NOT_CONFIGURED");
}

#[tokio::test]
async fn a_code_that_is_typed_links_and_the_codes_are_for_the_owner_alone() {
    let cloud = CloudServiceStub::start().await;
    let t = TestHall::open_with(cloud.options()).await;
    let owner = t.owner();
    assert_eq!(cloud.requests(), 0, "nothing is sent before somebody links");
    let mut log = t.events();
    assert_eq!(begin(&t).await, "BCDF-GHJK");
    let pending = link(&t).await;
    assert_eq!(pending["state"], "pending");
    assert_eq!(pending["pending"]["userCode"], "BCDF-GHJK");
    assert_eq!(
        pending["pending"]["verificationUriComplete"],
        format!("{}/activate?user_code=BCDF-GHJK", cloud.origin)
    );
    let program = t.owner().with_key(&t.key(&owner, "program").await);
    let shown = program.get("/api/cloud/link/status").await.ok(200);
    assert_eq!(
        json!([shown["state"], shown["pending"]]),
        json!(["pending", null])
    );
    cloud.says(DeviceCodeReply::Key);
    poll(&t).await;
    let linked = becomes(&t, "linked").await;
    assert_eq!(
        json!([linked["approvedCode"], linked["pending"]]),
        json!(["BCDF-GHJK", null])
    );
    let checked = post(&t, "/api/cloud/link/check").await;
    assert_eq!(
        json!([checked["linked"], checked["accountLabel"]]),
        json!([true, "ada@cloud.example"])
    );
    let shown = program.get("/api/cloud/link/status").await.ok(200);
    assert_eq!(
        json!([shown["accountLabel"], shown["approvedCode"]]),
        json!(["ada@cloud.example", null])
    );
    let form = cloud.last("/oauth/device");
    let form: Vec<_> = form.split('&').collect();
    for part in ["scope=instance", "client_id=guildhall-instance"] {
        assert!(form.contains(&part), "{form:?}");
    }
    assert!(
        form.iter().any(|part| part.starts_with("name=")),
        "{form:?}"
    );
    let rows = t.rows();
    for canary in [CANARY, DEVICE_CODE] {
        assert!(!rows.contains(canary), "{canary} is in a row");
    }
    let happened = log.all();
    let links = told(&happened, "cloud_link_changed");
    let states: Vec<_> = links.iter().map(|event| event["state"].clone()).collect();
    assert_eq!(
        states,
        ["pending", "linked", "linked"],
        "and then its account is known"
    );
    assert!(!json!(links).to_string().contains("BCDF"));
    assert_eq!(
        told(&happened, "cloud_heartbeat_changed"),
        [json!({"ok": true})]
    );
}

#[tokio::test]
async fn a_flow_without_a_key_leaves_a_state_first_and_a_note_later() {
    for (word, state, note) in [
        ("access_denied", "denied", "denied"),
        ("expired_token", "expired", "expired"),
        ("invalid_grant", "expired", "expired"),
        ("invalid_client", "idle", "failed"),
    ] {
        let cloud = CloudServiceStub::start().await;
        let t = TestHall::open_with(cloud.options()).await;
        cloud.says(DeviceCodeReply::Error(word));
        begin(&t).await;
        poll(&t).await;
        assert_eq!(short(&becomes(&t, state).await), json!([state, null, null]));
        let dismissed = post(&t, "/api/cloud/link/cancel").await;
        assert_eq!(dismissed["state"], "idle", "{word}");
        cloud.says(DeviceCodeReply::Key);
        begin(&t).await;
        poll(&t).await;
        becomes(&t, "linked").await;
        post(&t, "/api/cloud/link/check").await;
        cloud.says(DeviceCodeReply::Error(word));
        begin(&t).await;
        poll(&t).await;
        let kept = json!(["linked", note, "ada@cloud.example"]);
        assert_eq!(short(&becomes(&t, "linked").await), kept, "{word}");
        let dismissed = post(&t, "/api/cloud/link/cancel").await;
        assert_eq!(
            short(&dismissed),
            json!(["linked", null, "ada@cloud.example"])
        );
        assert!(cloud.revoked().is_empty());
    }
}

#[tokio::test]
async fn a_cancel_waits_for_the_request_on_its_way_and_keeps_the_key_it_brings() {
    for (word, state) in [
        (DeviceCodeReply::Key, "linked"),
        (DeviceCodeReply::Waiting, "idle"),
        (DeviceCodeReply::Error("access_denied"), "idle"),
        (DeviceCodeReply::Broken, "idle"),
    ] {
        let cloud = CloudServiceStub::start().await;
        let t = TestHall::open_with(cloud.options()).await;
        cloud.hold().await;
        begin(&t).await;
        poll(&t).await;
        until("a poll", || cloud.asked("/oauth/token") == 1).await;
        let owner = t.owner();
        let mut cancelling = Box::pin(owner.post("/api/cloud/link/cancel", json!({})));
        tokio::select! {
            biased;
            _ = &mut cancelling => panic!("the cancel did not wait"),
            seen = link(&t) => assert_eq!(seen["state"], "pending"),
        }
        cloud.says(word);
        cloud.let_go();
        let settled = soon("the cancel", cancelling).await.ok(200);
        assert_eq!(
            json!([settled["state"], settled["relinkOutcome"]]),
            json!([state, null])
        );
        if state == "idle" {
            assert_eq!(t.awaited_s(), None, "nothing further is sent");
            assert_eq!(cloud.asked("/oauth/token"), 1);
        }
        assert!(cloud.revoked().is_empty());
    }
}

#[tokio::test]
async fn a_cancel_waits_no_longer_than_a_request_may_take() {
    let cloud = CloudServiceStub::start().await;
    let t = TestHall::open_with(cloud.options()).await;
    cloud.hold().await;
    cloud.says(DeviceCodeReply::Key);
    begin(&t).await;
    poll(&t).await;
    until("a poll", || cloud.asked("/oauth/token") == 1).await;
    let owner = t.owner();
    let cancelling = owner.post("/api/cloud/link/cancel", json!({}));
    let waiting = async {
        until("the wait", || t.awaited_s() == Some(30)).await;
        t.advance(30);
    };
    let (cancelled, ()) = tokio::join!(soon("the cancel", cancelling), waiting);
    assert_eq!(cancelled.ok(200)["state"], "idle");
    cloud.let_go();
    assert_eq!(t.awaited_s(), None, "nothing further is sent");
    assert_eq!(link(&t).await["state"], "idle");
}

#[tokio::test]
async fn a_cancel_after_a_request_that_was_lost_sends_nothing_further() {
    let cloud = CloudServiceStub::start().await;
    let t = TestHall::open_with(cloud.options()).await;
    cloud.says(DeviceCodeReply::Broken);
    begin(&t).await;
    poll(&t).await;
    until("the next poll", || t.awaited_s() == Some(2)).await;
    assert_eq!(post(&t, "/api/cloud/link/cancel").await["state"], "idle");
    assert_eq!(t.awaited_s(), None);
    assert_eq!(cloud.asked("/oauth/token"), 1);
}

#[tokio::test]
async fn unlinking_gives_back_the_key_that_is_held_and_the_one_on_its_way() {
    let cloud = CloudServiceStub::start().await;
    let t = linked(&cloud).await;
    cloud.hold().await;
    begin(&t).await;
    poll(&t).await;
    until("a poll", || cloud.asked("/oauth/token") == 2).await;
    assert_eq!(post(&t, "/api/cloud/unlink").await, json!({"ok": true}));
    assert_eq!(short(&link(&t).await), json!(["idle", null, null]));
    until("the first key", || cloud.revoked().len() == 1).await;
    cloud.let_go();
    until("the second key", || cloud.revoked().len() == 2).await;
    assert!(cloud.revoked()[0].contains("token=ghc_canary_1"));
    assert!(cloud.revoked()[1].contains("token=ghc_canary_2"));
    assert_eq!(link(&t).await["state"], "idle");
}

#[tokio::test]
async fn a_code_is_asked_with_again_when_what_it_brought_could_not_be_given_back() {
    let cloud = CloudServiceStub::start().await;
    let mut t = TestHall::open_with(cloud.options()).await;
    cloud.hold().await;
    begin(&t).await;
    poll(&t).await;
    until("a poll", || cloud.asked("/oauth/token") == 1).await;
    post(&t, "/api/cloud/unlink").await;
    cloud.is_deaf_once();
    cloud.says(DeviceCodeReply::Key);
    cloud.let_go();
    until("the key", || cloud.asked("/oauth/revoke") == 1).await;
    assert_eq!(poll(&t).await, 2);
    until("another poll", || cloud.asked("/oauth/token") == 2).await;
    // Nor does the end of a server end it.
    t.restart_with(cloud.options()).await;
    poll(&t).await;
    until("one more", || cloud.asked("/oauth/token") == 3).await;
    cloud.says(DeviceCodeReply::Error("invalid_grant"));
    cloud.let_go();
    cloud.let_go();
    let owner = t.owner();
    let begun = owner.post("/api/cloud/link/start", json!({}));
    soon("another code", begun).await.ok(200);
    assert!(cloud.revoked().is_empty());
}

#[tokio::test]
async fn a_second_key_takes_the_place_of_the_first_which_is_given_back() {
    let cloud = CloudServiceStub::start().await;
    let t = linked(&cloud).await;
    begin(&t).await;
    poll(&t).await;
    until("the first key", || cloud.revoked().len() == 1).await;
    assert!(cloud.revoked()[0].contains("token=ghc_canary_1"));
    assert_eq!(becomes(&t, "linked").await["relinkOutcome"], Value::Null);
}

#[tokio::test]
async fn a_service_that_is_lost_ends_no_flow_before_its_time() {
    let cloud = CloudServiceStub::start().await;
    let t = TestHall::open_with(cloud.options()).await;
    cloud.says(DeviceCodeReply::Broken);
    begin(&t).await;
    // Each loss doubles the wait.
    for (wait_s, polls) in [(1, 1), (2, 2), (4, 3)] {
        assert_eq!(poll(&t).await, wait_s);
        until("a poll", || cloud.asked("/oauth/token") == polls).await;
    }
    assert_eq!(link(&t).await["state"], "pending");
    cloud.says(DeviceCodeReply::Waiting);
    assert_eq!(poll(&t).await, 8);
    // An answer brings back what the service said at first.
    until("the next one", || t.awaited_s() == Some(1)).await;
    cloud.says(DeviceCodeReply::Key);
    assert_eq!(poll(&t).await, 1);
    becomes(&t, "linked").await;
}

#[tokio::test]
async fn a_code_ends_with_its_time_also_while_nobody_answers() {
    let cloud = CloudServiceStub::start().await;
    let t = TestHall::open_with(cloud.options()).await;
    cloud.says(DeviceCodeReply::Broken);
    begin(&t).await;
    until("a poll is due", || t.awaited_s().is_some()).await;
    t.advance(1_800);
    assert_eq!(
        short(&becomes(&t, "expired").await),
        json!(["expired", null, null])
    );
}

#[tokio::test]
async fn a_code_that_waits_outlives_a_restart_and_so_does_what_was_linked() {
    let cloud = CloudServiceStub::start().await;
    let mut t = TestHall::open_with(cloud.options()).await;
    begin(&t).await;
    let before = link(&t).await;
    t.restart_with(cloud.options()).await;
    assert_eq!(link(&t).await, before);
    cloud.says(DeviceCodeReply::Key);
    poll(&t).await;
    becomes(&t, "linked").await;
    let beats = cloud.asked("/v1/instances/heartbeat");
    t.restart_with(cloud.options()).await;
    let kept = link(&t).await;
    assert_eq!(
        json!([kept["state"], kept["approvedCode"]]),
        json!(["linked", "BCDF-GHJK"])
    );
    until("a heartbeat", || {
        cloud.asked("/v1/instances/heartbeat") > beats
    })
    .await;
    // Another service is shown nothing of it.
    let other = CloudServiceStub::start().await;
    t.restart_with(other.options()).await;
    assert_eq!(link(&t).await["state"], "idle");
    post(&t, "/api/cloud/link/check").await;
    assert_eq!(other.requests(), 0);
}

#[tokio::test]
async fn a_key_that_counts_no_more_unlinks() {
    let cloud = CloudServiceStub::start().await;
    let mut t = linked(&cloud).await;
    cloud.close();
    t.restart_with(cloud.options()).await;
    assert_eq!(
        short(&becomes(&t, "unlinked").await),
        json!(["unlinked", null, null])
    );
    let checked = post(&t, "/api/cloud/link/check").await;
    assert_eq!(checked["linked"], false);
    assert_eq!(post(&t, "/api/cloud/link/cancel").await["state"], "idle");
}

#[tokio::test]
async fn a_check_asks_once_in_a_quarter_of_a_minute() {
    let cloud = CloudServiceStub::start().await;
    let t = linked(&cloud).await;
    let beats = cloud.asked("/v1/instances/heartbeat");
    for _ in 0..3 {
        assert_eq!(post(&t, "/api/cloud/link/check").await["linked"], true);
    }
    t.advance(14);
    post(&t, "/api/cloud/link/check").await;
    assert_eq!(cloud.asked("/v1/instances/heartbeat"), beats);
    t.advance(1);
    post(&t, "/api/cloud/link/check").await;
    assert_eq!(cloud.asked("/v1/instances/heartbeat"), beats + 1);
}

#[tokio::test]
async fn an_instance_says_every_quarter_of_an_hour_that_it_lives() {
    let cloud = CloudServiceStub::start().await;
    let t = linked(&cloud).await;
    let beats = || cloud.asked("/v1/instances/heartbeat");
    for _ in 0..3 {
        let before = beats();
        let wait_s = t.advance_to_awaited().await;
        assert!((12 * 60..=18 * 60).contains(&wait_s), "{wait_s}");
        until("a heartbeat", || beats() == before + 1).await;
        // It is noted before the next one is waited for.
        until("the next one", || t.awaited_s().is_some()).await;
    }
}

#[tokio::test]
async fn a_service_that_is_none_is_told_so() {
    let cloud = CloudServiceStub::start().await;
    let options = cloud.options();
    drop(cloud);
    let t = TestHall::open_with(options).await;
    let start = t.owner().post("/api/cloud/link/start", json!({})).await;
    start.refused(502, "CLOUD_UNREACHABLE");
    assert_eq!(link(&t).await["state"], "idle");
}

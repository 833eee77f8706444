//! Going back to a backup by asking the server: what is refused, what the next start does, and
//! what is to be decided then.

use guildhall_domain::Timestamp;
use guildhall_hall::restore::complete_requested;
use guildhall_testkit::{PASSWORD, TestCaller, TestHall};
use guildhall_world::{data_dir::DataDir, restores::RestoreRequest};
use serde_json::{Value, json};

use crate::backups::{back_up, texts};

const LATER: Timestamp = Timestamp::from_millis(1_790_000_100_000);

fn at(backup: &Value) -> String {
    format!("/api/backups/{}/restore", backup["id"].as_str().unwrap())
}

async fn start(by: &TestCaller, backup: &Value) -> Value {
    by.ask("POST", &at(backup)).send().await.ok(200)
}

async fn last(by: &TestCaller) -> Value {
    by.get("/api/restore").await.ok(200)["restore"].clone()
}

fn revived(restore: &Value) -> Vec<(&str, &str)> {
    let all = restore["revived"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned().leak() as &str;
    all.map(|one| (text(&one["kind"]), text(&one["label"])))
        .collect()
}

fn complete(data_dir: &DataDir) {
    complete_requested(data_dir, LATER).unwrap();
}

#[tokio::test]
async fn the_server_restarts_from_the_backup_that_was_asked_for() {
    let mut t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    t.say(&owner, &room, "before").await;
    let backup = back_up(&owner).await;
    t.say(&owner, &room, "after").await;
    assert_eq!(last(&owner).await, Value::Null);

    let started = start(&owner, &backup).await;
    let health = owner.get("/api/health").await.ok(200);
    assert_eq!(
        (&started["backup"], &started["startedAt"]),
        (&backup, &health["startedAt"])
    );
    assert!(t.hall().is_restart_asked() && *t.hall().tasks().stopping().borrow());
    t.restart_after(complete).await;

    assert_eq!(texts(&owner, &room).await, ["before"]);
    let restore = last(&owner).await;
    assert_eq!(
        (&restore["backup"], &restore["problem"], &restore["revived"]),
        (&backup, &Value::Null, &json!([]))
    );
    assert!(restore["setAside"].as_str().unwrap().contains("set-aside"));
}

#[tokio::test]
async fn a_damaged_backup_is_refused_and_nothing_is_changed() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let backup = back_up(&owner).await;
    let file = format!("{}.sqlite.zst", backup["id"].as_str().unwrap());
    std::fs::write(t.data_dir().join("backups").join(file), "not it").unwrap();
    let refused = owner.ask("POST", &at(&backup)).send().await;
    refused.refused(409, "BACKUP_DAMAGED");
    assert_eq!(RestoreRequest::read(&t.data_dir()).unwrap(), None);
    t.say(&owner, &room, "still here").await;
}

#[tokio::test]
async fn a_backup_that_is_lost_meanwhile_leaves_the_data_as_it_is() {
    let mut t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let backup = back_up(&owner).await;
    t.say(&owner, &room, "after").await;
    start(&owner, &backup).await;
    t.restart_after(|data_dir| {
        std::fs::remove_dir_all(data_dir.path().join("backups")).unwrap();
        complete(data_dir);
    })
    .await;
    assert_eq!(texts(&owner, &room).await, ["after"]);
    assert!(last(&owner).await["problem"].is_string());
}

/// Leaves the data as a restore that was cut off at some step does.
type Cut = fn(&DataDir, &RestoreRequest);

/// What a crash can leave of a restore; from each the next start comes to the same end.
#[tokio::test]
async fn a_restore_goes_on_wherever_it_was_cut_off() {
    let cuts: [(&str, Cut); 4] = [
        ("unpacked", |data_dir, _| {
            std::fs::write(data_dir.restoring(), "half of it").unwrap();
            std::fs::write(data_dir.path().join("restoring.sqlite-wal"), "other pages").unwrap();
        }),
        ("set aside", |data_dir, request| {
            let set_aside = data_dir.set_data_aside(&request.asked_at.to_string());
            assert!(set_aside.unwrap().is_some());
        }),
        ("the log is not set aside yet", |data_dir, request| {
            let folder = data_dir.path().join("set-aside");
            let folder = folder.join(request.asked_at.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::rename(data_dir.database(), folder.join("guildhall.sqlite")).unwrap();
        }),
        ("complete but for the record", |data_dir, request| {
            complete(data_dir);
            request.write(data_dir.path()).unwrap();
        }),
    ];
    for (name, cut) in cuts {
        let mut t = TestHall::open().await;
        let (owner, room) = (t.owner(), t.team().await);
        t.say(&owner, &room, "before").await;
        let ada = t.bystander("ada").await;
        let tokens = format!("/api/agents/{}/tokens", ada.agent());
        let minted = owner.post(&tokens, json!({"label": "ci"})).await.ok(201);
        let backup = back_up(&owner).await;
        let one = format!("{tokens}/{}", minted["id"].as_str().unwrap());
        owner.delete(&one).await.ok(204);
        start(&owner, &backup).await;
        t.restart_after(|data_dir| {
            let request = RestoreRequest::read(data_dir.path()).unwrap().unwrap();
            cut(data_dir, &request);
            complete(data_dir);
            assert_eq!(RestoreRequest::read(data_dir.path()).unwrap(), None);
            assert!(!data_dir.restoring().exists(), "{name}");
        })
        .await;
        assert_eq!(texts(&owner, &room).await, ["before"], "{name}");
        let restore = last(&owner).await;
        assert_eq!(revived(&restore), [("agentToken", "ci")], "{name}");
        let before = std::path::Path::new(restore["setAside"].as_str().unwrap());
        assert!(before.join("guildhall.sqlite").exists(), "{name}");
    }
}

#[tokio::test]
async fn what_a_restore_revives_is_listed_until_each_is_decided() {
    let mut t = TestHall::open_login().await;
    let (owner, ada, pia) = (t.owner(), t.bystander("ada").await, t.person("Pia").await);
    let tokens = format!("/api/agents/{}/tokens", ada.agent());
    let token = owner.post(&tokens, json!({"label": "ci"})).await.ok(201);
    let key = owner.post("/api/auth/keys", json!({"label": "script"}));
    let key = key.await.ok(201);
    let backup = back_up(&owner).await;

    let token_url = format!("{tokens}/{}", token["id"].as_str().unwrap());
    owner.delete(&token_url).await.ok(204);
    let key_url = format!("/api/auth/keys/{}", key["id"].as_str().unwrap());
    owner.delete(&key_url).await.ok(204);
    let next = json!({"current": PASSWORD, "next": "another pass phrase"});
    pia.post("/api/auth/password", next).await.ok(204);
    start(&owner, &backup).await;
    t.restart_after(complete).await;

    let restore = last(&owner).await;
    let address = restore["revived"][2]["label"].as_str().unwrap();
    assert_eq!(
        revived(&restore),
        [
            ("agentToken", "ci"),
            ("apiKey", "script"),
            ("password", address)
        ]
    );
    let program = t.owner().with_key(key["key"].as_str().unwrap());
    program.get("/api/rooms").await.ok(200);
    for (place, decision) in [(0, "keep"), (1, "revoke"), (2, "revoke")] {
        let id = restore["revived"][place]["id"].as_str().unwrap();
        let path = format!("/api/restore/revived/{id}");
        let decided = owner.post(&path, json!({"decision": decision})).await;
        let left = decided.ok(200)["revived"].as_array().unwrap().len();
        assert_eq!(left, 2 - place);
        let again = owner.post(&path, json!({"decision": decision})).await;
        again.refused(404, "REVIVED_CREDENTIAL_NOT_FOUND");
    }
    let owner = t.owner();
    let kept = owner.get(&tokens).await.ok(200);
    assert_eq!(kept["tokens"][0]["revokedAt"], Value::Null, "{kept}");
    program
        .get("/api/rooms")
        .await
        .refused(401, "AUTH_REQUIRED");
    for (password, status) in [(PASSWORD, 401), ("another pass phrase", 200)] {
        let ask = json!({"email": address, "password": password});
        let answer = t.nobody().post("/api/auth/login", ask).await;
        assert_eq!(answer.status, status, "{password}");
    }
    assert_eq!(
        last(&owner).await["revived"],
        json!([]),
        "and stays decided"
    );
}

#[tokio::test]
async fn pending_approvals_can_be_decided_after_a_restore_and_late_ones_expire() {
    let mut t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.agent("ada").await);
    let early = t.request_approval(&ada, json!({"secret": "early"})).await;
    t.advance(3_600);
    let late = t.request_approval(&ada, json!({"secret": "late"})).await;
    let backup = back_up(&owner).await;
    let card = |id: String, verb: &str| format!("/api/approvals/{id}{verb}");
    let deny = card(late.approval.id.to_string(), "/deny");
    owner
        .post(&deny, json!({"digest": late.approval.digest}))
        .await
        .ok(200);
    start(&owner, &backup).await;
    t.advance(3_700);
    t.restart_after(complete).await;

    let state = async |id: String| {
        let found = owner.get(&card(id, "")).await.ok(200);
        found["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(early.approval.id.to_string()).await, "expired");
    assert_eq!(state(late.approval.id.to_string()).await, "pending");
    let grant = card(late.approval.id.to_string(), "/grant");
    owner
        .post(&grant, json!({"digest": late.approval.digest}))
        .await
        .ok(200);
}

//! Going back to a backup by asking the server: what is refused, what the next start does, and
//! what is to be decided then.

use guildhall_domain::Timestamp;
use guildhall_hall::restore::complete_requested;
use guildhall_testkit::{PASSWORD, TestCaller, TestHall, soon};
use guildhall_world::{data_dir::DataDir, restores::RestoreRequest};
use serde_json::{Value, json};

use crate::backups::{attach, back_up, texts};

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
async fn a_caller_that_hangs_up_gets_the_restore_it_asked_for() {
    let mut t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    t.say(&owner, &room, "before").await;
    let backup = back_up(&owner).await;
    t.say(&owner, &room, "after").await;
    let path = at(&backup);
    let folder = t.data_dir().join("backups");
    let is_verifying = || {
        let mut files = std::fs::read_dir(&folder).unwrap();
        files.any(|file| file.unwrap().path().to_string_lossy().contains(".draft"))
    };
    let mut asking = Box::pin(owner.ask("POST", &path).send());
    while futures_util::poll!(&mut asking).is_pending() && !is_verifying() {
        tokio::task::yield_now().await;
    }
    drop(asking);
    let mut stopping = t.hall().tasks().stopping();
    let stopped = soon("the end of the server", stopping.wait_for(|stop| *stop)).await;
    assert!(*stopped.unwrap() && t.hall().is_restart_asked());
    t.restart_after(complete).await;
    assert_eq!(texts(&owner, &room).await, ["before"]);
}

#[tokio::test]
async fn a_restore_needs_no_list_of_attachments_and_takes_them_where_they_are_whole() {
    let mut t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let file = attach(&owner, &room, "the plan").await;
    let backup = back_up(&owner).await;
    start(&owner, &backup).await;
    let sha256 = file["sha256"].as_str().unwrap();
    t.restart_after(|data_dir| {
        let backups = data_dir.path().join("backups");
        let list = format!("{}.attachments", backup["id"].as_str().unwrap());
        std::fs::write(backups.join(list), "\0\0").unwrap();
        // What no reading of it gives any bytes of.
        let copy = backups.join("attachments").join(&sha256[..2]).join(sha256);
        std::fs::remove_file(&copy).unwrap();
        std::fs::create_dir(&copy).unwrap();
        complete(data_dir);
    })
    .await;
    assert_eq!(last(&owner).await["attachmentsMissing"], 0);
    let served = owner.get(file["url"].as_str().unwrap()).await;
    assert_eq!(served.bytes, b"the plan"[..]);
}

/// A hall whose last restore revived the token `ci` of ada, with the URL of her tokens.
async fn with_revived_token() -> (TestHall, Value, String) {
    let mut t = TestHall::open().await;
    let (owner, ada) = (t.owner(), t.bystander("ada").await);
    let tokens = format!("/api/agents/{}/tokens", ada.agent());
    let token = owner.post(&tokens, json!({"label": "ci"})).await.ok(201);
    let backup = back_up(&owner).await;
    let url = format!("{tokens}/{}", token["id"].as_str().unwrap());
    owner.delete(&url).await.ok(204);
    t.advance(60);
    start(&owner, &backup).await;
    t.restart_after(complete).await;
    assert_eq!(revived(&last(&owner).await), [("agentToken", "ci")]);
    (t, backup, tokens)
}

#[tokio::test]
async fn a_restore_that_fails_leaves_what_is_to_be_decided() {
    let (mut t, _, _) = with_revived_token().await;
    let owner = t.owner();
    let before = last(&owner).await;
    let backup = back_up(&owner).await;
    t.advance(60);
    start(&owner, &backup).await;
    t.restart_after(|data_dir| {
        let file = format!("{}.sqlite.zst", backup["id"].as_str().unwrap());
        std::fs::write(data_dir.path().join("backups").join(file), "not it").unwrap();
        complete(data_dir);
    })
    .await;
    let failed = last(&owner).await;
    assert!(failed["problem"].is_string());
    assert_eq!(
        (&failed["revived"], &failed["setAside"]),
        (&before["revived"], &before["setAside"])
    );
}

#[tokio::test]
async fn a_second_restore_keeps_what_is_undecided_and_counts_on() {
    let (mut t, backup, tokens) = with_revived_token().await;
    let owner = t.owner();
    t.advance(60);
    start(&owner, &backup).await;
    t.restart_after(complete).await;
    let restore = last(&owner).await;
    assert_eq!(revived(&restore), [("agentToken", "ci")]);

    // Revoked without a decision, it is listed once.
    let id = restore["revived"][0]["id"].as_str().unwrap();
    owner.delete(&format!("{tokens}/{id}")).await.ok(204);
    t.advance(60);
    start(&owner, &backup).await;
    t.restart_after(complete).await;
    assert_eq!(revived(&last(&owner).await), [("agentToken", "ci")]);

    // What does not count in the backup is not listed any more.
    owner.delete(&format!("{tokens}/{id}")).await.ok(204);
    let later = back_up(&owner).await;
    t.advance(60);
    start(&owner, &later).await;
    t.restart_after(complete).await;
    assert_eq!(last(&owner).await["revived"], json!([]));
}

#[tokio::test]
async fn the_later_password_is_found_after_a_second_restore() {
    let mut t = TestHall::open_login().await;
    let (owner, pia) = (t.owner(), t.person("Pia").await);
    let backup = back_up(&owner).await;
    let next = json!({"current": PASSWORD, "next": "another pass phrase"});
    pia.post("/api/auth/password", next).await.ok(204);
    for _ in 0..2 {
        t.advance(60);
        start(&owner, &backup).await;
        t.restart_after(complete).await;
    }
    let restore = last(&owner).await;
    assert_eq!(revived(&restore), [("password", "pia@example.org")]);
    let id = restore["revived"][0]["id"].as_str().unwrap();
    let revoke = json!({"decision": "revoke"});
    let path = format!("/api/restore/revived/{id}");
    owner.post(&path, revoke).await.ok(200);
    let ask = json!({"email": "pia@example.org", "password": "another pass phrase"});
    t.nobody().post("/api/auth/login", ask).await.ok(200);
}

#[tokio::test]
async fn a_sign_in_that_was_ended_stays_ended_after_a_restore() {
    let mut t = TestHall::open_login().await;
    let (owner, pia, zoe) = (t.owner(), t.person("Pia").await, t.person("Zoe").await);
    let backup = back_up(&owner).await;
    zoe.ask("POST", "/api/auth/logout").send().await.ok(204);
    start(&owner, &backup).await;
    t.restart_after(complete).await;
    zoe.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
    pia.get("/api/rooms").await.ok(200);
    assert_eq!(last(&owner).await["revived"], json!([]));
}

#[tokio::test]
async fn data_of_before_that_cannot_be_read_ends_every_sign_in_and_names_what_is_unknown() {
    let mut t = TestHall::open_login().await;
    let (owner, pia) = (t.owner(), t.person("Pia").await);
    let backup = back_up(&owner).await;
    start(&owner, &backup).await;
    t.restart_after(|data_dir| {
        std::fs::write(data_dir.database(), vec![0xa5; 65_536]).unwrap();
        complete(data_dir);
    })
    .await;
    pia.get("/api/rooms").await.refused(401, "AUTH_REQUIRED");
    let owner = t.sign_in("owner@example.org", PASSWORD).await;
    let restore = last(&owner).await;
    assert_eq!(
        (&restore["revived"], &restore["revivedUnknown"]),
        (
            &Value::Null,
            &json!(["agentToken", "apiKey", "password", "account"])
        )
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

//! Backups: made while the server works, listed, verified, downloaded, and gone back to.

use std::os::unix::fs::MetadataExt;

use guildhall_domain::{Timestamp, ids::BackupId};
use guildhall_hall::restore::restore;
use guildhall_testkit::{TestCaller, TestHall};
use guildhall_world::digests::DigestBuilder;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::from_millis(1_790_000_100_000);

pub(crate) async fn back_up(by: &TestCaller) -> Value {
    by.ask("POST", "/api/backups").send().await.ok(201)
}

pub(crate) async fn verify(by: &TestCaller, backup: &Value) -> Value {
    let path = format!("/api/backups/{}/verify", backup["id"].as_str().unwrap());
    by.ask("POST", &path).send().await.ok(200)
}

pub(crate) async fn attach(by: &TestCaller, room: &str, text: &str) -> Value {
    let path = format!("/api/rooms/{room}/attachments");
    let file = [("plan.txt", "text/plain", text.as_bytes())];
    let sent = by.ask("POST", &path).files(&file).send().await.ok(201);
    let file = sent["attachments"][0].clone();
    let entry = json!({"text": text, "attachmentIds": [file["id"]]});
    let path = format!("/api/rooms/{room}/entries");
    by.post(&path, entry).await.ok(201);
    file
}

pub(crate) async fn texts(by: &TestCaller, room: &str) -> Vec<String> {
    let page = by.get(&format!("/api/rooms/{room}/entries")).await.ok(200);
    let entries = page["entries"].as_array().unwrap().iter();
    let mut texts: Vec<String> = entries
        .map(|entry| entry["text"].as_str().unwrap().to_owned())
        .collect();
    texts.sort_unstable();
    texts
}

pub(crate) fn id(backup: &Value) -> BackupId {
    BackupId::parse(backup["id"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_backup_is_made_listed_verified_and_downloaded_as_it_was_written() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let none = owner.get("/api/backups").await.ok(200);
    assert_eq!(
        (&none["backups"], &none["last"]),
        (&json!([]), &Value::Null)
    );
    let file = attach(&owner, &room, "the plan").await;
    t.say(&owner, &room, "before").await;

    let backup = back_up(&owner).await;
    let health = owner.get("/api/health").await.ok(200);
    assert_eq!(backup["logId"], health["logId"]);
    assert_eq!(
        (
            &backup["reason"],
            &backup["entries"],
            &backup["attachments"]
        ),
        (&json!("manual"), &json!(2), &json!(1))
    );
    let list = owner.get("/api/backups").await.ok(200);
    assert_eq!(list["backups"], json!([backup]));
    assert_eq!(list["bytesTotal"], backup["bytes"]);
    assert_eq!(list["last"]["problem"], Value::Null);

    // Attachments are kept once: the same file under a second name.
    let sha256 = file["sha256"].as_str().unwrap();
    let blob = t.data_dir().join("blobs").join(&sha256[..2]).join(sha256);
    assert_eq!(std::fs::metadata(&blob).unwrap().nlink(), 2);

    let whole = verify(&owner, &backup).await;
    assert_eq!(
        (&whole["isWhole"], &whole["problem"], &whole["backup"]),
        (&json!(true), &Value::Null, &backup)
    );
    let path = format!("/api/backups/{}/file", backup["id"].as_str().unwrap());
    let sent = owner.get(&path).await;
    assert_eq!(sent.header("content-type"), "application/zstd");
    let mut digesting = DigestBuilder::default();
    digesting.add(&sent.bytes);
    assert_eq!(digesting.finish().to_string(), backup["sha256"]);
    assert_eq!(sent.bytes.len() as u64, backup["bytes"]);
}

#[tokio::test]
async fn a_damaged_backup_or_attachment_is_found_by_verifying() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let file = attach(&owner, &room, "the plan").await;
    let backup = back_up(&owner).await;
    let folder = t.data_dir().join("backups");

    let sha256 = file["sha256"].as_str().unwrap();
    let kept = folder.join("attachments").join(&sha256[..2]).join(sha256);
    std::fs::remove_file(kept).unwrap();
    let found = verify(&owner, &backup).await;
    assert_eq!(
        (
            &found["isWhole"],
            &found["problem"],
            &found["attachmentsDamaged"]
        ),
        (&json!(false), &Value::Null, &json!(1))
    );
    assert_eq!(
        (&found["attachmentsChecked"], &found["attachmentsMissing"]),
        (&json!(1), &json!(1))
    );

    let packed = folder.join(format!("{}.sqlite.zst", backup["id"].as_str().unwrap()));
    let mut bytes = std::fs::read(&packed).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&packed, bytes).unwrap();
    let found = verify(&owner, &backup).await;
    assert_eq!(found["isWhole"], false);
    assert!(found["problem"].is_string(), "{found}");
    // It is the backup that is damaged, not the data.
    t.say(&owner, &room, "after").await;
    let nothing = "/api/backups/01980000-0000-7000-8000-000000000000/verify";
    let answer = owner.ask("POST", nothing).send().await;
    answer.refused(404, "BACKUP_NOT_FOUND");
}

#[tokio::test]
async fn a_restore_brings_back_what_was_sets_aside_what_is_and_begins_a_new_log() {
    let mut t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let file = attach(&owner, &room, "with a file").await;
    let backup = back_up(&owner).await;
    t.say(&owner, &room, "later than backup").await;
    let before = owner.get("/api/health").await.ok(200);

    let wanted = id(&backup);
    let mut set_aside = None;
    t.restart_after(|data_dir| {
        let nothing = restore(data_dir, Some(BackupId::from_bytes([1; 16])), NOW).unwrap();
        assert!(nothing.is_none(), "an unknown backup changes nothing");
        let restored = restore(data_dir, Some(wanted), NOW).unwrap().unwrap();
        assert_eq!(restored.attachments_missing, 0);
        assert_eq!(restored.revived, Some(Vec::new()));
        set_aside = restored.set_aside;
    })
    .await;

    assert_eq!(texts(&owner, &room).await, ["with a file"]);
    let url = file["url"].as_str().unwrap();
    let served = owner.get(url).await;
    assert_eq!(
        (served.status, &served.bytes[..]),
        (200, &b"with a file"[..])
    );
    let after = owner.get("/api/health").await.ok(200);
    assert_ne!(after["logId"], before["logId"], "readers begin anew");
    t.say(&owner, &room, "anew").await;

    let is_set_aside = ["guildhall.sqlite", "guildhall.sqlite-wal"]
        .iter()
        .any(|file| {
            let bytes = std::fs::read(set_aside.as_ref().unwrap().join(file));
            bytes.is_ok_and(|bytes| bytes.windows(17).any(|part| part == b"later than backup"))
        });
    assert!(is_set_aside, "nothing of before is deleted");
    // The backup is there still, and can be gone back to again.
    assert_eq!(verify(&owner, &backup).await["isWhole"], true);
}

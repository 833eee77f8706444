//! What takes the disk, and the check of attachments.

use guildhall_testkit::TestHall;
use guildhall_world::store_state::StoreState;
use serde_json::{Value, json};

use crate::backups::{attach, back_up};

async fn storage(t: &TestHall) -> Value {
    t.owner().get("/api/storage").await.ok(200)
}

fn area<'a>(storage: &'a Value, name: &str) -> &'a Value {
    let mut areas = storage["areas"].as_array().unwrap().iter();
    areas.find(|area| area["name"] == name).unwrap()
}

#[tokio::test]
async fn every_part_of_the_data_folder_is_told_with_what_bounds_it() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let bytes = vec![7; 300_000];
    t.upload(
        &owner,
        &room,
        ("plan.bin", "application/octet-stream", &bytes),
    )
    .await;
    back_up(&owner).await;
    let use_ = storage(&t).await;
    let at_least = [
        ("store", 4_096),
        ("eventLog", 1),
        ("attachments", 300_000),
        ("backups", 1),
    ];
    for (name, least) in at_least {
        assert!(
            area(&use_, name)["bytes"].as_u64().unwrap() >= least,
            "{use_}"
        );
    }
    // Shared with the data, where it counts.
    assert!(area(&use_, "backups")["bytes"].as_u64().unwrap() < 300_000);
    assert_eq!(area(&use_, "eventLog")["bytesMax"], json!(1_u64 << 31));
    let free = use_["freeBytes"].as_u64().unwrap();
    assert!(free > 0 && free <= use_["diskBytes"].as_u64().unwrap());
    assert_eq!(
        (&use_["isReserveReleased"], &use_["isPartial"]),
        (&json!(false), &json!(false))
    );
    for area in use_["areas"].as_array().unwrap() {
        assert!(area["boundedBy"].as_str().unwrap().ends_with('.'), "{area}");
    }
}

#[tokio::test]
async fn a_damaged_attachment_is_restored_from_a_whole_copy_and_told_without_one() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let sent = t
        .upload(&owner, &room, ("plan.txt", "text/plain", b"the plan"))
        .await;
    let (digest, url) = (
        sent["sha256"].as_str().unwrap(),
        sent["url"].as_str().unwrap(),
    );
    back_up(&owner).await;
    assert_eq!(storage(&t).await["attachmentsCheckedAt"], Value::Null);
    let blob = t.data_dir().join("blobs").join(&digest[..2]).join(digest);

    // Another file: the backups' copy keeps its bytes.
    std::fs::remove_file(&blob).unwrap();
    std::fs::write(&blob, "the plot").unwrap();
    t.hall().check_attachments().await.unwrap();
    assert_eq!(owner.get(url).await.bytes, b"the plan"[..]);
    let use_ = storage(&t).await;
    assert!(use_["attachmentsCheckedAt"].is_string());
    assert_eq!(use_["attachmentsDamaged"], json!([]));

    std::fs::write(&blob, "the plot").unwrap();
    let copy = t.data_dir().join("backups/attachments");
    std::fs::write(copy.join(&digest[..2]).join(digest), "the plot").unwrap();
    t.hall().check_attachments().await.unwrap();
    assert_eq!(storage(&t).await["attachmentsDamaged"], json!([digest]));
    owner.get(url).await.refused(500, "ATTACHMENT_DAMAGED");

    t.upload(&owner, &room, ("plan.txt", "text/plain", b"the plan"))
        .await;
    t.hall().check_attachments().await.unwrap();
    assert_eq!(storage(&t).await["attachmentsDamaged"], json!([]));
}

#[tokio::test]
async fn a_missing_attachment_is_restored_and_one_that_cannot_be_opened_is_told() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let attach = async |text: &str| {
        let sent = attach(&owner, &room, text).await;
        let digest = sent["sha256"].as_str().unwrap().to_owned();
        let blob = t.data_dir().join("blobs").join(&digest[..2]).join(&digest);
        (sent["url"].as_str().unwrap().to_owned(), digest, blob)
    };
    let (url, _, missing) = attach("missing").await;
    let (_, digest, unreadable) = attach("unreadable").await;
    back_up(&owner).await;
    for blob in [&missing, &unreadable] {
        std::fs::remove_file(blob).unwrap();
    }
    std::fs::create_dir(&unreadable).unwrap();
    t.hall().check_attachments().await.unwrap();
    assert_eq!(owner.get(&url).await.bytes, b"missing"[..]);
    assert_eq!(storage(&t).await["attachmentsDamaged"], json!([digest]));
}

#[tokio::test]
async fn a_damaged_copy_beside_the_backups_is_renewed() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let sent = attach(&owner, &room, "the plan").await;
    let digest = sent["sha256"].as_str().unwrap();
    back_up(&owner).await;
    // The same file under two names, and then one of its own.
    let copy = t.data_dir().join("backups/attachments");
    let copy = copy.join(&digest[..2]).join(digest);
    std::fs::remove_file(&copy).unwrap();
    std::fs::write(&copy, "the plot").unwrap();
    t.hall().check_attachments().await.unwrap();
    assert_eq!(std::fs::read(&copy).unwrap(), b"the plan");
}

#[tokio::test]
async fn what_the_reserve_gave_back_is_known_to_the_next_start() {
    let mut t = TestHall::open().await;
    t.restart_after(|data_dir| {
        let state = StoreState {
            is_reserve_released: true,
            ..StoreState::read(data_dir.path()).unwrap()
        };
        state.write(data_dir.path()).unwrap();
    })
    .await;
    assert_eq!(storage(&t).await["isReserveReleased"], true);
}

//! The second folder of backups: what is copied there, and what happens when its disk is gone.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use guildhall_domain::backups::Backup;
use guildhall_hall::backups::outside::BackupFolder;
use guildhall_testkit::{TestCaller, TestHall, soon};
use serde_json::{Value, json};

use crate::backups::{attach, back_up, id};

/// A folder that stands for another disk, set as the second one.
async fn set_disk(t: &TestHall) -> PathBuf {
    let disk = t.scratch().join("disk");
    fs::create_dir(&disk).unwrap();
    let change = json!({"storage.backupFolder": disk});
    t.owner().patch("/api/settings", change).await.ok(200);
    disk
}

/// What became of the second folder, once nothing is copied any more.
async fn second_folder(by: &TestCaller) -> Value {
    let copied = async {
        loop {
            let list = by.get("/api/backups").await.ok(200);
            if list["secondFolder"]["isCopying"] == false {
                return list["secondFolder"].clone();
            }
        }
    };
    soon("the copying to end", copied).await
}

fn there(disk: &Path) -> Vec<Backup> {
    BackupFolder::open(disk).unwrap().list().unwrap()
}

#[tokio::test]
async fn backups_are_copied_to_a_second_folder_and_kept_there_by_the_same_rules() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let none = owner.get("/api/backups").await.ok(200);
    assert_eq!(none["secondFolder"], Value::Null);
    let file = attach(&owner, &room, "the plan").await;
    let first = back_up(&owner).await;

    // Those of before are copied as well.
    let disk = set_disk(&t).await;
    let second = second_folder(&owner).await;
    assert_eq!(
        (&second["folder"], &second["problem"]),
        (&json!(disk), &Value::Null)
    );
    let copied = there(&disk).remove(0);
    assert_eq!(copied.id, id(&first));
    let folder = BackupFolder::open(&disk).unwrap();
    let verified = folder.verify(copied).unwrap();
    assert!(verified.is_whole(), "{verified:?}");
    assert_eq!(verified.attachments_checked, 1);
    let sha256 = file["sha256"].as_str().unwrap();
    let kept = folder.path().join("attachments").join(&sha256[..2]);
    let links = fs::metadata(kept.join(sha256)).unwrap().nlink();
    assert_eq!(links, 1, "a copy and no second name");

    t.say(&owner, &room, "more").await;
    t.advance(60);
    let change = json!({"storage.backupBytesMax": 0});
    owner.patch("/api/settings", change).await.ok(200);
    let newest = back_up(&owner).await;
    assert_eq!(second_folder(&owner).await["problem"], Value::Null);
    let ids: Vec<_> = there(&disk).iter().map(|backup| backup.id).collect();
    assert_eq!(ids, [id(&newest)], "the bound counts there as well");
    let use_ = owner.get("/api/storage").await.ok(200);
    assert_eq!(use_["secondBackupFolder"]["folder"], json!(disk));
}

#[tokio::test]
async fn a_second_folder_that_is_gone_is_told_and_not_made_again() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let disk = set_disk(&t).await;
    let first = back_up(&owner).await;
    assert_eq!(second_folder(&owner).await["problem"], Value::Null);

    let elsewhere = t.scratch().join("elsewhere");
    fs::rename(&disk, &elsewhere).unwrap();
    t.advance(60);
    let second = back_up(&owner).await;
    let gone = second_folder(&owner).await;
    let problem = gone["problem"].as_str().unwrap();
    assert!(problem.contains("is not there"), "{problem}");
    assert!(!disk.exists());
    let list = owner.get("/api/backups").await.ok(200);
    assert_eq!(list["last"]["problem"], Value::Null, "the backup is made");

    // As an empty mount point is.
    fs::create_dir(&disk).unwrap();
    t.advance(60);
    let third = back_up(&owner).await;
    let gone = second_folder(&owner).await;
    let problem = gone["problem"].as_str().unwrap();
    assert!(problem.contains("is not there any more"), "{problem}");
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);

    fs::remove_dir(&disk).unwrap();
    fs::rename(&elsewhere, &disk).unwrap();
    t.advance(60);
    let fourth = back_up(&owner).await;
    assert_eq!(second_folder(&owner).await["problem"], Value::Null);
    let ids: Vec<_> = there(&disk).iter().map(|backup| backup.id).collect();
    let all = [&fourth, &third, &second, &first].map(id);
    assert_eq!(ids, all, "what was missing there is copied");
}

#[tokio::test]
async fn a_second_folder_that_cannot_be_one_is_refused() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let file = t.scratch().join("file");
    fs::write(&file, "x").unwrap();
    for (folder, why) in [
        (PathBuf::from("backups"), "must be an absolute path"),
        (t.data_dir().join("backups"), "outside of the data folder"),
        (t.data_dir(), "outside of the data folder"),
        (t.scratch().join("none"), "is not there"),
        (file, "is no folder"),
        (PathBuf::from("/proc"), "cannot be written"),
    ] {
        let change = json!({"storage.backupFolder": folder});
        let answer = owner.patch("/api/settings", change).await;
        let said = String::from_utf8_lossy(&answer.bytes).into_owned();
        answer.refused(400, "VALIDATION_FAILED");
        assert!(said.contains(why), "{folder:?}: {said}");
    }
    let list = owner.get("/api/backups").await.ok(200);
    assert_eq!(list["secondFolder"], Value::Null);
}

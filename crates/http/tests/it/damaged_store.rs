//! Damaged data: noticed, told, nothing acknowledged any more, and reading goes on.

use std::{
    fs::OpenOptions,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use guildhall_testkit::{TestCaller, TestHall, soon};
use guildhall_world::store_state::StoreState;
use serde_json::json;

const PAGE: usize = 4_096;
const POSTS: usize = 240;
const DAMAGED_PAGES: usize = 34;
const SEED: u64 = 21;
const A_DAY_S: i64 = 24 * 3_600;

/// Fills pages that hold posts from before the newest ones with bytes that are no page's.
fn damage_pages(database: &Path) {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(database)
        .unwrap();
    let bytes = std::fs::read(database).unwrap();
    let with_post: Vec<usize> = bytes
        .chunks(PAGE)
        .enumerate()
        .filter(|(_, page)| page.windows(7).any(|part| part == b"needle-"))
        .map(|(number, _)| number)
        .collect();
    // The newest events and entries are read at every start.
    let old = &with_post[..with_post.len() / 2];
    let mut random = SEED;
    for _ in 0..DAMAGED_PAGES {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let page = old[usize::try_from(random >> 33).unwrap() % old.len()];
        file.write_all_at(&[0xa5; PAGE], (page * PAGE) as u64)
            .unwrap();
    }
}

async fn fill(t: &TestHall, owner: &TestCaller, room: &str) {
    for n in 0..POSTS {
        t.say(owner, room, &format!("needle-{n} {}", "x".repeat(2_000)))
            .await;
    }
}

/// Puts the file of an attachment that no row names.
fn put_unnamed(data_dir: &Path) -> PathBuf {
    let folder = data_dir.join("blobs/ff");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("ff".repeat(32));
    std::fs::write(&file, "x").unwrap();
    file
}

#[tokio::test]
async fn a_store_that_lost_changes_costs_no_attachment() {
    let mut t = TestHall::open().await;
    let mut unnamed = PathBuf::new();
    t.restart_after(|data_dir| {
        let state = StoreState::read(data_dir.path()).unwrap();
        let noted = StoreState {
            newest_seq: state.newest_seq + 1_000,
            ..state
        };
        noted.write(data_dir.path()).unwrap();
        unnamed = put_unnamed(data_dir.path());
    })
    .await;
    assert!(t.hall().collect_attachment_garbage().await.is_err());
    assert!(unnamed.exists());
    // Whoever starts it again goes on with what is left.
    t.restart().await;
    let is_whole = async { while t.owner().get("/readyz").await.status == 503 {} };
    soon("a whole store", is_whole).await;
    t.hall().collect_attachment_garbage().await.unwrap();
    assert!(!unnamed.exists());
}

fn after_a_bad_end(data_dir: &Path) {
    let state = StoreState::read(data_dir).unwrap();
    let state = StoreState {
        is_open: true,
        ..state
    };
    state.write(data_dir).unwrap();
}

async fn until_degraded(owner: &TestCaller) -> String {
    soon("a degraded server", async {
        loop {
            let answer = owner.get("/readyz").await;
            if answer.status == 503 {
                break answer.ok(503)["checks"]["store"]
                    .as_str()
                    .unwrap()
                    .to_owned();
            }
        }
    })
    .await
}

#[tokio::test]
async fn damaged_pages_are_noticed_nothing_is_acknowledged_after_and_reading_goes_on() {
    let mut t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    fill(&t, &owner, &room).await;
    let database = t.database();
    let mut unnamed = PathBuf::new();
    t.restart_after(|data_dir| {
        damage_pages(&database);
        after_a_bad_end(data_dir.path());
        unnamed = put_unnamed(data_dir.path());
    })
    .await;
    let found = until_degraded(&owner).await;
    assert!(
        unnamed.exists(),
        "a damaged store may need what it does not name"
    );
    assert!(found.contains("the data is damaged"), "{found}");
    let others = t.stranger().get("/readyz").await.ok(503);
    assert_eq!(others["checks"]["store"], "not ok");

    let entries = format!("/api/rooms/{room}/entries");
    for n in 0..3 {
        let post = owner.post(&entries, json!({"text": format!("late {n}")}));
        post.await.refused(503, "STORE_DAMAGED");
    }
    let another = json!({"kind": "channel", "title": "late", "memberIds": []});
    let refused = owner.post("/api/rooms", another).await;
    refused.refused(503, "STORE_DAMAGED");

    owner.get("/api/rooms").await.ok(200);
    let newest = owner.get(&format!("{entries}?limit=5")).await.ok(200);
    let text = newest["entries"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("needle-"), "{text}");

    // The next start knows it before any check.
    t.restart().await;
    let post = owner.post(&entries, json!({"text": "late"})).await;
    post.refused(503, "STORE_DAMAGED");
    assert!(until_degraded(&owner).await.contains("damaged"));
}

#[tokio::test]
async fn a_day_after_the_last_check_the_next_one_notices() {
    let mut t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    fill(&t, &owner, &room).await;
    t.advance(A_DAY_S + 1);
    let database = t.database();
    t.restart_after(|_| damage_pages(&database)).await;
    until_degraded(&owner).await;
}

#[tokio::test]
async fn a_whole_store_is_written_again_once_it_was_checked() {
    let mut t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    t.restart_after(|data_dir| {
        let noticed = StoreState {
            damage: Some("page 3".to_owned()),
            ..StoreState::read(data_dir.path()).unwrap()
        };
        noticed.write(data_dir.path()).unwrap();
    })
    .await;
    let is_whole = async { while owner.get("/readyz").await.status == 503 {} };
    soon("a whole store", is_whole).await;
    t.say(&owner, &room, "again").await;
    let data_dir = t.data_dir();
    let is_forgotten = || StoreState::read(&data_dir).unwrap().damage.is_none();
    guildhall_testkit::until("that no damage is on record", is_forgotten).await;
}

#[tokio::test]
async fn a_damaged_attachment_is_told_and_not_served() {
    let t = TestHall::open().await;
    let (owner, room) = (t.owner(), t.team().await);
    let path = format!("/api/rooms/{room}/attachments");
    let send = || async {
        let file = [("plan.txt", "text/plain", &b"the plan"[..])];
        let sent = owner.ask("POST", &path).files(&file).send().await.ok(201);
        sent["attachments"][0].clone()
    };
    let first = send().await;
    let digest = first["sha256"].as_str().unwrap();
    let url = first["url"].as_str().unwrap();
    owner.get(url).await.ok(200);
    let blob = t.data_dir().join("blobs").join(&digest[..2]).join(digest);
    std::fs::write(&blob, "the plot").unwrap();
    owner.get(url).await.refused(500, "ATTACHMENT_DAMAGED");
    // The same bytes mend it.
    send().await;
    owner.get(url).await.ok(200);
}

//! How much a canvas holds, and whose files it shows. Source: contract 2.5 and 6.1.

use guildhall_testkit::TestHall;
use serde_json::json;

use crate::canvas::{of, page};

#[tokio::test]
async fn a_canvas_has_a_hundred_documents_pinned_ones_too() {
    let t = TestHall::open().await;
    let owner = t.owner();
    let room = t.channel(&owner, "Ops", &[]).await;
    for n in 0..100 {
        let mut pinned = page(n);
        pinned["pinned"] = true.into();
        owner.post(&of(&room), pinned).await.ok(201);
    }
    let rows = t.rows();
    let one_more = owner.post(&of(&room), page(100)).await;
    let details = one_more.refused(409, "LIMIT_REACHED");
    assert_eq!(details, json!({"limit": "canvas documents"}));
    assert_eq!(t.rows(), rows);
    // What is there can be opened again.
    owner.post(&of(&room), page(7)).await.ok(200);
}

#[tokio::test]
async fn people_show_files_only_when_the_owner_opens_them() {
    let t = TestHall::open_login().await;
    let (owner, pia) = (t.owner(), t.person("Pia").await);
    let room = t.team().await;
    let path = format!("{}/notes.txt", t.folder("shared"));
    std::fs::write(&path, "x").unwrap();
    let file = json!({"content": {"type": "file", "sourcePath": path}});
    let refused = pia.post(&of(&room), file.clone()).await;
    refused.refused(403, "OWNER_ONLY");
    owner
        .patch("/api/settings", json!({"files.people": "boundary"}))
        .await
        .ok(200);
    pia.post(&of(&room), file).await.ok(201);
}

//! The canvas of a session: who has it, what it holds, and saving the files of its documents.
//! Source: contract 2.5, "the same routes", 6.4 rows 6 and 6a, 6.5 and 6.6.

use std::fs;

use guildhall_testkit::{TestCaller, TestHall, TestResponse};
use serde_json::{Value, json};

use crate::{
    canvas::page,
    saves::{CONTENT, hash, replace_by_rename},
    sessions::{self, ON_DISK, on_disk},
    test_values::{column, text},
};

const EVENTS: [&str; 2] = [
    "01980000-0000-7000-8000-000000000001",
    "01980000-0000-7000-8000-000000000002",
];
const NOTHING: &str = "01980000-0000-7000-8000-000000000000";

/// A session of ada's, and its canvas.
struct SessionWithCanvas {
    t: TestHall,
    ada: TestCaller,
    session: Value,
    canvas: String,
}

impl SessionWithCanvas {
    async fn open() -> Self {
        let t = TestHall::open().await;
        let ada = t.agent("ada").await;
        let session = sessions::open(&t.owner(), &ada, json!({})).await;
        let canvas = format!("{}/canvas", sessions::at(&session));
        Self {
            t,
            ada,
            session,
            canvas,
        }
    }

    fn scope(&self) -> String {
        format!("session:{}", text(&self.session["id"]))
    }

    fn at(&self, document: &Value) -> String {
        format!("{}/{}", self.canvas, text(&document["id"]))
    }

    /// Every route of the canvas, as `by` asks for it.
    async fn every_route(
        &self,
        by: &TestCaller,
        canvas: &str,
        document: &Value,
    ) -> [TestResponse; 7] {
        let at = format!("{canvas}/{}", text(&document["id"]));
        [
            by.get(canvas).await,
            by.post(canvas, page(1)).await,
            by.get(&at).await,
            by.patch(&at, json!({"pinned": true})).await,
            by.post(&format!("{at}/editing"), json!({"editing": true}))
                .await,
            by.delete(&at).await,
            self.t
                .owner()
                .post(&format!("{at}/reload"), json!({}))
                .await,
        ]
    }
}

#[tokio::test]
async fn a_session_has_a_canvas_for_people_and_its_own_agent() {
    let stage = SessionWithCanvas::open().await;
    let (t, owner, ada) = (&stage.t, stage.t.owner(), &stage.ada);
    let mut events = t.events();
    let opened = ada.post(&stage.canvas, page(1)).await.ok(201);
    for (field, value) in [
        ("scope", json!(stage.scope())),
        ("roomId", json!("")),
        ("authorId", json!(ada.author())),
        ("position", json!(1)),
        ("rev", json!(1)),
        ("threadRootEntryId", json!("")),
    ] {
        assert_eq!(opened[field], value, "{field}");
    }
    let told = events.all();
    assert_eq!(
        (&told[0]["type"], &told[0]["scope"]),
        (&json!("canvas_document"), &json!(stage.scope()))
    );
    assert_eq!(
        told[0]["data"],
        json!({"document": opened, "change": "opened"})
    );
    // A person opens another beside it, and each sees both.
    let second = owner.post(&stage.canvas, page(2)).await.ok(201);
    for reader in [&owner, ada] {
        let listed = reader.get(&stage.canvas).await.ok(200);
        let ids = [&second, &opened].map(|document| text(&document["id"]));
        assert_eq!(column(&listed["documents"], "id"), ids);
        assert_eq!(reader.get(&stage.at(&opened)).await.ok(200), opened);
    }
    let changed = owner
        .ask("PATCH", &stage.at(&opened))
        .header("if-match", "\"1\"")
        .json(&json!({"pinned": true, "activate": true}))
        .send()
        .await;
    assert_eq!(changed.header("etag"), "\"2\"");
    assert_eq!(changed.ok(200)["position"], 3);
    assert_eq!(
        owner.post(&stage.canvas, page(2)).await.ok(200)["id"],
        second["id"]
    );
    ada.delete(&stage.at(&second)).await.ok(204);
    let closed = json!({"documentId": second["id"], "scope": stage.scope(), "reason": "closed"});
    assert_eq!(events.single_event("canvas_document_closed"), closed);
}

#[tokio::test]
async fn whoever_may_not_know_of_the_session_learns_nothing_of_its_canvas() {
    let stage = SessionWithCanvas::open().await;
    let (t, owner) = (&stage.t, stage.t.owner());
    on_disk(t, &t.folder("ada"));
    let document = owner.post(&stage.canvas, page(1)).await.ok(201);
    let bob = t.agent("bob").await;
    // The first use of a token is written down.
    bob.get("/api/sessions").await.ok(200);
    let before = t.rows();
    let canvas_of = |id: &str| format!("/api/sessions/{id}/canvas");
    for (by, canvas) in [
        (&owner, canvas_of(NOTHING)),
        // What an agent's own command line made is no session of ours yet.
        (&owner, canvas_of(ON_DISK)),
    ] {
        for answer in stage.every_route(by, &canvas, &document).await {
            answer.refused(404, "SESSION_NOT_FOUND");
        }
    }
    let answers = stage.every_route(&bob, &stage.canvas, &document).await;
    for answer in answers.into_iter().take(6) {
        answer.refused(404, "SESSION_NOT_FOUND");
    }
    for answer in stage
        .every_route(&owner, &canvas_of("none"), &document)
        .await
    {
        answer.refused(400, "VALIDATION_FAILED");
    }
    assert_eq!(t.rows(), before);
    let events = format!("/api/events?scope={}", stage.scope());
    let answer = bob.get(&events).await;
    answer.refused(404, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn its_own_agent_hears_of_it_and_no_other() {
    let stage = SessionWithCanvas::open().await;
    let (t, owner) = (&stage.t, stage.t.owner());
    let (team, bob) = (t.team().await, t.agent("bob").await);
    let opened = owner.post(&stage.canvas, page(1)).await.ok(201);
    // Everybody in `team` hears of this one.
    crate::canvas::open(&owner, &team, 2).await;
    let head = t.events().place().unsigned_abs();
    let heard = async |by: &TestCaller| -> Vec<Value> {
        let mut stream = t.stream(by, "/api/events?after=0", None).await;
        let frames = stream.until(head).await;
        let told = frames
            .iter()
            .filter(|frame| frame.event == "canvas_document");
        told.map(|frame| frame.inner()["document"]["scope"].clone())
            .collect()
    };
    let room = json!(format!("room:{team}"));
    assert_eq!(
        heard(&stage.ada).await,
        [opened["scope"].clone(), room.clone()]
    );
    assert_eq!(heard(&bob).await, [room]);
}

#[tokio::test]
async fn a_document_is_found_on_its_own_canvas_alone() {
    let stage = SessionWithCanvas::open().await;
    let (t, owner) = (&stage.t, stage.t.owner());
    let room = t.team().await;
    let of_room = crate::canvas::open(&owner, &room, 1).await;
    let of_session = owner.post(&stage.canvas, page(1)).await.ok(201);
    assert_ne!(of_room["id"], of_session["id"], "one key on each canvas");
    let other = sessions::open(&owner, &stage.ada, json!({})).await;
    let other = format!("{}/canvas", sessions::at(&other));
    for at in [
        stage.at(&of_room),
        crate::canvas::at(&room, &of_session),
        format!("{other}/{}", text(&of_session["id"])),
    ] {
        let answer = owner.get(&at).await;
        answer.refused(404, "CANVAS_DOCUMENT_NOT_FOUND");
        let answer = owner.delete(&at).await;
        answer.refused(404, "CANVAS_DOCUMENT_NOT_FOUND");
    }
    // Threads are those of rooms.
    let thread = format!("{}/thread", stage.at(&of_session));
    assert_eq!(owner.post(&thread, json!({})).await.status, 404);
}

#[tokio::test]
async fn who_edits_hinders_others_and_a_closed_session_nobody() {
    let stage = SessionWithCanvas::open().await;
    let (t, owner, ada) = (&stage.t, stage.t.owner(), &stage.ada);
    let document = owner.post(&stage.canvas, page(1)).await.ok(201);
    let at = stage.at(&document);
    let editing = format!("{at}/editing");
    let held = ada.post(&editing, json!({"editing": true})).await.ok(200);
    assert_eq!(held["editingBy"], ada.author());
    let refused = owner.patch(&at, json!({"pinned": true})).await;
    assert_eq!(refused.refused(409, "CANVAS_BEING_EDITED"), held);
    t.advance(45);
    owner.patch(&at, json!({"pinned": true})).await.ok(200);
    // There is no archive: what a closed session has open stays in use.
    owner.delete(&sessions::at(&stage.session)).await.ok(200);
    owner.post(&stage.canvas, page(2)).await.ok(201);
    owner.patch(&at, json!({"activate": true})).await.ok(200);
}

/// The document of the file `a.md`, which lies in ada's folder.
async fn shown(stage: &SessionWithCanvas, content: &str) -> (String, Value) {
    let path = format!("{}/a.md", stage.t.folder("ada"));
    fs::write(&path, content).unwrap();
    let ask = json!({"content": {"type": "file", "sourcePath": path}});
    let document = stage.ada.post(&stage.canvas, ask).await.ok(201);
    (path, document)
}

async fn save(
    stage: &SessionWithCanvas,
    document: &Value,
    n: usize,
    before: &str,
    content: &str,
) -> TestResponse {
    let ask = json!({"cwd": stage.t.folder("ada"), "path": "a.md", "content": content,
        "documentSave": {"documentId": document["id"], "eventId": EVENTS[n],
            "expectedFileHash": hash(before), "incarnation": document["incarnation"]}});
    stage.t.owner().put(CONTENT, ask).await
}

#[tokio::test]
async fn a_file_of_a_session_is_saved_as_its_document_and_told_in_the_session() {
    let mut stage = SessionWithCanvas::open().await;
    let (path, document) = shown(&stage, "zero").await;
    let bound = document["incarnation"].clone();
    assert_eq!(bound["channelCreatedAt"], stage.session["createdAt"]);
    assert_eq!(bound["documentId"], document["id"]);
    let mut events = stage.t.events();
    let saved = save(&stage, &document, 0, "zero", "one").await.ok(200);
    let receipt = json!({"documentId": document["id"], "eventId": EVENTS[0],
        "incarnation": bound, "docSeq": 1, "fileHash": hash("one"), "status": "accepted"});
    assert_eq!(saved["documentReceipt"], receipt);
    let told = events.all();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(
        (&told[1]["type"], &told[1]["scope"]),
        (&json!("doc_saved"), &json!(stage.scope()))
    );
    stage.t.restart().await;
    let again = save(&stage, &document, 0, "zero", "one").await.ok(200);
    assert_eq!(again["documentReceipt"]["status"], "duplicate");
    assert_eq!(fs::read_to_string(&path).unwrap(), "one");
    assert_eq!(
        stage.t.owner().get(&stage.at(&document)).await.ok(200)["incarnation"],
        bound
    );
}

#[tokio::test]
async fn a_replaced_file_of_a_session_is_reloaded_by_the_owner_alone() {
    let stage = SessionWithCanvas::open().await;
    let owner = stage.t.owner();
    let (path, document) = shown(&stage, "zero").await;
    let reload = format!("{}/reload", stage.at(&document));
    stage
        .ada
        .post(&reload, json!({}))
        .await
        .refused(403, "OWNER_ONLY");
    replace_by_rename(&path, "theirs");
    save(&stage, &document, 0, "theirs", "mine")
        .await
        .refused(412, "FILE_IDENTITY_CHANGED");
    let reloaded = owner.post(&reload, json!({})).await.ok(200);
    assert_eq!(
        (&reloaded["content"], &reloaded["hash"]),
        (&json!("theirs"), &json!(hash("theirs")))
    );
    let document = reloaded["document"].clone();
    assert_eq!(document["incarnation"], reloaded["incarnation"]);
    assert_eq!(document["scope"], stage.scope());
    let saved = save(&stage, &document, 0, "theirs", "mine").await.ok(200);
    assert_eq!(saved["documentReceipt"]["docSeq"], 1);
    let url = owner.post(&stage.canvas, page(1)).await.ok(201);
    let reload = format!("{}/reload", stage.at(&url));
    let answer = owner.post(&reload, json!({})).await;
    answer.refused(403, "DOCUMENT_NOT_CHAT");
}

#[tokio::test]
async fn an_agent_shows_files_of_its_own_folder_alone() {
    let stage = SessionWithCanvas::open().await;
    let outside = format!("{}/b.md", stage.t.folder("elsewhere"));
    fs::write(&outside, "b").unwrap();
    let ask = json!({"content": {"type": "file", "sourcePath": outside}});
    let refused = stage.ada.post(&stage.canvas, ask.clone()).await;
    refused.refused(403, "OUTSIDE_BOUNDARY");
    stage.t.owner().post(&stage.canvas, ask).await.ok(201);
}

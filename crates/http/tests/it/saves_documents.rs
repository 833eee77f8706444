//! Saving the files of canvas documents: bindings, receipts, and what is done once.
//! Source: contract 6.5.

use std::fs;

use guildhall_testkit::{TestCaller, TestHall, TestResponse};
use serde_json::{Value, json};

use crate::{
    canvas,
    saves::{CONTENT, conflict, hash, replace_by_rename},
    test_values::text,
};

/// A room whose canvas shows the file `a.md`.
struct RoomWithFileDocument {
    t: TestHall,
    folder: String,
    room: String,
    document: Value,
}

/// The n-th id of a client's.
fn event(n: u32) -> String {
    format!("01980000-0000-7000-8000-{n:012}")
}

impl RoomWithFileDocument {
    async fn open() -> Self {
        let t = TestHall::open().await;
        let folder = t.folder("desk");
        fs::write(format!("{folder}/a.md"), "zero").unwrap();
        let room = t.team().await;
        let content = json!({"type": "file", "sourcePath": format!("{folder}/a.md")});
        let ask = json!({ "content": content });
        let document = t.owner().post(&canvas::of(&room), ask).await.ok(201);
        Self {
            t,
            folder,
            room,
            document,
        }
    }

    fn path(&self) -> String {
        format!("{}/a.md", self.folder)
    }

    fn held(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn ask(&self, n: u32, before: &str, content: &str) -> Value {
        json!({"cwd": self.folder, "path": "a.md", "content": content, "documentSave": {
            "documentId": self.document["id"], "eventId": event(n),
            "expectedFileHash": hash(before), "incarnation": self.document["incarnation"]}})
    }

    async fn save(&self, n: u32, before: &str, content: &str) -> TestResponse {
        self.t
            .owner()
            .put(CONTENT, self.ask(n, before, content))
            .await
    }

    async fn reload(&self) -> TestResponse {
        let path = format!("{}/reload", canvas::at(&self.room, &self.document));
        self.t.owner().post(&path, json!({})).await
    }

    async fn shown(&self) -> Value {
        let path = canvas::at(&self.room, &self.document);
        self.t.owner().get(&path).await.ok(200)
    }
}

#[tokio::test]
async fn documents_with_a_file_are_bound_to_it_and_others_to_nothing() {
    let mut stage = RoomWithFileDocument::open().await;
    let owner = stage.t.owner();
    let room = owner
        .get(&format!("/api/rooms/{}", stage.room))
        .await
        .ok(200);
    let bound = stage.document["incarnation"].clone();
    assert_eq!(text(&bound["generation"]).len(), 64);
    let expected = json!({"v": 1, "documentId": stage.document["id"],
        "physicalOpenedAt": stage.document["openedAt"], "channelCreatedAt": room["createdAt"],
        "generation": bound["generation"]});
    assert_eq!(bound, expected);
    let page = canvas::open(&owner, &stage.room, 1).await;
    assert!(page.get("incarnation").is_none());
    // What is not the file changes nothing of the binding.
    stage.t.advance(60);
    let at = canvas::at(&stage.room, &stage.document);
    for change in [
        json!({"pinned": true}),
        json!({"activate": true}),
        json!({"content": {"type": "file", "sourcePath": stage.path(), "title": "Other"}}),
    ] {
        assert_eq!(owner.patch(&at, change).await.ok(200)["incarnation"], bound);
    }
    stage.t.restart().await;
    assert_eq!(stage.shown().await["incarnation"], bound);
    // Another file is another binding, and none is none.
    fs::write(format!("{}/b.md", stage.folder), "b").unwrap();
    let other =
        json!({"content": {"type": "file", "sourcePath": format!("{}/b.md", stage.folder)}});
    let other = owner.patch(&at, other).await.ok(200)["incarnation"].clone();
    assert_ne!(other["generation"], bound["generation"]);
    let none = json!({"content": {"type": "url", "url": "https://a.example"}});
    assert!(
        owner
            .patch(&at, none)
            .await
            .ok(200)
            .get("incarnation")
            .is_none()
    );
}

#[tokio::test]
async fn a_save_is_counted_receipted_and_told_in_the_room() {
    let stage = RoomWithFileDocument::open().await;
    let mut events = stage.t.events();
    let saved = stage.save(1, "zero", "one").await.ok(200);
    let receipt = json!({"documentId": stage.document["id"], "eventId": event(1),
        "incarnation": stage.document["incarnation"], "docSeq": 1, "fileHash": hash("one"),
        "status": "accepted"});
    let expected = json!({"ok": true, "hash": hash("one"), "effect": "changed",
        "identity": saved["identity"], "documentReceipt": receipt});
    assert_eq!(saved, expected);
    let told = events.all();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0]["type"], "file_saved");
    let scope = format!("room:{}", stage.room);
    assert_eq!(
        (&told[1]["type"], &told[1]["scope"]),
        (&json!("doc_saved"), &json!(scope))
    );
    let data = json!({"documentId": stage.document["id"], "eventId": event(1), "docSeq": 1,
        "incarnation": stage.document["incarnation"], "previousFileHash": hash("zero"),
        "fileHash": hash("one")});
    assert_eq!(told[1]["data"], data);
    // Our own saves keep the binding; an ordinary one keeps it too.
    stage
        .t
        .owner()
        .put(
            CONTENT,
            json!({"cwd": stage.folder, "path": "a.md", "content": "two"}),
        )
        .await
        .ok(200);
    let mut short = stage.ask(2, "two", "three");
    let generation = stage.document["incarnation"]["generation"].clone();
    short["documentSave"]
        .as_object_mut()
        .unwrap()
        .remove("incarnation");
    short["documentSave"]["expectedGeneration"] = generation;
    let saved = stage.t.owner().put(CONTENT, short).await.ok(200);
    assert_eq!(saved["documentReceipt"]["docSeq"], 2);
    assert_eq!(
        stage.shown().await["incarnation"],
        stage.document["incarnation"]
    );
}

#[tokio::test]
async fn the_same_save_sent_a_hundred_times_happens_once() {
    let mut stage = RoomWithFileDocument::open().await;
    let mut events = stage.t.events();
    let first = stage.save(1, "zero", "one").await.ok(200);
    let duplicate = |answer: TestResponse| {
        let answer = answer.ok(200);
        assert_eq!(
            (&answer["effect"], &answer["hash"]),
            (&json!("no_op"), &json!(hash("one")))
        );
        let mut receipt = first["documentReceipt"].clone();
        receipt["status"] = json!("duplicate");
        assert_eq!(answer["documentReceipt"], receipt);
    };
    for n in 1..100 {
        if n == 50 {
            stage.t.restart().await;
        }
        duplicate(stage.save(1, "zero", "one").await);
    }
    assert_eq!(events.names(), ["file_saved", "doc_saved"]);
    // Also after later writes, whoever makes them, and without a look at the file.
    stage.save(2, "one", "two").await.ok(200);
    duplicate(stage.save(1, "zero", "one").await);
    assert_eq!(stage.held(), "two");
    replace_by_rename(&stage.path(), "theirs");
    duplicate(stage.save(1, "zero", "one").await);
    fs::remove_file(stage.path()).unwrap();
    duplicate(stage.save(1, "zero", "one").await);
}

#[tokio::test]
async fn saves_with_one_id_that_race_happen_once() {
    let stage = RoomWithFileDocument::open().await;
    let mut events = stage.t.events();
    let mut racing = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let (owner, ask) = (stage.t.owner(), stage.ask(1, "zero", "one"));
        racing.spawn(async move { owner.put(CONTENT, ask).await.ok(200) });
    }
    let answers = racing.join_all().await;
    let accepted = answers
        .iter()
        .filter(|answer| answer["documentReceipt"]["status"] == "accepted");
    assert_eq!(accepted.count(), 1);
    assert!(
        answers
            .iter()
            .all(|answer| answer["documentReceipt"]["docSeq"] == 1)
    );
    assert_eq!(events.names(), ["file_saved", "doc_saved"]);
}

#[tokio::test]
async fn an_id_that_was_used_is_not_used_for_anything_else() {
    let stage = RoomWithFileDocument::open().await;
    stage.save(1, "zero", "one").await.ok(200);
    let mut events = stage.t.events();
    let mut elsewhere = stage.ask(1, "zero", "one");
    elsewhere["path"] = json!("b.md");
    for ask in [
        stage.ask(1, "zero", "other"),
        stage.ask(1, "one", "one"),
        elsewhere,
    ] {
        let answer = stage.t.owner().put(CONTENT, ask).await;
        answer.refused(409, "DOC_EVENT_ID_CONFLICT");
    }
    // What is the same already uses no id.
    let same = stage.save(2, "one", "one").await.ok(200);
    assert_eq!(
        (&same["effect"], same.get("documentReceipt")),
        (&json!("no_op"), None)
    );
    assert_eq!(stage.held(), "one");
    events.none();
    let used = stage.save(2, "one", "two").await.ok(200);
    assert_eq!(used["documentReceipt"]["docSeq"], 2);
}

#[tokio::test]
async fn a_save_is_held_against_the_document_and_an_id_stays_unused() {
    let stage = RoomWithFileDocument::open().await;
    let owner = stage.t.owner();
    fs::write(format!("{}/b.md", stage.folder), "zero").unwrap();
    let mut events = stage.t.events();
    let put = async |change: fn(&mut Value)| {
        let mut ask = stage.ask(1, "zero", "one");
        change(&mut ask);
        owner.put(CONTENT, ask).await
    };
    put(|ask| ask["path"] = json!("b.md"))
        .await
        .refused(409, "DOCUMENT_FILE_MISMATCH");
    put(|ask| ask["documentSave"]["incarnation"]["v"] = json!(2))
        .await
        .refused(409, "DOCUMENT_INCARNATION_CHANGED");
    put(|ask| ask["documentSave"]["incarnation"]["generation"] = json!("0".repeat(64)))
        .await
        .refused(409, "DOCUMENT_INCARNATION_CHANGED");
    put(|ask| ask["documentSave"]["documentId"] = json!("none"))
        .await
        .refused(404, "CANVAS_DOCUMENT_NOT_FOUND");
    put(|ask| ask["expectedHash"] = json!("0".repeat(64)))
        .await
        .refused(400, "VALIDATION_FAILED");
    put(|ask| ask["expectedIdentity"] = json!("x"))
        .await
        .refused(412, "FILE_IDENTITY_CHANGED");
    assert_eq!(
        conflict(&stage.save(1, "stale", "one").await),
        [json!(hash("zero")), json!("zero")]
    );
    let page = canvas::open(&owner, &stage.room, 1).await;
    let mut of_page = stage.ask(1, "zero", "one");
    of_page["documentSave"]["documentId"] = page["id"].clone();
    events.single_event("canvas_document");
    owner
        .put(CONTENT, of_page)
        .await
        .refused(403, "DOCUMENT_NOT_CHAT");
    let private = stage.t.channel(&owner, "Old", &[]).await;
    let content =
        json!({"content": {"type": "file", "sourcePath": format!("{}/b.md", stage.folder)}});
    let old = owner.post(&canvas::of(&private), content).await.ok(201);
    owner
        .patch(&format!("/api/rooms/{private}"), json!({"archived": true}))
        .await
        .ok(200);
    events.all();
    let mut archived = stage.ask(1, "zero", "one");
    archived["documentSave"]["documentId"] = old["id"].clone();
    archived["path"] = json!("b.md");
    owner
        .put(CONTENT, archived)
        .await
        .refused(409, "ROOM_ARCHIVED");
    let reload = format!("{}/reload", canvas::at(&private, &old));
    owner
        .post(&reload, json!({}))
        .await
        .refused(409, "ROOM_ARCHIVED");
    assert_eq!(stage.held(), "zero");
    events.none();
    assert_eq!(
        stage.save(1, "zero", "one").await.ok(200)["documentReceipt"]["docSeq"],
        1
    );
}

#[tokio::test]
async fn a_replaced_file_is_saved_again_once_its_document_is_reloaded() {
    let mut stage = RoomWithFileDocument::open().await;
    stage.save(1, "zero", "one").await.ok(200);
    let same = stage.reload().await.ok(200);
    assert_eq!(
        same["incarnation"], stage.document["incarnation"],
        "our own save is no other file"
    );
    replace_by_rename(&stage.path(), "theirs");
    stage
        .save(2, "theirs", "mine")
        .await
        .refused(412, "FILE_IDENTITY_CHANGED");
    assert_eq!(stage.held(), "theirs");
    let mut events = stage.t.events();
    let reloaded = stage.reload().await.ok(200);
    let document = stage.shown().await;
    assert_eq!(
        events.next("canvas_document"),
        json!({"document": document, "change": "updated"})
    );
    let expected = json!({"document": document, "content": "theirs", "hash": hash("theirs"),
        "identity": reloaded["identity"], "incarnation": document["incarnation"]});
    assert_eq!(reloaded, expected);
    assert_ne!(document["incarnation"], stage.document["incarnation"]);
    stage
        .save(2, "theirs", "mine")
        .await
        .refused(409, "DOCUMENT_INCARNATION_CHANGED");
    stage.document = document;
    let saved = stage.save(2, "theirs", "mine").await.ok(200);
    assert_eq!(saved["documentReceipt"]["docSeq"], 1, "counted anew");
    // What was saved in the earlier binding is known on.
    let earlier = stage.save(1, "zero", "one").await.ok(200);
    assert_eq!(earlier["documentReceipt"]["status"], "duplicate");
}

#[tokio::test]
async fn a_reload_answers_as_a_read_and_only_to_the_owner() {
    let stage = RoomWithFileDocument::open().await;
    let owner = stage.t.owner();
    let ada = stage.t.agent("ada").await;
    let at = |document: &Value| format!("{}/reload", canvas::at(&stage.room, document));
    ada.post(&at(&stage.document), json!({}))
        .await
        .refused(403, "OWNER_ONLY");
    let page = canvas::open(&owner, &stage.room, 1).await;
    owner
        .post(&at(&page), json!({}))
        .await
        .refused(403, "DOCUMENT_NOT_CHAT");
    let none = json!({"id": "none"});
    owner
        .post(&at(&none), json!({}))
        .await
        .refused(404, "CANVAS_DOCUMENT_NOT_FOUND");
    let nowhere = format!("{}/reload", canvas::at("none", &stage.document));
    owner
        .post(&nowhere, json!({}))
        .await
        .refused(404, "ROOM_NOT_FOUND");
    for (bytes, status, code) in [
        (vec![0], 415, "BINARY_FILE"),
        (vec![0xff], 415, "NOT_UTF8"),
        (vec![b'x'; (10 << 20) + 1], 413, "FILE_TOO_LARGE"),
    ] {
        fs::write(stage.path(), bytes).unwrap();
        stage.reload().await.refused(status, code);
    }
    fs::remove_file(stage.path()).unwrap();
    stage.reload().await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn receipts_go_with_their_document_and_agents_learn_nothing_of_any() {
    let stage = RoomWithFileDocument::open().await;
    let ada: TestCaller = stage.t.agent("ada").await;
    stage.save(1, "zero", "one").await.ok(200);
    let ask = stage.ask(1, "zero", "one");
    ada.put(CONTENT, ask.clone())
        .await
        .refused(403, "OWNER_ONLY");
    let dead = stage.t.unverifiable().put(CONTENT, ask).await;
    dead.refused(401, "AGENT_IDENTITY_UNVERIFIED");
    let owner = stage.t.owner();
    owner
        .delete(&canvas::at(&stage.room, &stage.document))
        .await
        .ok(204);
    stage
        .save(1, "zero", "one")
        .await
        .refused(404, "CANVAS_DOCUMENT_NOT_FOUND");
    assert!(!stage.t.rows().contains("document_saves\t"));
    assert!(!stage.t.rows().contains("document_files\t"));
}

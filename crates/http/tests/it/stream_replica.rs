//! A room's snapshot with its events equals what the room's GETs answer, after every step.
//! Source: contract 1.14, line 11.

use std::collections::BTreeSet;

use guildhall_domain::settings::{self, SettingSource};
use guildhall_testkit::{HallOptions, SseClient, TestCaller, TestHall};
use serde_json::{Value, json};

use crate::{
    canvas,
    test_values::{SeededRandom, list, text},
};

/// What one viewer knows of a room from its stream alone.
struct RoomReplica {
    viewer: TestCaller,
    stream: SseClient,
    room: Value,
    entries: Vec<Value>,
    /// Its canvas, in order.
    documents: Vec<Value>,
    /// Its turns that are not over.
    turns: Vec<Value>,
    /// Who ever wrote here, by the entries seen.
    wrote: BTreeSet<String>,
}

impl RoomReplica {
    async fn begin(t: &TestHall, viewer: &TestCaller, room: &str) -> Self {
        let mut stream = t
            .stream(viewer, &format!("/api/rooms/{room}/events"), None)
            .await;
        let snapshot = stream.expect("snapshot").await.data;
        let mut known = Self {
            viewer: viewer.clone(),
            stream,
            room: snapshot["room"].clone(),
            entries: Vec::new(),
            documents: list(&snapshot["documents"]).clone(),
            turns: list(&snapshot["turns"]).clone(),
            wrote: BTreeSet::new(),
        };
        for entry in list(&snapshot["entries"]) {
            known.wrote.insert(text(&entry["authorId"]));
            known.entries.push(entry.clone());
        }
        known
    }

    /// Takes in everything up to the event at `seq`, which every viewer hears.
    async fn catch_up(&mut self, seq: u64) {
        for frame in self.stream.until(seq).await {
            let data = frame.inner().clone();
            self.fold(&frame.event, &data);
        }
    }

    fn fold(&mut self, event: &str, data: &Value) {
        match event {
            "room_updated" => {
                for (field, value) in data["room"].as_object().unwrap() {
                    self.room[field] = value.clone();
                }
            }
            "room_member_added" => self.join(&data["member"]),
            "room_member_updated" => {
                let changed = &data["member"];
                for member in self.members() {
                    if member["authorId"] == changed["authorId"] {
                        *member = changed.clone();
                    }
                }
            }
            "room_member_removed" => self.leave(&text(&data["authorId"])),
            "entry_added" => self.written(&data["entry"]),
            "entry_redacted" => {
                let redacted = &data["entry"];
                if let Some(known) = self.entry(&redacted["id"]) {
                    *known = redacted.clone();
                }
            }
            "entry_reactions" => {
                if let Some(known) = self.entry(&data["entryId"]) {
                    known["reactions"] = data["reactions"].clone();
                }
            }
            "read_cursor" => {
                assert_eq!(data["authorId"], self.viewer.author());
                self.room["unreadCount"] = data["unreadCount"].clone();
                self.room["mentionCount"] = data["mentionCount"].clone();
                for member in self.members() {
                    if member["authorId"] == data["authorId"] {
                        member["lastReadSeq"] = data["lastReadSeq"].clone();
                    }
                }
            }
            "author_updated" => self.renamed(&data["author"]),
            "canvas_document" => self.shown(&data["document"]),
            "canvas_document_closed" => {
                let id = &data["documentId"];
                self.documents.retain(|document| document["id"] != *id);
            }
            "turn_updated" => {
                let turn = &data["turn"];
                self.turns.retain(|known| known["id"] != turn["id"]);
                if turn["state"] == "refused" {
                    self.turns.push(turn.clone());
                }
            }
            // A slow test meets a heartbeat.
            "position" => {}
            other => panic!("{other} is no event of a room"),
        }
    }

    /// The entry, if it is known: an agent knows none from before it joined.
    fn entry(&mut self, id: &Value) -> Option<&mut Value> {
        self.entries.iter_mut().find(|entry| entry["id"] == *id)
    }

    fn members(&mut self) -> &mut Vec<Value> {
        self.room["members"].as_array_mut().unwrap()
    }

    fn people(&mut self) -> Option<&mut Vec<Value>> {
        self.room["participants"].as_array_mut()
    }

    fn former(&mut self) -> &mut Vec<Value> {
        self.room["formerAuthors"].as_array_mut().unwrap()
    }

    fn join(&mut self, member: &Value) {
        let id = &member["authorId"];
        self.members().push(member.clone());
        self.former().retain(|author| author["id"] != *id);
        if let Some(people) = self.people() {
            people.push(member["author"].clone());
        }
        if id == self.viewer.author() {
            self.room["unreadCount"] = 0.into();
            self.room["mentionCount"] = 0.into();
        }
    }

    fn leave(&mut self, id: &str) {
        let place = self
            .members()
            .iter()
            .position(|member| member["authorId"] == id)
            .unwrap();
        let member = self.members().remove(place);
        if let Some(people) = self.people() {
            people.retain(|author| author["id"] != id);
        }
        if self.wrote.contains(id) {
            self.former().push(member["author"].clone());
            self.former().sort_by_key(|author| text(&author["id"]));
        }
        if id == self.viewer.author() {
            self.room["unreadCount"] = Value::Null;
            self.room["mentionCount"] = Value::Null;
        }
    }

    fn written(&mut self, entry: &Value) {
        self.room["lastActivityAt"] = entry["createdAt"].clone();
        self.wrote.insert(text(&entry["authorId"]));
        let me = self.viewer.author();
        let more = |count: &mut Value| {
            if let Some(number) = count.as_u64() {
                *count = (number + 1).into();
            }
        };
        if entry["kind"] == "notice" {
            // Notices count in no badge.
        } else if entry["authorId"] == me {
            self.room["viewerHasPosted"] = true.into();
        } else {
            more(&mut self.room["unreadCount"]);
            if list(&entry["mentions"]).iter().any(|named| named == me) {
                more(&mut self.room["mentionCount"]);
            }
        }
        if let Some(root) = self.entry(&entry["threadRootEntryId"]) {
            root["threadReplyCount"] = (root["threadReplyCount"].as_u64().unwrap() + 1).into();
            root["threadLastReplyAt"] = entry["createdAt"].clone();
        }
        self.entries.push(entry.clone());
    }

    fn renamed(&mut self, author: &Value) {
        let mut summary = author.clone();
        summary.as_object_mut().unwrap().remove("retired");
        let same = |known: &Value| known["id"] == summary["id"];
        for member in self.members() {
            if same(&member["author"]) {
                member["author"] = summary.clone();
            }
        }
        for known in self.former() {
            if same(known) {
                *known = summary.clone();
            }
        }
        for known in self.people().into_iter().flatten() {
            if same(known) {
                *known = summary.clone();
            }
        }
    }

    fn shown(&mut self, document: &Value) {
        self.documents.retain(|known| known["id"] != document["id"]);
        self.documents.push(document.clone());
        self.documents
            .sort_by_key(|document| std::cmp::Reverse(document["position"].as_u64()));
    }

    /// How far others have read is told to them alone, so an agent's GET knows more of it.
    fn without_others_cursors(&self, mut room: Value) -> Value {
        let me = self.viewer.author();
        for member in room["members"].as_array_mut().unwrap() {
            if member["authorId"] != me {
                member["lastReadSeq"] = Value::Null;
            }
        }
        room
    }

    /// Demands that what is known equals what the GETs answer.
    async fn holds(&self, step: &str) {
        let path = format!("/api/rooms/{}", text(&self.room["id"]));
        let room = self.viewer.get(&path).await.ok(200);
        let (known, answered) = (
            self.without_others_cursors(self.room.clone()),
            self.without_others_cursors(room.clone()),
        );
        for (field, value) in answered.as_object().unwrap() {
            assert_eq!(&known[field], value, "{field} after {step}");
        }
        assert_eq!(known, answered, "after {step}");
        let members = self.viewer.get(&format!("{path}/members")).await.ok(200);
        assert_eq!(members["members"], room["members"], "after {step}");
        let page = self
            .viewer
            .get(&format!("{path}/entries?limit=200"))
            .await
            .ok(200);
        assert_eq!(page["entries"], json!(self.entries), "after {step}");
        let mut turns = self.turns.clone();
        turns.reverse();
        let of_room = format!("{path}/turns?state=refused&limit=200");
        let ledger = self.viewer.get(&of_room).await.ok(200);
        assert_eq!(ledger["turns"], json!(turns), "after {step}");
        let canvas = self.viewer.get(&format!("{path}/canvas")).await.ok(200);
        assert_eq!(canvas["documents"], json!(self.documents), "after {step}");
        assert_eq!(page["threadRoots"], json!([]), "after {step}");
    }
}

const NO_TURNS: &[(&settings::Setting, SettingSource, settings::SettingValue)] = &[(
    &settings::MAX_AUTO_TURNS_TOTAL_PER_HOUR,
    SettingSource::File,
    settings::SettingValue::Number(0),
)];

#[tokio::test]
async fn a_snapshot_with_its_events_equals_what_get_answers_after_every_step() {
    // Every turn is refused at once, so that nothing happens between the steps.
    let t = TestHall::open_with(HallOptions {
        configured: NO_TURNS,
        ..HallOptions::default()
    })
    .await;
    let owner = t.owner();
    owner
        .patch(&owner.handle_url(), json!({"handle": "boss"}))
        .await
        .ok(200);
    let (ada, bob) = (t.agent("ada").await, t.agent("bob").await);
    // Comes later and sees nothing of what was before.
    let cleo = t.agent("cleo").await;
    let mut chance = SeededRandom(0xf01d);
    for kind in ["channel", "dm"] {
        let ask = json!({"kind": kind, "title": (kind == "channel").then_some("Fold"),
            "memberIds": [ada.author(), bob.author()]});
        let mut ask = ask;
        ask.as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        let room = text(&owner.post("/api/rooms", ask).await.ok(201)["id"]);
        let path = format!("/api/rooms/{room}");
        let mut said = vec![text(&t.say(&owner, &room, "the first @ada").await["id"])];
        let join = json!({"authorId": cleo.author()});
        owner.post(&format!("{path}/members"), join).await.ok(201);
        let mut viewers = [
            RoomReplica::begin(&t, &owner, &room).await,
            RoomReplica::begin(&t, &ada, &room).await,
            RoomReplica::begin(&t, &cleo, &room).await,
        ];
        for n in 0..60 {
            t.advance(1);
            let who = *chance.one(&[&owner, &bob]);
            let somebody = *chance.one(&[&owner, &ada, &bob]);
            let seat = format!("{path}/members/{}", who.author());
            let canvas = canvas::of(&room);
            let documents = owner.get(&canvas).await.ok(200)["documents"].take();
            let document = match list(&documents).as_slice() {
                [] => canvas.clone(),
                documents => canvas::at(&room, chance.one(documents)),
            };
            let entry = format!("{path}/entries/{}", chance.one(&said));
            let (step, answer) = match chance.below(27) {
                0..=3 => {
                    let words = *chance.one(&["plain", "@ada @boss", "`@ada` @bob"]);
                    let root = (chance.below(2) == 0).then(|| chance.one(&said));
                    let post = json!({"text": words, "threadRootEntryId": root});
                    let answer = somebody.post(&format!("{path}/entries"), post).await;
                    if let Some(id) = answer.body["entry"]["id"].as_str() {
                        said.push(id.to_owned());
                    }
                    ("a post", answer)
                }
                22..=24 => {
                    let emoji = *chance.one(&["%F0%9F%91%8D", "%F0%9F%8E%89"]);
                    let method = *chance.one(&["PUT", "PUT", "DELETE"]);
                    let path = format!("{entry}/reactions/{emoji}");
                    ("a reaction", somebody.ask(method, &path).send().await)
                }
                25 => ("a redaction", owner.delete(&entry).await),
                4 | 5 => {
                    let ask = json!({"lastReadSeq": chance.below(20), "allowBack": true});
                    (
                        "a cursor",
                        owner.put(&format!("{path}/read-cursor"), ask).await,
                    )
                }
                6 | 7 => ("leaving", owner.delete(&seat).await),
                8 | 9 => {
                    let ask = json!({"authorId": who.author()});
                    ("joining", owner.post(&format!("{path}/members"), ask).await)
                }
                10 => {
                    let mode = *chance.one(&["always", "silent", "direct-only"]);
                    (
                        "a mode",
                        owner.patch(&seat, json!({"responseMode": mode})).await,
                    )
                }
                11 => {
                    let look = json!({"displayName": format!("Name {n}")});
                    ("a look", owner.patch(&somebody.author_url(), look).await)
                }
                12 => {
                    let limits = json!({"maxAgentDepth": chance.below(9), "archived": chance.below(3) == 0,
                        "fallbackSeatAuthorId": (chance.below(2) == 0).then_some(ada.author())});
                    ("a change", owner.patch(&path, limits).await)
                }
                13..=15 => {
                    let page = canvas::page(chance.below(30));
                    ("a page", somebody.post(&canvas, page).await)
                }
                16 => {
                    let change =
                        json!({"pinned": chance.below(2) == 0, "activate": chance.below(2) == 0});
                    ("a place", somebody.patch(&document, change).await)
                }
                17..=19 => {
                    let ask = json!({"editing": chance.below(4) > 0});
                    let editing = format!("{document}/editing");
                    ("an edit", somebody.post(&editing, ask).await)
                }
                20 => (
                    "a thread",
                    somebody
                        .post(&format!("{document}/thread"), json!({}))
                        .await,
                ),
                21 if chance.below(3) == 0 => ("a close", somebody.delete(&document).await),
                _ => {
                    let handle = *chance.one(&["", "boss", "chief"]);
                    (
                        "a handle",
                        owner
                            .patch(&owner.handle_url(), json!({"handle": handle}))
                            .await,
                    )
                }
            };
            assert!(
                answer.status < 500 && answer.status != 400,
                "{}: {}",
                answer.asked,
                answer.text()
            );
            let step = format!("step {n}, {step} ({} {})", answer.asked, answer.status);
            owner.patch(&path, json!({"topic": step})).await.ok(200);
            t.hall().end_expired_edits().await.unwrap();
            let newest = t.events().place().unsigned_abs();
            for viewer in &mut viewers {
                viewer.catch_up(newest).await;
                viewer
                    .holds(&format!("{step} for {}", viewer.viewer.author()))
                    .await;
            }
        }
    }
}

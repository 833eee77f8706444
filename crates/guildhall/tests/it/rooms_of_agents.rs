//! Rooms with the scripted agent, from outside: people post, agents answer, ask and are stopped.
//! Source: contract 2.6, 2.7, 2.10, 3.8.3.

use serde_json::{Value, json};

use crate::workspace::ServerWithFolder;

const EDIT: &str = r#"#call edit_file {"path":"notes.md","old":"red","new":"green"}"#;

/// A room, and what a person does there.
pub(crate) struct RoomWithAgents {
    pub(crate) t: ServerWithFolder,
    pub(crate) id: String,
}

impl RoomWithAgents {
    /// An empty room; the agents work in the workspace's folder.
    pub(crate) fn open(what: &str) -> Self {
        let t = ServerWithFolder::open(what);
        t.write("notes.md", "red\n");
        let ask = json!({"kind": "channel", "title": "Ops"});
        let id = text(&done(&t, "POST", "/api/rooms", &ask)["id"]);
        Self { t, id }
    }

    /// Kills the server as the kernel would, and starts another one on the same data.
    fn crash(self) -> Self {
        Self {
            t: self.t.crash(),
            id: self.id,
        }
    }

    fn path(&self, tail: &str) -> String {
        format!("/api/rooms/{}{tail}", self.id)
    }

    /// Registers an agent and takes it into the room; answers its author.
    pub(crate) fn agent(&self, name: &str, mode: &str) -> String {
        let folder = self.t.folder.parent().unwrap().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("notes.md"), "red\n").unwrap();
        let ask = json!({"name": name, "cwd": folder, "runtime": "rehearsal"});
        let author = text(&done(&self.t, "POST", "/api/agents", &ask)["authorId"]);
        let ask = json!({"authorId": author, "responseMode": mode});
        done(&self.t, "POST", &self.path("/members"), &ask);
        author
    }

    /// The file that the agent may change.
    fn notes(&self, name: &str) -> String {
        let folder = self.t.folder.parent().unwrap().join(name);
        std::fs::read_to_string(folder.join("notes.md")).unwrap()
    }

    /// Posts these lines; answers the post and its turns.
    pub(crate) fn post(&self, lines: &[&str]) -> Value {
        self.reply(lines, &Value::Null)
    }

    /// Posts these lines in the thread of a post.
    fn reply(&self, lines: &[&str], root: &Value) -> Value {
        let ask = json!({"text": lines.join("\n"), "threadRootEntryId": root});
        done(&self.t, "POST", &self.path("/entries"), &ask)
    }

    /// Waits until a turn stands there; answers it.
    pub(crate) fn stands(&self, id: &Value, state: &str) -> Value {
        self.turn(|turn| turn["id"] == *id && turn["state"] == state)
    }

    /// Waits for a turn, from the room's beginning on.
    fn turn(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        self.event("turn_updated", |data| is_it(&data["turn"]))["turn"].clone()
    }

    /// Waits for an event of the room, from its beginning on; answers what it tells.
    fn event(&self, name: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let is_it = |event: &Value| event["type"] == name && is_it(&event["data"]);
        let events = self.t.follow_at(&self.path("/events"), 0, is_it);
        events.last().unwrap()["data"].clone()
    }

    /// The room's entries, oldest first.
    fn entries(&self) -> Vec<Value> {
        let (_, page) = self
            .t
            .server
            .ask("GET", &self.path("/entries?limit=200"), None);
        page["entries"].as_array().unwrap().clone()
    }

    /// What agents posted.
    pub(crate) fn replies(&self) -> Vec<Value> {
        let mut entries = self.entries();
        entries.retain(|entry| !entry["turnId"].is_null());
        entries
    }

    /// The codes of the room's notices.
    fn notices(&self) -> Vec<String> {
        let entries = self.entries();
        let notices = entries.iter().filter(|entry| entry["kind"] == "notice");
        notices
            .map(|entry| text(&entry["notice"]["code"]))
            .collect()
    }

    /// Says yes to what waits.
    pub(crate) fn approve(&self, ask: &Value) {
        let body = json!({"toolCallId": ask["toolCallId"], "digest": ask["digest"]});
        let session = text(&ask["sessionId"]);
        assert_eq!(self.t.decide(&session, "approve", &body).0, 200);
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A request that succeeds.
fn done(t: &ServerWithFolder, method: &str, path: &str, body: &Value) -> Value {
    let (status, answer) = t.server.ask(method, path, Some(body));
    assert!(status < 300, "{method} {path}: {status} {answer}");
    answer
}

#[test]
fn a_post_that_names_an_agent_is_answered_in_its_thread() {
    let room = RoomWithAgents::open("named");
    let ada = room.agent("ada", "mention-only");
    let root = room.post(&["#say Nobody is meant."]);
    assert_eq!(root["turns"][0]["state"], "not_addressed");
    let posted = room.reply(&["#say Hello.", "@ada"], &root["entry"]["id"]);
    let turn = &posted["turns"][0];
    assert_eq!(turn["rule"], "addressed");
    let turn = room.stands(&turn["id"], "answered");
    let replies = room.replies();
    assert_eq!(replies.len(), 1);
    let expected = [
        ("text", json!("Hello.")),
        ("authorId", json!(ada)),
        ("threadRootEntryId", root["entry"]["id"].clone()),
        ("turnId", turn["id"].clone()),
        ("sessionId", turn["sessionId"].clone()),
        ("cascadeRootId", posted["entry"]["id"].clone()),
        ("cascadeDepth", json!(1)),
        ("id", turn["replyEntryId"].clone()),
    ];
    for (field, value) in expected {
        assert_eq!(replies[0][field], value, "{field}");
    }
}

#[test]
fn a_rooms_session_goes_over_to_the_mode_that_its_agent_has_now_and_tells_of_it() {
    let room = RoomWithAgents::open("follows");
    room.agent("ada", "always");
    let first = room.post(&["#say Before."]);
    let first = room.stands(&first["turns"][0]["id"], "answered");
    let session = text(&first["sessionId"]);
    let (_, agents) = room.t.server.ask("GET", "/api/agents", None);
    let agent = text(&agents["agents"][0]["id"]);
    let plan = json!({"permissionMode": "plan"});
    done(&room.t, "PATCH", &format!("/api/agents/{agent}"), &plan);
    let second = room.post(&[EDIT]);
    room.stands(&second["turns"][0]["id"], "silent");
    let changed = room.t.until(&session, "session_mode_changed", |_| true);
    let expected = json!({
        "sessionId": session, "from": "default", "to": "plan",
        "by": "server", "acknowledged": false,
    });
    assert_eq!(changed, expected);
    assert_eq!(room.notes("ada"), "red\n");
}

#[test]
fn an_empty_reply_is_silence() {
    let room = RoomWithAgents::open("silence");
    room.agent("ada", "always");
    let posted = room.post(&["#think Nothing to say."]);
    room.stands(&posted["turns"][0]["id"], "silent");
    assert_eq!(room.entries().len(), 1);
}

#[test]
fn two_agents_that_always_answer_stop_at_the_exact_count() {
    let room = RoomWithAgents::open("cascade");
    room.agent("ada", "always");
    done(
        &room.t,
        "PATCH",
        &room.path(""),
        &json!({"maxAgentDepth": 5}),
    );
    // Each says what the next one is to say; ada waits until bob is there to hear it.
    let words = format!("{}Over.", "#say ".repeat(20));
    let posted = room.post(&[EDIT, &words]);
    let waiting = room.stands(&posted["turns"][0]["id"], "waiting");
    room.agent("bob", "always");
    room.approve(&room.t.ask(&text(&waiting["sessionId"])));
    let refused = room.turn(|turn| turn["state"] == "refused");
    assert_eq!(
        (&refused["rule"], &refused["depth"]),
        (&json!("depth"), &json!(6))
    );
    let replies = room.replies();
    let depths: Vec<_> = replies.iter().map(|entry| &entry["cascadeDepth"]).collect();
    assert_eq!(depths, [1, 2, 3, 4, 5]);
    for (n, pair) in replies.windows(2).enumerate() {
        assert_ne!(pair[0]["authorId"], pair[1]["authorId"], "{n}");
    }
    let notices = room.notices();
    assert_eq!(notices, ["awaiting_approval", "cascade_stopped"]);
}

#[test]
fn after_a_halt_no_output_of_a_turn_reaches_the_room_and_the_next_one_runs() {
    let room = RoomWithAgents::open("halt");
    room.agent("ada", "always");
    let posted = room.post(&["#late", "#say Half.", "#slow 600000", "#say Whole."]);
    let turn = room.stands(&posted["turns"][0]["id"], "running");
    let session = text(&turn["sessionId"]);
    room.t.until(&session, "text_appended", |_| true);
    assert_eq!(
        done(&room.t, "POST", &room.path("/halt"), &json!({}))["stopped"],
        1
    );
    room.stands(&turn["id"], "stopped");
    assert_eq!(room.t.turn_ended(&session, 1)["outcome"], "cancelled");
    let next = room.post(&["#say Next."]);
    room.stands(&next["turns"][0]["id"], "answered");
    let said: Vec<_> = room
        .replies()
        .iter()
        .map(|entry| text(&entry["text"]))
        .collect();
    assert_eq!(said, ["Next."]);
    assert_eq!(room.notices(), ["halted"]);
}

#[test]
fn a_halt_of_one_turn_leaves_what_a_person_wrote_to_the_session() {
    let room = RoomWithAgents::open("halt-one");
    room.agent("ada", "always");
    let posted = room.post(&["#slow 600000"]);
    let turn = room.stands(&posted["turns"][0]["id"], "running");
    let session = text(&turn["sessionId"]);
    room.t.until(&session, "turn_started", |_| true);
    room.t.send(&session, &["#say Mine."]);
    done(&room.t, "POST", &room.path("/halt"), &json!({}));
    assert_eq!(room.t.turn_ended(&session, 2)["outcome"], "end_turn");
    assert_eq!(room.t.words(&session), "Mine.");
    assert_eq!(room.replies().len(), 0, "it was not asked in the room");
}

#[test]
fn a_turn_ends_with_its_session_and_with_its_message() {
    let room = RoomWithAgents::open("closed");
    room.agent("ada", "always");
    let posted = room.post(&["#slow 600000"]);
    let turn = room.stands(&posted["turns"][0]["id"], "running");
    let session = text(&turn["sessionId"]);
    room.t.until(&session, "turn_started", |_| true);
    let (status, closed) = room
        .t
        .server
        .ask("DELETE", &format!("/api/sessions/{session}"), None);
    assert!(status < 300, "{closed}");
    room.stands(&turn["id"], "stopped");
    // A new session takes over; there a person's message keeps the room's one waiting.
    let posted = room.post(&["#say Hello."]);
    let turn = room.stands(&posted["turns"][0]["id"], "answered");
    let session = text(&turn["sessionId"]);
    room.t.send(&session, &["#slow 600000"]);
    room.t.turn_ended(&session, 1);
    let mut started = 0;
    room.t.until(&session, "turn_started", |_| {
        started += 1;
        started == 2
    });
    let posted = room.post(&["#say Never."]);
    let turn = room.stands(&posted["turns"][0]["id"], "running");
    let path = format!("/api/sessions/{session}/queue");
    let (_, queue) = room.t.server.ask("GET", &path, None);
    let message = text(&queue["queue"][0]["id"]);
    let (status, _) = room
        .t
        .server
        .ask("DELETE", &format!("{path}/{message}"), None);
    assert!(status < 300);
    room.stands(&turn["id"], "stopped");
}

#[test]
fn an_ask_has_the_turn_wait_and_a_yes_has_it_go_on() {
    let room = RoomWithAgents::open("asks");
    room.agent("ada", "always");
    let posted = room.post(&[EDIT, "#say Done."]);
    let turn = room.stands(&posted["turns"][0]["id"], "waiting");
    assert_eq!(turn["rule"], "awaiting_person");
    let ask = room.t.ask(&text(&turn["sessionId"]));
    assert_eq!(room.t.asks()[0]["roomId"], json!(room.id));
    assert_eq!(room.notes("ada"), "red\n");
    room.approve(&ask);
    room.stands(&turn["id"], "answered");
    assert_eq!(room.notes("ada"), "green\n");
    assert_eq!(room.replies()[0]["text"], "Done.");
    assert_eq!(room.notices(), ["awaiting_approval"]);
}

#[test]
fn why_somebody_said_no_is_told_in_a_turn_of_the_room() {
    let room = RoomWithAgents::open("tell");
    room.agent("ada", "always");
    let posted = room.post(&[EDIT, "#say Pity."]);
    let turn = room.stands(&posted["turns"][0]["id"], "waiting");
    let session = text(&turn["sessionId"]);
    let ask = room.t.ask(&session);
    let no = json!({"toolCallId": ask["toolCallId"], "reason": "#say I see.", "tellAgent": true});
    assert_eq!(room.t.decide(&session, "deny", &no).0, 200);
    let told = room.turn(|turn| turn["rule"] == "done" && turn["id"] != posted["turns"][0]["id"]);
    for field in ["triggerEntryIds", "cascadeRootId", "depth", "sessionId"] {
        assert_eq!(told[field], turn[field], "{field}");
    }
    let said: Vec<_> = room
        .replies()
        .iter()
        .map(|entry| text(&entry["text"]))
        .collect();
    assert_eq!(said, ["Pity.", "I see."]);
    assert_eq!(room.notes("ada"), "red\n");
}

#[test]
fn a_killed_server_fails_the_turn_and_a_yes_to_its_ask_opens_another_one() {
    let room = RoomWithAgents::open("killed");
    room.agent("ada", "always");
    let posted = room.post(&[EDIT, "#say Done."]);
    let before = room.stands(&posted["turns"][0]["id"], "waiting");
    let session = text(&before["sessionId"]);
    let ask = room.t.ask(&session);
    let room = room.crash();
    let failed = room.stands(&before["id"], "failed");
    assert_eq!(failed["rule"], "server_restart");
    assert_eq!(room.notices(), ["awaiting_approval", "turn_failed"]);
    let asks = room.t.asks();
    assert_eq!(
        (&asks[0]["id"], &asks[0]["detached"]),
        (&ask["id"], &json!(true))
    );
    let no = json!({"toolCallId": ask["toolCallId"], "reason": "No.", "tellAgent": true});
    let (status, refused) = room.t.decide(&session, "deny", &no);
    assert_eq!(
        (status, &refused["code"]),
        (400, &json!("VALIDATION_FAILED")),
        "its turn is over"
    );
    room.approve(&ask);
    let opened = room.turn(|turn| turn["rule"] == "by_person");
    assert_ne!(opened["id"], before["id"]);
    for field in ["triggerEntryIds", "cascadeRootId", "depth", "sessionId"] {
        assert_eq!(opened[field], before[field], "{field}");
    }
    room.turn(|turn| turn["id"] == opened["id"] && turn["rule"] == "done");
    assert_eq!(room.notes("ada"), "green\n", "it ran once, as shown");
    assert_eq!(room.t.asks().len(), 0, "and nobody was asked again");
}

#[test]
fn a_yes_while_the_agent_works_for_the_room_again_waits_for_that_turn() {
    let room = RoomWithAgents::open("busy");
    room.agent("ada", "always");
    let posted = room.post(&[EDIT]);
    let before = room.stands(&posted["turns"][0]["id"], "waiting");
    let ask = room.t.ask(&text(&before["sessionId"]));
    let room = room.crash();
    let second = room.post(&[r#"#call run_command {"command":["true"]}"#, "#say Second."]);
    let second = room.stands(&second["turns"][0]["id"], "waiting");
    room.approve(&ask);
    let held = room.turn(|turn| turn["state"] == "held" && !turn["sessionId"].is_null());
    assert_eq!(held["triggerEntryIds"], before["triggerEntryIds"]);
    let asks = room.t.asks();
    assert_eq!(asks.len(), 1);
    room.approve(&asks[0]);
    room.stands(&second["id"], "answered");
    let opened = room.turn(|turn| turn["id"] == held["id"] && turn["rule"] == "by_person");
    assert!(opened["startedAt"].as_str() >= second["startedAt"].as_str());
    room.turn(|turn| turn["id"] == held["id"] && turn["rule"] == "done");
    assert_eq!(room.notes("ada"), "green\n");
}

#[test]
fn a_yes_to_a_call_of_which_nothing_is_known_reaches_no_other_one() {
    let room = RoomWithAgents::open("opaque");
    let t = &room.t;
    let session = t.session();
    t.send(&session, &["#partial opaque", EDIT]);
    let ask = t.ask(&session);
    assert_eq!(ask["opaque"], true);
    let room = room.crash();
    room.approve(&ask);
    let t = &room.t;
    t.turn_ended(&session, 2);
    t.send(
        &session,
        &[
            "#partial opaque",
            r#"#call write_file {"path":"notes.md","content":"black"}"#,
        ],
    );
    let other = t.until(&session, "interaction_opened", |data| {
        data["interaction"]["id"] != ask["id"]
    });
    assert_eq!(other["interaction"]["opaque"], true);
    assert_eq!(t.file("notes.md").as_deref(), Some("red\n"));
}

#[test]
fn a_no_to_an_agent_that_is_gone_starts_nothing_and_is_told_with_the_next_message() {
    let room = RoomWithAgents::open("gone");
    let session = room.t.session();
    room.t.send(&session, &[EDIT]);
    let ask = room.t.ask(&session);
    let room = room.crash();
    let no = json!({
        "toolCallId": ask["toolCallId"], "reason": "#say I see.", "tellAgent": true,
    });
    assert_eq!(room.t.decide(&session, "deny", &no).0, 200);
    let state = room.t.look(&session);
    assert_eq!(
        (&state["state"], &state["queuedCount"]),
        (&json!("idle"), &json!(1))
    );
    room.t.send(&session, &["#say Next."]);
    room.t.turn_ended(&session, 3);
    assert_eq!(room.t.words(&session), "I see.Next.");
}

#[test]
fn a_cancel_ends_what_was_granted_also_while_nothing_runs() {
    let room = RoomWithAgents::open("grant");
    let session = room.t.session();
    // The agent is gone with its session's folder, so that the yes is not used.
    room.t.send(&session, &[EDIT]);
    let ask = room.t.ask(&session);
    let room = room.crash();
    let kept = room.t.folder.with_file_name("kept");
    std::fs::rename(&room.t.folder, &kept).unwrap();
    room.approve(&ask);
    room.t.until(&session, "session_updated", |data| {
        data["session"]["state"] == "failed"
    });
    let (_, stopped) = room.t.decide(&session, "cancel", &json!({}));
    assert_eq!(stopped, json!({"ok": false, "cancelledQueued": 1}));
    let resolved = room.t.until(&session, "interaction_resolved", |data| {
        data["resolution"] == "cancelled"
    });
    assert_eq!(resolved["id"], ask["id"]);
    std::fs::rename(&kept, &room.t.folder).unwrap();
    room.t.send(&session, &[EDIT]);
    room.t.until(&session, "interaction_opened", |data| {
        data["interaction"]["id"] != ask["id"]
    });
}

//! Sessions with the scripted agent, from outside: a person writes, it answers, asks, and stops.

use serde_json::{Value, json};

use crate::workspace::ServerWithFolder;

const EDIT: &str = r#"#call edit_file {"path":"notes.md","old":"red","new":"green"}"#;

#[test]
fn a_newcomer_talks_to_the_scripted_agent_approves_an_edit_and_sees_the_plan() {
    let t = ServerWithFolder::open("newcomer");
    t.write("notes.md", "red\n");
    let session = t.session();
    let sent = t.send(
        &session,
        &[
            "#say Hello.",
            r#"#plan {"entries":[{"content":"Paint it","status":"in_progress"}]}"#,
            EDIT,
            "#say Done.",
        ],
    );
    assert_eq!(sent["outcome"], "started");
    let ask = t.ask(&session);
    assert_eq!(ask["state"], "pending");
    assert_eq!(t.look(&session)["state"], "waiting");
    assert_eq!(
        t.file("notes.md").as_deref(),
        Some("red\n"),
        "not before the yes"
    );
    let body = json!({"toolCallId": ask["toolCallId"], "digest": ask["digest"]});
    assert_eq!(
        t.decide(&session, "approve", &body),
        (200, json!({"ok": true}))
    );
    let end = t.turn_ended(&session, 1);
    assert_eq!(end["outcome"], "end_turn");
    assert_eq!(t.file("notes.md").as_deref(), Some("green\n"));
    assert_eq!(t.words(&session), "Hello.\nDone.");
    let (_, tasks) = t
        .server
        .ask("GET", &format!("/api/sessions/{session}/tasks"), None);
    assert_eq!(tasks["tasks"][0]["subject"], "Paint it");
    assert_eq!(tasks["tasks"][0]["status"], "in_progress");
    assert_eq!(t.look(&session)["state"], "idle");
}

#[test]
fn after_a_no_the_file_is_as_it_was_and_the_call_is_denied() {
    let t = ServerWithFolder::open("deny");
    t.write("notes.md", "red\n");
    let session = t.session();
    t.send(&session, &[EDIT]);
    let ask = t.ask(&session);
    let body = json!({"toolCallId": ask["toolCallId"]});
    assert_eq!(t.decide(&session, "deny", &body).0, 200);
    assert_eq!(t.turn_ended(&session, 1)["outcome"], "end_turn");
    assert_eq!(t.file("notes.md").as_deref(), Some("red\n"));
    assert_eq!(calls(&t, &session)[0]["status"], "denied");
    let (status, again) = t.decide(&session, "approve", &body);
    assert_eq!(
        (status, &again["code"]),
        (409, &json!("INTERACTION_ALREADY_RESOLVED"))
    );
}

#[test]
fn a_cancelled_turn_withdraws_its_ask_and_drops_or_keeps_the_queue_as_asked() {
    for keep in [false, true] {
        let t = ServerWithFolder::open("cancel");
        t.write("notes.md", "red\n");
        let session = t.session();
        t.send(&session, &[EDIT]);
        let ask = t.ask(&session);
        let queued = t.send(&session, &["#say Next."]);
        assert_eq!(
            (&queued["outcome"], &queued["queuePosition"]),
            (&json!("queued"), &json!(1))
        );
        let (_, stopped) = t.decide(&session, "cancel", &json!({"keepQueue": keep}));
        assert_eq!(
            stopped,
            json!({"ok": true, "cancelledQueued": u32::from(!keep)})
        );
        assert_eq!(t.turn_ended(&session, 1)["outcome"], "cancelled");
        let resolved = t.until(&session, "interaction_resolved", |_| true);
        assert_eq!(
            (&resolved["id"], &resolved["resolution"]),
            (&ask["id"], &json!("cancelled"))
        );
        if keep {
            assert_eq!(t.turn_ended(&session, 2)["outcome"], "end_turn");
            assert_eq!(t.words(&session), "Next.");
        }
        assert_eq!(t.file("notes.md").as_deref(), Some("red\n"));
        assert_eq!(t.look(&session)["state"], "idle");
    }
}

#[test]
fn a_killed_server_loses_no_ask_no_turn_and_no_message() {
    let t = ServerWithFolder::open("crash");
    t.write("notes.md", "red\n");
    let (asking, talking) = (t.session(), other_session(&t));
    t.send(&asking, &[EDIT]);
    let ask = t.ask(&asking);
    t.send(&talking, &["#say One.", "#hang"]);
    t.until(&talking, "text_appended", |_| true);
    for text in ["#say Two.", "#say Three.", "#say Four."] {
        t.send(&talking, &[text]);
    }
    let approvals = |t: &ServerWithFolder| t.server.ask("GET", "/api/approvals", None);
    let (status, listed) = approvals(&t);
    assert_eq!(
        (status, &listed["approvals"][0]["digest"]),
        (200, &ask["digest"])
    );
    let t = t.crash();
    assert_eq!(
        approvals(&t),
        (200, listed),
        "the list of all kinds is the same"
    );
    let asks = t.asks();
    assert_eq!(asks.len(), 1, "the ask is listed");
    for field in ["id", "toolCallId", "digest", "openedAt", "expiresAt"] {
        assert_eq!(asks[0][field], ask[field], "{field}");
    }
    assert_eq!(asks[0]["detached"], true);
    let end = t.turn_ended(&talking, 1);
    assert_eq!(end["outcome"], "interrupted");
    assert_eq!(t.words(&talking), "One.");
    let (_, queue) = t
        .server
        .ask("GET", &format!("/api/sessions/{talking}/queue"), None);
    let waiting: Vec<_> = queue["queue"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["content"])
        .collect();
    assert_eq!(waiting, ["#say Two.", "#say Three.", "#say Four."]);
    assert_eq!(
        t.look(&talking)["state"],
        "idle",
        "held until a person acts"
    );
    t.send(&talking, &["#say Five."]);
    t.turn_ended(&talking, 5);
    assert_eq!(t.words(&talking), "One.Two.Three.Four.Five.");

    let body = json!({"toolCallId": asks[0]["toolCallId"], "digest": asks[0]["digest"]});
    assert_eq!(t.decide(&asking, "approve", &body).0, 200);
    t.turn_ended(&asking, 2);
    assert_eq!(
        t.file("notes.md").as_deref(),
        Some("green\n"),
        "it ran once, as shown"
    );
    assert_eq!(t.asks().len(), 0, "and nobody was asked again");
}

#[test]
fn another_call_than_the_approved_one_opens_a_new_card() {
    let t = ServerWithFolder::open("another-call");
    t.write("notes.md", "red\n");
    let session = t.session();
    t.send(&session, &[EDIT]);
    let ask = t.ask(&session);
    let t = t.crash();
    let body = json!({"toolCallId": ask["toolCallId"], "digest": ask["digest"]});
    assert_eq!(t.decide(&session, "approve", &body).0, 200);
    t.turn_ended(&session, 2);
    t.write("notes.md", "red\n");
    t.send(
        &session,
        &[r#"#call edit_file {"path":"notes.md","old":"red","new":"blue"}"#],
    );
    let other = t.until(&session, "interaction_opened", |data| {
        data["interaction"]["id"] != ask["id"]
    });
    assert_ne!(other["interaction"]["digest"], ask["digest"]);
    assert_eq!(t.file("notes.md").as_deref(), Some("red\n"));
}

#[test]
fn pieces_of_text_join_without_a_gap_at_whatever_event_a_reader_comes_back() {
    let t = ServerWithFolder::open("pieces");
    let session = t.session();
    let words = "word ".repeat(60);
    t.send(
        &session,
        &[&format!("#say {words}é𝄞 end"), "#think hm", "#say more"],
    );
    t.turn_ended(&session, 1);
    let events = t.follow(&session, 0, |event| event["type"] == "turn_ended");
    let pieces: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "text_appended")
        .collect();
    assert!(!pieces.is_empty());
    let stored = t.words(&session);
    for skip in 0..pieces.len() {
        let mut text = String::new();
        for event in &pieces[..skip] {
            join(&mut text, &event["data"]);
        }
        let after = skip
            .checked_sub(1)
            .map_or(0, |n| pieces[n]["seq"].as_u64().unwrap());
        for event in t.follow(&session, after, |event| event["type"] == "turn_ended") {
            if event["type"] == "text_appended" {
                join(&mut text, &event["data"]);
            }
        }
        assert_eq!(text, stored);
    }
}

fn join(text: &mut String, piece: &Value) {
    if piece["part"] == "text" {
        assert_eq!(
            piece["offset"],
            text.encode_utf16().count(),
            "no gap, no overlap"
        );
        text.push_str(piece["text"].as_str().unwrap());
    }
}

#[test]
fn a_broken_agent_ends_in_a_named_state_and_blocks_no_other() {
    let t = ServerWithFolder::open("broken");
    let healthy = other_session(&t);
    for broken in ["#crash", "#garbage 200", "#longline 20", "#flood 20"] {
        let session = t.session();
        t.send(&session, &["#say Before.", broken]);
        let end = t.turn_ended(&session, 1);
        t.send(&healthy, &["#say Fine."]);
        if broken.starts_with("#flood") {
            continue;
        }
        assert_eq!(end["outcome"], "interrupted", "{broken}: {end}");
        let state = t.look(&session);
        assert_eq!(state["state"], "failed", "{broken}");
        assert_ne!(state["stateReason"], "", "{broken}");
        t.send(&session, &["#say Again."]);
        t.turn_ended(&session, 2);
        assert!(t.words(&session).ends_with("Again."), "{broken}");
    }
    t.turn_ended(&healthy, 4);
    assert_eq!(t.words(&healthy), "Fine.".repeat(4));
}

#[test]
fn what_turns_used_sums_up_and_survives_a_restart() {
    let t = ServerWithFolder::open("usage");
    let session = t.session();
    t.send(&session, &["#usage 10 5 0.25"]);
    t.turn_ended(&session, 1);
    t.send(&session, &["#usage 30 7 0.5"]);
    t.turn_ended(&session, 2);
    let usage = t.look(&session)["usage"].clone();
    assert_eq!(
        (
            &usage["turns"],
            &usage["inputTokens"],
            &usage["outputTokens"]
        ),
        (&json!(2), &json!(40), &json!(12))
    );
    assert_eq!(usage["complete"], true);
    let (_, rows) = t.server.ask("GET", "/api/usage?groupBy=session", None);
    for field in ["turns", "inputTokens", "outputTokens", "totalTokens"] {
        assert_eq!(rows["rows"][0][field], usage[field], "{field}");
    }
    let t = t.crash();
    assert_eq!(t.look(&session)["usage"], usage);
}

fn calls(t: &ServerWithFolder, session: &str) -> Vec<Value> {
    let messages = t.messages(session);
    let parts = messages
        .iter()
        .flat_map(|message| message["parts"].as_array().unwrap());
    parts
        .filter(|part| part["type"] == "tool_call")
        .cloned()
        .collect()
}

/// A session of another agent, in a folder of its own.
fn other_session(t: &ServerWithFolder) -> String {
    let folder = t.folder.parent().unwrap().join("other");
    std::fs::create_dir_all(&folder).unwrap();
    let body = json!({"cwd": folder, "runtime": "rehearsal"});
    let (status, session) = t.server.ask("POST", "/api/sessions", Some(&body));
    assert_eq!(status, 201, "{session}");
    session["id"].as_str().unwrap().to_owned()
}

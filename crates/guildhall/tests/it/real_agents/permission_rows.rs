//! Rows about asking: what a person says about a call is what becomes of it.

use serde_json::{Value, json};

use super::{
    agent_differences::CallTreatment,
    isolation_rows,
    real_agent_server::{RealAgentServer, SessionReader, TurnStop},
};
use crate::workspace::ServerWithFolder;

/// Row 2.
pub(super) fn an_approved_call_happens(stage: &mut RealAgentServer) {
    let mut talk = stage.open_session();
    talk.send(&[&stage.agent.shell("touch yes.txt")]);
    let card = talk.card();
    assert!(
        card.to_string().contains("touch yes.txt"),
        "the card shows the command: {card}"
    );
    assert_eq!(talk.look()["state"], "waiting");
    assert_eq!(stage.t().file("yes.txt"), None, "not before the yes");
    talk.approve(&card);
    let end = talk.end();
    assert_eq!(end["outcome"], "end_turn", "{end}");
    assert!(stage.t().file("yes.txt").is_some());
    assert_eq!(talk.calls()[0]["status"], "completed", "{:?}", talk.calls());
    assert!(talk.words().contains("All done."), "{}", talk.words());
}

/// Row 3.
pub(super) fn a_denied_call_does_not_happen(stage: &mut RealAgentServer) {
    let mut talk = stage.open_session();
    talk.send(&[&stage.agent.shell("touch no.txt")]);
    let card = talk.card();
    talk.decide("deny", &card, &json!({}));
    let end = talk.end();
    assert_ne!(end["outcome"], "failed", "{end}");
    assert_eq!(stage.t().file("no.txt"), None);
    let status = &talk.calls()[0]["status"];
    assert!(status == "denied" || status == "failed", "{status}");
    talk.send(&["#say Onwards."]);
    assert_eq!(talk.end()["outcome"], "end_turn");
    assert!(talk.words().contains("Onwards."), "{}", talk.words());
}

/// Row 4.
pub(super) fn a_cancelled_turn_runs_nothing_and_keeps_or_drops_the_queue(
    stage: &mut RealAgentServer,
) {
    for keep in [false, true] {
        let mut talk = stage.open_session();
        talk.send(&[&stage.agent.shell("touch cancelled.txt")]);
        talk.card();
        assert_eq!(talk.send(&["#say Next."])["outcome"], "queued");
        let body = json!({"keepQueue": keep});
        let (_, stopped) = stage.t().decide(&talk.id, "cancel", &body);
        assert_eq!(
            stopped,
            json!({"ok": true, "cancelledQueued": u32::from(!keep)})
        );
        assert_eq!(talk.end()["outcome"], "cancelled");
        assert_eq!(stage.t().file("cancelled.txt"), None);
        if keep {
            assert_eq!(talk.end()["outcome"], "end_turn");
            assert!(talk.words().contains("Next."), "{}", talk.words());
        }
        assert_eq!(talk.look()["state"], "idle");
        assert_eq!(talk.look()["queuedCount"], 0);
    }
}

/// Row 6: what was approved after the server came back runs once without another question.
pub(super) fn an_ask_outlives_the_server_and_is_granted_once(stage: &mut RealAgentServer) {
    let once = stage.agent.shell("echo ran >> once.txt");
    let other = stage.agent.shell("echo other >> once.txt");
    let mut talk = stage.open_session();
    talk.send(&[&once]);
    let card = talk.card();
    let known = talk.keep();
    stage.crash();
    let listed = stage.t().asks();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["id"], card["id"]);
    assert_eq!(listed[0]["detached"], true);
    let mut talk = SessionReader::again(stage.t(), known);
    assert_eq!(talk.end()["outcome"], "interrupted");
    talk.approve(&card);
    // It is told so; the model of the tests does nothing without a directive.
    assert_eq!(talk.end()["outcome"], "end_turn");
    assert_eq!(stage.t().file("once.txt"), None);
    talk.send(&[&other]);
    let another = talk.card();
    talk.decide("deny", &another, &json!({}));
    talk.end();
    talk.send(&[&once]);
    let end = talk.end();
    assert_eq!(end["outcome"], "end_turn", "{end}");
    assert_eq!(stage.t().file("once.txt").as_deref(), Some("ran\n"));
    talk.send(&[&once]);
    let again = talk.card();
    assert_ne!(again["id"], card["id"]);
    talk.decide("deny", &again, &json!({}));
    talk.end();
    assert_eq!(
        stage.t().file("once.txt").as_deref(),
        Some("ran\n"),
        "exactly one run"
    );
}

/// Row 7.
pub(super) fn a_killed_agent_goes_on_with_its_history(stage: &mut RealAgentServer) {
    let mut talk = stage.open_session();
    talk.send(&["#say One."]);
    talk.end();
    stage.until_remembered("One.");
    talk.send(&[&stage.agent.shell("touch killed.txt")]);
    let card = talk.card();
    let before = isolation_rows::agents_in(stage.t().server.pid(), &stage.t().folder);
    assert_eq!(before.len(), 1, "{before:?}");
    isolation_rows::kill(before[0]);
    let end = talk.end();
    assert_eq!(end["outcome"], "interrupted", "{end}");
    assert_eq!(talk.look()["state"], "failed");
    talk.send(&["#say Two."]);
    let end = talk.end();
    assert_eq!(end["outcome"], "end_turn", "{end} {}", talk.look());
    assert!(
        !talk.notices().contains("history_lost"),
        "{}",
        talk.notices()
    );
    assert!(talk.words().ends_with("Two."), "{}", talk.words());
    let requests = stage.llm.requests();
    let last = requests
        .iter()
        .rev()
        .find(|it| !it.tools.is_empty())
        .unwrap();
    // Of the turn that was cut short it keeps what it had written down by then.
    assert!(
        last.conversation >= 2,
        "it knows what was said before: {last:?}"
    );
    assert_eq!(stage.t().file("killed.txt"), None);
    talk.decide("deny", &card, &json!({}));
}

/// Row 8: in a folder of its own, since an agent may keep the rule there.
pub(super) fn always_covers_the_equal_call_alone(stage: &mut RealAgentServer) {
    let folder = stage.folder("always");
    let mut talk = stage.open_session_in(&folder);
    // A call that makes no file, since Claude Code takes an `always` there for its whole folder;
    // and another program afterwards, since opencode takes it for all of a program.
    let first = stage.agent.shell("node -e 'console.log(1)'");
    talk.send(&[&first]);
    let card = talk.card();
    talk.decide("approve", &card, &json!({"alwaysAllow": true}));
    assert_eq!(talk.end()["outcome"], "end_turn");
    talk.send(&[&first]);
    assert_eq!(
        talk.end()["outcome"],
        "end_turn",
        "nobody is asked about the equal call"
    );
    talk.send(&[&stage.agent.shell("find . -name none -delete")]);
    let card = talk.card();
    talk.decide("deny", &card, &json!({}));
    talk.end();
}

/// Row 9: by the facts, and the facts by what the modes say of themselves.
pub(super) fn each_mode_asks_as_it_says(stage: &mut RealAgentServer) {
    let modes = modes_of(stage.t(), &stage.agent.name);
    let trusted = modes.iter().filter(|mode| mode["axis"] == "trust");
    for mode in trusted {
        let id = mode["id"].as_str().unwrap();
        let known = stage.facts.modes.iter().find(|(known, ..)| *known == id);
        let (_, edit, shell) = known.unwrap_or_else(|| panic!("the mode {id} stands in no row"));
        let is_kept = |happens: CallTreatment| match mode["asks"].as_str().unwrap() {
            "always" => happens != CallTreatment::Runs,
            "never" => happens != CallTreatment::Asks,
            _ => true,
        };
        assert!(
            is_kept(*edit) && is_kept(*shell),
            "{id} says that it asks {}",
            mode["asks"]
        );
        let (edited, shelled) = (format!("edit-{id}.txt"), format!("shell-{id}.txt"));
        let folder = stage.t().folder.to_str().unwrap().to_owned();
        let write = format!("node -e \"require('fs').writeFileSync('{shelled}','')\"");
        let ask = json!({"permissionMode": id, "acknowledgedAutonomy": true});
        let mut talk = SessionReader::open(stage.t(), &stage.agent.name, &stage.t().folder, &ask);
        let seen = [
            happens(
                stage,
                &mut talk,
                &(stage.facts.edit)(&folder, &edited),
                &edited,
            ),
            happens(stage, &mut talk, &stage.agent.shell(&write), &shelled),
        ];
        assert_eq!(seen, [*edit, *shell], "{id}: {:?}", talk.calls());
    }
}

fn happens(
    stage: &RealAgentServer,
    talk: &mut SessionReader<'_>,
    call: &str,
    file: &str,
) -> CallTreatment {
    talk.send(&[call]);
    match talk.next() {
        TurnStop::Card(card) => {
            talk.decide("deny", &card, &json!({}));
            talk.end();
            assert_eq!(stage.t().file(file), None, "nothing after a no");
            CallTreatment::Asks
        }
        TurnStop::End(_) if stage.t().file(file).is_some() => CallTreatment::Runs,
        TurnStop::End(_) => CallTreatment::Refused,
    }
}

/// Row 10.
pub(super) fn the_widest_mode_needs_a_word(stage: &mut RealAgentServer) {
    match stage.facts.wide_mode {
        Some((mode, None)) => needs_a_word(stage, stage.t(), mode),
        Some((mode, Some(variable))) => needs_a_word(stage, &stage.another(variable), mode),
        None => has_no_wide_mode(stage),
    }
}

fn needs_a_word(stage: &RealAgentServer, t: &ServerWithFolder, mode: &str) {
    let kind = &stage.agent.name;
    let (_, checked) = t
        .server
        .ask("POST", &format!("/api/runtimes/{kind}/check"), None);
    assert_eq!(checked["problem"], "", "{checked}");
    let listed = modes_of(t, kind);
    assert!(listed.iter().any(|known| known["id"] == mode), "{listed:?}");
    let body = json!({"cwd": t.folder, "runtime": kind, "permissionMode": mode});
    let (status, refused) = t.server.ask("POST", "/api/sessions", Some(&body));
    assert_eq!(
        (status, &refused["code"]),
        (428, &json!("AUTONOMY_NOT_ACKNOWLEDGED"))
    );
    let mut talk = SessionReader::open(t, kind, &t.folder, &json!({}));
    let path = format!("/api/sessions/{}", talk.id);
    let (status, _) = t
        .server
        .ask("PATCH", &path, Some(&json!({"permissionMode": mode})));
    assert_eq!(status, 428);
    assert_eq!(talk.look()["permissionMode"], stage.agent.asking_mode());
    let call = stage.agent.shell("touch unasked.txt");
    talk.send(&[&call]);
    let card = talk.card();
    talk.decide("deny", &card, &json!({}));
    talk.end();
    assert_eq!(t.file("unasked.txt"), None);
    let word = json!({"permissionMode": mode, "acknowledgedAutonomy": true});
    let (status, changed) = t.server.ask("PATCH", &path, Some(&word));
    assert_eq!(status, 200, "{changed}");
    let edit = (stage.facts.edit)(t.folder.to_str().unwrap(), "asked-nobody.txt");
    talk.send(&[&edit]);
    assert_eq!(talk.end()["outcome"], "end_turn", "{:?}", talk.calls());
    assert!(t.file("asked-nobody.txt").is_some());
}

/// An agent without such a mode takes none by any name, and goes on asking.
fn has_no_wide_mode(stage: &RealAgentServer) {
    let modes = modes_of(stage.t(), &stage.agent.name);
    let is_wide = |mode: &&Value| {
        mode["stop"] == "autonomy" || (mode["asks"] == "never" && mode["reach"] != "read")
    };
    assert_eq!(modes.iter().find(is_wide), None);
    let mut talk = stage.open_session();
    let body = json!({"permissionMode": "autopilot", "acknowledgedAutonomy": true});
    let path = format!("/api/sessions/{}", talk.id);
    let (status, refused) = stage.t().server.ask("PATCH", &path, Some(&body));
    assert_eq!(
        (status, &refused["code"]),
        (400, &json!("UNSUPPORTED_PERMISSION_MODE"))
    );
    talk.send(&[&stage.agent.shell("touch unasked.txt")]);
    let card = talk.card();
    talk.decide("deny", &card, &json!({}));
    talk.end();
}

/// Row 15, of Claude Code.
pub(super) fn a_question_is_answered(stage: &mut RealAgentServer) {
    let mut talk = stage.open_session();
    let form = json!({"questions": [{"question": "Which colour?", "header": "Colour",
        "multiSelect": false, "options": [
            {"label": "Red", "description": "As a rose"},
            {"label": "Blue", "description": "As the sky"}]}]});
    talk.send(&[&format!("#call AskUserQuestion {form}")]);
    let card = talk.card();
    assert_eq!(card["kind"], "question", "{card}");
    let question = &card["questions"][0];
    let choice = question["options"].as_array().unwrap().iter().find(|it| {
        it["label"]
            .as_str()
            .is_some_and(|label| label.starts_with("Blue"))
    });
    let value = choice.unwrap_or_else(|| panic!("{question}"))["value"].clone();
    let answers = json!({"answers": {question["id"].as_str().unwrap(): value}});
    talk.decide("submit-answers", &card, &answers);
    assert_eq!(talk.end()["outcome"], "end_turn");
    let requests = stage.llm.requests();
    let told = requests.iter().flat_map(|it| &it.result_texts);
    let told: Vec<_> = told.filter(|text| text.contains("Which colour?")).collect();
    assert!(told.iter().any(|text| text.contains("Blue")), "{told:?}");
}

pub(super) fn modes_of(t: &ServerWithFolder, kind: &str) -> Vec<Value> {
    let (_, all) = t.server.ask("GET", "/api/capabilities", None);
    let modes = &all["capabilities"][kind]["permissionModes"]["values"];
    modes.as_array().unwrap().clone()
}

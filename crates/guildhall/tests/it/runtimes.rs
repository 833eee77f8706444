//! Runtimes as the binary has them: its own one is tried out, and the configuration is read.

use std::{
    fs,
    process::{Command, Stdio},
};

use guildhall_world::scratch::Scratch;
use serde_json::{Value, json};

use crate::{cli_server::ServerForCli, workspace::ServerWithFolder};

fn of<'a>(list: &'a Value, kind: &str) -> &'a Value {
    let mut all = list["runtimes"].as_array().unwrap().iter();
    all.find(|runtime| runtime["type"] == kind).unwrap()
}

#[test]
fn the_scripted_runtime_is_tried_out_and_says_what_it_can_do() {
    let t = ServerWithFolder::open("check");
    let ask = |method, path| t.server.ask(method, path, None);
    let (status, before) = ask("GET", "/api/capabilities");
    assert_eq!(status, 200);
    let shipped = &before["capabilities"]["rehearsal"];
    assert_eq!(shipped["features"]["probed"], false);
    let (status, checked) = ask("POST", "/api/runtimes/rehearsal/check");
    assert_eq!(
        (status, &checked["problem"]),
        (200, &json!("")),
        "{checked}"
    );
    assert!(checked["checkedAt"].is_string());
    let (_, list) = ask("GET", "/api/runtimes");
    assert_eq!(*of(&list, "rehearsal"), checked);
    let (_, after) = ask("GET", "/api/capabilities");
    let probed = &after["capabilities"]["rehearsal"];
    assert_eq!(probed["features"]["probed"], true);
    assert_eq!(probed["features"]["agentVersion"], checked["version"]);
    assert_eq!(probed["supportsResume"], true);
    // It reports exactly the modes of the shipped table.
    let ids = |entry: &Value| -> Vec<Value> {
        let modes = entry["permissionModes"]["values"].as_array().unwrap();
        modes.iter().map(|mode| mode["id"].clone()).collect()
    };
    assert_eq!(ids(probed), ids(shipped));
    let (status, again) = ask("POST", "/api/runtimes/rehearsal/check");
    assert_eq!((status, &again["version"]), (200, &checked["version"]));
    // Nothing changes for sessions: what the check opened was thrown away.
    let (_, sessions) = ask("GET", "/api/sessions");
    assert_eq!(sessions["sessions"], json!([]));
    let t = t.crash();
    let (_, kept) = t.server.ask("GET", "/api/capabilities", None);
    assert_eq!(kept, after, "what was said survives a crash");
}

#[test]
fn a_program_that_is_no_agent_is_a_problem_and_no_failure() {
    let bin = Scratch::new("no-agents");
    for (command, target) in [("codex-acp", "/bin/false"), ("vibe-acp", "/bin/cat")] {
        std::os::unix::fs::symlink(target, bin.path().join(command)).unwrap();
    }
    let path = bin.path().to_str().unwrap();
    let t = ServerWithFolder::open_with("no-agents", &[("PATH", path)]);
    for kind in ["codex", "vibe", "gemini"] {
        let check = format!("/api/runtimes/{kind}/check");
        let (status, checked) = t.server.ask("POST", &check, None);
        assert_eq!(status, 200, "{checked}");
        let problem = checked["problem"].as_str().unwrap();
        assert!(problem.ends_with('.') || kind == "gemini", "{checked}");
        assert!(!problem.is_empty(), "{kind}");
        let (_, all) = t.server.ask("GET", "/api/capabilities", None);
        let entry = &all["capabilities"][kind];
        assert_ne!(entry["features"]["probed"], true, "{kind}");
        assert_eq!(entry.is_null(), kind == "gemini");
    }
}

#[test]
fn what_is_wrong_with_a_runtime_of_the_configuration_stops_the_start_by_its_key() {
    for (file, key) in [
        ("[runtimes.codex]\ncomand = \"x\"", "runtimes.codex.comand"),
        ("[runtimes.Codex]\ncommand = \"x\"", "runtimes.Codex"),
        ("[runtimes.mine]\nargs = []", "runtimes.mine.command"),
        (
            "[runtimes.opencode.env]\nOPENCODE_CONFIG_CONTENT = \"{}\"",
            "runtimes.opencode.env.OPENCODE_CONFIG_CONTENT",
        ),
    ] {
        let data = Scratch::new("configuration");
        fs::write(data.path().join("guildhall.toml"), file).unwrap();
        let ended = Command::new(env!("CARGO_BIN_EXE_guildhall"))
            .args(["serve", "--bind", "127.0.0.1:0", "--data-dir"])
            .arg(data.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{said}");
        assert!(said.contains(key), "{file}: {said}");
    }
}

#[test]
fn runtimes_capabilities_and_usage_are_shown_at_the_terminal() {
    let house = ServerForCli::open();
    let list = house.done(&["runtimes", "list"]);
    assert!(list.contains("Rehearsal (scripted)"), "{list}");
    let checked = house.json(&["runtimes", "check", "rehearsal"]);
    assert_eq!(checked["problem"], "", "{checked}");
    let unknown = house.run(&["runtimes", "check", "none"]);
    assert!(unknown.stderr.contains("UNKNOWN_RUNTIME"), "{unknown:?}");
    let modes = house.run(&["capabilities"]).stdout;
    for word in ["rehearsal", "autopilot", "Without a question"] {
        assert!(modes.contains(word), "{word}: {modes}");
    }
    let all = house.json(&["capabilities"]);
    assert!(all["capabilities"]["rehearsal"].is_object());
    let usage = house.json(&["usage", "--by", "runtime"]);
    assert_eq!(usage["rows"], json!([]));
    house.done(&["usage"]);
    let wrong = house.run(&["usage", "--from", "2030-01-01T00:00:00Z"]);
    assert!(wrong.stderr.contains("VALIDATION_FAILED"), "{wrong:?}");
}

//! Every operation of the authority table that only a person may ask for, asked for by a real
//! process below an agent, whatever that shows.
//!
//! The table is the one that the http tests hold against the router, so that no operation can be
//! left out here. Source: contract 1.4, 1.14, 3.12 (1).

use std::fs;

use serde_json::{Value, json};

use crate::{
    hostile_agent::{
        BARE, ENCLOSED,
        attack_targets::{AttackTargets, local_token, text},
    },
    hostile_program,
    workspace::ServerWithFolder,
};

const TABLE: &str = include_str!("../../../http/tests/authority.tsv");
/// Gates that agents pass, and anybody who has an address that was made for them.
const NOT_FOR_PEOPLE_ALONE: [&str; 4] = ["caller", "agent", "open", "url-token"];
/// Columns of the table.
const OWNER: usize = 4;
const LIVE_AGENT: usize = 7;
/// An id that names nothing.
const NOTHING: &str = "01980000-0000-7000-8000-000000000000";

/// What a hostile process shows; `{own}` and the like stand for values.
const SHOWN: &[&[&str]] = &[
    &[],
    &["X-Service-Agent: {own}"],
    &["X-Service-Agent: {other}"],
    &["Authorization: Bearer {key}"],
    &["Authorization: Bearer {local}"],
    &["Cookie: guildhall_{port}=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
    &["Cookie: {trusted}"],
    &["Cookie: {signed_in}"],
    &[
        "Cookie: {signed_in}; {trusted}",
        "Authorization: Bearer {key}",
    ],
    &["guildhall-outgoing: 1", "Authorization: Bearer {key}"],
    &["guildhall-outgoing: 1", "Cookie: {signed_in}; {trusted}"],
    &["X-Service-Approval: gap_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
];

struct OwnerOperation {
    method: &'static str,
    path: &'static str,
    /// What the owner is answered, with a body that is wrong where there is one.
    to_owner: &'static str,
    /// Whether the gate lets everybody through, agents without a token too.
    is_open: bool,
}

/// The operations that only people may ask for. Signing in and registering are open, but make
/// a person of whoever asks, so no process of an agent may.
fn operations() -> Vec<OwnerOperation> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    let operation = |line: &'static str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let (method, path, gate) = (cells[0], cells[1], cells[2]);
        let is_open = gate == "open" && method != "GET";
        let is_for_people_alone = !NOT_FOR_PEOPLE_ALONE.contains(&gate);
        // The table agrees: an agent is refused there, and there alone.
        let is_refused = cells[LIVE_AGENT].starts_with("403") && gate != "url-token";
        assert_eq!(is_refused, is_for_people_alone, "{line}");
        (is_for_people_alone || is_open).then_some(OwnerOperation {
            method,
            path,
            to_owner: cells[OWNER],
            is_open,
        })
    };
    rows.filter_map(operation).collect()
}

/// The path of an operation with ids of what there is.
fn address(path: &str, stage: &AttackTargets<'_>) -> String {
    let kind = match path.split('/').nth(2) {
        Some("agents") => "agent",
        Some("sessions") => "session",
        Some("approvals") => "approval",
        Some("rooms") => "room",
        Some("auth") => "key",
        _ => "nothing",
    };
    let mut parts = Vec::new();
    for part in path.split('/') {
        let known = match part {
            "{id}" => stage.ids.get(kind),
            "{authorId}" => stage.ids.get("author"),
            "{tokenId}" => stage.ids.get("token"),
            "{type}" => return path.replace("{type}", "rehearsal"),
            part if !part.starts_with('{') => {
                parts.push(part.to_owned());
                continue;
            }
            _ => None,
        };
        parts.push(known.map_or(NOTHING, String::as_str).to_owned());
    }
    parts.join("/")
}

fn requests(operations: &[OwnerOperation], stage: &AttackTargets<'_>) -> Vec<Value> {
    let request = |operation: &OwnerOperation| {
        let path = address(operation.path, stage);
        json!({"name": format!("{} {}", operation.method, operation.path),
            "method": operation.method, "path": path, "body": {}})
    };
    operations.iter().map(request).collect()
}

/// What an agent could change by them, as a person sees it.
fn picture(stage: &AttackTargets<'_>) -> Value {
    let room = format!("/api/rooms/{}", stage.ids["room"]);
    let paths = ["", "/members", "/entries", "/turns"];
    let room = paths.map(|tail| stage.get(&format!("{room}{tail}")));
    json!([stage.protected_state(), room])
}

/// Tries all operations at the listener of this address, and answers how many requests were made.
#[expect(clippy::print_stdout, reason = "what was tried is listed")]
fn try_all(t: &ServerWithFolder, url: &str, signed_in: &str, allowed: &[u16]) {
    let mut stage = AttackTargets::set(t, url);
    let room = &stage.get("/api/rooms")["rooms"][0];
    stage.ids.insert("room", text(room, "id"));
    let author = stage.get(&format!("/api/agents/{}", stage.ids["agent"]));
    stage.ids.insert("author", text(&author, "authorId"));
    let operations = operations();
    let mut orders = stage.orders.clone();
    orders["signed_in"] = json!(signed_in);
    orders["requests"] = json!(requests(&operations, &stage));
    orders["shown"] = json!(SHOWN);
    hostile_program::instruct(&t.folder, &orders);
    let before = picture(&stage);
    let run = json!({"command": hostile_program::command_to_show()});
    t.send(&stage.own, &[&format!("#call run_command {run}")]);
    t.turn_ended(&stage.own, 1);
    let found = hostile_program::found(&t.folder);
    let found = found.unwrap_or_else(|| panic!("{:#?}", t.messages(&stage.own).last()));
    assert_eq!(found.len(), operations.len() * SHOWN.len());
    let is_allowed = |one: &&Value| {
        let status = one["status"].as_u64().unwrap();
        allowed.iter().any(|allowed| u64::from(*allowed) == status)
    };
    let wrong: Vec<_> = found.iter().filter(|one| !is_allowed(one)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(picture(&stage), before, "nothing changed");
    for folder in [&t.folder, &stage.folder] {
        assert!(!folder.join("fell").exists(), "no tool ran");
    }
    let (count, shown) = (operations.len(), SHOWN.len());
    println!("{count} operations, each with {shown} credentials, at {url}");
}

const NOBODY: &str = "guildhall_0=none";

#[test]
fn no_operation_for_people_is_an_agents_at_the_main_listener() {
    let t = ServerWithFolder::open_configured("operations", BARE);
    try_all(&t, &t.server.url, NOBODY, &[401, 403]);
}

#[test]
fn no_operation_for_people_is_an_agents_where_people_sign_in() {
    let mut t = ServerWithFolder::open_configured(
        "operations-login",
        &format!("{BARE}[auth]\nmode = \"login\"\n"),
    );
    let code = fs::read_to_string(t.data_dir().join("setup-code")).unwrap();
    let first = json!({"email": "ada@example.org", "displayName": "Ada",
        "password": "correct horse battery", "setupCode": code.trim()});
    let signed_in = t.server.cookie("POST", "/api/auth/register", Some(&first));
    t.server.authorization = Some(format!("Bearer {}", local_token(&t)));
    try_all(&t, &t.server.url, &signed_in, &[401, 403]);
}

#[test]
fn no_operation_for_people_is_at_the_listener_for_agents_enclosed_or_not() {
    for (name, configuration) in [("enclosed", ENCLOSED), ("bare", BARE)] {
        let t = ServerWithFolder::open_configured(&format!("operations-{name}"), configuration);
        try_all(&t, &t.server.agent_url(), NOBODY, &[401, 403, 404, 405]);
    }
}

/// The control: the same requests are the owner's to make, so it is the agent that is refused.
/// Only those are sent that change nothing with a body that is wrong, and no id that there is.
#[test]
fn the_same_operations_are_not_refused_to_the_owner() {
    let t = ServerWithFolder::open_configured("operations-owner", BARE);
    let nothing = json!(["no", "object"]);
    let mut wrong = Vec::new();
    let mut count = 0;
    for operation in operations() {
        let does_something = operation.method != "GET" && operation.to_owner.starts_with('2');
        if does_something || operation.is_open {
            continue;
        }
        let mut path = operation.path.to_owned();
        while let Some((before, rest)) = path.split_once('{') {
            let (_, after) = rest.split_once('}').unwrap();
            path = format!("{before}{NOTHING}{after}");
        }
        let answer = t.server.answer(operation.method, &path, Some(&nothing));
        count += 1;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        if ["", "401", "403"].contains(&status) {
            wrong.push(format!("{} {path}: {answer}", operation.method));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 60, "{count} were asked for");
}

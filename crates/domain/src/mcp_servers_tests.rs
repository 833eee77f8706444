//! The rules of entries: names, connections, what is told and what is shown.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{approval_card::summary, *};
use crate::{
    agents::{Agent, AgentState, ResponseMode},
    events::Event,
};

pub(super) fn values(pairs: &[(&str, &str)]) -> connection_config::SecretValues {
    let value =
        |(name, text): &(&str, &str)| ((*name).to_owned(), SecretText::sent((*text).to_owned()));
    pairs.iter().map(value).collect()
}

pub(super) fn stdio(command: &str, args: &[&str], env: &[(&str, &str)]) -> ConnectionConfig {
    ConnectionConfig::Stdio(StdioConfig {
        command: command.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: values(env),
    })
}

pub(super) fn http(url: &str, headers: &[(&str, &str)]) -> ConnectionConfig {
    ConnectionConfig::Http(RemoteConfig {
        url: url.to_owned(),
        headers: values(headers),
        auth_kind: None,
    })
}

pub(super) fn server(connection: ConnectionConfig) -> McpServer {
    McpServer {
        name: ServerName::parse("files").unwrap(),
        enabled: true,
        connection,
        added_at: Timestamp::from_millis(1),
        added_by: AuthorId::from_bytes([1; 16]),
        rev: 1,
        status: ServerStatus::Unknown,
        status_detail: None,
        auth_status: None,
        auth_client_origin: None,
        approval_id: None,
        tool_count: None,
        pin: Pin::default(),
    }
}

fn agent() -> Agent {
    Agent {
        id: AgentId::from_bytes([2; 16]),
        author_id: AuthorId::from_bytes([3; 16]),
        handle: None,
        name: "Ada".to_owned(),
        description: String::new(),
        runtime: "rehearsal".to_owned(),
        cwd: "/folders/ada".to_owned(),
        response_mode: ResponseMode::Engaged,
        permission_mode: "default".to_owned(),
        model: String::new(),
        effort: String::new(),
        enclosed: true,
        state: AgentState::Ready,
        live_process: false,
        created_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(0),
    }
}

/// The fields that a new entry is refused for.
fn wrong(name: &str, connection: &ConnectionConfig) -> Vec<String> {
    let ask = NewMcpServer {
        agent_id: None,
        name: name.to_owned(),
        connection: connection.clone(),
    };
    match ask.check(AgentId::from_bytes([2; 16])) {
        Ok(_) => Vec::new(),
        Err(Refusal::Validation(invalid)) => invalid.field_errors.into_keys().collect(),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_name_is_one_to_sixty_four_plain_characters_and_no_folder() {
    let longest = "n".repeat(64);
    for (name, is_name) in [
        ("a", true),
        ("Files.v2_x-1", true),
        (longest.as_str(), true),
        ("...", true),
        ("", false),
        (".", false),
        ("..", false),
        ("a b", false),
        ("a/b", false),
        ("é", false),
        ("a\n", false),
        (&"n".repeat(65), false),
    ] {
        assert_eq!(ServerName::parse(name).is_some(), is_name, "{name:?}");
        assert_eq!(wrong(name, &stdio("x", &[], &[])).is_empty(), is_name);
    }
}

#[test]
fn our_own_name_is_refused_in_any_case_after_shape_and_agent() {
    let own = AgentId::from_bytes([2; 16]);
    let ask = |name: &str, agent_id, connection| {
        NewMcpServer {
            agent_id,
            name: name.to_owned(),
            connection,
        }
        .check(own)
        .err()
    };
    let good = || stdio("x", &[], &[]);
    for name in ["guildhall", "Guildhall", "GUILDHALL"] {
        assert_eq!(ask(name, None, good()), Some(Refusal::ReservedName));
        assert_eq!(
            ask(name, Some(AgentId::from_bytes([9; 16])), good()),
            Some(Refusal::AgentIdMismatch)
        );
        let shapeless = ask(
            name,
            Some(AgentId::from_bytes([9; 16])),
            stdio("", &[], &[]),
        );
        assert!(matches!(shapeless, Some(Refusal::Validation(_))));
    }
    assert_eq!(ask("guildhall2", Some(own), good()), None);
}

#[test]
fn every_field_of_a_program_has_its_limit() {
    let long = |n| "x".repeat(n);
    let args = |n| vec!["a"; n];
    let many: Vec<(String, String)> = (0..129).map(|n| (format!("V{n}"), String::new())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let ok: &[&str] = &[];
    for (connection, expected) in [
        (stdio(&long(4_096), &args(128), &many[..128]), ok),
        (stdio("", &[], &[]), &["connection.command"]),
        (stdio(&long(4_097), &[], &[]), &["connection.command"]),
        (stdio("a\0b", &[], &[]), &["connection.command"]),
        (stdio("x", &args(129), &[]), &["connection.args"]),
        (stdio("x", &["", &long(8_193)], &[]), &["connection.args.1"]),
        (stdio("x", &[], &many), &["connection.env"]),
        (stdio("x", &[], &[("_A1", &long(32 * 1_024))]), ok),
        (
            stdio("x", &[], &[("A", &long(32 * 1_024 + 1))]),
            &["connection.env.A"],
        ),
        (stdio("x", &[], &[("1A", "")]), &["connection.env.1A"]),
        (stdio("x", &[], &[("A-B", "")]), &["connection.env.A-B"]),
        (stdio("x", &[], &[("", "")]), &["connection.env."]),
        (
            stdio("x", &[], &[("GUILDHALL_URL", "")]),
            &["connection.env.GUILDHALL_URL"],
        ),
        (stdio("x", &[], &[("guildhall_url", "")]), ok),
        (stdio("x", &[], &[("A", "***")]), &["connection.env.A"]),
    ] {
        assert_eq!(wrong("n", &connection), expected, "{connection:?}");
    }
}

#[test]
fn an_address_is_what_its_reader_sees() {
    let longest = format!("https://x/{}", "p".repeat(2_038));
    for (url, is_good) in [
        ("http://x", true),
        ("HTTPS://Example.org:8443/a/b?c=d#frag", true),
        ("http://[::1]:8080/mcp", true),
        ("https://x/a@b?u=c@d", true),
        (longest.as_str(), true),
        (&format!("{longest}p"), false),
        ("", false),
        ("/mcp", false),
        ("ftp://x", false),
        ("http:x", false),
        ("http:///x", false),
        ("file:///etc/passwd", false),
        ("https://u@x", false),
        ("https://u:p@x", false),
        ("https://@x", false),
        ("https://:@x", false),
        ("https://x y", false),
        ("https://x\n", false),
        (" https://x", false),
        ("https:\\\\x", false),
        ("https://x\\@y", false),
    ] {
        assert_eq!(wrong("n", &http(url, &[])).is_empty(), is_good, "{url:?}");
    }
    let ConnectionConfig::Http(remote) = http("http://x/a#b#c", &[]).without_fragment() else {
        panic!("an address");
    };
    assert_eq!(remote.url, "http://x/a");
}

#[test]
fn headers_are_those_that_a_caller_may_write() {
    let many: Vec<(String, String)> = (0..33).map(|n| (format!("h{n}"), String::new())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let of = |headers: &[(&str, &str)]| wrong("n", &http("http://x", headers));
    assert!(of(&many[..32]).is_empty());
    assert_eq!(of(&many), ["connection.headers"]);
    assert!(of(&[("Authorization", "Bearer x"), ("X-Api-Key", "a\tb")]).is_empty());
    for name in [
        "Host",
        "content-length",
        "CONNECTION",
        "Transfer-Encoding",
        "Mcp-Session-Id",
        "mcp-protocol-version",
        "X-Service-Agent",
        "x-service-anything",
        "a b",
        "é",
        "",
    ] {
        assert_eq!(of(&[(name, "v")]), [format!("connection.headers.{name}")]);
    }
    for value in ["a\r\nb", "a\nb", "\u{7f}", " a", "a ", "***"] {
        assert_eq!(of(&[("A", value)]), ["connection.headers.A"], "{value:?}");
    }
    assert_eq!(of(&[("A", "1"), ("a", "2")]), ["connection.headers.a"]);
}

#[test]
fn three_stars_keep_the_stored_value_of_that_name_and_nothing_else() {
    let stored = stdio("x", &[], &[("A", "1"), ("B", "2")]);
    let kept = stdio("y", &[], &[("A", "***"), ("C", "3")])
        .complete(&stored)
        .unwrap();
    assert_eq!(kept, stdio("y", &[], &[("A", "1"), ("C", "3")]));
    let wrong = |connection: ConnectionConfig, stored: &ConnectionConfig| match connection
        .complete(stored)
    {
        Err(Refusal::Validation(invalid)) => invalid.field_errors.into_keys().collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        wrong(stdio("y", &[], &[("a", "***"), ("D", "***")]), &stored),
        ["connection.env.D", "connection.env.a"]
    );
    // What was stored for one field is nothing to the other one.
    assert_eq!(
        wrong(http("http://x", &[("A", "***")]), &stored),
        ["connection.headers.A"]
    );
    // What was lost is not kept either.
    assert_eq!(
        wrong(stdio("y", &[], &[("A", "***")]), &stored.clone().redacted()),
        ["connection.env.A"]
    );
    let stored = http("http://x", &[("Authorization", "Bearer 1")]);
    let kept = http("http://y", &[("authorization", "***")]).complete(&stored);
    assert_eq!(
        kept.unwrap(),
        http("http://y", &[("authorization", "Bearer 1")])
    );
}

#[test]
fn no_form_of_an_entry_but_its_own_word_shows_a_value() {
    let canary = "canary-value";
    for connection in [
        stdio("x", &[], &[("KEY", canary)]),
        http("http://x", &[("X-Key", canary)]),
    ] {
        let entry = server(connection.clone());
        let written = serde_json::to_string(&entry).unwrap();
        assert!(
            !written.contains(canary) && written.contains("***"),
            "{written}"
        );
        assert!(!format!("{entry:?}").contains(canary));
        let card = ServerApprovalCard::of(
            CardSubject {
                agent: &agent(),
                name: &entry.name,
                program: None,
            },
            &connection,
        );
        assert!(!serde_json::to_string(&card).unwrap().contains(canary));
        assert!(!summary("Add", &agent(), (&entry.name, &connection)).contains(canary));
        assert!(connection.to_plain_json().to_string().contains(canary));
        // What was written is read back without values.
        let read: McpServer = serde_json::from_str(&written).unwrap();
        assert_eq!(read, entry.redacted());
    }
}

#[test]
fn an_entry_is_told_as_the_contract_writes_it() {
    let mut entry = server(stdio("x", &["-y"], &[("KEY", "v")]));
    entry.status = ServerStatus::CommandMissing;
    entry.auth_status = Some(AuthStatus::NeedsAuth);
    let pin = json!({"executablePath": null, "executableSha256": null, "scriptPath": null,
        "scriptSha256": null, "toolsSha256": null, "pinnedAt": null});
    let expected = json!({
        "name": "files", "enabled": true,
        "connection": {"transport": "stdio", "command": "x", "args": ["-y"], "env": {"KEY": "***"}},
        "addedAt": "1970-01-01T00:00:00.001Z", "addedBy": AuthorId::from_bytes([1; 16]).to_string(),
        "rev": 1, "status": "commandMissing", "statusDetail": null, "authStatus": "needs-auth",
        "authClientOrigin": null, "approvalId": null, "toolCount": null, "pin": pin,
    });
    assert_eq!(serde_json::to_value(&entry).unwrap(), expected);
    entry.connection = ConnectionConfig::Sse(RemoteConfig {
        url: "http://x".to_owned(),
        headers: BTreeMap::new(),
        auth_kind: Some(ServerAuthKind::Oauth2),
    });
    let connection = &serde_json::to_value(&entry).unwrap()["connection"];
    let expected =
        json!({"transport": "sse", "url": "http://x", "headers": {}, "authKind": "oauth2"});
    assert_eq!(connection, &expected);
}

#[test]
fn words_of_the_wire_are_those_of_serde() {
    let word = |value: Value| value.as_str().unwrap().to_owned();
    for (value, known) in ServerStatus::WORDS {
        assert_eq!(word(serde_json::to_value(value).unwrap()), known);
    }
    for (value, known) in Transport::WORDS {
        assert_eq!(word(serde_json::to_value(value).unwrap()), known);
        assert_eq!(value.as_str(), known);
    }
    for (value, known) in AuthStatus::WORDS {
        assert_eq!(word(serde_json::to_value(value).unwrap()), known);
    }
    for (value, known) in AuthClientOrigin::WORDS {
        assert_eq!(word(serde_json::to_value(value).unwrap()), known);
    }
}

#[test]
fn a_card_shows_everything_that_runs_and_the_values_that_decide_what_runs() {
    let connection = stdio(
        "/opt/\u{202e}tool",
        &["a\nb", "--x=\u{200b}1"],
        &[
            ("PATH", "/evil"),
            ("LD_PRELOAD", "/l.so"),
            ("TOKEN", "t"),
            ("env", "e"),
        ],
    );
    let program = ProgramFiles {
        executable_path: "/opt/tool".to_owned(),
        executable_sha256: "ab".to_owned(),
        script: Some(("/s".to_owned(), "cd".to_owned())),
    };
    let name = ServerName::parse("files").unwrap();
    let agent = agent();
    let place = CardSubject {
        agent: &agent,
        name: &name,
        program: Some(&program),
    };
    let variable = |name: &str, value: Option<&str>, loads: bool| json!({"name": name, "value": value, "loadsCode": loads});
    let expected = json!({
        "agentId": agent.id.to_string(), "agentName": "Ada", "name": "files",
        "transport": "stdio", "command": "/opt/\\u{202e}tool",
        "args": ["a\\u{a}b", "--x=\\u{200b}1"], "cwd": "/folders/ada",
        "resolvedPath": "/opt/tool", "executableSha256": "ab",
        "scriptPath": "/s", "scriptSha256": "cd",
        "env": [variable("LD_PRELOAD", Some("/l.so"), true), variable("PATH", Some("/evil"), true),
            variable("TOKEN", None, false), variable("env", None, false)],
        "url": null, "headerNames": [],
    });
    assert_eq!(
        serde_json::to_value(ServerApprovalCard::of(place, &connection)).unwrap(),
        expected
    );
    let address = http("https://x/mcp", &[("Authorization", "Bearer t")]);
    let card = serde_json::to_value(ServerApprovalCard::of(
        CardSubject {
            program: None,
            ..place
        },
        &address,
    ))
    .unwrap();
    assert_eq!(card["url"], "https://x/mcp");
    assert_eq!(card["headerNames"], json!(["Authorization"]));
    assert_eq!(
        (&card["command"], &card["cwd"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn a_launcher_and_a_missing_program_are_said_on_the_card() {
    let program = ProgramFiles {
        executable_path: "/bin/x".to_owned(),
        executable_sha256: String::new(),
        script: None,
    };
    let count =
        |connection: &ConnectionConfig, program| approval_card::why(connection, program).len();
    assert_eq!(count(&stdio("tool", &[], &[]), Some(&program)), 1);
    assert_eq!(count(&stdio("/usr/bin/npx", &[], &[]), Some(&program)), 2);
    assert_eq!(count(&stdio("npx", &[], &[("PATH", "")]), None), 4);
    let long = "x".repeat(1_000);
    let name = ServerName::parse("n").unwrap();
    let whole = summary("Add", &agent(), (&name, &stdio(&long, &[], &[])));
    assert_eq!(whole.chars().count(), 500);
}

#[test]
fn what_needs_a_card_is_another_connection_and_switching_on() {
    let on = server(stdio("x", &[], &[]));
    let off = McpServer {
        enabled: false,
        status: ServerStatus::Disabled,
        ..on.clone()
    };
    let connection = Some(on.connection.clone());
    let patch = |connection, enabled| McpServerPatch {
        connection,
        enabled,
    };
    for (patch, stored, expected) in [
        (patch(None, None), &on, false),
        (patch(None, Some(false)), &on, false),
        (patch(None, Some(true)), &on, false),
        (patch(None, Some(true)), &off, true),
        (patch(None, Some(false)), &off, false),
        (patch(connection.clone(), None), &on, true),
        (patch(connection, Some(false)), &on, true),
    ] {
        assert_eq!(patch.needs_card(stored), expected, "{patch:?}");
    }
}

#[test]
fn lost_values_are_named_and_an_entry_without_any_stands_as_it_is() {
    let whole = server(stdio("x", &[], &[("A", "1"), ("B", "2")]));
    assert_eq!(whole.clone().with_lost_values(), whole);
    let lost = whole.clone().redacted().with_lost_values();
    assert_eq!(lost.status, ServerStatus::Failing);
    assert!(lost.status_detail.unwrap().ends_with("again: A, B."));
    let off = McpServer {
        enabled: false,
        status: ServerStatus::Disabled,
        ..whole.redacted()
    };
    assert_eq!(off.with_lost_values().status, ServerStatus::Disabled);
}

#[test]
fn a_change_is_told_by_what_it_changed() {
    let agent = AgentId::from_bytes([2; 16]);
    let by = AuthorId::from_bytes([1; 16]);
    let names = |events: Vec<Event>| events.iter().map(Event::name).collect::<Vec<_>>();
    let before = server(stdio("x", &[], &[("KEY", "canary-value")]));
    let of = |after: &McpServer, by| names(event_payloads::of_change(agent, &before, after, by));
    assert_eq!(
        names(event_payloads::of_added(agent, &before)),
        ["mcp_server_added"]
    );
    assert!(of(&before, Some(by)).is_empty());
    let off = McpServer {
        enabled: false,
        status: ServerStatus::Disabled,
        ..before.clone()
    };
    let [updated, status] = ["mcp_server_updated", "mcp_server_status_changed"];
    assert_eq!(of(&off, Some(by)), [updated, status]);
    // What the server notes by itself is no change of somebody's.
    let ready = McpServer {
        status: ServerStatus::Ready,
        tool_count: Some(3),
        ..before.clone()
    };
    assert_eq!(of(&ready, None), [status]);
    let pinned = McpServer {
        pin: Pin {
            tools_sha256: Some("ab".to_owned()),
            ..Pin::default()
        },
        ..before.clone()
    };
    assert_eq!(of(&pinned, None), ["mcp_server_pinned"]);
    let other = McpServer {
        connection: stdio("x", &[], &[("KEY", "other")]),
        ..before.clone()
    };
    let events = event_payloads::of_change(agent, &before, &other, Some(by));
    let Event::McpServerUpdated(updated) = &events[0] else {
        panic!("{events:?}");
    };
    assert_eq!(updated.changed, ["connection"]);
    for event in event_payloads::of_added(agent, &before)
        .iter()
        .chain(&events)
    {
        let written = serde_json::to_string(event).unwrap();
        assert!(
            !written.contains("canary-value") && !written.contains("other"),
            "{written}"
        );
        assert_eq!(
            event.visibility(&[]).scope.to_string(),
            format!("agent:{agent}")
        );
    }
}

proptest! {
    /// Nothing an agent writes can make a card that reads otherwise than it runs.
    #[test]
    fn a_legible_text_holds_nothing_that_deceives(text in any::<String>()) {
        let shown = approval_card::legible(&text);
        prop_assert!(!shown.chars().any(char::is_control));
        prop_assert_eq!(approval_card::legible(&shown), shown.clone());
        let deceives = |c: char| "\u{202e}\u{2066}\u{200b}\u{feff}".contains(c);
        prop_assert!(!shown.contains(deceives));
    }

    /// A name and its folded form are names of the same entry.
    #[test]
    fn folding_keeps_a_name_a_name(text in "[A-Za-z0-9._-]{1,64}") {
        if let Some(name) = ServerName::parse(&text) {
            let folded = ServerName::parse(&name.folded()).unwrap();
            prop_assert_eq!(folded.folded(), name.folded());
        }
    }
}

//! Tests of asking again: what a yes pins, and what a no does.

use serde_json::json;

use super::*;
use crate::{
    ids::AuthorId,
    mcp_servers::{ConnectionConfig, RemoteConfig, ServerName},
};

fn tool(name: &str, description: &str) -> ToolDefinition {
    let whole = json!({"name": name, "description": description, "inputSchema": {}});
    ToolDefinition::of(&whole).unwrap()
}

fn server(pin: Pin) -> McpServer {
    McpServer {
        name: ServerName::parse("files").unwrap(),
        enabled: true,
        connection: ConnectionConfig::Http(RemoteConfig {
            url: "http://127.0.0.1/mcp".to_owned(),
            headers: Default::default(),
            auth_kind: None,
        }),
        added_at: Timestamp::from_millis(1),
        added_by: AuthorId::from_bytes([1; 16]),
        rev: 1,
        status: ServerStatus::Ready,
        status_detail: None,
        auth_status: None,
        auth_client_origin: None,
        approval_id: None,
        tool_count: Some(2),
        pin,
    }
}

fn card(differing: &PinDifference) -> Value {
    json!({"before": differing.before, "after": differing.after})
}

#[test]
fn a_yes_to_other_tools_pins_exactly_those_that_were_shown() {
    let approved = vec![tool("a", "one"), tool("b", "two"), tool("c", "three")];
    let listed = vec![tool("a", "other"), tool("c", "three"), tool("d", "new")];
    let differing = PinDifference::tools(&approved, &listed).unwrap();
    assert_eq!(differing.before["tool a"]["description"], "one");
    assert_eq!(differing.after["tool a"]["description"], "other");
    assert_eq!(differing.before["tool d"], Value::Null);
    assert_eq!(differing.after["tool b"], Value::Null);
    assert!(!differing.before.contains_key("tool c"), "it is the same");
    let mut server = server(Pin::default());
    differing.hold_for_approval(&mut server, ApprovalId::from_bytes([2; 16]));
    assert_eq!(server.status, ServerStatus::NeedsApproval);
    let now = Timestamp::from_millis(9);
    let tools = granted(&mut server, &card(&differing), Some(approved), now).unwrap();
    let tools = tools.unwrap();
    assert!(mcp_tools::compare(&listed, &tools).is_empty());
    assert_eq!(
        server.pin.tools_sha256,
        Some(mcp_tools::digest(&listed).unwrap())
    );
    assert_eq!(
        (server.status, server.tool_count, server.approval_id),
        (ServerStatus::Ready, Some(3), None)
    );
}

#[test]
fn tools_that_are_too_long_to_be_shown_are_pinned_when_they_are_next_listed() {
    let long = "x".repeat(MCP_REPIN_CARD_BYTES_MAX);
    let approved = vec![tool("a", "one")];
    let differing = PinDifference::tools(&approved, &[tool("a", &long)]).unwrap();
    assert_eq!(differing.after["tool a"], "too long to be shown");
    let mut server = server(Pin::default());
    server.pin.tools_sha256 = Some("old".to_owned());
    differing.hold_for_approval(&mut server, ApprovalId::from_bytes([2; 16]));
    let now = Timestamp::from_millis(9);
    let tools = granted(&mut server, &card(&differing), Some(approved), now).unwrap();
    assert_eq!((tools, server.pin.tools_sha256), (None, None));
}

#[test]
fn a_yes_to_another_program_pins_it_and_keeps_its_tools() {
    let program = |path: &str, script: Option<(&str, &str)>| ProgramFiles {
        executable_path: path.to_owned(),
        executable_sha256: "aa".to_owned(),
        script: script.map(|(path, hash)| (path.to_owned(), hash.to_owned())),
    };
    let mut pin = Pin::of(
        Some(&program("/bin/node", Some(("/s.js", "bb")))),
        Timestamp::from_millis(1),
    );
    pin.tools_sha256 = Some("cc".to_owned());
    let found = program("/opt/node", None);
    let differing = PinDifference::program(&pin, &found);
    assert_eq!(differing.before["scriptPath"], "/s.js");
    assert_eq!(differing.after["executablePath"], "/opt/node");
    let mut server = server(pin);
    differing.hold_for_approval(&mut server, ApprovalId::from_bytes([2; 16]));
    let now = Timestamp::from_millis(9);
    assert_eq!(
        granted(&mut server, &card(&differing), None, now).unwrap(),
        None
    );
    let expected = Pin {
        tools_sha256: Some("cc".to_owned()),
        ..Pin::of(Some(&found), now)
    };
    assert_eq!(server.pin, expected);
}

#[test]
fn a_no_switches_it_off() {
    let mut server = server(Pin::default());
    let differing = PinDifference::tools(&[], &[tool("a", "one")]).unwrap();
    differing.hold_for_approval(&mut server, ApprovalId::from_bytes([2; 16]));
    denied(&mut server);
    assert_eq!(
        (server.status, server.enabled, server.approval_id),
        (ServerStatus::Disabled, false, None)
    );
    assert!(granted(&mut server, &json!({}), None, Timestamp::from_millis(1)).is_err());
}

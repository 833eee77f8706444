//! What the tools take and answer, by tables.

use super::*;

const TAB: &str = "0192f0c1-2d3e-7abc-8def-0123456789ab";

fn read(name: &str, arguments: &Value) -> Result<BrowserToolCall, Vec<String>> {
    let tool = BrowserTool::find(name).unwrap();
    call(tool, arguments.as_object().unwrap()).map_err(|invalid| {
        let form = invalid.form_errors.iter().map(|_| "form".to_owned());
        form.chain(invalid.field_errors.into_keys()).collect()
    })
}

#[test]
fn arguments_are_read_within_their_limits() {
    let tab = TabId::parse(TAB);
    let long = "x".repeat(2_049);
    for (name, arguments, expected) in [
        ("browser_tabs", json!({"odd": 1}), Ok(BrowserToolCall::Tabs)),
        (
            "browser_snapshot",
            json!({}),
            Ok(BrowserToolCall::Snapshot(None)),
        ),
        (
            "browser_snapshot",
            json!({"tabId": null}),
            Ok(BrowserToolCall::Snapshot(None)),
        ),
        (
            "browser_snapshot",
            json!({"tabId": TAB}),
            Ok(BrowserToolCall::Snapshot(tab)),
        ),
        (
            "browser_snapshot",
            json!({"tabId": "1"}),
            Err(vec!["tabId"]),
        ),
        (
            "browser_screenshot",
            json!({"fullPage": true}),
            Ok(BrowserToolCall::Screenshot {
                tab: None,
                is_whole_page: true,
            }),
        ),
        (
            "browser_screenshot",
            json!({"fullPage": "yes"}),
            Err(vec!["fullPage"]),
        ),
        (
            "browser_navigate",
            json!({"url": "example.org"}),
            Ok(BrowserToolCall::Visit("example.org".to_owned())),
        ),
        (
            "browser_navigate",
            json!({"action": "back", "url": null}),
            Ok(BrowserToolCall::Turn(HistoryMove::Back)),
        ),
        ("browser_navigate", json!({}), Err(vec!["form"])),
        (
            "browser_navigate",
            json!({"url": "a", "action": "stop"}),
            Err(vec!["form", "action"]),
        ),
        (
            "browser_click",
            json!({"ref": "e3"}),
            Ok(BrowserToolCall::Click {
                on: 3,
                button: MouseButton::Left,
                is_double: false,
            }),
        ),
        (
            "browser_click",
            json!({"ref": "3", "button": "fourth", "double": 1}),
            Err(vec!["button", "double", "ref"]),
        ),
        ("browser_click", json!({}), Err(vec!["ref"])),
        ("browser_hover", json!({"ref": 3}), Err(vec!["ref"])),
        (
            "browser_type",
            json!({"ref": "e1", "text": ""}),
            Ok(BrowserToolCall::Type {
                into: 1,
                text: String::new(),
                submits: false,
            }),
        ),
        (
            "browser_type",
            json!({"ref": "e1", "text": long}),
            Err(vec!["text"]),
        ),
        ("browser_type", json!({"ref": "e1"}), Err(vec!["text"])),
        (
            "browser_press_key",
            json!({"key": "a", "modifiers": 2}),
            Ok(BrowserToolCall::PressKey {
                key: "a".to_owned(),
                modifiers: 2,
            }),
        ),
        (
            "browser_press_key",
            json!({"key": "", "modifiers": 16}),
            Err(vec!["key", "modifiers"]),
        ),
        (
            "browser_press_key",
            json!({"key": "x".repeat(33)}),
            Err(vec!["key"]),
        ),
        (
            "browser_select_option",
            json!({"ref": "e1", "values": ["a", "b"]}),
            Ok(BrowserToolCall::SelectOption {
                list: 1,
                values: vec!["a".to_owned(), "b".to_owned()],
            }),
        ),
        (
            "browser_select_option",
            json!({"ref": "e1", "values": vec!["a"; 65]}),
            Err(vec!["values"]),
        ),
        (
            "browser_select_option",
            json!({"ref": "e1", "values": ["x".repeat(401)]}),
            Err(vec!["values"]),
        ),
        (
            "browser_select_option",
            json!({"ref": "e1"}),
            Err(vec!["values"]),
        ),
        (
            "browser_scroll",
            json!({"deltaX": 0, "deltaY": -16_384}),
            Ok(BrowserToolCall::Scroll {
                over: None,
                delta_x: 0.0,
                delta_y: -16_384.0,
            }),
        ),
        (
            "browser_scroll",
            json!({"deltaX": 16_385}),
            Err(vec!["deltaX", "deltaY"]),
        ),
        (
            "browser_wait_for",
            json!({"ms": 10_000}),
            Ok(BrowserToolCall::WaitFor(WaitCondition::Ms(10_000))),
        ),
        (
            "browser_wait_for",
            json!({"textGone": "Loading"}),
            Ok(BrowserToolCall::WaitFor(WaitCondition::TextGone(
                "Loading".to_owned(),
            ))),
        ),
        ("browser_wait_for", json!({"ms": 10_001}), Err(vec!["ms"])),
        ("browser_wait_for", json!({}), Err(vec!["form"])),
        (
            "browser_wait_for",
            json!({"text": "a", "ms": 1}),
            Err(vec!["form"]),
        ),
        (
            "browser_console",
            json!({}),
            Ok(BrowserToolCall::Console(50)),
        ),
        ("browser_console", json!({"limit": 0}), Err(vec!["limit"])),
        ("browser_console", json!({"limit": 201}), Err(vec!["limit"])),
        (
            "browser_tab_new",
            json!({}),
            Ok(BrowserToolCall::TabNew(None)),
        ),
        (
            "browser_tab_close",
            json!({"tabId": TAB}),
            Ok(BrowserToolCall::TabClose(tab.unwrap())),
        ),
        ("browser_tab_select", json!({}), Err(vec!["tabId"])),
    ] {
        let found = read(name, &arguments);
        let expected = expected.map_err(|names| {
            let names = names.into_iter().map(str::to_owned);
            names.collect::<Vec<_>>()
        });
        assert_eq!(found, expected, "{name} {arguments}");
    }
}

#[test]
fn every_argument_is_described_and_bounded() {
    for (tool, name) in BrowserTool::NAMES {
        let ToolDescription { about, input, .. } = describe(tool);
        assert!(about.len() > 20, "{name}");
        let properties = input["properties"].as_object().unwrap();
        for (argument, shape) in properties {
            assert!(shape["description"].is_string(), "{name}.{argument}");
            let bound = match shape["type"].as_str().unwrap() {
                "string" if shape["enum"].is_array() => "enum",
                "string" => "maxLength",
                "integer" | "number" => "maximum",
                "array" => "maxItems",
                "boolean" => continue,
                other => panic!("{name}.{argument}: {other}"),
            };
            assert!(!shape[bound].is_null(), "{name}.{argument}: {bound}");
        }
        for needed in input["required"].as_array().unwrap() {
            assert!(properties.contains_key(needed.as_str().unwrap()), "{name}");
        }
    }
}

#[test]
fn what_is_uncertain_says_that_it_is_looked_at_first() {
    let answer = to_result(&BrowserToolResult::Came(ActionOutcome::Uncertain));
    assert_eq!(answer["outcome"], "uncertain");
    assert_eq!(answer["code"], "BROWSER_TIMEOUT");
    let done = to_result(&BrowserToolResult::Came(ActionOutcome::Done));
    assert_eq!(done, json!({"outcome": "done"}));
    let denied = to_denial("PAUSED", "Wait.");
    assert_eq!(denied["details"], json!({"outcome": "rejected"}));
}

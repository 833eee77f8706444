//! Reading what agents send, in every spelling they use.

use guildhall_domain::{transcript::ToolKind as Kind, usage::Cost};
use serde_json::json;

use super::*;

#[test]
fn each_update_is_read() {
    for (raw, expected) in [
        (
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}),
            vec![AgentUpdate::Text("hi".to_owned())],
        ),
        (
            json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}),
            vec![AgentUpdate::Thinking("hm".to_owned())],
        ),
        (
            json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "me"}}),
            vec![],
        ),
        (
            json!({"sessionUpdate": "agent_message_chunk", "content":
                {"type": "image", "data": "", "mimeType": "image/png"}}),
            vec![AgentUpdate::Notice(
                "The agent sent image, which is not shown.".to_owned(),
            )],
        ),
        (
            json!({"sessionUpdate": "plan", "entries": [
                {"content": "a", "priority": "high", "status": "in_progress"}]}),
            vec![AgentUpdate::Plan(vec![PlanEntry {
                content: "a".to_owned(),
                status: "in_progress".to_owned(),
                priority: "high".to_owned(),
            }])],
        ),
        (
            json!({"sessionUpdate": "available_commands_update", "availableCommands": [
                {"name": "web", "description": "Searches", "input": {"hint": "words"}},
                {"name": "x", "description": ""}]}),
            vec![AgentUpdate::Commands(vec![
                AgentCommand {
                    name: "web".to_owned(),
                    description: "Searches".to_owned(),
                    hint: "words".to_owned(),
                },
                AgentCommand {
                    name: "x".to_owned(),
                    description: String::new(),
                    hint: String::new(),
                },
            ])],
        ),
        (
            json!({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}),
            vec![AgentUpdate::Mode("plan".to_owned())],
        ),
        (
            json!({"sessionUpdate": "session_info_update", "title": "Work"}),
            vec![AgentUpdate::Title("Work".to_owned())],
        ),
        (
            json!({"sessionUpdate": "session_info_update", "updatedAt": "x"}),
            vec![],
        ),
        (
            json!({"sessionUpdate": "usage_update", "used": 5, "size": 9,
                "cost": {"amount": 0.25, "currency": "usd"}}),
            vec![
                AgentUpdate::Context { used: 5, size: 9 },
                AgentUpdate::Cost(Cost {
                    nanos: 250_000_000,
                    currency: "USD".to_owned(),
                }),
            ],
        ),
        (json!({"sessionUpdate": "of_a_later_day", "x": 1}), vec![]),
        (json!({"sessionUpdate": "agent_message_chunk"}), vec![]),
        (json!(7), vec![]),
    ] {
        assert_eq!(updates(raw.clone()), expected, "{raw}");
    }
}

fn call(raw: Value) -> ToolCallPatch {
    match updates(raw).pop() {
        Some(AgentUpdate::ToolCall(patch)) => patch,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tool_call_is_read_whole() {
    let patch = call(json!({
        "sessionUpdate": "tool_call",
        "toolCallId": "t", "title": "Edit", "kind": "edit", "status": "in_progress",
        "rawInput": {"path": "a"}, "rawOutput": "done",
        "content": [
            {"type": "diff", "path": "/a", "oldText": "x", "newText": "y"},
            {"type": "content", "content": {"type": "text", "text": "ok"}},
            {"type": "terminal", "terminalId": "1"}],
        "locations": [{"path": "/a", "line": 3}],
        "_meta": {"claudeCode": {"toolName": "Edit"}},
    }));
    assert_eq!(
        patch,
        ToolCallPatch {
            title: Some("Edit".to_owned()),
            tool_name: Some("Edit".to_owned()),
            kind: Some(Kind::Edit),
            status: Some(ToolStatus::InProgress),
            input: Some(json!({"path": "a"})),
            output: Some(json!("done")),
            content: Some(vec![
                ToolContent::Diff {
                    path: "/a".to_owned(),
                    old_text: Some("x".to_owned()),
                    new_text: "y".to_owned(),
                },
                ToolContent::Text {
                    text: "ok".to_owned()
                },
                ToolContent::Unshown {
                    kind: "terminal".to_owned()
                },
            ]),
            locations: Some(vec![ToolLocation {
                path: "/a".to_owned(),
                line: Some(3)
            }]),
            ..ToolCallPatch::of("t")
        }
    );
}

#[test]
fn an_unknown_kind_or_status_of_a_call_is_no_reason_to_lose_it() {
    let patch = call(json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "X",
        "kind": "teleport", "status": "sideways", "locations": [{"line": 1}, {"path": "/b"}],
    }));
    assert_eq!(patch.kind, Some(Kind::Other));
    assert_eq!(patch.status, None);
    assert_eq!(patch.locations.unwrap().len(), 1);
    let patch = call(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t"}));
    assert_eq!(patch, ToolCallPatch::of("t"));
}

#[test]
fn a_call_announced_twice_does_not_fall_back() {
    let announced = call(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "X"}));
    assert_eq!(announced.status, None);
}

#[test]
fn the_figures_of_a_turn_come_from_the_standard_field_or_the_quota() {
    let tokens = |raw: Value| {
        prompt_end(serde_json::from_value(raw).unwrap())
            .unwrap()
            .tokens
    };
    assert_eq!(tokens(json!({"stopReason": "end_turn"})), None);
    assert_eq!(
        tokens(
            json!({"stopReason": "end_turn", "usage": {"inputTokens": 1, "outputTokens": 2,
            "totalTokens": 9, "cachedReadTokens": 6}})
        ),
        Some(TokenCounts {
            input: 1,
            output: 2,
            cached_read: 6,
            total: 9,
            ..TokenCounts::default()
        })
    );
    assert_eq!(
        tokens(
            json!({"stopReason": "end_turn", "_meta": {"quota": {"token_count":
            {"input_tokens": 10, "output_tokens": 5}}}})
        ),
        Some(TokenCounts {
            input: 10,
            output: 5,
            total: 15,
            ..TokenCounts::default()
        })
    );
    assert_eq!(
        tokens(json!({"stopReason": "end_turn", "_meta": {"quota": {"token_count": {}}}})),
        None
    );
}

#[test]
fn figures_beyond_belief_are_cut_and_what_is_no_amount_was_not_told() {
    const MOST: u64 = limits::TOKENS_TOLD_MAX;
    let huge = u64::MAX;
    let all = TokenCounts {
        input: MOST,
        output: MOST,
        cached_read: MOST,
        cached_write: MOST,
        thought: MOST,
        total: MOST,
    };
    let quota = json!({"input_tokens": huge, "outputTokens": huge, "cached_read_tokens": huge,
        "thought_tokens": huge});
    for (raw, expected) in [
        (
            json!({"stopReason": "end_turn", "usage": {"inputTokens": huge, "outputTokens": huge,
                "totalTokens": huge, "thoughtTokens": huge, "cachedReadTokens": huge,
                "cachedWriteTokens": huge}}),
            Some(all),
        ),
        (
            json!({"stopReason": "end_turn", "_meta": {"quota": {"token_count": quota}}}),
            Some(TokenCounts {
                cached_write: 0,
                ..all
            }),
        ),
        (
            json!({"stopReason": "end_turn", "usage": {"inputTokens": -1, "outputTokens": 1,
                "totalTokens": 1}}),
            None,
        ),
    ] {
        let end = prompt_end(serde_json::from_value(raw.clone()).unwrap());
        assert_eq!(end.unwrap().tokens, expected, "{raw}");
    }
    let most = Cost::new(limits::COST_TOLD_MAX, "USD".to_owned());
    for (amount, currency, expected) in [
        (json!(1e300), "usd", Some(&most)),
        (json!(-0.01), "usd", None),
        (json!(null), "usd", None),
        (json!(1), "a currency without end", None),
    ] {
        let told = updates(
            json!({"sessionUpdate": "usage_update", "used": huge, "size": huge,
            "cost": {"amount": amount, "currency": currency}}),
        );
        let context = AgentUpdate::Context {
            used: MOST,
            size: MOST,
        };
        let cost = expected.cloned().map(AgentUpdate::Cost);
        let expected: Vec<_> = [Some(context), cost].into_iter().flatten().collect();
        assert_eq!(told, expected, "{amount}");
    }
}

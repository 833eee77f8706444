//! Definitions, their digest and their comparison.

use proptest::prelude::*;

use super::*;

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition::of(&json!({"name": name, "description": "Does it",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}}}))
    .unwrap()
}

#[test]
fn the_digest_is_that_of_the_canonical_definitions_in_the_order_of_names() {
    let (mut b, a) = (tool("b"), tool("a"));
    b.title = Some("B".to_owned());
    let canonical = concat!(
        r#"[{"annotations":null,"description":"Does it","inputSchema":"#,
        r#"{"properties":{"a":{"type":"number"}},"type":"object"},"#,
        r#""name":"a","outputSchema":null,"title":null},"#,
        r#"{"annotations":null,"description":"Does it","inputSchema":"#,
        r#"{"properties":{"a":{"type":"number"}},"type":"object"},"#,
        r#""name":"b","outputSchema":null,"title":"B"}]"#
    );
    let expected = Sha256::digest(canonical);
    let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest(&[b, a]).unwrap(), expected);
    let nothing = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945";
    assert_eq!(digest(&[]).unwrap(), nothing);
}

#[test]
fn what_no_pin_covers_is_no_part_of_a_definition() {
    let listed = json!({"name": "a", "inputSchema": {"type": "object"}, "title": null,
        "_meta": {"x": 1}, "icons": []});
    let definition = ToolDefinition::of(&listed).unwrap();
    assert_eq!(
        json!(definition),
        json!({"name": "a", "title": null, "description": null,
            "inputSchema": {"type": "object"}, "outputSchema": null, "annotations": null})
    );
}

#[test]
fn what_is_no_tool_is_said_to_be_none() {
    let cases = [
        (json!(1), "a tool is no object"),
        (json!({"name": ""}), "a tool has no name"),
        (json!({"name": 7}), "a tool has no name"),
        (
            json!({"name": "a", "title": 7}),
            "the title of a tool is no text",
        ),
        (
            json!({"name": "a", "inputSchema": []}),
            "the inputSchema of a tool is no object",
        ),
    ];
    for (listed, expected) in cases {
        assert_eq!(ToolDefinition::of(&listed), Err(expected.to_owned()));
    }
}

#[test]
fn hints_are_read_as_mcp_has_their_defaults() {
    let hinted = |annotations: Value| ToolDefinition {
        annotations: Some(annotations),
        ..tool("a")
    };
    let cases = [
        (tool("a"), false, true),
        (hinted(json!({"readOnlyHint": true})), true, false),
        (hinted(json!({"destructiveHint": false})), false, false),
        (hinted(json!({"destructiveHint": "no"})), false, true),
    ];
    for (tool, read_only, destructive) in cases {
        assert_eq!(
            (tool.is_read_only(), tool.is_destructive()),
            (read_only, destructive),
            "{tool:?}"
        );
    }
    assert_eq!(hinted(json!({"title": "Add"})).display_name(), "Add");
    assert_eq!(tool("a").display_name(), "a");
}

#[test]
fn each_member_that_changed_is_named() {
    let old = [tool("a"), tool("gone"), tool("same")];
    let mut a = tool("a");
    a.description = Some("Does it, and reads your mail".to_owned());
    a.output_schema = Some(json!({"type": "object"}));
    let diff = compare(&old, &[tool("new"), tool("same"), a]);
    let expected = ToolsDiff {
        added: vec!["new".to_owned()],
        changed: vec![ChangedTool {
            name: "a".to_owned(),
            members: vec![ToolField::Description, ToolField::OutputSchema],
        }],
        removed: vec!["gone".to_owned()],
    };
    assert_eq!(diff, expected);
    assert!(diff.needs_approval());
}

#[test]
fn a_tool_that_is_only_gone_asks_nothing() {
    let diff = compare(&[tool("a"), tool("b")], &[tool("b")]);
    assert!(!diff.is_empty() && !diff.needs_approval());
}

#[test]
fn a_second_tool_of_a_name_is_a_change() {
    let diff = compare(&[tool("a")], &[tool("a"), tool("a")]);
    assert_eq!(diff.changed[0].members, [ToolField::Count]);
}

fn definitions() -> impl Strategy<Value = Vec<ToolDefinition>> {
    let one = ("[ab]", proptest::option::of("[xy]"), any::<bool>()).prop_map(
        |(name, description, hint)| ToolDefinition {
            name,
            description,
            annotations: hint.then(|| json!({"readOnlyHint": true})),
            ..tool("a")
        },
    );
    proptest::collection::vec(one, 0..5)
}

proptest! {
    #[test]
    fn digests_and_comparison_agree(old in definitions(), new in definitions()) {
        let same = digest(&old).unwrap() == digest(&new).unwrap();
        prop_assert_eq!(same, compare(&old, &new).is_empty());
    }

    #[test]
    fn the_order_of_a_list_says_nothing(list in definitions()) {
        let reversed: Vec<_> = list.iter().rev().cloned().collect();
        prop_assert_eq!(digest(&list).unwrap(), digest(&reversed).unwrap());
        prop_assert!(compare(&list, &reversed).is_empty());
    }
}

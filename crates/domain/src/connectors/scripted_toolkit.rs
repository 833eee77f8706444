//! The scripted toolkit of every installation: one operation of each class, played in process,
//! so that the whole way can be tried without an account anywhere.
//! Source: contract 5.3, "A fresh installation".

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    classification::{Classification, RetryPolicy},
    operations::{Operation, OperationBinding, OperationListing, ScriptedOperation},
    send_result::SendResult,
    toolkits::{Toolkit, ToolkitAuth, ToolkitSlug},
};

/// What the scripted instance is called.
pub const LABEL: &str = "Rehearsal (scripted)";
/// The version of the scripted toolkit.
pub const VERSION: &str = "1";

/// What the scripted toolkit can do.
pub fn operations() -> OperationListing {
    OperationListing {
        operations: [
            (
                ScriptedOperation::Read,
                "list_notes",
                "List the notes",
                "Reads a scripted list of notes; nothing is kept anywhere.",
            ),
            (
                ScriptedOperation::Write,
                "add_note",
                "Add a note",
                "Says what adding a note would say; nothing is kept anywhere.",
            ),
            (
                ScriptedOperation::Destroy,
                "clear_notes",
                "Remove all notes",
                "Says what removing every note would say; nothing is removed anywhere.",
            ),
        ]
        .into_iter()
        .map(|(deed, slug, title, description)| Operation {
            slug: slug.to_owned(),
            title: title.to_owned(),
            description: description.to_owned(),
            classification: match deed {
                ScriptedOperation::Read => Classification::Read,
                ScriptedOperation::Write => Classification::Write,
                ScriptedOperation::Destroy => Classification::Destructive,
            },
            retry_policy: RetryPolicy::Never,
            input_schema: input_schema(deed),
            binding: OperationBinding::Rehearsal { deed },
        })
        .collect(),
        ..OperationListing::default()
    }
}

/// The scripted toolkit; `None` where its own name is none, which a test rules out.
pub fn toolkit() -> Option<Toolkit> {
    Some(Toolkit {
        slug: ToolkitSlug::parse(ToolkitSlug::REHEARSAL)?,
        display_name: "Rehearsal notes (scripted)".to_owned(),
        description: "Scripted: no account, no packet and nothing kept. It shows how connecting, \
                      granting and running go."
            .to_owned(),
        document_url: None,
        base_url: None,
        url: None,
        auth: ToolkitAuth::None,
        account: None,
        overrides: BTreeMap::new(),
        version: VERSION.to_owned(),
        operation_count: 3,
        left_out: Vec::new(),
        left_out_count: 0,
        has_credential: false,
    })
}

fn input_schema(deed: ScriptedOperation) -> Value {
    let mut properties = json!({
        "play": {
            "type": "string",
            "enum": ["success", "error", "lost"],
            "description": "How it ends; success unless it is said.",
        },
    });
    let required = match deed {
        ScriptedOperation::Read | ScriptedOperation::Destroy => json!([]),
        ScriptedOperation::Write => {
            properties["text"] = json!({
                "type": "string",
                "minLength": 1,
                "maxLength": 1000,
                "description": "What the note says.",
            });
            json!(["text"])
        }
    };
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Plays an operation.
pub fn run(deed: ScriptedOperation, arguments: &Map<String, Value>) -> SendResult {
    match arguments.get("play").and_then(Value::as_str) {
        Some("error") => SendResult::Refused {
            status: None,
            message: "The script says no.".to_owned(),
            retry_after_s: None,
        },
        Some("lost") => SendResult::Lost {
            message: "The script does not answer.".to_owned(),
        },
        _ => SendResult::Done {
            data: Some(match deed {
                ScriptedOperation::Read => json!({"notes": [
                    {"id": 1, "text": "Bring the lamp oil"},
                    {"id": 2, "text": "Ask the smith about the hinges"},
                ]}),
                ScriptedOperation::Write => {
                    json!({"added": {"id": 3, "text": arguments.get("text")}})
                }
                ScriptedOperation::Destroy => json!({"removed": 2}),
            }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_operation_of_each_class_and_the_toolkit_counts_them() {
        let listed = operations();
        let classes: Vec<_> = listed
            .operations
            .iter()
            .map(|it| it.classification)
            .collect();
        let all = Classification::WORDS.map(|(class, _)| class);
        assert_eq!(classes, all);
        assert_eq!(toolkit().unwrap().operation_count, 3);
    }

    #[test]
    fn an_operation_ends_as_it_is_asked_to() {
        let played = |play: &str| {
            let arguments = json!({"text": "a", "play": play});
            play_of(ScriptedOperation::Write, &arguments)
        };
        assert_eq!(
            played("success"),
            SendResult::Done {
                data: Some(json!({"added": {"id": 3, "text": "a"}}))
            }
        );
        assert!(matches!(played("error"), SendResult::Refused { .. }));
        assert!(matches!(played("lost"), SendResult::Lost { .. }));
    }

    fn play_of(deed: ScriptedOperation, arguments: &Value) -> SendResult {
        run(deed, arguments.as_object().unwrap())
    }
}

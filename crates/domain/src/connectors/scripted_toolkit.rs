//! The scripted toolkit of every installation: one operation of each class, played in process,
//! so that the whole way can be tried without an account anywhere.
//! Source: contract 5.3, "A fresh installation".

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    classification::{Classification, RetryPolicy},
    operations::{Binding, Listed, Operation, Scripted},
    send_result::Sent,
    toolkits::{Auth, Slug, Toolkit},
};

/// What the scripted instance is called.
pub const LABEL: &str = "Rehearsal (scripted)";
/// The version of the scripted toolkit.
pub const VERSION: &str = "1";

/// What the scripted toolkit can do.
pub fn operations() -> Listed {
    Listed {
        operations: [
            (
                Scripted::Read,
                "list_notes",
                "List the notes",
                "Reads a scripted list of notes; nothing is kept anywhere.",
            ),
            (
                Scripted::Write,
                "add_note",
                "Add a note",
                "Says what adding a note would say; nothing is kept anywhere.",
            ),
            (
                Scripted::Destroy,
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
                Scripted::Read => Classification::Read,
                Scripted::Write => Classification::Write,
                Scripted::Destroy => Classification::Destructive,
            },
            retry_policy: RetryPolicy::Never,
            input_schema: input_schema(deed),
            binding: Binding::Rehearsal { deed },
        })
        .collect(),
        ..Listed::default()
    }
}

/// The scripted toolkit; `None` where its own name is none, which a test rules out.
pub fn toolkit() -> Option<Toolkit> {
    Some(Toolkit {
        slug: Slug::parse(Slug::REHEARSAL)?,
        display_name: "Rehearsal notes (scripted)".to_owned(),
        description: "Scripted: no account, no packet and nothing kept. It shows how connecting, \
                      granting and running go."
            .to_owned(),
        document_url: None,
        base_url: None,
        url: None,
        auth: Auth::None,
        account: None,
        overrides: BTreeMap::new(),
        version: VERSION.to_owned(),
        operation_count: 3,
        left_out: Vec::new(),
        left_out_count: 0,
        has_credential: false,
    })
}

fn input_schema(deed: Scripted) -> Value {
    let mut properties = json!({
        "play": {
            "type": "string",
            "enum": ["success", "error", "lost"],
            "description": "How it ends; success unless it is said.",
        },
    });
    let required = match deed {
        Scripted::Read | Scripted::Destroy => json!([]),
        Scripted::Write => {
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
pub fn play(deed: Scripted, arguments: &Map<String, Value>) -> Sent {
    match arguments.get("play").and_then(Value::as_str) {
        Some("error") => Sent::Refused {
            status: None,
            message: "The script says no.".to_owned(),
            retry_after_s: None,
        },
        Some("lost") => Sent::Lost {
            message: "The script does not answer.".to_owned(),
        },
        _ => Sent::Done {
            data: Some(match deed {
                Scripted::Read => json!({"notes": [
                    {"id": 1, "text": "Bring the lamp oil"},
                    {"id": 2, "text": "Ask the smith about the hinges"},
                ]}),
                Scripted::Write => json!({"added": {"id": 3, "text": arguments.get("text")}}),
                Scripted::Destroy => json!({"removed": 2}),
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
            play_of(Scripted::Write, &arguments)
        };
        assert_eq!(
            played("success"),
            Sent::Done {
                data: Some(json!({"added": {"id": 3, "text": "a"}}))
            }
        );
        assert!(matches!(played("error"), Sent::Refused { .. }));
        assert!(matches!(played("lost"), Sent::Lost { .. }));
    }

    fn play_of(deed: Scripted, arguments: &Value) -> Sent {
        play(deed, arguments.as_object().unwrap())
    }
}

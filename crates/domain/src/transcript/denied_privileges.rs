//! Programs that ask for the rights of another user: an enclosed agent's get none (`no_new_privs`
//! of Linux), and each says that in its own words.

use serde_json::Value;

use super::{ToolCall, ToolContent};

/// What they say. A program in another language, or one that is not here, is not recognised.
const WORDS: [&str; 4] = [
    // sudo, of a user and of root
    "\"no new privileges\" flag is set",
    "sudo: PERM_SUDOERS: setresuid",
    // su
    "su: cannot set groups: Operation not permitted",
    // Snaps
    "snap-confine has elevated permissions and is not confined",
];

impl ToolCall {
    /// Whether it is over, and what it put out says that a program got no rights of another user.
    pub fn was_denied_privileges(&self) -> bool {
        let mut texts = self.content.iter().filter_map(|content| match content {
            ToolContent::Text { text } => Some(text.as_str()),
            ToolContent::Diff { .. } | ToolContent::Unshown { .. } => None,
        });
        self.status.is_final() && (texts.any(says_so) || holds(&self.output))
    }
}

fn says_so(text: &str) -> bool {
    WORDS.iter().any(|words| text.contains(words))
}

fn holds(value: &Value) -> bool {
    match value {
        Value::String(text) => says_so(text),
        Value::Array(items) => items.iter().any(holds),
        Value::Object(members) => members.values().any(holds),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::ToolStatus, *};

    #[test]
    fn a_call_that_is_over_says_that_a_program_got_no_rights() {
        let words = "sudo: The \"no new privileges\" flag is set, which prevents sudo from running";
        let call = |status, output, text: &str| ToolCall {
            status,
            output,
            content: vec![ToolContent::Text { text: text.into() }],
            ..ToolCall::unannounced("1".into())
        };
        assert!(call(ToolStatus::Failed, Value::Null, words).was_denied_privileges());
        assert!(call(ToolStatus::Completed, json!({"out": [words]}), "").was_denied_privileges());
        assert!(!call(ToolStatus::InProgress, Value::Null, words).was_denied_privileges());
        assert!(
            !call(ToolStatus::Failed, json!("Permission denied"), "sudo").was_denied_privileges()
        );
    }
}

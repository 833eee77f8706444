//! What an approval shows, whatever its kind.

use serde_json::Value;

use crate::limits;

/// What a person reads of an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalDisplay {
    /// One line above the card.
    pub title: String,
    /// One line of this very deed.
    pub summary: String,
    /// What is to be shown.
    pub card: Value,
    /// The rules that led to the question, strictest last.
    pub why: Vec<String>,
}

impl ApprovalDisplay {
    /// Of a session's ask: the card as it is stored, with the call it is about and the answers
    /// the agent offers.
    pub fn of_session(mut card: Value, tool_call_id: String, options: Value) -> Self {
        let title = card["title"].as_str().unwrap_or_default().to_owned();
        if let Value::Object(members) = &mut card {
            members.insert("toolCallId".to_owned(), tool_call_id.into());
            members.insert("options".to_owned(), options);
        }
        Self {
            summary: summary(&title),
            title,
            card,
            why: Vec::new(),
        }
    }
}

/// A summary of at most [`limits::APPROVAL_SUMMARY_CHARS_MAX`] characters.
pub fn summary(text: &str) -> String {
    text.chars()
        .take(limits::APPROVAL_SUMMARY_CHARS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sessions_ask_shows_its_call_and_the_answers_it_offers() {
        let card = json!({"title": "Edit", "input": {"path": "a"}});
        let shown = ApprovalDisplay::of_session(card, "c".to_owned(), json!([{"optionId": "o"}]));
        let expected = ApprovalDisplay {
            title: "Edit".to_owned(),
            summary: "Edit".to_owned(),
            card: json!({"title": "Edit", "input": {"path": "a"}, "toolCallId": "c",
                "options": [{"optionId": "o"}]}),
            why: Vec::new(),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_summary_is_cut_between_characters() {
        assert_eq!(summary("ü"), "ü");
        assert_eq!(summary(&"ü".repeat(501)), "ü".repeat(500));
    }
}

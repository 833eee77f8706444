//! Words: what an agent that was gone is told when it comes back. Source: contract 3.8.3.

use serde_json::{Map, Value};

use crate::limits;

/// Tells that a call which waited is approved now.
pub fn grant_message(title: &str) -> String {
    let minutes = limits::GRANT_TTL_S / 60;
    format!(
        "The call \"{}\" you asked about was approved; you may repeat it.\n\
         Make exactly this call again within {minutes} minutes; it will not be asked about \
         again. Any other call is asked about as usual.",
        named(title)
    )
}

/// Tells that a call which waited, and of which nothing but its id is known, is approved now.
pub fn opaque_message() -> &'static str {
    "A call you asked about was approved. You had said nothing about it but its id, so that it \
     cannot be told from others: make it again, and it will be asked about again."
}

/// Tells what was answered to questions that waited.
pub fn answer_message(title: &str, answers: &Map<String, Value>) -> String {
    let mut words = format!(
        "A person answered what you asked before you were interrupted: {}.",
        quoted(title)
    );
    for (question, answer) in answers {
        words.push_str(&format!("\n- {question}: {answer}"));
    }
    words
}

/// What a call is called.
fn named(title: &str) -> &str {
    if title.is_empty() {
        "without a title"
    } else {
        title
    }
}

/// The agent's own words, marked as such.
fn quoted(title: &str) -> String {
    if title.is_empty() {
        return "a call without a title".to_owned();
    }
    format!("\u{201c}{title}\u{201d}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_agent_is_told_what_was_decided_and_how_far_it_reaches() {
        let words = grant_message("Run ls");
        assert!(
            words.starts_with("The call \"Run ls\" you asked about was approved"),
            "{words}"
        );
        assert!(words.contains("30 minutes"), "{words}");
        assert!(grant_message("").contains("without a title"));
        let answers = json!({"steps": 3, "way": "left"});
        let words = answer_message("Which way?", answers.as_object().unwrap());
        assert!(words.ends_with("\n- steps: 3\n- way: \"left\""), "{words}");
    }
}

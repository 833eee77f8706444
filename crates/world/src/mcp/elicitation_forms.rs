//! Forms: what a server asks a person, as questions.

use guildhall_domain::interactions::{Question, QuestionType};
use serde_json::Value;

use crate::acp;

/// What `elicitation/create` with these params asks: what the server says, and its questions.
/// `None` for what nobody can fill in.
pub fn form(params: &Value) -> Option<(String, Vec<Question>)> {
    let message = params["message"].as_str().unwrap_or_default().to_owned();
    if params["mode"] == "url" {
        let url = params["url"].as_str()?;
        let id = params["elicitationId"].as_str().unwrap_or("url");
        let question = Question {
            id: id.to_owned(),
            title: message.clone(),
            description: url.to_owned(),
            kind: QuestionType::Link,
            options: Vec::new(),
            required: true,
            default: None,
        };
        return Some((message, vec![question]));
    }
    let questions = acp::questions(params.get("requestedSchema")?)?;
    Some((message, questions))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_becomes_questions_and_an_address_one_to_open() {
        let schema = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "check": {"type": "boolean"}}});
        let (said, questions) =
            form(&json!({"message": "Who?", "requestedSchema": schema})).unwrap();
        let found: Vec<_> = questions
            .iter()
            .map(|one| (one.id.as_str(), one.kind, one.required))
            .collect();
        assert_eq!(said, "Who?");
        assert_eq!(
            found,
            [
                ("check", QuestionType::Boolean, false),
                ("name", QuestionType::Text, true)
            ]
        );
        let url = json!({"mode": "url", "message": "Pay", "url": "https://example.org/x",
            "elicitationId": "e1"});
        let (_, questions) = form(&url).unwrap();
        assert_eq!(
            (questions[0].kind, questions[0].description.as_str()),
            (QuestionType::Link, "https://example.org/x")
        );
        for nothing in [
            json!({}),
            json!({"requestedSchema": 1}),
            json!({"mode": "url"}),
        ] {
            assert_eq!(form(&nothing), None, "{nothing}");
        }
    }
}

//! Answers: what a person gave to the questions of a form, turned into the values it asks for.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::{Question, QuestionType};
use crate::errors::ValidationErrors;

/// What a person gave, by question: one text, or several for a question that takes several.
pub type FormAnswers = BTreeMap<String, Vec<String>>;

/// Turns what was given into the values the form asks for; what was not given and has a default
/// is its default.
///
/// # Errors
/// Everything that does not fit, by `answers.<id>`.
pub fn convert(
    questions: &[Question],
    given: &FormAnswers,
) -> Result<Map<String, Value>, ValidationErrors> {
    let mut invalid = ValidationErrors::default();
    for id in given.keys() {
        if !questions.iter().any(|question| question.id == *id) {
            invalid.field(&format!("answers.{id}"), "no such question is asked");
        }
    }
    let mut values = Map::new();
    for question in questions {
        let texts = given.get(&question.id).map_or(&[][..], Vec::as_slice);
        match value(question, texts) {
            Ok(Some(value)) => drop(values.insert(question.id.clone(), value)),
            Ok(None) => {}
            Err(problem) => invalid.field(&format!("answers.{}", question.id), problem),
        }
    }
    if invalid.is_empty() {
        Ok(values)
    } else {
        Err(invalid)
    }
}

/// The value of one question; `None` when it is left open.
fn value(question: &Question, texts: &[String]) -> Result<Option<Value>, String> {
    let found = match question.kind {
        QuestionType::Text => one(texts)?
            .filter(|text| !(question.required && text.is_empty()))
            .map(|text| Value::String(text.to_owned())),
        QuestionType::Number => filled(texts)?.map(number).transpose()?,
        QuestionType::Boolean => filled(texts)?.map(boolean).transpose()?,
        QuestionType::Choice => one(texts)?
            .filter(|text| !text.is_empty() || offers(question, text))
            .map(|text| choice(question, text))
            .transpose()?,
        QuestionType::Multi => several(question, texts)?,
        // Opening it is the answer, which the form does not hold.
        QuestionType::Link => return Ok(None),
    };
    match (found, &question.default) {
        (Some(value), _) => Ok(Some(value)),
        (None, Some(default)) => Ok(Some(default.clone())),
        (None, None) if question.required => Err("is required".to_owned()),
        (None, None) => Ok(None),
    }
}

fn one(texts: &[String]) -> Result<Option<&str>, String> {
    match texts {
        [] => Ok(None),
        [text] => Ok(Some(text)),
        [_, _, ..] => Err("takes one answer".to_owned()),
    }
}

/// One text that is not empty.
fn filled(texts: &[String]) -> Result<Option<&str>, String> {
    Ok(one(texts)?.map(str::trim).filter(|text| !text.is_empty()))
}

fn number(text: &str) -> Result<Value, String> {
    // The grammar of JSON numbers, so that neither `inf` nor `0x10` is one.
    serde_json::from_str::<Number>(text)
        .map(Value::Number)
        .map_err(|_| "must be a number".to_owned())
}

fn boolean(text: &str) -> Result<Value, String> {
    match text {
        "true" => Ok(Value::Bool(true)),
        "false" => Ok(Value::Bool(false)),
        _ => Err("must be true or false".to_owned()),
    }
}

fn choice(question: &Question, text: &str) -> Result<Value, String> {
    if offers(question, text) {
        return Ok(Value::String(text.to_owned()));
    }
    Err("must be one of the options".to_owned())
}

fn several(question: &Question, texts: &[String]) -> Result<Option<Value>, String> {
    if texts.is_empty() {
        return Ok(None);
    }
    let mut values = Vec::with_capacity(texts.len());
    for text in texts {
        let value = choice(question, text)?;
        if values.contains(&value) {
            return Err("names an option twice".to_owned());
        }
        values.push(value);
    }
    Ok(Some(Value::Array(values)))
}

fn offers(question: &Question, text: &str) -> bool {
    question.options.iter().any(|option| option.value == text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::interactions::QuestionChoice;

    fn question(kind: QuestionType, required: bool, default: Option<Value>) -> Question {
        let choices = ["a", "b"].map(|value| QuestionChoice {
            value: value.to_owned(),
            label: value.to_uppercase(),
        });
        Question {
            id: "q".to_owned(),
            title: String::new(),
            description: String::new(),
            kind,
            options: choices.to_vec(),
            required,
            default,
        }
    }

    fn given(texts: &[&str]) -> FormAnswers {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        FormAnswers::from([("q".to_owned(), texts)])
    }

    #[test]
    fn an_answer_becomes_what_its_question_asks_for() {
        use QuestionType::{Boolean, Choice, Link, Multi, Number, Text};
        for (kind, texts, expected) in [
            (Text, &["hello"][..], Some(json!("hello"))),
            (Text, &["a", "b"], None),
            (Number, &["12"], Some(json!(12))),
            (Number, &[" -1.5e3 "], Some(json!(-1500.0))),
            (Number, &["18446744073709551615"], Some(json!(u64::MAX))),
            (Number, &["1e999"], None),
            (Number, &["inf"], None),
            (Number, &["0x10"], None),
            (Number, &["1", "2"], None),
            (Boolean, &["true"], Some(json!(true))),
            (Boolean, &["false"], Some(json!(false))),
            (Boolean, &["yes"], None),
            (Choice, &["a"], Some(json!("a"))),
            (Choice, &["A"], None),
            (Choice, &["a", "b"], None),
            (Multi, &["b", "a"], Some(json!(["b", "a"]))),
            (Multi, &["a"], Some(json!(["a"]))),
            (Multi, &["a", "a"], None),
            (Multi, &["c"], None),
            (Link, &["opened"], Some(Value::Null)),
        ] {
            let found = convert(&[question(kind, true, None)], &given(texts));
            let found = found
                .ok()
                .map(|mut values| values.remove("q").unwrap_or_default());
            assert_eq!(found, expected, "{kind:?} {texts:?}");
        }
    }

    #[test]
    fn what_is_not_answered_is_its_default_or_left_out_or_missed() {
        use QuestionType::{Boolean, Choice, Link, Multi, Number, Text};
        for kind in [Text, Number, Boolean, Choice, Multi, Link] {
            let nothing = FormAnswers::new();
            let open = convert(&[question(kind, false, None)], &nothing).unwrap();
            assert!(open.is_empty(), "{kind:?}");
            let default = Some(json!("a"));
            let filled = convert(&[question(kind, true, default)], &nothing).unwrap();
            assert_eq!(filled.contains_key("q"), kind != Link, "{kind:?}");
            let missed = convert(&[question(kind, true, None)], &nothing);
            assert_eq!(missed.is_err(), kind != Link, "{kind:?}");
        }
        // Nothing typed is no answer, except where words are asked for that may be none.
        for kind in [Number, Boolean, Choice] {
            let empty = convert(&[question(kind, false, None)], &given(&[""])).unwrap();
            assert!(empty.is_empty(), "{kind:?}");
        }
        let empty = convert(&[question(Text, false, None)], &given(&[""])).unwrap();
        assert_eq!(empty["q"], json!(""));
        assert!(convert(&[question(Text, true, None)], &given(&[""])).is_err());
    }

    #[test]
    fn everything_that_does_not_fit_is_told_at_once() {
        let mut other = question(QuestionType::Number, true, None);
        other.id = "n".to_owned();
        let questions = [question(QuestionType::Choice, true, None), other];
        let mut given = given(&["c"]);
        given.insert("x".to_owned(), vec!["1".to_owned()]);
        let invalid = convert(&questions, &given).unwrap_err();
        let fields: Vec<_> = invalid.field_errors.into_keys().collect();
        assert_eq!(fields, ["answers.n", "answers.q", "answers.x"]);
    }
}

//! Answers: what the model says to a request, by the rules of the contract. Pure.
//! Source: contract "Testing with coding agents" 3, rules 1 to 6.

use guildhall_rehearsal::directives::{self, Directive};
use serde_json::{Map, Value};

use crate::{
    model_request::{ModelRequest, OfferedTool},
    schema,
};

/// What a request used unless `#usage` says otherwise.
const USUAL: TokenUsage = TokenUsage {
    input: 10,
    output: 5,
};

/// Tokens of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenUsage {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// A call that the model makes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PickedCall {
    /// The tool as it was offered.
    pub(crate) tool: OfferedTool,
    /// Exactly what the directive says.
    pub(crate) arguments: Map<String, Value>,
    /// An id that no other call of the conversation has.
    pub(crate) id: String,
}

/// What the model says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelAnswer {
    /// Text, before the call; may be `""` when there is one.
    pub(crate) text: String,
    /// The call.
    pub(crate) call: Option<PickedCall>,
    /// What it used.
    pub(crate) used: TokenUsage,
    /// How long it thinks, in milliseconds.
    pub(crate) pause_ms: u64,
    /// Another one for each answer of a conversation: agents join messages with the same id.
    pub(crate) number: usize,
}

/// An answer, or a status that is none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ModelReply {
    /// Says something.
    Says(ModelAnswer),
    /// Answers a failure instead, if it has not yet done so for this request.
    Fails { status: u16, otherwise: ModelAnswer },
    /// The prompt asks for what cannot be.
    Refuses(String),
}

/// Answers a request.
pub(crate) fn reply_to(talk: &ModelRequest) -> ModelReply {
    if let Some(wanted) = &talk.schema {
        return ModelReply::Says(plain(talk, schema::minimal(wanted).to_string()));
    }
    if talk.tools.is_empty() {
        return ModelReply::Says(plain(talk, "Scripted words".to_owned()));
    }
    let script = match directives::parse(talk.prompt()) {
        Ok(script) => script,
        Err(error) => return ModelReply::Refuses(error.to_string()),
    };
    let round = talk.results().len();
    let steps = script.split_inclusive(|step| matches!(step, Directive::Call(_)));
    let usage = script.iter().rev().find_map(|step| match step {
        Directive::Usage(figures) => Some(TokenUsage {
            input: figures.input,
            output: figures.output,
        }),
        _ => None,
    });
    let mut answer = plain(talk, String::new());
    answer.used = usage.unwrap_or(USUAL);
    let mut status = None;
    for step in steps.skip(round).take(1).flatten() {
        match step {
            Directive::Say(text) => say(&mut answer.text, text),
            Directive::Slow(ms) => answer.pause_ms += ms,
            Directive::Status(code) => status = Some(*code),
            Directive::Usage(_) => {}
            Directive::Call(call) => match picked(talk, call) {
                Ok(call) => answer.call = Some(call),
                Err(why) => return ModelReply::Refuses(why),
            },
            other => {
                return ModelReply::Refuses(format!("the model server does not know {other:?}"));
            }
        }
    }
    if answer.text.is_empty() && answer.call.is_none() {
        "All done.".clone_into(&mut answer.text);
    }
    match status {
        None => ModelReply::Says(answer),
        Some(status) => ModelReply::Fails {
            status,
            otherwise: answer,
        },
    }
}

fn plain(talk: &ModelRequest, text: String) -> ModelAnswer {
    ModelAnswer {
        text,
        call: None,
        used: USUAL,
        pause_ms: 0,
        number: talk.pieces.len(),
    }
}

fn say(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

fn picked(talk: &ModelRequest, call: &directives::CallDirective) -> Result<PickedCall, String> {
    let tool = talk
        .tools
        .iter()
        .find(|tool| tool.matches_name(&call.tool))
        .ok_or_else(|| {
            let offered: Vec<_> = talk.tools.iter().map(OfferedTool::full_name).collect();
            format!(
                "the tool {} is not offered; offered are {}",
                call.tool,
                offered.join(", ")
            )
        })?;
    // Counted over the whole conversation, so that no two calls of it share an id.
    let number = talk.pieces.len();
    Ok(PickedCall {
        tool: tool.clone(),
        arguments: call.arguments.clone(),
        id: format!("call_fake_{number}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_request::ConversationPart;

    fn talk(pieces: &[ConversationPart]) -> ModelRequest {
        ModelRequest {
            tools: vec![OfferedTool::plain("Bash")],
            pieces: pieces.to_vec(),
            ..ModelRequest::default()
        }
    }

    fn user(text: &str) -> ConversationPart {
        ConversationPart::User(text.to_owned())
    }

    fn result() -> ConversationPart {
        ConversationPart::Result("done".to_owned())
    }

    fn said(talk: &ModelRequest) -> (String, Option<String>) {
        match reply_to(talk) {
            ModelReply::Says(answer) => (answer.text, answer.call.map(|call| call.tool.name)),
            other => panic!("{other:?}"),
        }
    }

    const TWO: &str = "#say one\n#call Bash {\"n\": 1}\n#say two\n#call Bash {\"n\": 2}";

    #[test]
    fn each_result_after_the_last_user_message_plays_on_by_one_call() {
        let call = Some("Bash".to_owned());
        assert_eq!(said(&talk(&[user(TWO)])), ("one".to_owned(), call.clone()));
        assert_eq!(
            said(&talk(&[user(TWO), result()])),
            ("two".to_owned(), call)
        );
        let over = talk(&[user(TWO), result(), result()]);
        assert_eq!(said(&over), ("All done.".to_owned(), None));
    }

    #[test]
    fn earlier_messages_and_an_agent_s_own_words_do_not_count() {
        let pieces = [
            user("#call Bash {}"),
            result(),
            user("hello"),
            user("<system-reminder>\n# x\n</system-reminder>"),
        ];
        assert_eq!(said(&talk(&pieces)), ("All done.".to_owned(), None));
    }

    #[test]
    fn without_tools_no_directive_is_used() {
        let bare = ModelRequest {
            tools: Vec::new(),
            ..talk(&[user("#say hello")])
        };
        assert_eq!(said(&bare).0, "Scripted words");
    }

    #[test]
    fn a_tool_that_was_not_offered_is_refused_with_the_list() {
        assert_eq!(
            reply_to(&talk(&[user("#call bash {}")])),
            ModelReply::Refuses("the tool bash is not offered; offered are Bash".to_owned())
        );
        assert!(matches!(
            reply_to(&talk(&[user("#crash")])),
            ModelReply::Refuses(_)
        ));
    }

    #[test]
    fn usage_holds_for_every_request_of_the_turn() {
        let script = "#usage 7 3 0\n#call Bash {}";
        for pieces in [vec![user(script)], vec![user(script), result()]] {
            let ModelReply::Says(answer) = reply_to(&talk(&pieces)) else {
                panic!()
            };
            assert_eq!(
                answer.used,
                TokenUsage {
                    input: 7,
                    output: 3
                }
            );
        }
    }
}

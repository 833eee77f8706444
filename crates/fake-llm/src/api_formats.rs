//! Wires: the four ways coding agents ask a model, read into [`ModelRequest`] and answered.

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;

use serde_json::Value;

use crate::{model_reply::ModelAnswer, model_request::ModelRequest};

/// A way of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApiFormat {
    Anthropic,
    Chat,
    Responses,
    Gemini,
}

/// What a path asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestedAnswer {
    /// An answer; the body says in which form.
    Answer,
    /// An answer in pieces.
    Stream,
    /// The number of tokens.
    Count,
}

impl ApiFormat {
    /// The wire and the wish of a path, `None` when it is none of ours.
    pub(crate) fn of_path(path: &str) -> Option<(Self, RequestedAnswer)> {
        let endings = [
            ("/v1/messages", Self::Anthropic, RequestedAnswer::Answer),
            ("/count_tokens", Self::Anthropic, RequestedAnswer::Count),
            ("/chat/completions", Self::Chat, RequestedAnswer::Answer),
            ("/responses", Self::Responses, RequestedAnswer::Answer),
            (
                ":streamGenerateContent",
                Self::Gemini,
                RequestedAnswer::Stream,
            ),
            (":generateContent", Self::Gemini, RequestedAnswer::Answer),
            (":countTokens", Self::Gemini, RequestedAnswer::Count),
        ];
        let found = endings.iter().find(|(ending, ..)| path.ends_with(ending));
        found.map(|(_, wire, wish)| (*wire, *wish))
    }

    /// The model that a path names, or `""`.
    pub(crate) fn model_of_path(self, path: &str) -> &str {
        let last = path.rsplit('/').next().unwrap_or_default();
        match self {
            Self::Gemini => last.split(':').next().unwrap_or_default(),
            Self::Anthropic | Self::Chat | Self::Responses => "",
        }
    }

    /// Its name in the log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Gemini => "gemini",
        }
    }

    /// Reads a body.
    pub(crate) fn read(self, body: &Value) -> ModelRequest {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Chat => openai_chat::read(body),
            Self::Responses => openai_responses::read(body),
            Self::Gemini => gemini::read(body),
        }
    }

    /// An answer as server-sent events.
    pub(crate) fn stream(self, answer: &ModelAnswer, model: &str) -> String {
        match self {
            Self::Anthropic => anthropic::stream(answer, model),
            Self::Chat => openai_chat::stream(answer, model),
            Self::Responses => openai_responses::stream(answer, model),
            Self::Gemini => gemini::stream(answer, model),
        }
    }

    /// An answer in one body.
    pub(crate) fn full_response(self, answer: &ModelAnswer, model: &str) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(answer, model),
            Self::Chat => openai_chat::whole(answer, model),
            Self::Responses => openai_responses::whole(answer, model),
            Self::Gemini => gemini::whole(answer, model),
        }
    }
}

/// A named server-sent event.
fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// A server-sent event without a name.
fn data(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// `text` in word pieces.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// The text at `name`, or `""`.
fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The list at `name`, or an empty one.
fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Content that is a text, or a list of parts with a `text` each.
fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<_> = parts
                .iter()
                .filter_map(|part| part.get("text")?.as_str())
                .collect();
            texts.join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

//! Talk: a request in the words that all wires share.

use guildhall_rehearsal::directives;
use serde_json::Value;

/// A tool that the agent offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfferedTool {
    /// Its name.
    pub(crate) name: String,
    /// The namespace it stands in, where the wire has them.
    pub(crate) namespace: Option<String>,
    /// Whether it takes free text instead of a JSON object.
    pub(crate) is_free: bool,
}

impl OfferedTool {
    /// A tool that takes a JSON object, outside of any namespace.
    pub(crate) fn plain(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            namespace: None,
            is_free: false,
        }
    }

    /// The name that a log and a refusal show.
    pub(crate) fn full_name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}__{}", self.name),
            None => self.name.clone(),
        }
    }

    /// Whether `#call` means this tool by `name`.
    pub(crate) fn matches_name(&self, name: &str) -> bool {
        let joined = |by: &str| {
            let namespace = self.namespace.as_deref();
            namespace.is_some_and(|namespace| name == format!("{namespace}{by}{}", self.name))
        };
        self.name == name || joined("__") || joined(".") || joined("")
    }
}

/// A piece of the conversation, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConversationPart {
    /// Words under the user's name.
    User(String),
    /// A tool's result, as text.
    Result(String),
}

/// A request, whatever its wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelRequest {
    /// The model asked for, or `""`.
    pub(crate) model: String,
    /// Whether the answer is streamed.
    pub(crate) is_streamed: bool,
    /// The tools offered.
    pub(crate) tools: Vec<OfferedTool>,
    /// The conversation.
    pub(crate) pieces: Vec<ConversationPart>,
    /// The schema that the answer must satisfy.
    pub(crate) schema: Option<Value>,
}

impl ModelRequest {
    /// The words of the last user message, or `""`.
    pub(crate) fn prompt(&self) -> &str {
        self.pieces.iter().rev().find_map(words).unwrap_or_default()
    }

    /// The results that stand after the last user message, in order.
    pub(crate) fn results(&self) -> Vec<&str> {
        let after = self
            .pieces
            .iter()
            .rev()
            .take_while(|piece| words(piece).is_none());
        let mut results: Vec<_> = after
            .filter_map(|piece| match piece {
                ConversationPart::Result(text) => Some(text.as_str()),
                ConversationPart::User(_) => None,
            })
            .collect();
        results.reverse();
        results
    }
}

/// What a person said; agents put words of their own, in angle brackets, under the user's name.
fn words(piece: &ConversationPart) -> Option<&str> {
    match piece {
        ConversationPart::User(text) if !text.trim_start().starts_with('<') => Some(text),
        ConversationPart::User(text) => {
            let has_script = directives::parse(text).map_or(true, |script| !script.is_empty());
            has_script.then_some(text)
        }
        ConversationPart::Result(_) => None,
    }
}

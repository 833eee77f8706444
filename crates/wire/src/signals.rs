//! Signals on the wire. Source: contract 2.3, "Signals".

use guildhall_domain::signals;
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// What a signal tells.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignalKind {
    /// The author writes.
    Typing,
    /// The author looks at the room.
    Viewing,
}

impl From<SignalKind> for signals::SignalKind {
    fn from(kind: SignalKind) -> Self {
        match kind {
            SignalKind::Typing => Self::Typing,
            SignalKind::Viewing => Self::Viewing,
        }
    }
}

/// Sends a signal.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendSignal {
    /// Typing or viewing.
    pub kind: SignalKind,
    /// Begins or ends.
    pub on: bool,
    /// The document looked at, at most 200 characters.
    #[schema(nullable = false)]
    pub document_id: Option<String>,
}

/// Characters of a document's id.
const DOCUMENT_ID_CHARS_MAX: usize = 200;

impl FromFields for SendSignal {
    fn read(fields: &mut Fields) -> Self {
        let words = [
            (SignalKind::Typing, "typing"),
            (SignalKind::Viewing, "viewing"),
        ];
        let ask = Self {
            kind: fields.choice("kind", &words, SignalKind::Typing),
            on: fields.flag("on"),
            document_id: fields.maybe_text("documentId"),
        };
        if ask
            .document_id
            .as_ref()
            .is_some_and(|id| id.chars().count() > DOCUMENT_ID_CHARS_MAX)
        {
            fields.fail("documentId is no document's id");
        }
        ask
    }
}

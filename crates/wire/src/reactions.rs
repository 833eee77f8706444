//! Reactions on the wire. Source: contract 2.3, "Reactions".

use guildhall_domain::{Timestamp, ids::AuthorId, reactions};
use serde::Serialize;
use utoipa::ToSchema;

/// Who reacted with one emoji.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reaction {
    /// One emoji sequence.
    #[schema(value_type = String, example = "👍")]
    pub emoji: reactions::Emoji,
    /// Who, in the order of reacting.
    #[schema(value_type = Vec<String>)]
    pub author_ids: Vec<AuthorId>,
    /// When the first of them did.
    #[schema(value_type = String, format = DateTime)]
    pub first_at: Timestamp,
}

impl From<reactions::Reaction> for Reaction {
    fn from(reaction: reactions::Reaction) -> Self {
        Self {
            emoji: reaction.emoji,
            author_ids: reaction.author_ids,
            first_at: reaction.first_at,
        }
    }
}

/// All reactions to an entry.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Reactions {
    /// By emoji, the one given first first.
    pub reactions: Vec<Reaction>,
}

impl From<Vec<reactions::Reaction>> for Reactions {
    fn from(reactions: Vec<reactions::Reaction>) -> Self {
        Self {
            reactions: reactions.into_iter().map(Into::into).collect(),
        }
    }
}

//! Search on the wire. Source: contract 2.3, "Search".

use guildhall_domain::{
    Timestamp,
    ids::{AuthorId, EntryId, RoomId},
    search,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Where something was found.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchSource {
    /// Among the entries of the rooms.
    Rooms,
}

/// A place in a text, in UTF-16 units.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct MatchSpan {
    /// Units before it.
    pub offset: u32,
    /// Its units.
    pub length: u32,
}

/// An entry that was found.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// Where it was found.
    pub source: SearchSource,
    /// Its room.
    #[schema(value_type = String)]
    pub room_id: RoomId,
    /// The entry.
    #[schema(value_type = String)]
    pub entry_id: EntryId,
    /// Its place in the room.
    pub seq: u64,
    /// Who wrote it.
    #[schema(value_type = String)]
    pub author_id: AuthorId,
    /// When it was written.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The part of its text that shows why it was found; `…` where it was cut.
    #[schema(example = "the build is green")]
    pub excerpt: String,
    /// Where the words are in the excerpt.
    pub spans: Vec<MatchSpan>,
}

impl From<search::SearchHit> for SearchHit {
    fn from(hit: search::SearchHit) -> Self {
        let spans = hit.excerpt.spans.into_iter().map(|span| MatchSpan {
            offset: span.offset,
            length: span.length,
        });
        Self {
            source: SearchSource::Rooms,
            room_id: hit.room_id,
            entry_id: hit.entry_id,
            seq: hit.seq,
            author_id: hit.author_id,
            created_at: hit.created_at,
            excerpt: hit.excerpt.text,
            spans: spans.collect(),
        }
    }
}

/// A page of what was found.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchPage {
    /// Newest first.
    pub results: Vec<SearchHit>,
    /// Names the next page; null on the last one.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
    /// What could not be searched; always empty while rooms are the only source.
    pub warnings: Vec<Value>,
}

//! Authors and handles on the wire. Source: spec, "Author"; contract 2.1.

use guildhall_domain::{
    Timestamp,
    authors::{self, Handle},
    ids::{AgentId, AuthorId},
    members,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// What kind of author it is.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthorKind {
    /// A person.
    Human,
    /// A coding agent.
    Agent,
    /// The installation itself.
    System,
}

impl From<authors::AuthorKind> for AuthorKind {
    fn from(kind: authors::AuthorKind) -> Self {
        match kind {
            authors::AuthorKind::Human => Self::Human,
            authors::AuthorKind::Agent => Self::Agent,
            authors::AuthorKind::System => Self::System,
        }
    }
}

/// An author.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    /// UUIDv7.
    #[schema(value_type = String)]
    pub id: AuthorId,
    /// Person, agent or system.
    pub kind: AuthorKind,
    /// 1..80 characters; a label, never a key.
    #[schema(example = "Ada")]
    pub display_name: String,
    /// One emoji or `""`.
    pub emoji: String,
    /// `#rrggbb` or `""`.
    pub color: String,
    /// An https address, a path of this server, or `""`.
    pub image_url: String,
    /// Id of the agent behind an agent author, else `""`.
    pub agent_ref: String,
    /// 2..32 of `[a-z0-9._-]`, or `""`.
    #[schema(example = "ada")]
    pub handle: String,
    /// The account or agent behind it is gone.
    pub retired: bool,
}

impl From<authors::Author> for Author {
    fn from(author: authors::Author) -> Self {
        Self {
            id: author.id,
            kind: author.kind.into(),
            display_name: author.display_name,
            emoji: author.emoji,
            color: author.color,
            image_url: author.image_url,
            agent_ref: or_empty(author.agent_ref),
            handle: author.handle.map(Handle::into).unwrap_or_default(),
            retired: author.retired,
        }
    }
}

/// An author without `retired`.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthorSummary {
    /// UUIDv7.
    #[schema(value_type = String)]
    pub id: AuthorId,
    /// Person, agent or system.
    pub kind: AuthorKind,
    /// 1..80 characters.
    pub display_name: String,
    /// One emoji or `""`.
    pub emoji: String,
    /// `#rrggbb` or `""`.
    pub color: String,
    /// An address or `""`.
    pub image_url: String,
    /// Id of the agent or `""`.
    pub agent_ref: String,
    /// A handle or `""`.
    pub handle: String,
}

impl From<members::AuthorSummary> for AuthorSummary {
    fn from(author: members::AuthorSummary) -> Self {
        Self {
            id: author.id,
            kind: author.kind.into(),
            display_name: author.display_name,
            emoji: author.emoji,
            color: author.color,
            image_url: author.image_url,
            agent_ref: or_empty(author.agent_ref),
            handle: author.handle.map(Handle::into).unwrap_or_default(),
        }
    }
}

fn or_empty(agent: Option<AgentId>) -> String {
    agent.map(|agent| agent.to_string()).unwrap_or_default()
}

/// A page of authors.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Authors {
    /// By id.
    pub authors: Vec<Author>,
    /// What `cursor` takes for the next page; null on the last one.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
}

/// A handle an author gave up and may take back.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReservedHandle {
    /// The handle.
    pub handle: String,
    /// When it was released.
    #[schema(value_type = String, format = DateTime)]
    pub released_at: Timestamp,
}

impl From<authors::ReservedHandle> for ReservedHandle {
    fn from(reserved: authors::ReservedHandle) -> Self {
        Self {
            handle: reserved.handle.into(),
            released_at: reserved.released_at,
        }
    }
}

/// The handle an author has and those kept for it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Handles {
    /// `""` when none.
    pub current: String,
    /// Newest release first.
    pub reserved: Vec<ReservedHandle>,
}

/// Sets or clears a handle.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SetHandle {
    /// At most 64 characters; normalised; `""` clears.
    #[schema(example = "ada")]
    pub handle: String,
}

impl FromFields for SetHandle {
    fn read(fields: &mut Fields) -> Self {
        Self {
            handle: fields.text("handle"),
        }
    }
}

/// Changes an author's look; absent fields stay.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"displayName": "Ada", "emoji": "🦉", "color": "#336699"}))]
pub struct UpdateAuthor {
    /// 1..80 characters.
    #[schema(nullable = false)]
    pub display_name: Option<String>,
    /// At most 16 characters, `""` clears.
    #[schema(nullable = false)]
    pub emoji: Option<String>,
    /// `#rrggbb`, `""` clears.
    #[schema(nullable = false)]
    pub color: Option<String>,
    /// An https address or a path of this server, `""` clears.
    #[schema(nullable = false)]
    pub image_url: Option<String>,
}

impl FromFields for UpdateAuthor {
    fn read(fields: &mut Fields) -> Self {
        Self {
            display_name: fields.maybe_text("displayName"),
            emoji: fields.maybe_text("emoji"),
            color: fields.maybe_text("color"),
            image_url: fields.maybe_text("imageUrl"),
        }
    }
}

impl From<UpdateAuthor> for authors::AuthorPatch {
    fn from(ask: UpdateAuthor) -> Self {
        Self {
            display_name: ask.display_name,
            emoji: ask.emoji,
            color: ask.color,
            image_url: ask.image_url,
        }
    }
}

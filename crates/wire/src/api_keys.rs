//! API keys on the wire. Source: contract 1.4, "Accounts, sessions, keys".

use guildhall_domain::{
    Timestamp, api_keys,
    ids::{ApiKeyId, AuthorId},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// A key's row; never the key.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    /// Its id.
    #[schema(value_type = String)]
    pub id: ApiKeyId,
    /// Whom it names.
    #[schema(value_type = String)]
    pub author_id: AuthorId,
    /// For people.
    pub label: String,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it was last used, to five minutes.
    #[schema(required = true, value_type = Option<String>)]
    pub last_used_at: Option<Timestamp>,
}

impl From<api_keys::ApiKey> for ApiKey {
    fn from(key: api_keys::ApiKey) -> Self {
        Self {
            id: key.id,
            author_id: key.author_id,
            label: key.label,
            created_at: key.created_at,
            last_used_at: key.last_used_at,
        }
    }
}

/// A page of keys.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeys {
    /// In the order they were made.
    pub keys: Vec<ApiKey>,
    /// What `cursor` takes for the next page; null on the last one.
    #[schema(required = true)]
    pub next_cursor: Option<String>,
}

/// Makes a key.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CreateApiKey {
    /// 1..80 characters.
    #[schema(example = "backup script")]
    pub label: String,
}

impl FromFields for CreateApiKey {
    fn read(fields: &mut Fields) -> Self {
        Self {
            label: fields.text("label"),
        }
    }
}

/// A new key; its text is shown this once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewApiKey {
    /// Its id.
    #[schema(value_type = String)]
    pub id: ApiKeyId,
    /// For people.
    pub label: String,
    /// What the program sends as `Authorization: Bearer`; 47 characters.
    pub key: String,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl NewApiKey {
    /// The answer that shows a key's text.
    pub fn new(key: api_keys::ApiKey, text: String) -> Self {
        Self {
            id: key.id,
            label: key.label,
            key: text,
            created_at: key.created_at,
        }
    }
}

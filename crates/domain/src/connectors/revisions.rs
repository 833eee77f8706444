//! Operation revisions: immutable descriptions of operations as the owner reviewed them.
//! Source: contract 5.5, "revision".

use serde_json::Value;

use super::{
    classification::{Classification, RetryPolicy},
    toolkits::Slug,
};
use crate::{
    Moment,
    ids::{OperationRevisionId, ProviderId},
};

/// An operation revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Its id.
    pub id: OperationRevisionId,
    /// The instance.
    pub provider_id: ProviderId,
    /// The service.
    pub toolkit: Slug,
    /// The operation's name inside its toolkit.
    pub operation_slug: String,
    /// What people call it.
    pub title: String,
    /// What it does.
    pub description: String,
    /// The toolkit's version when it was reviewed.
    pub toolkit_version: String,
    /// SHA-256 of the canonical input schema, 64 hex digits.
    pub schema_hash: String,
    /// What it does to the service.
    pub classification: Classification,
    /// Whether it may be sent a second time.
    pub retry_policy: RetryPolicy,
    /// What its arguments look like; JSON Schema 2020-12.
    pub input_schema: Value,
    /// When it was first reviewed.
    pub discovered_at: Moment,
}

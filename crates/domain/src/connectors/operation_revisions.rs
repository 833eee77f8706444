//! Operation revisions: what an operation was when the owner reviewed it. Rows are never edited;
//! a difference of identity makes a new one.
//! Source: contract 5.5, "revision".

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    classification::{Classification, RetryPolicy},
    toolkits::ToolkitSlug,
};
use crate::{
    Fault, Timestamp,
    ids::{OperationRevisionId, ProviderId},
};

/// An operation revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRevision {
    /// Its id.
    pub id: OperationRevisionId,
    /// What makes it this revision and no other.
    pub identity: OperationIdentity,
    /// What people call it.
    pub title: String,
    /// What it does.
    pub description: String,
    /// What its arguments look like; JSON Schema 2020-12.
    pub input_schema: Value,
    /// When it was first reviewed.
    pub discovered_at: Timestamp,
}

/// What a grant rests on: where any of it differs, the operation is another one and needs
/// another grant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationIdentity {
    /// The instance.
    pub provider_id: ProviderId,
    /// The service.
    pub toolkit: ToolkitSlug,
    /// The operation's name inside its toolkit.
    pub operation_slug: String,
    /// The toolkit's version.
    pub toolkit_version: String,
    /// SHA-256 of the canonical input schema, 64 hex digits.
    pub schema_hash: String,
    /// What it does to the service.
    pub classification: Classification,
    /// Whether it may be sent a second time.
    pub retry_policy: RetryPolicy,
}

/// SHA-256 over the RFC 8785 canonical JSON of an input schema, 64 hex digits: the order of its
/// members says nothing.
///
/// # Errors
/// A fault when there is no canonical form.
pub fn schema_hash(schema: &Value) -> Result<String, Fault> {
    let canonical = serde_jcs::to_vec(schema)
        .map_err(|error| Fault::broken("making a digest of a schema", error))?;
    let hash = Sha256::digest(canonical);
    Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;
    use crate::connectors::operations::{Operation, OperationBinding, ScriptedOperation};

    pub(crate) fn operation() -> Operation {
        Operation {
            slug: "addNote".to_owned(),
            title: "Add a note".to_owned(),
            description: String::new(),
            classification: Classification::Write,
            retry_policy: RetryPolicy::Never,
            input_schema: json!({"type": "object", "properties": {"text": {"type": "string"}}}),
            binding: OperationBinding::Rehearsal {
                deed: ScriptedOperation::Write,
            },
        }
    }

    pub(crate) fn identity(operation: &Operation) -> OperationIdentity {
        OperationIdentity {
            provider_id: ProviderId::from_bytes([1; 16]),
            toolkit: ToolkitSlug::parse("notes").unwrap(),
            operation_slug: operation.slug.clone(),
            toolkit_version: "1.0".to_owned(),
            schema_hash: schema_hash(&operation.input_schema).unwrap(),
            classification: operation.classification,
            retry_policy: operation.retry_policy,
        }
    }

    #[test]
    fn the_order_of_a_schemas_members_makes_no_other_operation() {
        let (one, other) = (
            r#"{"a":1,"b":{"c":2.0,"d":3}}"#,
            r#"{"b":{"d":3,"c":2},"a":1}"#,
        );
        let hash = |text: &str| schema_hash(&serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(hash(one), hash(other));
        assert_eq!(
            hash("{}"),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }
}

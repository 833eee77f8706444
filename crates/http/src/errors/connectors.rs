//! What connectors refuse, as codes and details. Source: contract 5.3 to 5.6.

use guildhall_domain::connectors::{ConnectorRefusal, refusals::ValidationProblem};
use serde_json::{Value, json};

use crate::{docs::ErrorDoc, error_catalogue::connectors as catalogue};

pub(super) fn doc(refused: &ConnectorRefusal) -> ErrorDoc {
    match refused {
        ConnectorRefusal::ProviderNotFound => catalogue::PROVIDER_NOT_FOUND,
        ConnectorRefusal::ToolkitNotFound => catalogue::TOOLKIT_NOT_FOUND,
        ConnectorRefusal::FlowNotFound => catalogue::FLOW_NOT_FOUND,
        ConnectorRefusal::ConnectionNotFound => catalogue::CONNECTION_NOT_FOUND,
        ConnectorRefusal::ReviewNotFound => catalogue::REVIEW_NOT_FOUND,
        ConnectorRefusal::TargetNotFound => catalogue::CONNECTOR_TARGET_NOT_FOUND,
        ConnectorRefusal::ProviderInUse => catalogue::PROVIDER_IN_USE,
        ConnectorRefusal::ProviderFixed => catalogue::PROVIDER_FIXED,
        ConnectorRefusal::IdempotencyConflict => catalogue::IDEMPOTENCY_CONFLICT,
        ConnectorRefusal::FlowNotWaiting => catalogue::FLOW_NOT_WAITING,
        ConnectorRefusal::Disconnected => catalogue::CONNECTION_DISCONNECTED,
        ConnectorRefusal::NotDisconnected => catalogue::CONNECTION_NOT_DISCONNECTED,
        ConnectorRefusal::CatalogIncomplete => catalogue::CATALOG_INCOMPLETE,
        ConnectorRefusal::ReviewStale => catalogue::REVIEW_STALE,
        ConnectorRefusal::ReviewExpired => catalogue::REVIEW_EXPIRED,
        ConnectorRefusal::InvalidSelection => catalogue::INVALID_SELECTION,
        ConnectorRefusal::RevisionMismatch => catalogue::CONNECTOR_REVISION_MISMATCH,
        ConnectorRefusal::NotExecutable(_) => catalogue::CONNECTOR_NOT_EXECUTABLE,
        ConnectorRefusal::AuthorityChanged => catalogue::CONNECTOR_AUTHORITY_CHANGED,
        ConnectorRefusal::GrantRequired => catalogue::CONNECTOR_GRANT_REQUIRED,
        ConnectorRefusal::UseReview => catalogue::USE_REVIEW,
        ConnectorRefusal::ClassMismatch => catalogue::CONNECTOR_CLASS_MISMATCH,
        ConnectorRefusal::ArgumentsInvalid(_) => catalogue::CONNECTOR_ARGUMENTS_INVALID,
        ConnectorRefusal::DocumentInvalid(_) => catalogue::TOOLKIT_DOCUMENT_INVALID,
        ConnectorRefusal::ToolkitUnreachable => catalogue::TOOLKIT_UNREACHABLE,
        ConnectorRefusal::AuthenticationUnavailable => catalogue::AUTHENTICATION_UNAVAILABLE,
        ConnectorRefusal::OperationsUnsupported => catalogue::OPERATIONS_UNSUPPORTED,
        ConnectorRefusal::TooManyFlows => catalogue::TOO_MANY_FLOWS,
    }
}

/// What is told beside the sentence; null where that is nothing.
pub(super) fn details(refused: &ConnectorRefusal) -> Value {
    match refused {
        ConnectorRefusal::NotExecutable(readiness) => json!({ "readiness": readiness }),
        ConnectorRefusal::ArgumentsInvalid(problems)
        | ConnectorRefusal::DocumentInvalid(problems) => {
            json!({ "problems": problems.iter().map(problem).collect::<Vec<_>>() })
        }
        _ => Value::Null,
    }
}

fn problem(problem: &ValidationProblem) -> Value {
    json!({ "pointer": problem.pointer, "message": problem.message })
}

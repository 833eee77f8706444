//! What connectors refuse, as codes and details. Source: contract 5.3 to 5.6.

use guildhall_domain::connectors::{Refused, refusals::Problem};
use serde_json::{Value, json};

use crate::{docs::ErrorDoc, error_catalogue::connectors as catalogue};

pub(super) fn doc(refused: &Refused) -> ErrorDoc {
    match refused {
        Refused::ProviderNotFound => catalogue::PROVIDER_NOT_FOUND,
        Refused::ToolkitNotFound => catalogue::TOOLKIT_NOT_FOUND,
        Refused::FlowNotFound => catalogue::FLOW_NOT_FOUND,
        Refused::ConnectionNotFound => catalogue::CONNECTION_NOT_FOUND,
        Refused::ReviewNotFound => catalogue::REVIEW_NOT_FOUND,
        Refused::TargetNotFound => catalogue::CONNECTOR_TARGET_NOT_FOUND,
        Refused::ProviderInUse => catalogue::PROVIDER_IN_USE,
        Refused::ProviderFixed => catalogue::PROVIDER_FIXED,
        Refused::IdempotencyConflict => catalogue::IDEMPOTENCY_CONFLICT,
        Refused::FlowNotWaiting => catalogue::FLOW_NOT_WAITING,
        Refused::Disconnected => catalogue::CONNECTION_DISCONNECTED,
        Refused::NotDisconnected => catalogue::CONNECTION_NOT_DISCONNECTED,
        Refused::CatalogIncomplete => catalogue::CATALOG_INCOMPLETE,
        Refused::ReviewStale => catalogue::REVIEW_STALE,
        Refused::ReviewExpired => catalogue::REVIEW_EXPIRED,
        Refused::InvalidSelection => catalogue::INVALID_SELECTION,
        Refused::RevisionMismatch => catalogue::CONNECTOR_REVISION_MISMATCH,
        Refused::NotExecutable(_) => catalogue::CONNECTOR_NOT_EXECUTABLE,
        Refused::AuthorityChanged => catalogue::CONNECTOR_AUTHORITY_CHANGED,
        Refused::GrantRequired => catalogue::CONNECTOR_GRANT_REQUIRED,
        Refused::UseReview => catalogue::USE_REVIEW,
        Refused::ClassMismatch => catalogue::CONNECTOR_CLASS_MISMATCH,
        Refused::ArgumentsInvalid(_) => catalogue::CONNECTOR_ARGUMENTS_INVALID,
        Refused::DocumentInvalid(_) => catalogue::TOOLKIT_DOCUMENT_INVALID,
        Refused::ToolkitUnreachable => catalogue::TOOLKIT_UNREACHABLE,
        Refused::AuthenticationUnavailable => catalogue::AUTHENTICATION_UNAVAILABLE,
        Refused::OperationsUnsupported => catalogue::OPERATIONS_UNSUPPORTED,
        Refused::TooManyFlows => catalogue::TOO_MANY_FLOWS,
    }
}

/// What is told beside the sentence; null where that is nothing.
pub(super) fn details(refused: &Refused) -> Value {
    match refused {
        Refused::NotExecutable(readiness) => json!({ "readiness": readiness }),
        Refused::ArgumentsInvalid(problems) | Refused::DocumentInvalid(problems) => {
            json!({ "problems": problems.iter().map(problem).collect::<Vec<_>>() })
        }
        _ => Value::Null,
    }
}

fn problem(problem: &Problem) -> Value {
    json!({ "pointer": problem.pointer, "message": problem.message })
}

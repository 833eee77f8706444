//! The codes of connectors. Source: contract 5.3 to 5.6.

use crate::docs::ErrorDoc;

catalogue! {
    TOOLKIT_DOCUMENT_INVALID 400 "Document not usable",
        "The OpenAPI document of the toolkit cannot be used; the details name what is wrong.",
        "Mend the places named in details.problems, or take another document.";
    INVALID_SELECTION 400 "Not in the review",
        "A grant names an agent or operation that the review does not show.",
        "Take the ids from the review that is applied.";
    CONNECTOR_GRANT_REQUIRED 403 "Not granted",
        "Nobody granted this operation with this account to this agent.",
        "Grant it in a review of the connection.";
    PROVIDER_NOT_FOUND 404 "Provider not found",
        "There is no such provider instance.",
        "List the provider instances and take an id of theirs.";
    TOOLKIT_NOT_FOUND 404 "Toolkit not found",
        "The provider instance has no such toolkit.",
        "Look in the catalog for the services there are.";
    FLOW_NOT_FOUND 404 "Sign-in not found",
        "There is no such sign-in with a connector.",
        "Start the sign-in again.";
    CONNECTION_NOT_FOUND 404 "Connection not found",
        "There is no such connection.",
        "List the connections and take an id of theirs.";
    REVIEW_NOT_FOUND 404 "Review not found",
        "There is no such review.",
        "Open a review of the connection.";
    CONNECTOR_TARGET_NOT_FOUND 404 "Nothing to run",
        "There is no such connection or operation.",
        "List what is granted to the agent and take the ids from there.";
    PROVIDER_IN_USE 409 "Provider in use",
        "Connections go through it.",
        "Disconnect and remove them first.";
    PROVIDER_FIXED 409 "Provider fixed",
        "The scripted provider stays as it is.",
        "Add a provider instance of your own.";
    IDEMPOTENCY_CONFLICT 409 "Key used before",
        "This idempotencyKey began another sign-in.",
        "Take a new key.";
    FLOW_NOT_WAITING 409 "Not waiting",
        "This sign-in does not wait for a key.",
        "Look at its state and step.";
    CONNECTION_DISCONNECTED 409 "Disconnected",
        "The connection is disconnected.",
        "Connect the service again.";
    CONNECTION_NOT_DISCONNECTED 409 "Not disconnected",
        "Only a disconnected connection can be removed.",
        "Disconnect it first.";
    CATALOG_INCOMPLETE 409 "Too many operations",
        "The service lists more operations than are read.",
        "Use a server that lists at most 2,000 operations.";
    REVIEW_STALE 409 "Review out of date",
        "The provider or its operations changed, or the review was applied already.",
        "Open a new review.";
    CONNECTOR_REVISION_MISMATCH 409 "Another operation",
        "The operation was reviewed in another instance, toolkit or version.",
        "Review the connection again and grant the operation as it is now.";
    CONNECTOR_NOT_EXECUTABLE 409 "Not usable now",
        "The connection cannot be used now; the details say why and what to do.",
        "Do what details.readiness.fix says.";
    CONNECTOR_AUTHORITY_CHANGED 409 "No longer allowed",
        "What allowed the operation changed before it was sent; nothing was sent.",
        "Look at the connection and its grants and try again.";
    USE_REVIEW 409 "Granted by a review",
        "Access to a service is given by granting some of its operations.",
        "Open a review of a connection of the service and grant what the agent needs.";
    CONNECTOR_CLASS_MISMATCH 409 "Another class",
        "The tool runs operations of another class.",
        "Use the tool that the class of the operation names.";
    REVIEW_EXPIRED 410 "Review expired",
        "The ten minutes of the review are over.",
        "Open a new review.";
    TOOLKIT_UNREACHABLE 422 "Service not reached",
        "The document or the list of tools could not be read.",
        "Check the address and that the service runs.";
    AUTHENTICATION_UNAVAILABLE 422 "No sign-in now",
        "One cannot sign in through this provider instance now.",
        "Look at its statusDetail.";
    OPERATIONS_UNSUPPORTED 422 "Nothing to run",
        "The service has no operation that can be run.",
        "Look at what its document or list of tools holds.";
    CONNECTOR_ARGUMENTS_INVALID 422 "Arguments do not fit",
        "The arguments do not fit the schema of the operation as they stand.",
        "Mend the places named in details.problems; nothing is filled in or converted.";
    TOO_MANY_FLOWS 429 "Too many sign-ins",
        "As many sign-ins with connectors are open as may be.",
        "Finish or cancel one first.";
}

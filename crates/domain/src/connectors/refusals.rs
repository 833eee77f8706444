//! What connectors refuse, and for which reason the caller can act on.
//! Source: the refusal columns of contract 5.3 to 5.6.

use super::connections::Readiness;

/// A problem of a toolkit's document or of an operation's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationProblem {
    /// Where it is (RFC 6901).
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

/// A no of the connectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectorRefusal {
    /// There is no such provider instance.
    ProviderNotFound,
    /// The instance has no such toolkit.
    ToolkitNotFound,
    /// There is no such flow.
    FlowNotFound,
    /// There is no such connection.
    ConnectionNotFound,
    /// There is no such review.
    ReviewNotFound,
    /// The connection or operation to run does not exist.
    TargetNotFound,
    /// Connections go through it.
    ProviderInUse,
    /// The scripted instance stays as it is.
    ProviderFixed,
    /// The key of the flow was used for another one.
    IdempotencyConflict,
    /// The flow waits for nothing of this kind.
    FlowNotWaiting,
    /// The connection is disconnected.
    Disconnected,
    /// Only what is disconnected can be removed.
    NotDisconnected,
    /// The service lists more operations than are read.
    CatalogIncomplete,
    /// The instance or its list changed, or the review was applied already.
    ReviewStale,
    /// The time of the review is over.
    ReviewExpired,
    /// A grant names what the review does not show.
    InvalidSelection,
    /// The operation is of another instance, toolkit or version.
    RevisionMismatch,
    /// The connection cannot be used now; holds why.
    NotExecutable(Readiness),
    /// What allowed the operation changed before it was sent.
    AuthorityChanged,
    /// Nobody granted this operation with this account to this agent.
    GrantRequired,
    /// Access is given by a review that grants something.
    UseReview,
    /// The tool is for operations of another class.
    ClassMismatch,
    /// The arguments do not fit; holds the first 20 problems.
    ArgumentsInvalid(Vec<ValidationProblem>),
    /// The document cannot be used; holds the first 20 problems.
    DocumentInvalid(Vec<ValidationProblem>),
    /// The document or the list of tools could not be read.
    ToolkitUnreachable,
    /// One cannot sign in through the instance now.
    AuthenticationUnavailable,
    /// The service has no operation that can be run.
    OperationsUnsupported,
    /// As many flows are open as may be.
    TooManyFlows,
}

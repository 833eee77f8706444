//! Errors: the one place where a refusal or fault becomes a status, a code and a sentence.

mod cloud;
mod connectors;

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use guildhall_domain::{
    Error, Fault, Refusal,
    approvals::ApprovalRequirement,
    errors::{FaultKind, HandleRule, ResourceKind},
    idempotency::RecordedResponse,
    limits,
};
use guildhall_wire::errors::ErrorEnvelope;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    approval_headers, docs::ErrorDoc, error_catalogue, idempotency, preconditions::rev_tag,
    problem_json::ErrorContent,
};

/// A refusal on its way out.
#[derive(Debug)]
pub struct ApiError {
    doc: ErrorDoc,
    sentence: &'static str,
    /// What most refusals lack; boxed, so that the happy way carries little.
    more: Option<Box<ErrorExtras>>,
}

#[derive(Debug, Default)]
struct ErrorExtras {
    details: Option<Value>,
    /// Members beside those of every envelope.
    members: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// A repeated post's first answer, which goes out in place of an error.
    answered: Option<RecordedResponse>,
    /// The word that a person must allow it first, which is no error either.
    required: Option<Box<ApprovalRequirement>>,
}

/// An envelope with further members, which only the few codes have that say so.
#[derive(Serialize)]
pub(crate) struct ExtendedEnvelope<'a, E> {
    #[serde(flatten)]
    pub(crate) envelope: &'a E,
    #[serde(flatten)]
    pub(crate) members: &'a Map<String, Value>,
}

/// What a handler answers.
pub type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    /// An answer with the code of `doc` and its sentence.
    pub fn new(doc: ErrorDoc) -> Self {
        Self {
            doc,
            sentence: doc.meaning,
            more: None,
        }
    }

    /// The same with a sentence that fits this case better.
    #[must_use]
    pub fn with_sentence(mut self, sentence: &'static str) -> Self {
        self.sentence = sentence;
        self
    }

    /// The same with details.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.more.get_or_insert_default().details = Some(details);
        self
    }

    /// The same with a member beside those of every envelope.
    #[must_use]
    pub fn with_member(mut self, name: &str, value: Value) -> Self {
        let more = self.more.get_or_insert_default();
        more.members.insert(name.to_owned(), value);
        self
    }

    /// The same with one more header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: impl Into<HeaderValue>) -> Self {
        self.more
            .get_or_insert_default()
            .headers
            .push((name, value.into()));
        self
    }
}

impl ApiError {
    /// What it says, apart from its status.
    pub(crate) fn envelope(&self) -> ErrorEnvelope {
        let details = self.more.as_ref().and_then(|more| more.details.clone());
        ErrorEnvelope {
            error: self.sentence.to_owned(),
            code: self.doc.code.to_owned(),
            details: details.filter(|details| !details.is_null()),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let ErrorExtras {
            details,
            members,
            headers: further,
            answered,
            required,
        } = self.more.map(|more| *more).unwrap_or_default();
        if let Some(answered) = answered {
            return idempotency::replay(answered);
        }
        if let Some(required) = required {
            return approval_headers::approval_required(*required);
        }
        let envelope = ErrorEnvelope {
            error: self.sentence.to_owned(),
            code: self.doc.code.to_owned(),
            details: details.filter(|details| !details.is_null()),
        };
        // A value of plain texts always serializes.
        let body = serde_json::to_vec(&ExtendedEnvelope {
            envelope: &envelope,
            members: &members,
        })
        .unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() =
            StatusCode::from_u16(self.doc.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        headers.extend(further);
        response.extensions_mut().insert(ErrorContent {
            doc: self.doc,
            envelope,
            members,
        });
        response
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error {
            Error::Refusal(refusal) => refusal.into(),
            Error::Fault(fault) => fault.into(),
            Error::Repeated(answered) => {
                let mut error = internal();
                error.more.get_or_insert_default().answered = Some(*answered);
                error
            }
        }
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        match fault.kind {
            FaultKind::StorageFull => Self::new(error_catalogue::STORAGE_FULL),
            FaultKind::Unavailable => {
                Self::new(error_catalogue::OVERLOADED).with_header(header::RETRY_AFTER, 1)
            }
            FaultKind::StorageIo => {
                tracing::error!(error = ?fault, "the disk failed the store");
                Self::new(error_catalogue::STORAGE_IO_FAILED).with_header(header::RETRY_AFTER, 1)
            }
            // Logged once, when it was noticed.
            FaultKind::StoreDamaged => Self::new(error_catalogue::STORE_DAMAGED),
            FaultKind::AttachmentDamaged => {
                tracing::error!(error = ?fault, "an attachment is damaged");
                Self::new(error_catalogue::ATTACHMENT_DAMAGED)
            }
            FaultKind::FileSave => {
                tracing::error!(error = ?fault, "a file could not be saved");
                Self::new(error_catalogue::FILE_SAVE_FAILED)
            }
            FaultKind::Broken => {
                tracing::error!(error = ?fault, "a request met a fault");
                internal()
            }
            FaultKind::FileIo => {
                tracing::error!(error = ?fault, "a file or folder could not be reached");
                Self::new(error_catalogue::FILE_IO_FAILED)
            }
        }
    }
}

/// Our own mistake; the text is fixed, the request id finds the log line.
pub fn internal() -> ApiError {
    ApiError::new(error_catalogue::INTERNAL_ERROR)
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let error = Self::new(doc(&refusal));
        match refusal {
            Refusal::Validation(invalid) => error.with_details(json!({
                "formErrors": invalid.form_errors,
                "fieldErrors": invalid.field_errors,
            })),
            Refusal::Connector(refused) => error.with_details(connectors::details(&refused)),
            Refusal::InvalidHandle(rule) => error.with_sentence(handle_rule(rule)),
            Refusal::InvalidPath(reason) => error.with_details(json!({ "reason": reason })),
            Refusal::CanvasBeingEdited(lock) => error.with_details(json!({
                "editingBy": lock.by,
                "expiresAt": lock.until,
            })),
            Refusal::FileTooLarge => {
                error.with_details(json!({ "limitBytes": limits::FILE_SIZE_MAX }))
            }
            Refusal::FileConflict(now) => error
                .with_details(json!({ "currentIdentity": now.identity }))
                .with_member("currentHash", json!(now.hash))
                .with_member("currentContent", json!(now.content)),
            Refusal::AgentExists(agent) => {
                error.with_details(json!({ "agentId": agent.to_string() }))
            }
            Refusal::AutonomyNotAcknowledged(mode) => error.with_details(json!({ "mode": mode })),
            Refusal::PreconditionFailed(rev) => {
                error.with_details(json!({ "currentETag": rev_tag(rev) }))
            }
            Refusal::UnsupportedPermissionMode(modes) => {
                error.with_details(json!({ "supported": modes }))
            }
            Refusal::InteractionAlreadyResolved(resolution, at) => {
                error.with_details(json!({ "resolution": resolution, "resolvedAt": at }))
            }
            Refusal::InteractionChanged(digest) => error.with_details(json!({ "digest": digest })),
            Refusal::OptionNotOffered(options) => error.with_details(json!({ "options": options })),
            Refusal::BackupDamaged(problem) => error.with_details(json!({ "problem": problem })),
            Refusal::UseSessionRoute(route) => error.with_details(json!({ "route": route })),
            Refusal::ApprovalRequired(required) => {
                let mut error = error;
                error.more.get_or_insert_default().required = Some(required);
                error
            }
            Refusal::ApprovalDenied(denial) => error.with_details(json!({
                "approvalId": denial.approval_id,
                "reason": denial.reason,
            })),
            Refusal::ApprovalNotPending(state) => error.with_details(json!({ "state": state })),
            Refusal::SecretAlreadyShown(id) => error.with_details(json!({ "id": id })),
            Refusal::UnknownSetting(keys) | Refusal::SettingFixed(keys) => {
                error.with_details(json!({ "keys": keys }))
            }
            Refusal::LimitReached(limit) => error.with_details(json!({ "limit": limit })),
            Refusal::TooManyAttachments(limit) => error
                .with_details(json!({ "limit": limit }))
                .with_header(header::CONNECTION, CLOSE),
            Refusal::AttachmentTooLarge(bytes) => error
                .with_details(json!({ "limitBytes": bytes }))
                .with_header(header::CONNECTION, CLOSE),
            Refusal::AttachmentStoreFull(bytes) => error
                .with_sentence("The room for attachments is used up; nothing was changed.")
                .with_details(json!({ "limitBytes": bytes })),
            Refusal::AuthRequired
            | Refusal::AgentTokenRequired
            | Refusal::NotTheOwner
            | Refusal::CallerInDoubt
            | Refusal::SetupRequired
            | Refusal::TokenExpired
            | Refusal::InvalidCredentials => error.with_header(header::WWW_AUTHENTICATE, BEARER),
            Refusal::AgentIdentityUnverified => {
                error.with_header(header::WWW_AUTHENTICATE, SERVICE_AGENT)
            }
            Refusal::RateLimited(seconds)
            | Refusal::ReactionRateLimited(seconds)
            | Refusal::TooManyApprovals(seconds)
            | Refusal::TurnBudgetReached(seconds) => {
                error.with_header(header::RETRY_AFTER, seconds)
            }
            Refusal::TooManyStreams
            | Refusal::TooManyCallsAtOnce
            | Refusal::FileGateFull
            | Refusal::BrowserInputQueueFull
            | Refusal::FileGateTimeout
            | Refusal::Overloaded
            | Refusal::ShuttingDown
            | Refusal::IdempotencyInProgress => error.with_header(header::RETRY_AFTER, 1),
            _ => error,
        }
    }
}

/// Where the rest of a body is not read.
const CLOSE: HeaderValue = HeaderValue::from_static("close");
const BEARER: HeaderValue = HeaderValue::from_static("Bearer realm=\"guildhall\"");
const SERVICE_AGENT: HeaderValue = HeaderValue::from_static("ServiceAgent realm=\"guildhall\"");

/// Not in the catalogue, because what it is answered with is no error: see `approval_headers`.
const APPROVAL_REQUIRED: ErrorDoc = ErrorDoc {
    code: "APPROVAL_REQUIRED",
    status: 202,
    title: "Approval required",
    meaning: "A person must allow this first.",
    advice: "Send the same request again with the token of the answer.",
};

/// The code of a refusal that is part of an answer.
pub fn code_of(refusal: &Refusal) -> &'static str {
    doc(refusal).code
}

/// The code of every refusal. Source: contract 1.2 and the chapters' tables.
fn doc(refusal: &Refusal) -> ErrorDoc {
    match refusal {
        Refusal::Validation(_) => error_catalogue::VALIDATION_FAILED,
        Refusal::InvalidHandle(_) => error_catalogue::INVALID_HANDLE,
        Refusal::InvalidEmoji => error_catalogue::INVALID_EMOJI,
        Refusal::InvalidSlug => error_catalogue::INVALID_SLUG,
        Refusal::UnknownSetting(_) => error_catalogue::UNKNOWN_SETTING,
        Refusal::SettingFixed(_) => error_catalogue::SETTING_FIXED,
        Refusal::PreconditionFailed(_) => error_catalogue::PRECONDITION_FAILED,
        Refusal::AgentSelfOnly => error_catalogue::AGENT_SELF_ONLY,
        Refusal::AgentIdMismatch => error_catalogue::AGENT_ID_MISMATCH,
        Refusal::ReservedName => error_catalogue::RESERVED_NAME,
        Refusal::DuplicateName => error_catalogue::DUPLICATE_NAME,
        Refusal::TooManyServers => error_catalogue::TOO_MANY_SERVERS,
        Refusal::NotOauthServer => error_catalogue::NOT_OAUTH_SERVER,
        Refusal::SigninInsecureAddress => error_catalogue::SIGNIN_INSECURE_ADDRESS,
        Refusal::NavigationOnly => error_catalogue::NAVIGATION_ONLY,
        Refusal::AgentCannotDecide => error_catalogue::AGENT_CANNOT_DECIDE,
        Refusal::SessionExists => error_catalogue::SESSION_EXISTS,
        Refusal::SessionClosed => error_catalogue::SESSION_CLOSED,
        Refusal::SessionReadOnly => error_catalogue::SESSION_READ_ONLY,
        Refusal::QueueFull => error_catalogue::QUEUE_FULL,
        Refusal::RuntimeCannotResume => error_catalogue::RUNTIME_CANNOT_RESUME,
        Refusal::InteractionAlreadyResolved(..) => error_catalogue::INTERACTION_ALREADY_RESOLVED,
        Refusal::InteractionChanged(_) => error_catalogue::INTERACTION_CHANGED,
        Refusal::OptionNotOffered(_) => error_catalogue::OPTION_NOT_OFFERED,
        Refusal::UseSessionRoute(_) => error_catalogue::USE_SESSION_ROUTE,
        Refusal::ApprovalRequired(_) => APPROVAL_REQUIRED,
        Refusal::ApprovalDenied(_) => error_catalogue::APPROVAL_DENIED,
        Refusal::TooManyApprovals(_) => error_catalogue::TOO_MANY_APPROVALS,
        Refusal::RequesterCannotDecide => error_catalogue::REQUESTER_CANNOT_DECIDE,
        Refusal::ApprovalExpired => error_catalogue::APPROVAL_EXPIRED,
        Refusal::ApprovalNotPending(_) => error_catalogue::APPROVAL_NOT_PENDING,
        Refusal::ApprovalChanged => error_catalogue::APPROVAL_CHANGED,
        Refusal::TurnNotRunnable => error_catalogue::TURN_NOT_RUNNABLE,
        Refusal::TurnWasStopped => error_catalogue::TURN_WAS_STOPPED,
        Refusal::TooManyPostsThisTurn => error_catalogue::TOO_MANY_POSTS_THIS_TURN,
        Refusal::TooManyCanvasOpsThisTurn => error_catalogue::TOO_MANY_CANVAS_OPS_THIS_TURN,
        Refusal::TurnBudgetReached(_) => error_catalogue::TURN_BUDGET_REACHED,
        Refusal::IdempotencyInProgress => error_catalogue::IDEMPOTENCY_IN_PROGRESS,
        Refusal::IdempotencyKeyReused => error_catalogue::IDEMPOTENCY_KEY_REUSED,
        Refusal::SecretAlreadyShown(_) => error_catalogue::SECRET_ALREADY_SHOWN,
        Refusal::UnknownRuntime => error_catalogue::UNKNOWN_RUNTIME,
        Refusal::UnsupportedPermissionMode(_) => error_catalogue::UNSUPPORTED_PERMISSION_MODE,
        Refusal::NotADirectory => error_catalogue::NOT_A_DIRECTORY,
        Refusal::NotAFile => error_catalogue::NOT_A_FILE,
        Refusal::InvalidPath(_) => error_catalogue::INVALID_PATH,
        Refusal::NullByte => error_catalogue::NULL_BYTE,
        Refusal::OutsideBoundary => error_catalogue::OUTSIDE_BOUNDARY,
        Refusal::PermissionDenied => error_catalogue::PERMISSION_DENIED,
        Refusal::FileTooLarge => error_catalogue::FILE_TOO_LARGE,
        Refusal::BinaryFile => error_catalogue::BINARY_FILE,
        Refusal::NotUtf8 => error_catalogue::NOT_UTF8,
        Refusal::NotACheckbox => error_catalogue::NOT_A_CHECKBOX,
        Refusal::FileGateFull => error_catalogue::FILE_GATE_FULL,
        Refusal::FileGateTimeout => error_catalogue::FILE_GATE_TIMEOUT,
        Refusal::FileIdentityChanged => error_catalogue::FILE_IDENTITY_CHANGED,
        Refusal::FileConflict(_) => error_catalogue::CONFLICT,
        Refusal::DocumentNotChat => error_catalogue::DOCUMENT_NOT_CHAT,
        Refusal::DocumentFileMismatch => error_catalogue::DOCUMENT_FILE_MISMATCH,
        Refusal::DocumentIncarnationChanged => error_catalogue::DOCUMENT_INCARNATION_CHANGED,
        Refusal::DocEventIdConflict => error_catalogue::DOC_EVENT_ID_CONFLICT,
        Refusal::UnsupportedType => error_catalogue::UNSUPPORTED_TYPE,
        Refusal::AlreadyExists => error_catalogue::ALREADY_EXISTS,
        Refusal::PortNotAllowed => error_catalogue::PORT_NOT_ALLOWED,
        Refusal::BadToken => error_catalogue::BAD_TOKEN,
        Refusal::WrongScope => error_catalogue::WRONG_SCOPE,
        Refusal::TokenExpired => error_catalogue::TOKEN_EXPIRED,
        Refusal::ServiceWorkerRefused => error_catalogue::SERVICE_WORKER_REFUSED,
        Refusal::AutonomyNotAcknowledged(_) => error_catalogue::AUTONOMY_NOT_ACKNOWLEDGED,
        Refusal::AgentTokenRequired => error_catalogue::AGENT_TOKEN_REQUIRED,
        Refusal::TooManyCallsAtOnce => error_catalogue::TOO_MANY_CALLS_AT_ONCE,
        Refusal::AuthRequired => error_catalogue::AUTH_REQUIRED,
        Refusal::NotTheOwner => error_catalogue::NOT_THE_OWNER,
        Refusal::CallerInDoubt => error_catalogue::CALLER_IN_DOUBT,
        Refusal::AgentIdentityUnverified => error_catalogue::AGENT_IDENTITY_UNVERIFIED,
        Refusal::SetupRequired => error_catalogue::SETUP_REQUIRED,
        Refusal::InvalidCredentials => error_catalogue::INVALID_CREDENTIALS,
        Refusal::HumansOnly => error_catalogue::HUMANS_ONLY,
        Refusal::InteractiveOnly => error_catalogue::INTERACTIVE_ONLY,
        Refusal::PasswordChangeRequired => error_catalogue::PASSWORD_CHANGE_REQUIRED,
        Refusal::RegistrationClosed => error_catalogue::REGISTRATION_CLOSED,
        Refusal::SetupCodeWrong => error_catalogue::SETUP_CODE_WRONG,
        Refusal::OwnerOnly => error_catalogue::OWNER_ONLY,
        Refusal::BrowserUrlNotAllowed => error_catalogue::URL_NOT_ALLOWED,
        Refusal::OwnerHereOnly => error_catalogue::OWNER_HERE_ONLY,
        Refusal::LocalBrowserRefused => error_catalogue::LOCAL_BROWSER_REFUSED,
        Refusal::NotFound(ResourceKind::Tab) => error_catalogue::TAB_NOT_FOUND,
        Refusal::BrowserNotConnected => error_catalogue::NOT_CONNECTED,
        Refusal::BrowserBusy => error_catalogue::BUSY,
        Refusal::BrowserProfileInUse => error_catalogue::PROFILE_IN_USE,
        Refusal::BrowserStale => error_catalogue::STALE,
        Refusal::BrowserWrongMode => error_catalogue::WRONG_MODE,
        Refusal::BrowserTabLimit => error_catalogue::TAB_LIMIT,
        Refusal::BrowserNoDialog => error_catalogue::NO_DIALOG,
        Refusal::BrowserNoAuthRequest => error_catalogue::NO_AUTH_REQUEST,
        Refusal::BrowserInputQueueFull => error_catalogue::INPUT_QUEUE_FULL,
        Refusal::BrowserTooManyViewers => error_catalogue::TOO_MANY_VIEWERS,
        Refusal::BrowserDisabled => error_catalogue::BROWSER_DISABLED,
        Refusal::BrowserTimeout => error_catalogue::BROWSER_TIMEOUT,
        Refusal::Cloud(refused) => cloud::doc(*refused),
        Refusal::Connector(refused) => connectors::doc(refused),
        Refusal::NotFound(ResourceKind::Account) => error_catalogue::ACCOUNT_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Agent) => error_catalogue::AGENT_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Approval) => error_catalogue::APPROVAL_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Backup) => error_catalogue::BACKUP_NOT_FOUND,
        Refusal::NotFound(ResourceKind::RevivedCredential) => {
            error_catalogue::REVIVED_CREDENTIAL_NOT_FOUND
        }
        Refusal::BackupDamaged(_) => error_catalogue::BACKUP_DAMAGED,
        Refusal::LaterPasswordMissing => error_catalogue::LATER_PASSWORD_MISSING,
        Refusal::NotFound(ResourceKind::Attachment) => error_catalogue::ATTACHMENT_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Author) => error_catalogue::AUTHOR_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Document) => error_catalogue::CANVAS_DOCUMENT_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Entry) => error_catalogue::ENTRY_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Key) => error_catalogue::KEY_NOT_FOUND,
        Refusal::NotFound(ResourceKind::McpServer) => error_catalogue::SERVER_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Member) => error_catalogue::MEMBER_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Path) => error_catalogue::NOT_FOUND,
        Refusal::NotFound(ResourceKind::Preview) => error_catalogue::PREVIEW_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Room) => error_catalogue::ROOM_NOT_FOUND,
        // The same code as where a body names it, with the status of a path that leads nowhere.
        Refusal::NotFound(ResourceKind::Runtime) => ErrorDoc {
            status: 404,
            ..error_catalogue::UNKNOWN_RUNTIME
        },
        Refusal::NotFound(ResourceKind::Signin) => error_catalogue::SIGNIN_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Session) => error_catalogue::SESSION_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Token) => error_catalogue::TOKEN_NOT_FOUND,
        Refusal::NotFound(ResourceKind::PendingApproval) => error_catalogue::NO_PENDING_APPROVAL,
        Refusal::NotFound(ResourceKind::PendingQuestion) => error_catalogue::NO_PENDING_QUESTION,
        Refusal::NotFound(ResourceKind::QueuedMessage) => error_catalogue::QUEUED_MESSAGE_NOT_FOUND,
        Refusal::NotFound(ResourceKind::Turn) => error_catalogue::TURN_NOT_FOUND,
        Refusal::AuthorNotChangeable => error_catalogue::AUTHOR_NOT_CHANGEABLE,
        Refusal::AuthorRetired => error_catalogue::AUTHOR_RETIRED,
        Refusal::HandleTaken => error_catalogue::HANDLE_TAKEN,
        Refusal::HandleReserved => error_catalogue::HANDLE_RESERVED,
        Refusal::SlugTaken => error_catalogue::SLUG_TAKEN,
        Refusal::OwnerMustBePresent => error_catalogue::OWNER_MUST_BE_PRESENT,
        Refusal::SystemRoom => error_catalogue::SYSTEM_ROOM,
        Refusal::NotABridgedRoom => error_catalogue::NOT_A_BRIDGED_ROOM,
        Refusal::RoomArchived => error_catalogue::ROOM_ARCHIVED,
        Refusal::NotAMember => error_catalogue::NOT_A_MEMBER,
        Refusal::AttachmentMissing => error_catalogue::ATTACHMENT_MISSING,
        Refusal::TooManyAttachments(_) => error_catalogue::TOO_MANY_ATTACHMENTS,
        Refusal::AttachmentTooLarge(_) => error_catalogue::PAYLOAD_TOO_LARGE,
        Refusal::AttachmentAlreadyPosted => error_catalogue::ATTACHMENT_ALREADY_POSTED,
        Refusal::AttachmentStoreFull(_) => error_catalogue::STORAGE_FULL,
        Refusal::CanvasBeingEdited(_) => error_catalogue::CANVAS_BEING_EDITED,
        Refusal::AuthModeLocal => error_catalogue::AUTH_MODE_LOCAL,
        Refusal::EmailTaken => error_catalogue::EMAIL_TAKEN,
        Refusal::OwnerAccount => error_catalogue::OWNER_ACCOUNT,
        Refusal::TooManyKeys => error_catalogue::TOO_MANY_KEYS,
        Refusal::NestedThread => error_catalogue::NESTED_THREAD,
        Refusal::TooManyReactions => error_catalogue::TOO_MANY_REACTIONS,
        Refusal::AgentExists(_) => error_catalogue::AGENT_EXISTS,
        Refusal::AgentRetired => error_catalogue::AGENT_RETIRED,
        Refusal::LimitReached(_) => error_catalogue::LIMIT_REACHED,
        Refusal::RateLimited(_) => error_catalogue::RATE_LIMITED,
        Refusal::ReactionRateLimited(_) => error_catalogue::REACTION_RATE_LIMITED,
        Refusal::TooManyStreams => error_catalogue::TOO_MANY_STREAMS,
        Refusal::Overloaded => error_catalogue::OVERLOADED,
        Refusal::ShuttingDown => error_catalogue::SHUTTING_DOWN,
    }
}

fn handle_rule(rule: HandleRule) -> &'static str {
    match rule {
        HandleRule::Length => "A handle has 2 to 32 characters.",
        HandleRule::Characters => "A handle holds only a-z, 0-9, dot, underscore and hyphen.",
        HandleRule::Ends => "A handle begins and ends with a letter or digit.",
    }
}

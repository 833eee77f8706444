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
    approvals::Required,
    limits,
    outcome::{FaultKind, HandleRule, Thing},
    repeats::Answered,
};
use guildhall_wire::errors::ErrorEnvelope;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{approving, catalogue, docs::ErrorDoc, preconditions::rev_tag, problem::Said, repeats};

/// A refusal on its way out.
#[derive(Debug)]
pub struct ApiError {
    doc: ErrorDoc,
    sentence: &'static str,
    /// What most refusals lack; boxed, so that the happy way carries little.
    more: Option<Box<More>>,
}

#[derive(Debug, Default)]
struct More {
    details: Option<Value>,
    /// Members beside those of every envelope.
    members: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// A repeated post's first answer, which goes out in place of an error.
    answered: Option<Answered>,
    /// The word that a person must allow it first, which is no error either.
    required: Option<Box<Required>>,
}

/// An envelope with further members, which only the few codes have that say so.
#[derive(Serialize)]
pub(crate) struct With<'a, E> {
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
    pub fn saying(mut self, sentence: &'static str) -> Self {
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
        let More {
            details,
            members,
            headers: further,
            answered,
            required,
        } = self.more.map(|more| *more).unwrap_or_default();
        if let Some(answered) = answered {
            return repeats::replay(answered);
        }
        if let Some(required) = required {
            return approving::answer(*required);
        }
        let envelope = ErrorEnvelope {
            error: self.sentence.to_owned(),
            code: self.doc.code.to_owned(),
            details: details.filter(|details| !details.is_null()),
        };
        // A value of plain texts always serializes.
        let body = serde_json::to_vec(&With {
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
        response.extensions_mut().insert(Said {
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
            FaultKind::StorageFull => Self::new(catalogue::STORAGE_FULL),
            FaultKind::Unavailable => {
                Self::new(catalogue::OVERLOADED).with_header(header::RETRY_AFTER, 1)
            }
            FaultKind::StorageIo => {
                tracing::error!(error = ?fault, "the disk failed the store");
                Self::new(catalogue::STORAGE_IO_FAILED).with_header(header::RETRY_AFTER, 1)
            }
            // Logged once, when it was noticed.
            FaultKind::StoreDamaged => Self::new(catalogue::STORE_DAMAGED),
            FaultKind::AttachmentDamaged => {
                tracing::error!(error = ?fault, "an attachment is damaged");
                Self::new(catalogue::ATTACHMENT_DAMAGED)
            }
            FaultKind::FileSave => {
                tracing::error!(error = ?fault, "a file could not be saved");
                Self::new(catalogue::FILE_SAVE_FAILED)
            }
            FaultKind::Broken => {
                tracing::error!(error = ?fault, "a request met a fault");
                internal()
            }
            FaultKind::FileIo => {
                tracing::error!(error = ?fault, "a file or folder could not be reached");
                Self::new(catalogue::FILE_IO_FAILED)
            }
        }
    }
}

/// Our own mistake; the text is fixed, the request id finds the log line.
pub fn internal() -> ApiError {
    ApiError::new(catalogue::INTERNAL_ERROR)
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
            Refusal::InvalidHandle(rule) => error.saying(handle_rule(rule)),
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
                .saying("The room for attachments is used up; nothing was changed.")
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

/// Not in the catalogue, because what it is answered with is no error: see `approving`.
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
        Refusal::Validation(_) => catalogue::VALIDATION_FAILED,
        Refusal::InvalidHandle(_) => catalogue::INVALID_HANDLE,
        Refusal::InvalidEmoji => catalogue::INVALID_EMOJI,
        Refusal::InvalidSlug => catalogue::INVALID_SLUG,
        Refusal::UnknownSetting(_) => catalogue::UNKNOWN_SETTING,
        Refusal::SettingFixed(_) => catalogue::SETTING_FIXED,
        Refusal::PreconditionFailed(_) => catalogue::PRECONDITION_FAILED,
        Refusal::AgentSelfOnly => catalogue::AGENT_SELF_ONLY,
        Refusal::AgentIdMismatch => catalogue::AGENT_ID_MISMATCH,
        Refusal::ReservedName => catalogue::RESERVED_NAME,
        Refusal::DuplicateName => catalogue::DUPLICATE_NAME,
        Refusal::TooManyServers => catalogue::TOO_MANY_SERVERS,
        Refusal::NotOauthServer => catalogue::NOT_OAUTH_SERVER,
        Refusal::SigninInsecureAddress => catalogue::SIGNIN_INSECURE_ADDRESS,
        Refusal::NavigationOnly => catalogue::NAVIGATION_ONLY,
        Refusal::AgentCannotDecide => catalogue::AGENT_CANNOT_DECIDE,
        Refusal::SessionExists => catalogue::SESSION_EXISTS,
        Refusal::SessionClosed => catalogue::SESSION_CLOSED,
        Refusal::SessionReadOnly => catalogue::SESSION_READ_ONLY,
        Refusal::QueueFull => catalogue::QUEUE_FULL,
        Refusal::RuntimeCannotResume => catalogue::RUNTIME_CANNOT_RESUME,
        Refusal::InteractionAlreadyResolved(..) => catalogue::INTERACTION_ALREADY_RESOLVED,
        Refusal::InteractionChanged(_) => catalogue::INTERACTION_CHANGED,
        Refusal::OptionNotOffered(_) => catalogue::OPTION_NOT_OFFERED,
        Refusal::UseSessionRoute(_) => catalogue::USE_SESSION_ROUTE,
        Refusal::ApprovalRequired(_) => APPROVAL_REQUIRED,
        Refusal::ApprovalDenied(_) => catalogue::APPROVAL_DENIED,
        Refusal::TooManyApprovals(_) => catalogue::TOO_MANY_APPROVALS,
        Refusal::RequesterCannotDecide => catalogue::REQUESTER_CANNOT_DECIDE,
        Refusal::ApprovalExpired => catalogue::APPROVAL_EXPIRED,
        Refusal::ApprovalNotPending(_) => catalogue::APPROVAL_NOT_PENDING,
        Refusal::ApprovalChanged => catalogue::APPROVAL_CHANGED,
        Refusal::TurnNotRunnable => catalogue::TURN_NOT_RUNNABLE,
        Refusal::TurnWasStopped => catalogue::TURN_WAS_STOPPED,
        Refusal::TooManyPostsThisTurn => catalogue::TOO_MANY_POSTS_THIS_TURN,
        Refusal::TooManyCanvasOpsThisTurn => catalogue::TOO_MANY_CANVAS_OPS_THIS_TURN,
        Refusal::TurnBudgetReached(_) => catalogue::TURN_BUDGET_REACHED,
        Refusal::IdempotencyInProgress => catalogue::IDEMPOTENCY_IN_PROGRESS,
        Refusal::IdempotencyKeyReused => catalogue::IDEMPOTENCY_KEY_REUSED,
        Refusal::SecretAlreadyShown(_) => catalogue::SECRET_ALREADY_SHOWN,
        Refusal::UnknownRuntime => catalogue::UNKNOWN_RUNTIME,
        Refusal::UnsupportedPermissionMode(_) => catalogue::UNSUPPORTED_PERMISSION_MODE,
        Refusal::NotADirectory => catalogue::NOT_A_DIRECTORY,
        Refusal::NotAFile => catalogue::NOT_A_FILE,
        Refusal::InvalidPath(_) => catalogue::INVALID_PATH,
        Refusal::NullByte => catalogue::NULL_BYTE,
        Refusal::OutsideBoundary => catalogue::OUTSIDE_BOUNDARY,
        Refusal::PermissionDenied => catalogue::PERMISSION_DENIED,
        Refusal::FileTooLarge => catalogue::FILE_TOO_LARGE,
        Refusal::BinaryFile => catalogue::BINARY_FILE,
        Refusal::NotUtf8 => catalogue::NOT_UTF8,
        Refusal::NotACheckbox => catalogue::NOT_A_CHECKBOX,
        Refusal::FileGateFull => catalogue::FILE_GATE_FULL,
        Refusal::FileGateTimeout => catalogue::FILE_GATE_TIMEOUT,
        Refusal::FileIdentityChanged => catalogue::FILE_IDENTITY_CHANGED,
        Refusal::FileConflict(_) => catalogue::CONFLICT,
        Refusal::DocumentNotChat => catalogue::DOCUMENT_NOT_CHAT,
        Refusal::DocumentFileMismatch => catalogue::DOCUMENT_FILE_MISMATCH,
        Refusal::DocumentIncarnationChanged => catalogue::DOCUMENT_INCARNATION_CHANGED,
        Refusal::DocEventIdConflict => catalogue::DOC_EVENT_ID_CONFLICT,
        Refusal::UnsupportedType => catalogue::UNSUPPORTED_TYPE,
        Refusal::AlreadyExists => catalogue::ALREADY_EXISTS,
        Refusal::PortNotAllowed => catalogue::PORT_NOT_ALLOWED,
        Refusal::BadToken => catalogue::BAD_TOKEN,
        Refusal::WrongScope => catalogue::WRONG_SCOPE,
        Refusal::TokenExpired => catalogue::TOKEN_EXPIRED,
        Refusal::ServiceWorkerRefused => catalogue::SERVICE_WORKER_REFUSED,
        Refusal::AutonomyNotAcknowledged(_) => catalogue::AUTONOMY_NOT_ACKNOWLEDGED,
        Refusal::AgentTokenRequired => catalogue::AGENT_TOKEN_REQUIRED,
        Refusal::TooManyCallsAtOnce => catalogue::TOO_MANY_CALLS_AT_ONCE,
        Refusal::AuthRequired => catalogue::AUTH_REQUIRED,
        Refusal::NotTheOwner => catalogue::NOT_THE_OWNER,
        Refusal::CallerInDoubt => catalogue::CALLER_IN_DOUBT,
        Refusal::AgentIdentityUnverified => catalogue::AGENT_IDENTITY_UNVERIFIED,
        Refusal::SetupRequired => catalogue::SETUP_REQUIRED,
        Refusal::InvalidCredentials => catalogue::INVALID_CREDENTIALS,
        Refusal::HumansOnly => catalogue::HUMANS_ONLY,
        Refusal::InteractiveOnly => catalogue::INTERACTIVE_ONLY,
        Refusal::PasswordChangeRequired => catalogue::PASSWORD_CHANGE_REQUIRED,
        Refusal::RegistrationClosed => catalogue::REGISTRATION_CLOSED,
        Refusal::SetupCodeWrong => catalogue::SETUP_CODE_WRONG,
        Refusal::OwnerOnly => catalogue::OWNER_ONLY,
        Refusal::BrowserUrlNotAllowed => catalogue::URL_NOT_ALLOWED,
        Refusal::OwnerHereOnly => catalogue::OWNER_HERE_ONLY,
        Refusal::LocalBrowserRefused => catalogue::LOCAL_BROWSER_REFUSED,
        Refusal::NotFound(Thing::Tab) => catalogue::TAB_NOT_FOUND,
        Refusal::BrowserNotConnected => catalogue::NOT_CONNECTED,
        Refusal::BrowserBusy => catalogue::BUSY,
        Refusal::BrowserProfileInUse => catalogue::PROFILE_IN_USE,
        Refusal::BrowserStale => catalogue::STALE,
        Refusal::BrowserWrongMode => catalogue::WRONG_MODE,
        Refusal::BrowserTabLimit => catalogue::TAB_LIMIT,
        Refusal::BrowserNoDialog => catalogue::NO_DIALOG,
        Refusal::BrowserNoAuthRequest => catalogue::NO_AUTH_REQUEST,
        Refusal::BrowserInputQueueFull => catalogue::INPUT_QUEUE_FULL,
        Refusal::BrowserTooManyViewers => catalogue::TOO_MANY_VIEWERS,
        Refusal::BrowserDisabled => catalogue::BROWSER_DISABLED,
        Refusal::BrowserTimeout => catalogue::BROWSER_TIMEOUT,
        Refusal::Cloud(refused) => cloud::doc(*refused),
        Refusal::Connector(refused) => connectors::doc(refused),
        Refusal::NotFound(Thing::Account) => catalogue::ACCOUNT_NOT_FOUND,
        Refusal::NotFound(Thing::Agent) => catalogue::AGENT_NOT_FOUND,
        Refusal::NotFound(Thing::Approval) => catalogue::APPROVAL_NOT_FOUND,
        Refusal::NotFound(Thing::Backup) => catalogue::BACKUP_NOT_FOUND,
        Refusal::NotFound(Thing::RevivedCredential) => catalogue::REVIVED_CREDENTIAL_NOT_FOUND,
        Refusal::BackupDamaged(_) => catalogue::BACKUP_DAMAGED,
        Refusal::LaterPasswordMissing => catalogue::LATER_PASSWORD_MISSING,
        Refusal::NotFound(Thing::Attachment) => catalogue::ATTACHMENT_NOT_FOUND,
        Refusal::NotFound(Thing::Author) => catalogue::AUTHOR_NOT_FOUND,
        Refusal::NotFound(Thing::Document) => catalogue::CANVAS_DOCUMENT_NOT_FOUND,
        Refusal::NotFound(Thing::Entry) => catalogue::ENTRY_NOT_FOUND,
        Refusal::NotFound(Thing::Key) => catalogue::KEY_NOT_FOUND,
        Refusal::NotFound(Thing::McpServer) => catalogue::SERVER_NOT_FOUND,
        Refusal::NotFound(Thing::Member) => catalogue::MEMBER_NOT_FOUND,
        Refusal::NotFound(Thing::Path) => catalogue::NOT_FOUND,
        Refusal::NotFound(Thing::Preview) => catalogue::PREVIEW_NOT_FOUND,
        Refusal::NotFound(Thing::Room) => catalogue::ROOM_NOT_FOUND,
        // The same code as where a body names it, with the status of a path that leads nowhere.
        Refusal::NotFound(Thing::Runtime) => ErrorDoc {
            status: 404,
            ..catalogue::UNKNOWN_RUNTIME
        },
        Refusal::NotFound(Thing::Signin) => catalogue::SIGNIN_NOT_FOUND,
        Refusal::NotFound(Thing::Session) => catalogue::SESSION_NOT_FOUND,
        Refusal::NotFound(Thing::Token) => catalogue::TOKEN_NOT_FOUND,
        Refusal::NotFound(Thing::PendingApproval) => catalogue::NO_PENDING_APPROVAL,
        Refusal::NotFound(Thing::PendingQuestion) => catalogue::NO_PENDING_QUESTION,
        Refusal::NotFound(Thing::QueuedMessage) => catalogue::QUEUED_MESSAGE_NOT_FOUND,
        Refusal::NotFound(Thing::Turn) => catalogue::TURN_NOT_FOUND,
        Refusal::AuthorNotChangeable => catalogue::AUTHOR_NOT_CHANGEABLE,
        Refusal::AuthorRetired => catalogue::AUTHOR_RETIRED,
        Refusal::HandleTaken => catalogue::HANDLE_TAKEN,
        Refusal::HandleReserved => catalogue::HANDLE_RESERVED,
        Refusal::SlugTaken => catalogue::SLUG_TAKEN,
        Refusal::OwnerMustBePresent => catalogue::OWNER_MUST_BE_PRESENT,
        Refusal::SystemRoom => catalogue::SYSTEM_ROOM,
        Refusal::NotABridgedRoom => catalogue::NOT_A_BRIDGED_ROOM,
        Refusal::RoomArchived => catalogue::ROOM_ARCHIVED,
        Refusal::NotAMember => catalogue::NOT_A_MEMBER,
        Refusal::AttachmentMissing => catalogue::ATTACHMENT_MISSING,
        Refusal::TooManyAttachments(_) => catalogue::TOO_MANY_ATTACHMENTS,
        Refusal::AttachmentTooLarge(_) => catalogue::PAYLOAD_TOO_LARGE,
        Refusal::AttachmentAlreadyPosted => catalogue::ATTACHMENT_ALREADY_POSTED,
        Refusal::AttachmentStoreFull(_) => catalogue::STORAGE_FULL,
        Refusal::CanvasBeingEdited(_) => catalogue::CANVAS_BEING_EDITED,
        Refusal::AuthModeLocal => catalogue::AUTH_MODE_LOCAL,
        Refusal::EmailTaken => catalogue::EMAIL_TAKEN,
        Refusal::OwnerAccount => catalogue::OWNER_ACCOUNT,
        Refusal::TooManyKeys => catalogue::TOO_MANY_KEYS,
        Refusal::NestedThread => catalogue::NESTED_THREAD,
        Refusal::TooManyReactions => catalogue::TOO_MANY_REACTIONS,
        Refusal::AgentExists(_) => catalogue::AGENT_EXISTS,
        Refusal::AgentRetired => catalogue::AGENT_RETIRED,
        Refusal::LimitReached(_) => catalogue::LIMIT_REACHED,
        Refusal::RateLimited(_) => catalogue::RATE_LIMITED,
        Refusal::ReactionRateLimited(_) => catalogue::REACTION_RATE_LIMITED,
        Refusal::TooManyStreams => catalogue::TOO_MANY_STREAMS,
        Refusal::Overloaded => catalogue::OVERLOADED,
        Refusal::ShuttingDown => catalogue::SHUTTING_DOWN,
    }
}

fn handle_rule(rule: HandleRule) -> &'static str {
    match rule {
        HandleRule::Length => "A handle has 2 to 32 characters.",
        HandleRule::Characters => "A handle holds only a-z, 0-9, dot, underscore and hyphen.",
        HandleRule::Ends => "A handle begins and ends with a letter or digit.",
    }
}

//! Outcomes: a refusal is the house saying no for a reason the caller can act on;
//! a fault is something that broke. Which status and sentence each gets is `http::errors`.

use std::collections::BTreeMap;

use crate::{
    Timestamp,
    approvals::{ApprovalRequirement, ApprovalState, Denial},
    canvas::EditLock,
    cloud, connectors,
    files::{Digest, FileIdentity},
    idempotency::RecordedResponse,
    ids::AgentId,
    interactions::{PermissionChoice, Resolution},
};

/// What a use case answers when it does not succeed.
#[derive(Debug)]
pub enum Error {
    /// The house says no.
    Refusal(Refusal),
    /// Something broke.
    Fault(Fault),
    /// It was done before, and this is what was answered then.
    Repeated(Box<RecordedResponse>),
}

/// Outcome of a use case.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The things a request can name and miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// A person's account.
    Account,
    /// An agent of the registry.
    Agent,
    /// What a person must decide.
    Approval,
    /// A file of a room.
    Attachment,
    /// An author.
    Author,
    /// A backup.
    Backup,
    /// A credential that a restore revived and nobody decided yet.
    RevivedCredential,
    /// A canvas document.
    Document,
    /// An entry of a room.
    Entry,
    /// An API key.
    Key,
    /// A tool server of an agent.
    McpServer,
    /// A member of a room.
    Member,
    /// A folder or file.
    Path,
    /// A preview of a dev server.
    Preview,
    /// A room.
    Room,
    /// A runtime.
    Runtime,
    /// A session.
    Session,
    /// A sign-in with a tool server, or the link to one.
    Signin,
    /// A tab of the local browser.
    Tab,
    /// An agent's token.
    Token,
    /// A tool call that waits for a person.
    PendingApproval,
    /// A question that waits for a person.
    PendingQuestion,
    /// A message that waits for its turn.
    QueuedMessage,
    /// An agent's turn in a room.
    Turn,
}

/// Everything wrong with one request's shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidationErrors {
    /// What is wrong with the request as a whole.
    pub form_errors: Vec<String>,
    /// What is wrong with single fields, by their dotted path.
    pub field_errors: BTreeMap<String, Vec<String>>,
}

impl ValidationErrors {
    /// One field with one problem.
    pub fn of(field: &str, problem: impl Into<String>) -> Self {
        let mut invalid = Self::default();
        invalid.field(field, problem);
        invalid
    }

    /// A problem with the request as a whole.
    pub fn form(problem: impl Into<String>) -> Self {
        Self {
            form_errors: vec![problem.into()],
            ..Self::default()
        }
    }

    /// Adds a problem of one field.
    pub fn field(&mut self, field: &str, problem: impl Into<String>) {
        self.field_errors
            .entry(field.to_owned())
            .or_default()
            .push(problem.into());
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.form_errors.is_empty() && self.field_errors.is_empty()
    }
}

/// A file as it is, for a caller that meant it otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictingFile {
    /// The SHA-256 of what it holds.
    pub hash: Digest,
    /// What it holds; `None` when that is no text or too much.
    pub content: Option<String>,
    /// Which file it is.
    pub identity: FileIdentity,
}

/// Which rule of the handle grammar a text misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleRule {
    /// Not 2 to 32 characters.
    Length,
    /// A character outside `[a-z0-9._-]`.
    Characters,
    /// The first or last character is not alphanumeric.
    Ends,
}

/// A no that the caller can act on. Source: the refusal columns of contract chapters 1 to 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request has the wrong shape.
    Validation(ValidationErrors),
    /// A handle that breaks the grammar.
    InvalidHandle(HandleRule),
    /// A reaction that is not one emoji.
    InvalidEmoji,
    /// A title or slug from which no slug can be made.
    InvalidSlug,
    /// No runtime of this type is registered.
    UnknownRuntime,
    /// The runtime has no such permission mode; holds those it has.
    UnsupportedPermissionMode(Vec<String>),
    /// A path that leads to something else than a folder.
    NotADirectory,
    /// A path that leads to something else than a file.
    NotAFile,
    /// A path the file system cannot take; holds the errno's name.
    InvalidPath(&'static str),
    /// A path with a NUL character.
    NullByte,
    /// A path outside the allowed folders.
    OutsideBoundary,
    /// The operating system denies the path.
    PermissionDenied,
    /// A file, or its new content, has more bytes than may be read and saved.
    FileTooLarge,
    /// A file with a NUL byte.
    BinaryFile,
    /// A file that is not UTF-8.
    NotUtf8,
    /// The line is no task-list item.
    NotACheckbox,
    /// As many saves wait as may.
    FileGateFull,
    /// The file was not free in time.
    FileGateTimeout,
    /// Another file took the place of the one that is meant.
    FileIdentityChanged,
    /// The file holds something else than the caller saw; holds what it is now.
    FileConflict(Box<ConflictingFile>),
    /// The document shows no file, or is of no room or session.
    DocumentNotChat,
    /// The document shows another file.
    DocumentFileMismatch,
    /// The document was bound to its file anew.
    DocumentIncarnationChanged,
    /// The id of a document's save was used for another one.
    DocEventIdConflict,
    /// A file of a kind that is not shown.
    UnsupportedType,
    /// Something of this name is there already.
    AlreadyExists,
    /// A port that is this server's own.
    PortNotAllowed,
    /// The token of an address cannot be read: it is none, or was changed.
    BadToken,
    /// The token of an address is for something else than this address.
    WrongScope,
    /// The token of an address no longer counts.
    TokenExpired,
    /// A served page asked for a program that would outlive it.
    ServiceWorkerRefused,
    /// A permission mode that acts unattended was not acknowledged; holds the mode.
    AutonomyNotAcknowledged(String),
    /// No credential, or one that stands for nobody.
    AuthRequired,
    /// The peer is not known to run as the owner's user.
    NotTheOwner,
    /// The peer runs as the owner's user, and may be an agent.
    CallerInDoubt,
    /// An agent credential that does not resolve to a live agent.
    AgentIdentityUnverified,
    /// Nobody is anybody before the first account is made.
    SetupRequired,
    /// An e-mail address and a password that do not belong together.
    InvalidCredentials,
    /// An agent asked for what only people do.
    HumansOnly,
    /// A program's credential asked for what a person does at a screen.
    InteractiveOnly,
    /// A person who has yet to replace the password of the invitation.
    PasswordChangeRequired,
    /// There is an owner's account, so that none registers itself any more.
    RegistrationClosed,
    /// Not the code that the server wrote at its start.
    SetupCodeWrong,
    /// Somebody else asked for what only the owner does.
    OwnerOnly,
    /// The thing does not exist, or this caller may not know that it does.
    NotFound(ResourceKind),
    /// The system author, or a retired one.
    AuthorNotChangeable,
    /// The author to add is retired.
    AuthorRetired,
    /// The handle is live on another author.
    HandleTaken,
    /// The handle is kept for somebody else.
    HandleReserved,
    /// Another channel has the slug.
    SlugTaken,
    /// The owner would be missing from the room.
    OwnerMustBePresent,
    /// The room every installation has.
    SystemRoom,
    /// The room has no bridge.
    NotABridgedRoom,
    /// The room is archived.
    RoomArchived,
    /// The caller sees the room but is no member.
    NotAMember,
    /// An upload brings no file.
    AttachmentMissing,
    /// An upload brings more files than an entry takes; holds how many that is.
    TooManyAttachments(usize),
    /// A file is larger than may be attached; holds the bytes that may.
    AttachmentTooLarge(u64),
    /// The attachment is part of an entry already.
    AttachmentAlreadyPosted,
    /// Attachments take all the bytes they may; holds how many that is.
    AttachmentStoreFull(u64),
    /// A backup that cannot be restored; holds what is wrong with it.
    BackupDamaged(String),
    /// The password that a restore took away is not in the data set aside any more.
    LaterPasswordMissing,
    /// Another member edits the canvas document.
    CanvasBeingEdited(EditLock),
    /// Accounts are asked for where there are none: mode `local`.
    AuthModeLocal,
    /// Another account has the e-mail address.
    EmailTaken,
    /// The endpoint is for agents, and this caller is none.
    AgentTokenRequired,
    /// As many of the agent's messages are being answered as may be at a time.
    TooManyCallsAtOnce,
    /// The owner's own account.
    OwnerAccount,
    /// This person has as many API keys as one may have.
    TooManyKeys,
    /// The entry to answer is a reply itself.
    NestedThread,
    /// The entry has as many different reactions as it may.
    TooManyReactions,
    /// An agent with this folder and runtime exists already.
    AgentExists(AgentId),
    /// The agent is retired.
    AgentRetired,
    /// An agent asked about what is another agent's.
    AgentSelfOnly,
    /// The body names another agent than the address.
    AgentIdMismatch,
    /// The name is our own tool server's.
    ReservedName,
    /// The agent has a tool server of this name.
    DuplicateName,
    /// The agent has as many tool servers as it may.
    TooManyServers,
    /// The tool server has no sign-in of this kind: it is a program, or says itself who asks.
    NotOauthServer,
    /// A token would travel to the tool server unprotected.
    SigninInsecureAddress,
    /// A page that only a person who follows a link may open.
    NavigationOnly,
    /// An agent, or somebody who may be one, wanted to decide.
    AgentCannotDecide,
    /// A session with this id was opened with other words.
    SessionExists,
    /// The session is over.
    SessionClosed,
    /// The session is the agent's own; it is read alone.
    SessionReadOnly,
    /// As many messages wait as may.
    QueueFull,
    /// The runtime cannot go on with a session of before.
    RuntimeCannotResume,
    /// The ask is over; holds why and since when.
    InteractionAlreadyResolved(Resolution, Timestamp),
    /// The ask is about something else by now; holds its digest.
    InteractionChanged(String),
    /// No such answer is offered; holds those that are.
    OptionNotOffered(Vec<PermissionChoice>),
    /// The ask is answered at its session; holds the route.
    UseSessionRoute(String),
    /// A person must allow this first; holds what the requester is told.
    ApprovalRequired(Box<ApprovalRequirement>),
    /// A person said no to this.
    ApprovalDenied(Denial),
    /// As many approvals of this requester wait as may; holds the seconds until one expires.
    TooManyApprovals(u64),
    /// Who shows the token of an approval wanted to decide on one.
    RequesterCannotDecide,
    /// The approval's time is over.
    ApprovalExpired,
    /// The approval is decided, used or withdrawn; holds where it stands.
    ApprovalNotPending(ApprovalState),
    /// The approval is about something else than what was shown.
    ApprovalChanged,
    /// The turn is over or on its way.
    TurnNotRunnable,
    /// The turn this session works for was stopped.
    TurnWasStopped,
    /// The turn wrote as many posts as one may.
    TooManyPostsThisTurn,
    /// The turn changed the canvas as often as one may.
    TooManyCanvasOpsThisTurn,
    /// The hour's turns are used up; holds the seconds to wait.
    TurnBudgetReached(u64),
    /// The object is at another revision than the change waits for; holds the one it is at.
    PreconditionFailed(u64),
    /// A post with this idempotency key is being answered now.
    IdempotencyInProgress,
    /// The idempotency key was used for another request.
    IdempotencyKeyReused,
    /// A repeated post's answer held a secret; holds the id of what it belongs to.
    SecretAlreadyShown(String),
    /// There is no such setting; holds the keys asked for.
    UnknownSetting(Vec<String>),
    /// A flag or the environment sets it; holds the keys.
    SettingFixed(Vec<String>),
    /// A named limit is reached.
    LimitReached(&'static str),
    /// Only the owner, at this computer itself and not by way of another, may ask.
    OwnerHereOnly,
    /// A page in the local browser asked for what is not for pages.
    LocalBrowserRefused,
    /// The local browser is switched off.
    BrowserDisabled,
    /// No local browser runs.
    BrowserNotConnected,
    /// The local browser is on its way from one state to another.
    BrowserBusy,
    /// Another browser uses the profile.
    BrowserProfileInUse,
    /// The input was meant for another process or picture of the local browser.
    BrowserStale,
    /// The local browser is a window, or is none.
    BrowserWrongMode,
    /// The local browser has as many tabs as it may.
    BrowserTabLimit,
    /// As many inputs of the tab wait as may.
    BrowserInputQueueFull,
    /// The browser gave no answer in time; what was asked for may happen still.
    BrowserTimeout,
    /// The tab shows no dialog.
    BrowserNoDialog,
    /// The tab asks for no password.
    BrowserNoAuthRequest,
    /// As many streams show the local browser as may.
    BrowserTooManyViewers,
    /// An address the local browser does not open.
    BrowserUrlNotAllowed,
    /// A no of the link to a cloud service.
    Cloud(cloud::CloudRefusal),
    /// A no of the connectors.
    Connector(connectors::ConnectorRefusal),
    /// This caller asks too often; holds the seconds to wait.
    RateLimited(u64),
    /// This agent reacted too often in this room; holds the seconds to wait.
    ReactionRateLimited(u64),
    /// This caller holds too many streams.
    TooManyStreams,
    /// A queue is full.
    Overloaded,
    /// The server is stopping.
    ShuttingDown,
}

impl Refusal {
    /// A validation refusal about one field.
    pub fn field(field: &str, problem: impl Into<String>) -> Self {
        Self::Validation(ValidationErrors::of(field, problem))
    }
}

/// How a fault is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Our mistake, or a broken machine.
    Broken,
    /// The disk refused the write.
    StorageFull,
    /// The store is being reopened after a failed commit.
    Unavailable,
    /// The disk failed to read or write a part of the store.
    StorageIo,
    /// The store's file is damaged: nothing is written any more.
    StoreDamaged,
    /// A stored file's bytes are not those that were uploaded.
    AttachmentDamaged,
    /// A person's file could not be written; it holds what it held, or all of the new content.
    FileSave,
    /// A file or folder of a person's own could not be read or written.
    FileIo,
}

/// Something broke: what was being done, and why it failed.
#[derive(Debug, thiserror::Error)]
#[error("{during}")]
pub struct Fault {
    /// How the caller is answered.
    pub kind: FaultKind,
    /// What was being done, such as "saving the entry".
    pub during: &'static str,
    /// What went wrong beneath.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl Fault {
    /// A fault of `kind` met while doing `during`.
    pub fn new(
        kind: FaultKind,
        during: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            kind,
            during,
            source: source.into(),
        }
    }

    /// Our own mistake, met while doing `during`.
    pub fn broken(
        during: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::new(FaultKind::Broken, during, source)
    }
}

impl From<cloud::CloudRefusal> for Refusal {
    fn from(refused: cloud::CloudRefusal) -> Self {
        Self::Cloud(refused)
    }
}

impl From<cloud::CloudRefusal> for Error {
    fn from(refused: cloud::CloudRefusal) -> Self {
        Self::Refusal(Refusal::Cloud(refused))
    }
}

impl From<connectors::ConnectorRefusal> for Refusal {
    fn from(refused: connectors::ConnectorRefusal) -> Self {
        Self::Connector(refused)
    }
}

impl From<connectors::ConnectorRefusal> for Error {
    fn from(refused: connectors::ConnectorRefusal) -> Self {
        Self::Refusal(Refusal::Connector(refused))
    }
}

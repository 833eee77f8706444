//! Events: what changed, in the order it changed, and who may hear of it.
//! The enum is stored and sent, so it changes only by adding.

mod names;
mod visibility;

use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    agents::Agent,
    approvals::{Approval, ApprovalState},
    authors::Author,
    browser::event_payloads as browser,
    canvas::{CanvasChange, CanvasDocument, CanvasScope, ClosedReason},
    cloud::event_payloads as cloud,
    connectors::event_payloads as connectors,
    entries::Entry,
    files::{Digest, SaveRoute, document_saves::Incarnation},
    ids::{
        AccountId, AgentId, AgentTokenId, ApiKeyId, ApprovalId, AuthorId, DocumentId, EntryId,
        MessageId, RoomId, SessionId, SessionTurnId,
    },
    interactions::{DecisionReply, Interaction, InteractionKind, Resolution},
    mcp_servers::event_payloads,
    mcp_signins,
    members::{AuthorSummary, Member},
    reactions::Reaction,
    read_cursors::ReadCursor,
    rooms::Room,
    sessions::{Session, TurnOutcome},
    transcript::{TextKind, ToolCall},
    turns::Turn,
    usage::Usage,
    workbench::PreviewEnd,
};

pub use visibility::{EventAudience, EventScope, EventVisibility};

/// Everything that can happen. Source: contract 1.10 and the event tables of 2.10, 3.6 and 4.7.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    content = "data",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Event {
    /// An author's name, look or handle changed.
    AuthorUpdated {
        /// As it is now.
        author: Author,
    },
    /// An agent was registered.
    AgentCreated {
        /// As it is now.
        agent: Agent,
    },
    /// An agent's row changed.
    AgentUpdated {
        /// As it is now.
        agent: Agent,
    },
    /// An agent was taken off the registry.
    AgentRetired {
        /// As it is now.
        agent: Agent,
    },
    /// A token was minted.
    AgentTokenCreated {
        /// Whom it names.
        agent_id: AgentId,
        /// Its row.
        token_id: AgentTokenId,
    },
    /// A token was revoked.
    AgentTokenRevoked {
        /// Whom it named.
        agent_id: AgentId,
        /// Its row.
        token_id: AgentTokenId,
    },
    /// Settings changed.
    SettingsChanged {
        /// Which ones.
        keys: Vec<String>,
    },
    /// A room was made.
    RoomCreated {
        /// As it is now.
        room: Room,
    },
    /// A room's fields changed.
    RoomUpdated {
        /// As it is now.
        room: Room,
    },
    /// Somebody joined a room.
    RoomMemberAdded {
        /// As it is now.
        member: Member,
    },
    /// A member's response mode changed.
    RoomMemberUpdated {
        /// As it is now.
        member: Member,
    },
    /// Somebody left a room.
    RoomMemberRemoved {
        /// The room.
        room_id: RoomId,
        /// Who left.
        author_id: AuthorId,
    },
    /// Something was written in a room.
    EntryAdded {
        /// The entry.
        entry: Entry,
    },
    /// An entry's text was taken out.
    EntryRedacted {
        /// As it is now.
        entry: Entry,
    },
    /// Somebody reacted to an entry, or no longer does.
    EntryReactions {
        /// Where it stands. The frame's scope says so, and the data does not.
        #[serde(skip, default = "nowhere")]
        room_id: RoomId,
        /// The entry.
        entry_id: EntryId,
        /// All reactions to it.
        reactions: Vec<Reaction>,
    },
    /// A person read on, or marked entries unread.
    ReadCursor(ReadCursor),
    /// A canvas document was opened, changed, or is edited by another or by nobody.
    CanvasDocument {
        /// As it is now.
        document: CanvasDocument,
        /// What happened to it.
        change: CanvasChange,
    },
    /// A canvas document is gone.
    CanvasDocumentClosed {
        /// Which one.
        document_id: DocumentId,
        /// The canvas it stood on.
        scope: CanvasScope,
        /// Why it is gone.
        reason: ClosedReason,
    },
    /// A file was saved.
    FileSaved {
        /// Its canonical path.
        path: String,
        /// What it held, as SHA-256.
        previous_hash: Digest,
        /// What it holds.
        hash: Digest,
        /// Bytes it holds.
        size: u64,
        /// Who saved it.
        by: AuthorId,
        /// By which route.
        via: SaveRoute,
    },
    /// A canvas document was saved.
    DocSaved {
        /// The canvas it stands on; the frame's scope says so, and the data does not.
        #[serde(skip, default = "no_canvas")]
        scope: CanvasScope,
        /// Which document.
        document_id: DocumentId,
        /// The client's id of the save.
        event_id: String,
        /// Its number in the incarnation, from 1.
        doc_seq: u64,
        /// The binding it was saved in.
        incarnation: Incarnation,
        /// What the file held, as SHA-256.
        previous_file_hash: Digest,
        /// What it holds.
        file_hash: Digest,
    },
    /// Somebody made a folder.
    DirectoryCreated {
        /// Its absolute path, without links.
        path: String,
    },
    /// Somebody got an account.
    AccountCreated {
        /// Its row.
        account_id: AccountId,
    },
    /// An account was removed, with its sign-ins and keys.
    AccountRemoved {
        /// Its row.
        account_id: AccountId,
    },
    /// A person changed the password: the other sign-ins and all keys ended.
    PasswordChanged {
        /// Whose.
        author_id: AuthorId,
    },
    /// A person signed out: that sign-in ended.
    SignedOut {
        /// Who.
        author_id: AuthorId,
    },
    /// A person made an API key.
    ApiKeyCreated {
        /// Whom it names.
        author_id: AuthorId,
        /// Its row.
        key_id: ApiKeyId,
    },
    /// An API key ended.
    ApiKeyRevoked {
        /// Whom it named.
        author_id: AuthorId,
        /// Its row.
        key_id: ApiKeyId,
    },
    /// A session was opened.
    SessionCreated {
        /// As it is now.
        session: Session,
    },
    /// A session's fields changed.
    SessionUpdated {
        /// As it is now.
        session: Session,
    },
    /// A session is over.
    SessionClosed {
        /// As it is now.
        session: Session,
    },
    /// A message waits for its turn.
    MessageQueued {
        /// The session.
        session_id: SessionId,
        /// The message.
        message_id: MessageId,
        /// Its place in the queue, from 1.
        queue_position: u32,
    },
    /// A message left the queue without a turn.
    MessageRemoved {
        /// The session.
        session_id: SessionId,
        /// The message.
        message_id: MessageId,
        /// The place it had, from 1.
        queue_position: u32,
    },
    /// A message was handed to the agent.
    TurnStarted {
        /// The session.
        session_id: SessionId,
        /// The turn.
        turn_id: SessionTurnId,
        /// The message.
        message_id: MessageId,
    },
    /// A message grew.
    TextAppended {
        /// The session.
        session_id: SessionId,
        /// The message, which the first piece makes.
        message_id: MessageId,
        /// Which of its texts.
        part: TextKind,
        /// How long that text was before, in UTF-16 units, over all its parts of this kind.
        offset: u64,
        /// What was added.
        text: String,
    },
    /// A tool call was announced, or more became known of it.
    ToolCallUpdated {
        /// The session.
        session_id: SessionId,
        /// The message it stands in.
        message_id: MessageId,
        /// All that is known of it.
        tool_call: ToolCall,
    },
    /// A session's tasks changed.
    TasksChanged {
        /// The session.
        session_id: SessionId,
        /// Rises with every change.
        version: u64,
    },
    /// The commands an agent reports changed.
    CommandsChanged {
        /// The session.
        session_id: SessionId,
        /// The runtime's type.
        runtime: String,
        /// The folder they count in.
        cwd: String,
    },
    /// An agent asks a person, or asks anew with another input.
    InteractionOpened {
        /// As it is now.
        interaction: Interaction,
    },
    /// Nobody answered for a while.
    InteractionParked {
        /// As it is now.
        interaction: Interaction,
    },
    /// The agent that asked is gone.
    InteractionDetached {
        /// As it is now.
        interaction: Interaction,
    },
    /// An ask is over.
    InteractionResolved {
        /// The session.
        session_id: SessionId,
        /// The ask.
        id: ApprovalId,
        /// The call it was about.
        tool_call_id: String,
        /// What answer was wanted.
        kind: InteractionKind,
        /// Why it is over.
        resolution: Resolution,
        /// Who ended it; `None` for the clock and the server.
        resolved_by: Option<AuthorId>,
        /// When.
        at: Timestamp,
        /// What a person decided with; `None` where nobody did.
        reply: Option<DecisionReply>,
    },
    /// A program, an agent or the server asks a person to allow something.
    ApprovalRequested {
        /// As it is now.
        approval: Box<Approval>,
    },
    /// A person allowed something or did not.
    ApprovalDecided {
        /// Which approval.
        approval_id: ApprovalId,
        /// Where it stands.
        state: ApprovalState,
        /// Who decided.
        decided_by: AuthorSummary,
        /// When.
        decided_at: Timestamp,
        /// Why a person said no.
        deny_reason: Option<String>,
        /// The agent that hears of it; filed, not told.
        #[serde(skip)]
        agent: Option<AgentId>,
    },
    /// What was allowed was done.
    ApprovalConsumed {
        /// Which approval.
        approval_id: ApprovalId,
        /// When.
        at: Timestamp,
        /// The agent that hears of it; filed, not told.
        #[serde(skip)]
        agent: Option<AgentId>,
    },
    /// Nobody decided in time, or it was not done in time.
    ApprovalExpired {
        /// Which approval.
        approval_id: ApprovalId,
        /// When.
        at: Timestamp,
        /// The agent that hears of it; filed, not told.
        #[serde(skip)]
        agent: Option<AgentId>,
    },
    /// Who asked took it back, or it no longer matters.
    ApprovalWithdrawn {
        /// Which approval.
        approval_id: ApprovalId,
        /// When.
        at: Timestamp,
        /// The agent that hears of it; filed, not told.
        #[serde(skip)]
        agent: Option<AgentId>,
    },
    /// A session runs in another mode.
    SessionModeChanged {
        /// The session.
        session_id: SessionId,
        /// The mode before.
        from: String,
        /// The mode now.
        to: String,
        /// Who changed it.
        by: ChangedBy,
        /// Whether a person's word stands for the mode.
        acknowledged: bool,
    },
    /// An agent tried a mode that no person allowed.
    SessionModeRefused {
        /// The session.
        session_id: SessionId,
        /// The mode it tried.
        attempted: String,
        /// The mode that stays.
        kept: String,
    },
    /// The server has something to say in a session.
    SessionNotice {
        /// The session.
        session_id: SessionId,
        /// For programs.
        code: String,
        /// For people.
        text: String,
    },
    /// A turn of a session ended.
    TurnEnded {
        /// The session.
        session_id: SessionId,
        /// The turn.
        turn_id: SessionTurnId,
        /// How.
        outcome: TurnOutcome,
        /// What it used.
        usage: Usage,
        /// What went wrong, for a person.
        error: Option<String>,
    },
    /// A turn of a room's agent was recorded, or went on.
    TurnUpdated {
        /// As it is now.
        turn: Turn,
    },
    /// A runtime was installed, removed or replaced.
    RuntimeChanged {
        /// Its type.
        #[serde(rename = "type")]
        kind: String,
        /// Whether it is there.
        installed: bool,
        /// Its version, or `""`.
        version: String,
    },
    /// A tool server was added to an agent.
    McpServerAdded(event_payloads::Added),
    /// A tool server of an agent changed.
    McpServerUpdated(event_payloads::Updated),
    /// A tool server was removed from an agent.
    McpServerRemoved(event_payloads::Removed),
    /// A tool server of an agent stands otherwise.
    McpServerStatusChanged(event_payloads::StatusChanged),
    /// Something else of a tool server is pinned.
    McpServerPinned(event_payloads::Pinned),
    /// A person should sign in with a tool server.
    McpSigninRequired(mcp_signins::SigninRequired),
    /// A sign-in with a tool server is over.
    McpSigninResolved(mcp_signins::SigninResolved),
    /// A dev server can be looked at.
    PreviewOpened {
        /// The dev server's port.
        port: u16,
        /// Where the preview is.
        listen_port: u16,
    },
    /// A dev server can no longer be looked at.
    PreviewClosed {
        /// The dev server's port.
        port: u16,
        /// Where the preview was.
        listen_port: u16,
        /// Why it is gone.
        reason: PreviewEnd,
    },
    /// The local browser runs.
    BrowserOpened(browser::Opened),
    /// The local browser can be used.
    BrowserConnected(browser::Connected),
    /// The local browser was closed.
    BrowserClosed(browser::Closed),
    /// The local browser did not come up, or ended by itself.
    BrowserFailed(browser::Failed),
    /// A tab of the local browser is shared with a session.
    BrowserShared(browser::Shared),
    /// No tab of the local browser is shared with a session any more.
    BrowserUnshared(browser::Unshared),
    /// Agents' tools for the local browser are refused, or no longer.
    BrowserPaused(browser::Paused),
    /// An agent did something in the local browser.
    BrowserAgentAction(browser::AgentAction),
    /// A provider instance of the connectors changed.
    ConnectorProviderChanged(connectors::ProviderChanged),
    /// A sign-in with a connector moved.
    ConnectorFlowChanged(connectors::FlowChanged),
    /// A connection of the connectors changed.
    ConnectorConnectionChanged(connectors::ConnectionChanged),
    /// What agents may do with a connection changed.
    ConnectorGrantsChanged(connectors::GrantsChanged),
    /// An attempt to run an operation is about to be sent.
    ConnectorExecutionStarted(connectors::ExecutionStarted),
    /// An execution is over.
    ConnectorExecutionFinished(connectors::ExecutionFinished),
    /// The link to the cloud service moved.
    CloudLinkChanged(cloud::LinkChanged),
    /// The cloud service began to answer, or to be silent.
    CloudHeartbeatChanged(cloud::HeartbeatChanged),
    /// Somebody asked for a billing page.
    CloudBillingOpened(cloud::BillingOpened),
}

/// Who changed a session's mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangedBy {
    /// A person.
    Person,
    /// The agent.
    Agent,
    /// The server.
    Server,
}

/// The room of an event that was read back, which stands in its scope alone.
const fn nowhere() -> RoomId {
    RoomId::from_bytes([0; 16])
}

/// The canvas of an event that was read back, which stands in its scope alone.
const fn no_canvas() -> CanvasScope {
    CanvasScope::Room(nowhere())
}

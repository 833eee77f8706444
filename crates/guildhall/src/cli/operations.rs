//! Which command carries out which operation of the interface.
//! One table and nothing else, so that the tests can read it as it stands here.

/// One operation and its command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// The operation's `operationId` in the OpenAPI document.
    pub(crate) id: &'static str,
    /// The command's words behind `guildhall`.
    pub(crate) words: &'static str,
}

/// Every operation, in the order of the OpenAPI document.
pub(crate) const OPERATIONS: &[Operation] = &[
    operation("listAgents", "agents list"),
    operation("registerAgent", "agents add"),
    operation("retireAgent", "agents retire"),
    operation("getAgent", "agents show"),
    operation("changeAgent", "agents update"),
    operation("listTokens", "tokens list"),
    operation("mintToken", "tokens mint"),
    operation("revokeToken", "tokens revoke"),
    operation("listAccounts", "accounts list"),
    operation("addAccount", "accounts add"),
    operation("removeAccount", "accounts remove"),
    operation("listKeys", "keys list"),
    operation("makeKey", "keys make"),
    operation("revokeKey", "keys revoke"),
    operation("login", "accounts login"),
    operation("logout", "accounts logout"),
    operation("changePassword", "accounts password"),
    operation("register", "accounts register"),
    operation("whoami", "whoami"),
    operation("listCommands", "commands"),
    operation("streamEvents", "events"),
    operation("health", "status health"),
    operation("openapi", "openapi"),
    operation("getCapabilities", "capabilities"),
    operation("listRooms", "rooms list"),
    operation("makeRoom", "rooms create"),
    operation("listAuthors", "authors list"),
    operation("getOwnAuthor", "authors me"),
    operation("getAuthor", "authors show"),
    operation("changeAuthor", "authors update"),
    operation("setHandle", "authors handle"),
    operation("listHandles", "authors handles"),
    operation("listThreads", "threads list"),
    operation("getRoom", "rooms show"),
    operation("changeRoom", "rooms update"),
    operation("uploadAttachments", "attachments upload"),
    operation("getAttachment", "attachments download"),
    operation("listCanvas", "canvas list"),
    operation("openDocument", "canvas open"),
    operation("closeDocument", "canvas close"),
    operation("getDocument", "canvas show"),
    operation("changeDocument", "canvas replace"),
    operation("editDocument", "canvas lock"),
    operation("threadDocument", "canvas discuss"),
    operation("listEntries", "entries list"),
    operation("postEntry", "post"),
    operation("redactEntry", "entries redact"),
    operation("getEntry", "entries show"),
    operation("removeReaction", "reactions remove"),
    operation("addReaction", "reactions add"),
    operation("streamRoomEvents", "rooms events"),
    operation("exportRoom", "rooms export"),
    operation("haltRoom", "rooms halt"),
    operation("listRoomSessions", "rooms sessions"),
    operation("haltAgent", "members halt"),
    operation("listMembers", "members list"),
    operation("addMember", "members add"),
    operation("removeMember", "members remove"),
    operation("changeMember", "members update"),
    operation("getReadCursor", "read-cursor show"),
    operation("moveReadCursor", "read-cursor set"),
    operation("sendSignal", "signal"),
    operation("getThread", "threads show"),
    operation("listRuntimes", "runtimes list"),
    operation("checkRuntime", "runtimes check"),
    operation("listTurns", "turns list"),
    operation("getTurn", "turns show"),
    operation("runTurn", "turns run"),
    operation("search", "search"),
    operation("listSessions", "sessions list"),
    operation("openSession", "sessions open"),
    operation("closeSession", "sessions close"),
    operation("getSession", "sessions show"),
    operation("changeSession", "sessions update"),
    operation("cancelTurn", "sessions cancel"),
    operation("streamSessionEvents", "sessions events"),
    operation("listMessages", "sessions messages"),
    operation("sendMessage", "sessions send"),
    operation("getQueue", "sessions queue"),
    operation("removeMessage", "sessions remove"),
    operation("rewordMessage", "sessions reword"),
    operation("listPendingInteractions", "asks list"),
    operation("approve", "asks approve"),
    operation("batchApprove", "asks batch-approve"),
    operation("batchDeny", "asks batch-deny"),
    operation("deny", "asks deny"),
    operation("submitAnswers", "asks answer"),
    operation("listSessionTasks", "sessions tasks"),
    operation("getSettings", "settings list"),
    operation("changeSettings", "settings set"),
    operation("getUsage", "usage"),
    operation("alive", "status alive"),
    operation("metrics", "metrics"),
    operation("ready", "status ready"),
];

/// The command of the operation `id`.
pub(crate) fn command_of(id: &str) -> Option<&'static str> {
    let found = OPERATIONS.iter().find(|operation| operation.id == id)?;
    Some(found.words)
}

const fn operation(id: &'static str, words: &'static str) -> Operation {
    Operation { id, words }
}

//! The table of tools: of each its name, what it is for, how much it may do, and its twin among
//! the routes. No tool decides, changes who anybody is, or does itself what the owner does by
//! opening a link.
//! Source: contract 4.9, "Tool".

use guildhall_hall::mcp_signins::ANY_SERVER;

/// How much an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tier {
    /// It reads.
    Observe,
    /// It can be undone.
    Act,
    /// It runs foreign code, spends, or cannot be undone: a person is asked first.
    Destructive,
}

/// A tool.
pub(super) struct ToolRow {
    /// What it is called by.
    pub(super) name: &'static str,
    /// What a person reads in its place.
    pub(super) title: &'static str,
    /// What an agent reads before it calls.
    pub(super) about: &'static str,
    /// How much it does.
    pub(super) tier: Tier,
    /// The route that answers.
    pub(super) twin: ToolRoute,
    /// What it takes.
    pub(super) arguments: &'static [Argument],
}

/// An operation of the interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApiRoute {
    /// Its method, in capitals.
    pub(super) method: &'static str,
    /// Its path as the interface document writes it. Below [`OWN`] it is about the calling agent,
    /// and no argument says otherwise.
    pub(super) path: &'static str,
}

/// Which route answers a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum ToolRoute {
    /// One.
    One(ApiRoute),
    /// The first when the argument of [`ArgumentPlace::Choice`] is true or absent, else the second.
    Either(ApiRoute, ApiRoute),
}

impl ToolRoute {
    /// The route whose shapes are the tool's.
    pub(super) fn first(self) -> ApiRoute {
        match self {
            Self::One(route) | Self::Either(route, _) => route,
        }
    }
}

/// An argument of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argument {
    /// What the tool calls it.
    pub(super) name: &'static str,
    /// Where it stands in the request to the twin.
    pub(super) place: ArgumentPlace,
}

/// Where an argument stands in the request to the twin, under the name that it has there.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArgumentPlace {
    /// In the path.
    Path(&'static str),
    /// In the query.
    Query(&'static str),
    /// In the query, as a boolean.
    Flag(&'static str),
    /// In the body, under its own name.
    Body,
    /// In the path, always the same; no agent is told of it.
    Fixed(&'static str, &'static str),
    /// Nowhere: it chooses between two routes.
    Choice(&'static str),
    /// In the header that shows the token of an approval.
    Approval,
    /// Nowhere: for at most so many seconds the twin is asked again while its answer's `state`
    /// is `pending`.
    Wait(u32),
}

const fn get(path: &'static str) -> ToolRoute {
    ToolRoute::One(ApiRoute {
        method: "GET",
        path,
    })
}

const fn post(path: &'static str) -> ToolRoute {
    ToolRoute::One(ApiRoute {
        method: "POST",
        path,
    })
}

const fn path(name: &'static str, there: &'static str) -> Argument {
    Argument {
        name,
        place: ArgumentPlace::Path(there),
    }
}

const fn query(name: &'static str) -> Argument {
    Argument {
        name,
        place: ArgumentPlace::Query(name),
    }
}

const fn body(name: &'static str) -> Argument {
    Argument {
        name,
        place: ArgumentPlace::Body,
    }
}

const ROOM: Argument = path("roomId", "id");
/// Where what is an agent's own stands.
pub(super) const OWN: &str = "/api/agents/{agentId}/";
const SERVERS: &str = "/api/agents/{agentId}/mcp-servers";
const SERVER: &str = "/api/agents/{agentId}/mcp-servers/{name}";
const NAME: Argument = path("name", "name");
const TOKEN: Argument = Argument {
    name: "approvalToken",
    place: ArgumentPlace::Approval,
};
const APPROVAL: Argument = path("approvalId", "id");
const ENTRY: Argument = path("entryId", "entryId");
const DOCUMENT: Argument = path("documentId", "documentId");
const REACTION: &str = "/api/rooms/{id}/entries/{entryId}/reactions/{emoji}";
const DOCUMENT_PATH: &str = "/api/rooms/{id}/canvas/{documentId}";

/// Every tool, in the order in which agents read them.
pub(super) const TOOLS: &[ToolRow] = &[
    ToolRow {
        name: "rooms_list",
        title: "List rooms",
        about: "Lists the rooms you are a member of: channels and direct messages, with their \
            members and what you have not read.",
        tier: Tier::Observe,
        twin: get("/api/rooms"),
        arguments: &[
            query("kind"),
            Argument {
                name: "includeArchived",
                place: ArgumentPlace::Flag("includeArchived"),
            },
        ],
    },
    ToolRow {
        name: "room_get",
        title: "Look at a room",
        about: "One room: its title, topic, members with their handles, and who works there now.",
        tier: Tier::Observe,
        twin: get("/api/rooms/{id}"),
        arguments: &[ROOM],
    },
    ToolRow {
        name: "room_read",
        title: "Read a room",
        about: "Reads a run of a room's entries, oldest first; without `before` the newest. It \
            does not mark them as read.",
        tier: Tier::Observe,
        twin: get("/api/rooms/{id}/entries"),
        arguments: &[ROOM, query("before"), query("limit")],
    },
    ToolRow {
        name: "room_search",
        title: "Search rooms",
        about: "Finds entries of your rooms by their words, newest first.",
        tier: Tier::Observe,
        twin: get("/api/search"),
        arguments: &[query("q"), query("limit")],
    },
    ToolRow {
        name: "room_post",
        title: "Post in a room",
        about: "Writes a post in a room you are a member of. `@handle` names a member; an agent \
            that is named may answer. With `threadRootEntryId` it is a reply in that thread. What \
            you answer in a turn of a room is posted by itself: post only what is to be said \
            beside it.",
        tier: Tier::Act,
        twin: post("/api/rooms/{id}/entries"),
        arguments: &[ROOM, body("text"), body("threadRootEntryId")],
    },
    ToolRow {
        name: "room_react",
        title: "React to an entry",
        about: "Adds your reaction to an entry, or takes it back with `on: false`.",
        tier: Tier::Act,
        twin: ToolRoute::Either(
            ApiRoute {
                method: "PUT",
                path: REACTION,
            },
            ApiRoute {
                method: "DELETE",
                path: REACTION,
            },
        ),
        arguments: &[
            ROOM,
            ENTRY,
            path("emoji", "emoji"),
            Argument {
                name: "on",
                place: ArgumentPlace::Choice("Whether the reaction is there afterwards; true."),
            },
        ],
    },
    ToolRow {
        name: "canvas_list",
        title: "List a room's documents",
        about: "Lists the documents on a room's canvas, the front one first.",
        tier: Tier::Observe,
        twin: get("/api/rooms/{id}/canvas"),
        arguments: &[ROOM],
    },
    ToolRow {
        name: "canvas_get",
        title: "Look at a document",
        about: "One document of a room's canvas with its content.",
        tier: Tier::Observe,
        twin: get(DOCUMENT_PATH),
        arguments: &[ROOM, DOCUMENT],
    },
    ToolRow {
        name: "canvas_open",
        title: "Open a document",
        about: "Puts a document in front of the others on a room's canvas, for everybody there to \
            see. What was opened before is opened again under the same id. A file must lie in \
            your working directory.",
        tier: Tier::Act,
        twin: post("/api/rooms/{id}/canvas"),
        arguments: &[ROOM, body("content"), body("pinned")],
    },
    ToolRow {
        name: "canvas_update",
        title: "Change a document",
        about: "Replaces what a document shows, pins it, or moves it to the front: all that is \
            given, or nothing. While somebody else edits it, it is refused.",
        tier: Tier::Act,
        twin: ToolRoute::One(ApiRoute {
            method: "PATCH",
            path: DOCUMENT_PATH,
        }),
        arguments: &[
            ROOM,
            DOCUMENT,
            body("content"),
            body("pinned"),
            body("activate"),
        ],
    },
    ToolRow {
        name: "canvas_editing",
        title: "Edit a document",
        about: "Begins, prolongs or ends editing a document. While it lasts, 45 seconds unless \
            prolonged, nobody else changes the document.",
        tier: Tier::Act,
        twin: post("/api/rooms/{id}/canvas/{documentId}/editing"),
        arguments: &[ROOM, DOCUMENT, body("editing")],
    },
    ToolRow {
        name: "canvas_close",
        title: "Close a document",
        about: "Takes a document off a room's canvas; files stay as they are.",
        tier: Tier::Act,
        twin: ToolRoute::One(ApiRoute {
            method: "DELETE",
            path: DOCUMENT_PATH,
        }),
        arguments: &[ROOM, DOCUMENT],
    },
    ToolRow {
        name: "mcp_list_servers",
        title: "List your tool servers",
        about: "Lists the tool servers you were given beside this one, with where each stands.",
        tier: Tier::Observe,
        twin: get(SERVERS),
        arguments: &[],
    },
    ToolRow {
        name: "mcp_add_server",
        title: "Ask for a tool server",
        about: "Adds a tool server; its tools are there on your next turn. A person must allow \
            it first and is shown exactly what you ask for, so the call can take a while. When \
            nobody decided in time, the answer has an `approvalToken`: call again with it and \
            the same arguments. When the added server's connection has `authKind` `oauth2`, call \
            `mcp_signin` for it at once, in the same turn.",
        tier: Tier::Destructive,
        twin: post(SERVERS),
        arguments: &[body("name"), body("connection"), TOKEN],
    },
    ToolRow {
        name: "mcp_update_server",
        title: "Change a tool server",
        about: "Changes how one of your tool servers is reached, or switches it on or off. \
            Another connection, and switching on what a person switched off, a person must allow \
            first, as with `mcp_add_server`.",
        tier: Tier::Destructive,
        twin: ToolRoute::One(ApiRoute {
            method: "PATCH",
            path: SERVER,
        }),
        arguments: &[NAME, body("connection"), body("enabled"), TOKEN],
    },
    ToolRow {
        name: "mcp_remove_server",
        title: "Remove a tool server",
        about: "Removes one of your tool servers with its secrets. A person must allow it first, \
            as with `mcp_add_server`.",
        tier: Tier::Destructive,
        twin: ToolRoute::One(ApiRoute {
            method: "DELETE",
            path: SERVER,
        }),
        arguments: &[NAME, TOKEN],
    },
    ToolRow {
        name: "mcp_test_server",
        title: "Test a tool server",
        about: "Connects to one of your tool servers and lists its tools; what went wrong is in \
            the answer.",
        tier: Tier::Act,
        twin: post("/api/agents/{agentId}/mcp-servers/{name}/test"),
        arguments: &[NAME],
    },
    ToolRow {
        name: "mcp_signin",
        title: "Ask for a sign-in",
        about: "Starts a sign-in with one of your tool servers whose connection has `authKind` \
            `oauth2`. Nothing is sent yet: the owner is shown the link, opens it in a browser and \
            signs in there; you cannot. Its tools are there on your next turn.",
        tier: Tier::Act,
        twin: post("/api/agents/{agentId}/mcp-servers/{name}/signin"),
        arguments: &[NAME],
    },
    ToolRow {
        name: "mcp_poll_signin",
        title: "Look at a sign-in",
        about: "Says whether the owner has finished a sign-in that you asked for.",
        tier: Tier::Act,
        twin: get("/api/agents/{agentId}/mcp-servers/{name}/signin/{flowId}"),
        arguments: &[
            Argument {
                name: "",
                place: ArgumentPlace::Fixed("name", ANY_SERVER),
            },
            path("flowId", "flowId"),
        ],
    },
    ToolRow {
        name: "approval_status",
        title: "Look at an approval",
        about: "Says where something stands that a person must allow before you do it. With \
            `waitSeconds` it waits for the decision.",
        tier: Tier::Observe,
        twin: get("/api/approvals/{id}"),
        arguments: &[
            APPROVAL,
            Argument {
                name: "waitSeconds",
                place: ArgumentPlace::Wait(50),
            },
        ],
    },
    ToolRow {
        name: "approval_withdraw",
        title: "Take a request back",
        about: "Takes back what you asked a person to allow, as long as nobody has decided.",
        tier: Tier::Act,
        twin: post("/api/approvals/{id}/withdraw"),
        arguments: &[APPROVAL],
    },
    ToolRow {
        name: "capabilities_list",
        title: "List runtimes",
        about: "Says what each runtime for agents can do, with its permission modes.",
        tier: Tier::Observe,
        twin: get("/api/capabilities"),
        arguments: &[],
    },
    ToolRow {
        name: "commands_list",
        title: "List slash commands",
        about: "Lists what can be typed after a slash in a folder within your working directory.",
        tier: Tier::Observe,
        twin: get("/api/commands"),
        arguments: &[query("cwd")],
    },
];

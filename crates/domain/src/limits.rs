//! Limits: every bound of the interface, named once, used by code, tests and documents.
//! Units come last in the name. Source: contract 1.10, 1.11, 2.1–2.3, 2.5, 2.9, 3.2.

use std::ops::RangeInclusive;

pub mod cloud;
pub mod connectors;

/// Characters of a handle.
pub const HANDLE_LEN: RangeInclusive<usize> = 2..=32;
/// Characters a handle request may carry before it is normalised.
pub const HANDLE_ASK_CHARS_MAX: usize = 64;
/// Characters of an author's display name.
pub const DISPLAY_NAME_CHARS: RangeInclusive<usize> = 1..=80;
/// Characters of an author's emoji.
pub const EMOJI_CHARS_MAX: usize = 16;
/// Characters of an image address.
pub const IMAGE_URL_CHARS_MAX: usize = 2_048;
/// Characters of an agent's name.
pub const AGENT_NAME_CHARS: RangeInclusive<usize> = 1..=64;
/// Characters of an agent's description.
pub const AGENT_DESCRIPTION_CHARS_MAX: usize = 500;
/// Characters of a model or effort name.
pub const AGENT_OPTION_CHARS_MAX: usize = 200;
/// Characters of a working directory.
pub const CWD_CHARS_MAX: usize = 4_096;
/// Characters of a token's label.
pub const TOKEN_LABEL_CHARS: RangeInclusive<usize> = 1..=80;
/// Characters of a room title.
pub const ROOM_TITLE_CHARS: RangeInclusive<usize> = 1..=200;
/// Characters of a room topic.
pub const ROOM_TOPIC_CHARS_MAX: usize = 500;
/// Characters of a slug.
pub const SLUG_CHARS_MAX: usize = 80;
/// Characters of an entry's text.
pub const ENTRY_CHARS: RangeInclusive<usize> = 1..=100_000;
/// Code points of a reaction's emoji.
pub const EMOJI_CODE_POINTS_MAX: usize = 16;
/// Different emojis one entry's reactions have.
pub const REACTION_EMOJIS_MAX: usize = 20;
/// Reactions an agent may add to a room's entries in [`REACTION_WINDOW_S`].
pub const AGENT_REACTIONS_MAX: u64 = 20;
/// Seconds over which an agent's reactions are counted: an hour.
pub const REACTION_WINDOW_S: i64 = 3_600;
/// Characters of a search.
pub const SEARCH_CHARS: RangeInclusive<usize> = 1..=200;
/// Letters and digits of at least one word of a search.
pub const SEARCH_WORD_CHARS_MIN: usize = 2;
/// Results of one page of a search.
pub const SEARCH_ITEMS: RangeInclusive<u32> = 1..=50;
/// Results of one page of a search, unless asked otherwise.
pub const SEARCH_ITEMS_DEFAULT: u32 = 20;
/// Characters of the part of a text that a result shows.
pub const EXCERPT_CHARS: usize = 240;
/// Characters of it before the first word that was looked for.
pub const EXCERPT_LEAD_CHARS: usize = 60;
/// Characters of an attachment's name.
pub const ATTACHMENT_NAME_CHARS_MAX: usize = 255;
/// Characters of an attachment's declared media type.
pub const MEDIA_TYPE_CHARS_MAX: usize = 127;
/// Seconds an upload may wait to be posted: 24 h.
pub const ATTACHMENT_UNPOSTED_S: i64 = 24 * 3_600;
/// Uploads one sweep job drops, so that writers never wait long.
pub const ATTACHMENT_SWEEP_BATCH: u32 = 500;
/// Authors named when a room is made.
pub const ROOM_MEMBER_IDS_MAX: usize = 100;
/// Agents named when a room is made.
pub const ROOM_AGENT_IDS_MAX: usize = 50;
/// Members of one room.
pub const MEMBERS_MAX: u64 = 200;
/// Rooms of one installation.
pub const ROOMS_MAX: u64 = 10_000;
/// Unseen entries one agent turn is handed.
pub const AMBIENT_ENTRIES: RangeInclusive<u32> = 0..=200;
/// Unseen entries one agent turn is handed, unless the room says otherwise.
pub const AMBIENT_ENTRIES_DEFAULT: u32 = 30;
/// Depth of automatic replies.
pub const AGENT_DEPTH: RangeInclusive<u32> = 0..=100;
/// Turns of one agent in one cascade.
pub const TURNS_PER_CASCADE: RangeInclusive<u32> = 1..=100;
/// Automatic turns of a room in an hour.
pub const AUTO_TURNS_PER_HOUR: RangeInclusive<u32> = 0..=10_000;
/// Items of a page.
pub const PAGE_ITEMS: RangeInclusive<u32> = 1..=200;
/// Items of a page, unless asked otherwise.
pub const PAGE_ITEMS_DEFAULT: u32 = 50;
/// Entries a room's snapshot holds.
pub const SNAPSHOT_ENTRIES: u32 = 100;
/// Characters of a canvas document's title.
pub const CANVAS_TITLE_CHARS_MAX: usize = 200;
/// Characters of an address that a canvas document shows; a `data:` URI is bounded by its body.
pub const CANVAS_URL_CHARS_MAX: usize = 8_192;
/// Characters of the path of a file that a canvas document shows.
pub const CANVAS_PATH_CHARS_MAX: usize = 4_096;
/// Characters of a picture's description.
pub const CANVAS_ALT_CHARS_MAX: usize = 1_000;
/// Characters of the name of a file's language, or of a tool server.
pub const CANVAS_NAME_CHARS_MAX: usize = 64;
/// How deep the JSON of a canvas document may nest: less than a body may, because what answers and
/// frames wrap around it must stay readable within the same bound.
pub const CANVAS_JSON_DEPTH_MAX: usize = 100;
/// Unpinned documents one canvas holds.
pub const CANVAS_UNPINNED_MAX: usize = 12;
/// Seconds an editing lock holds unless prolonged.
pub const EDIT_LOCK_S: i64 = 45;

/// Seconds a token may stay unused: 7 days.
pub const AGENT_TOKEN_IDLE_S: i64 = 7 * 24 * 3_600;
/// Seconds a token may live: 30 days.
pub const AGENT_TOKEN_AGE_S: i64 = 30 * 24 * 3_600;
/// Seconds between two notes of a token's use.
pub const AGENT_TOKEN_TOUCH_S: i64 = 5 * 60;
/// Changes one agent may ask for in a minute.
pub const AGENT_WRITES_PER_MIN: u32 = 240;
/// Messages to the MCP endpoint that are answered at a time, an agent. Source: contract 4.9.
pub const MCP_CALLS_IN_FLIGHT_MAX: usize = 16;

/// Entries an export reads at once, so that the longest texts stay few.
pub const EXPORT_PAGE: u32 = 50;
/// Bytes an export hands on at once.
pub const EXPORT_CHUNK_BYTES: usize = 64 * 1024;
/// Chunks an export makes ahead of its reader.
pub const EXPORT_CHUNKS_AHEAD: usize = 4;
/// Seconds an export may take altogether: an hour.
pub const EXPORT_TOTAL_S: u64 = 3_600;
/// Seconds an export waits for its reader to take a chunk.
pub const EXPORT_STALL_S: u64 = 30;

/// Characters of an account's e-mail address.
pub const EMAIL_CHARS: RangeInclusive<usize> = 3..=254;
/// Characters of a new password.
pub const PASSWORD_CHARS: RangeInclusive<usize> = 12..=256;
/// Characters of a setup code, as a person may write it.
pub const SETUP_CODE_CHARS_MAX: usize = 64;
/// Accounts of one installation.
pub const ACCOUNTS_MAX: u64 = 100;
/// API keys of one person.
pub const KEYS_PER_ACCOUNT_MAX: u64 = 50;
/// Characters of an API key's label.
pub const KEY_LABEL_CHARS: RangeInclusive<usize> = 1..=80;
/// Seconds a sign-in may stay unused: 7 days.
pub const SESSION_IDLE_S: i64 = 7 * 24 * 3_600;
/// Seconds a sign-in may live: 30 days.
pub const SESSION_AGE_S: i64 = 30 * 24 * 3_600;
/// Seconds for which an address counts that makes a browser a trusted one: 5 minutes.
pub const OPEN_LINK_AGE_S: i64 = 5 * 60;
/// Seconds for which a browser is trusted: 30 days.
pub const TRUSTED_BROWSER_AGE_S: i64 = 30 * 24 * 3_600;
/// Trusted browsers; a further one ends the oldest.
pub const TRUSTED_BROWSERS_MAX: u64 = 20;
/// Sign-ins of one account; a further one ends the one that rested longest.
pub const SIGN_INS_PER_ACCOUNT_MAX: u64 = 100;
/// Seconds between two notes of a sign-in's or API key's use.
pub const SESSION_TOUCH_S: i64 = 5 * 60;
/// Wrong passwords and setup codes within [`LOGIN_TRIES_S`], of one address and of one account.
pub const LOGIN_TRIES: usize = 10;
/// Seconds a wrong try counts: 15 minutes.
pub const LOGIN_TRIES_S: i64 = 15 * 60;
/// Addresses and accounts whose wrong tries are remembered at one moment.
pub const LOGIN_TRIES_KEPT_MAX: usize = 10_000;

/// Documents of one canvas, pinned ones too.
pub const CANVAS_DOCUMENTS_MAX: u64 = 100;
/// Events a reader takes from the log at once.
pub const EVENTS_PAGE: usize = 500;
/// Bytes of events a reader takes from the log at once; a single event may be larger.
pub const EVENTS_PAGE_BYTES: usize = 1024 * 1024;
/// Scopes one stream may name.
pub const STREAM_SCOPES_MAX: usize = 64;
/// Seconds an event is kept at least: 30 days, see [`EVENT_RETENTION_MIN`].
pub const EVENT_RETENTION_S: i64 = 30 * 24 * 3_600;
/// The newest events are kept whatever their age.
pub const EVENT_RETENTION_MIN: u64 = 200_000;
/// Bytes the log never exceeds.
pub const EVENT_LOG_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
/// Events one retention job drops, so that writers never wait long.
pub const EVENT_RETENTION_BATCH: u32 = 2_000;
/// Ephemeral signals a slow reader may lag behind before it loses some.
pub const SIGNALS_PER_READER: usize = 256;
/// Seconds a typing or viewing signal holds unless restated.
pub const SIGNAL_HOLDS_S: i64 = 30;
/// Seconds a listing of usage covers unless it is asked otherwise: 30 days.
pub const USAGE_SPAN_S: i64 = 30 * 24 * 3_600;
/// Messages a session's snapshot holds.
pub const SNAPSHOT_MESSAGES: u32 = 50;
/// Characters of a session's title.
pub const SESSION_TITLE_CHARS: RangeInclusive<usize> = 1..=200;
/// Characters of the last message that a session shows.
pub const SESSION_PREVIEW_CHARS: usize = 200;
/// Characters of a message to an agent.
pub const MESSAGE_CHARS: RangeInclusive<usize> = 1..=100_000;
/// Messages that wait in one session.
pub const QUEUE_MAX: u32 = 50;
/// Asks of one session that wait for a person; more are refused to the agent.
pub const PENDING_MAX: u32 = 50;
/// Agent processes at once.
pub const PROCESSES_MAX: usize = 16;
/// Seconds an agent process may idle: 5 min.
pub const PROCESS_IDLE_S: u64 = 300;
/// Seconds from the start of a process to its open session.
pub const START_MAX_S: u64 = 60;
/// Seconds the check of a runtime takes at most.
pub const RUNTIME_CHECK_MAX_S: u64 = 30;
/// Characters of the sentence that says what is wrong with a runtime.
pub const PROBLEM_CHARS_MAX: usize = 1_000;
/// Seconds between the steps of stopping a process.
pub const STOP_GRACE_S: u64 = 2;
/// Seconds between the steps of stopping the process of a managed MCP server.
pub const MCP_STOP_GRACE_S: u64 = 5;
/// Tools of one MCP server.
pub const MCP_TOOLS_MAX: usize = 512;
/// Pages in which an MCP server may list its tools.
pub const MCP_TOOL_PAGES_MAX: usize = 20;
/// Bytes of one answer of an MCP server: 4 MiB.
pub const MCP_RESULT_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Bytes of an MCP server's standard error that are kept: 64 KiB.
pub const MCP_STDERR_KEPT_BYTES: usize = 64 * 1_024;
/// Seconds an answer of an MCP server may take, renewed by progress: 10 min.
pub const MCP_CALL_WAIT_S: u64 = 600;
/// Seconds an answer of an MCP server may take in all: 60 min.
pub const MCP_CALL_TOTAL_S: u64 = 3_600;
/// Milliseconds the advisory connect before an entry is stored may take.
pub const MCP_PROBE_WAIT_MS: u64 = 1_500;
/// Seconds the test of an entry may take.
pub const MCP_TEST_WAIT_S: u64 = 20;
/// Seconds a connection to an MCP server, with the first list of its tools, may take.
pub const MCP_CONNECT_WAIT_S: u64 = 20;
/// Failures of an MCP server within [`MCP_FAILURES_WITHIN_S`] after which it counts as failing.
pub const MCP_FAILURES_MAX: usize = 3;
/// Seconds within which failures of an MCP server count together.
pub const MCP_FAILURES_WITHIN_S: u64 = 60;
/// Seconds after which an MCP server that tells of changed tools is asked for them all the same.
pub const MCP_TOOLS_FRESH_S: u64 = 10;
/// Bytes of both sides of a card that shows changed tools: 512 KiB.
pub const MCP_REPIN_CARD_BYTES_MAX: usize = 512 * 1_024;
/// Characters of what an MCP server says of a failure that are passed on.
pub const MCP_UPSTREAM_CHARS_MAX: usize = 400;
/// Seconds a cancelled turn may take to end.
pub const CANCEL_GRACE_S: u64 = 10;
/// Seconds a turn may be silent while no tool is at work: 10 min.
pub const TURN_SILENCE_MAX_S: u64 = 600;
/// Bytes of a tool's output that are kept.
pub const TOOL_OUTPUT_STORED_MAX: usize = 1 << 20;
/// Tool calls of one turn.
pub const TURN_CALLS_MAX: usize = 10_000;
/// Bytes of tool calls that a turn keeps in memory; those that are over make place for others.
pub const TURN_CALLS_HELD_MAX: usize = 64 << 20;
/// Seconds until an unanswered ask is parked: 10 min.
pub const APPROVAL_PARK_S: i64 = 600;
/// Seconds until an unanswered ask is refused: 4 h.
pub const APPROVAL_EXPIRE_S: i64 = 4 * 3_600;
/// Seconds an approval whose agent was gone may be used: 30 min.
pub const GRANT_TTL_S: i64 = 1_800;
/// Seconds until an approval of a deed expires: 2 h.
pub const APPROVAL_TTL_S: i64 = 2 * 3_600;
/// Seconds a yes to a deed may be used at least: 10 min.
pub const APPROVAL_USE_AFTER_GRANT_MIN_S: i64 = 600;
/// Seconds a gated request is held unless it says otherwise.
pub const APPROVAL_HOLD_DEFAULT_S: u32 = 50;
/// Seconds a gated request is held at most: 10 min.
pub const APPROVAL_HOLD_MAX_S: u32 = 600;
/// Gated requests of one requester that are held at once; others are answered as they come.
pub const APPROVAL_HOLDS_PER_REQUESTER_MAX: usize = 20;
/// Approvals of one requester that wait for a person.
pub const APPROVALS_PENDING_PER_REQUESTER_MAX: u32 = 20;
/// Seconds a no to a deed answers the same request without another card: 10 min.
pub const APPROVAL_DENIAL_MEMORY_S: i64 = 600;
/// Seconds an approval is kept after its end: 30 days.
pub const APPROVAL_KEPT_AFTER_END_S: i64 = 30 * 24 * 3_600;
/// Approvals that one job of the chore drops or expires.
pub const APPROVALS_BATCH: u32 = 200;
/// Characters of an approval's one line.
pub const APPROVAL_SUMMARY_CHARS_MAX: usize = 500;
/// Characters of the id an agent gives a tool call.
pub const TOOL_CALL_ID_CHARS: RangeInclusive<usize> = 1..=256;
/// Characters of why somebody said no.
pub const DENY_REASON_CHARS_MAX: usize = 1_000;
/// Asks decided by one request.
pub const BATCH_ASKS: RangeInclusive<usize> = 1..=50;
/// Bytes of an ask's input that are shown.
pub const INPUT_SHOWN_MAX: usize = 256 << 10;
/// Milliseconds between two pieces of a growing message.
pub const DELTA_FLUSH_MS: u64 = 100;
/// Bytes of a growing message that do not wait.
pub const DELTA_FLUSH_BYTES: usize = 4 << 10;
/// Bytes of one line an agent writes.
pub const ACP_LINE_MAX: usize = 16 << 20;
/// Lines in a row that are not the protocol, after which a process is stopped.
pub const ACP_GARBAGE_LINES_MAX: usize = 100;
/// Tokens in one figure an agent tells; more counts as this many.
pub const TOKENS_TOLD_MAX: u64 = 1_000_000_000_000;
/// Units of a currency in one figure an agent tells; more counts as this many.
pub const COST_TOLD_MAX: f64 = 1e9;
/// Characters of the name of a currency, or of another unit that an agent counts in.
pub const CURRENCY_CHARS_MAX: usize = 16;
/// Bytes of one line of a transcript.
pub const TRANSCRIPT_LINE_MAX: usize = 8 << 20;
/// Files looked at to find a transcript.
pub const TRANSCRIPT_FILES_MAX: usize = 2_000;
/// Tasks of one session.
pub const TASKS_MAX: usize = 1_000;
/// Bytes of one text of a task; what is longer is cut.
pub const TASK_TEXT_BYTES_MAX: usize = 64 << 10;
/// Bytes of a task's id.
pub const TASK_ID_BYTES_MAX: usize = 128;
/// Operations of one session whose end is awaited; of more, the oldest counts as done.
pub const TASK_OPERATIONS_OPEN_MAX: usize = 256;
/// Sessions whose tasks are followed at once.
pub const SESSIONS_FOLLOWED_MAX: usize = 256;
/// Bytes that the tasks of all followed sessions take together.
pub const SESSIONS_FOLLOWED_BYTES_MAX: usize = 64 << 20;
/// Folders whose commands are kept.
pub const COMMAND_FOLDERS_KEPT_MAX: usize = 64;
/// Commands that one agent reports.
pub const COMMANDS_REPORTED_MAX: usize = 500;
/// Command files of one folder.
pub const COMMAND_FILES_MAX: usize = 2_000;
/// Bytes of one command file.
pub const COMMAND_FILE_BYTES_MAX: u64 = 256 << 10;
/// Bytes of a command file's front matter that are read as YAML.
pub const COMMAND_FRONT_MATTER_BYTES_MAX: usize = 8 << 10;
/// Bytes of front matter that one listing of commands reads as YAML.
pub const COMMANDS_FRONT_MATTER_BYTES_MAX: usize = 1 << 20;
/// Folders beneath each other that are searched for commands.
pub const COMMAND_DEPTH_MAX: usize = 8;
/// Characters of a command's body that stand for a description it lacks.
pub const COMMAND_FIRST_WORDS_CHARS: usize = 200;
/// Warnings of one listing of commands.
pub const COMMAND_WARNINGS_MAX: usize = 100;
/// Seconds a listing of commands is kept: 5 min.
pub const COMMANDS_CACHE_MAX_S: i64 = 300;
/// Milliseconds a turn waits for further posts after each one.
pub const COLLECT_DEBOUNCE_MS: i64 = 500;
/// Posts one turn answers.
pub const COLLECT_MAX: usize = 20;
/// Seconds after it was named that an agent stays engaged: 10 min.
pub const ENGAGED_S: i64 = 600;
/// Posts of others after it was named that engage an agent.
pub const ENGAGED_POSTS: u32 = 5;
/// Seconds over which automatic turns are counted: an hour.
pub const TURN_WINDOW_S: i64 = 3_600;
/// Milliseconds of work after which a turn is late: 10 min.
pub const TURN_LATE_MS: i64 = 600_000;
/// Milliseconds of work after which a turn fails: 60 min.
pub const TURN_MAX_MS: i64 = 3_600_000;
/// The newest posts of a room for which the ledger says whom they did not address.
pub const LEDGER_POSTS: u32 = 200;
/// Earlier posts looked at to find whether somebody is engaged.
pub const ENGAGED_LOOK_BACK: usize = 200;
/// Seconds between two statements that an agent works.
pub const WORKING_RESTATED_S: i64 = 10;
/// Characters of an error that a notice tells.
pub const TURN_ERROR_CHARS: usize = 500;

/// Tool servers of one agent. Source: contract 4.10, as all `MCP_` below.
pub const MCP_SERVERS_PER_AGENT_MAX: usize = 64;
/// Characters of a tool server's name.
pub const MCP_SERVER_NAME_CHARS: RangeInclusive<usize> = 1..=64;
/// Bytes of a tool server's command.
pub const MCP_COMMAND_BYTES_MAX: usize = 4_096;
/// Arguments of a tool server's command.
pub const MCP_ARGS_MAX: usize = 128;
/// Bytes of one of them.
pub const MCP_ARG_BYTES_MAX: usize = 8_192;
/// Variables of a tool server.
pub const MCP_ENV_MAX: usize = 128;
/// Bytes of a variable's value.
pub const MCP_ENV_VALUE_BYTES_MAX: usize = 32 * 1_024;
/// Headers of a tool server.
pub const MCP_HEADERS_MAX: usize = 32;
/// Bytes of a header's value.
pub const MCP_HEADER_VALUE_BYTES_MAX: usize = 8_192;
/// Characters of the name of a variable or header.
pub const MCP_VALUE_NAME_CHARS_MAX: usize = 128;
/// Characters of a tool server's address.
pub const MCP_URL_CHARS_MAX: usize = 2_048;
/// Bytes of a `.mcp.json`.
pub const MCP_DISCOVERED_BYTES_MAX: u64 = 256 * 1_024;
/// Servers that one `.mcp.json` may name.
pub const MCP_DISCOVERED_MAX: usize = 256;
/// Bytes of a script that is pinned.
pub const MCP_SCRIPT_BYTES_MAX: u64 = 16 * 1_024 * 1_024;
/// Bytes of a program that is pinned.
pub const MCP_PROGRAM_BYTES_MAX: u64 = 1_024 * 1_024 * 1_024;
/// Seconds a sign-in with a tool server may take from its link to its end, begun anew once by
/// whoever opens it: 10 min. Source: contract 4.10, as the next.
pub const SIGNIN_FLOW_TTL_S: i64 = 600;
/// Seconds before its end that a token of a tool server is replaced.
pub const OAUTH_REFRESH_EARLY_S: i64 = 60;
/// Seconds one request of a sign-in may take. Source: contract 4.8, as the next two.
pub const OAUTH_WAIT_S: u64 = 30;
/// Bytes of one answer to a request of a sign-in: 256 KiB.
pub const OAUTH_BODY_BYTES_MAX: usize = 256 * 1_024;
/// How often a refresh is tried while nobody answers.
pub const OAUTH_REFRESH_TRIES_MAX: u32 = 3;
/// Characters of a client's id. Source: contract 4.4, as the next.
pub const OAUTH_CLIENT_ID_CHARS: RangeInclusive<usize> = 1..=512;
/// Characters of a client's secret.
pub const OAUTH_CLIENT_SECRET_CHARS_MAX: usize = 4_096;
/// Seconds a sign-in that is over can still be asked about: 1 d. Ours.
pub const SIGNIN_FLOW_KEPT_S: i64 = 86_400;

/// Values of the JSON of one body, each of which takes up to 640 bytes of memory. Ours.
pub const JSON_VALUES_MAX: usize = 40_000;

/// Bytes of a file that is read or saved as text: 10 MiB. Source: contract 6.3.
pub const FILE_SIZE_MAX: u64 = 10 << 20;
/// Bytes of a file whose hash is told to a save that does not fit it: 64 MiB. Ours.
pub const FILE_HASHED_MAX: u64 = 64 << 20;
/// Things done with people's files at one moment. Ours, as the next two.
pub const FILES_AT_ONCE_MAX: usize = 32;
/// Texts of files that are read and sent at one moment, each up to 60 MiB as JSON.
pub const FILE_TEXTS_AT_ONCE_MAX: usize = 16;
/// Seconds either waits for its place.
pub const FILES_WAIT_MAX_S: u64 = 5;
/// Bytes of the body of a save: 32 MiB. Source: contract 6.4.
pub const FILE_SAVE_BODY_MAX: usize = 32 << 20;
/// Saves that wait for the gate. Source: contract 6.6, as the next three.
pub const GATE_QUEUE_MAX: usize = 1_024;
/// Files that one operation locks.
pub const GATE_KEYS_MAX: usize = 16;
/// Seconds an operation waits for the gate.
pub const GATE_WAIT_MAX_S: u64 = 30;
/// Seconds a token of a session is kept after it was revoked or expired: 1 d.
pub const SESSION_TOKEN_KEEP_S: i64 = 86_400;
/// Seconds any other token is listed after it was revoked or expired: 90 d.
pub const TOKEN_KEEP_S: i64 = 90 * 86_400;
/// Seconds an execution of a connector's operation is listed after its end: 90 d.
pub const EXECUTION_KEEP_S: i64 = 90 * 86_400;
/// Seconds between two checks of the store, and of all attachments: 1 d.
pub const DATA_CHECK_S: i64 = 86_400;
/// Rows of one kind that are dropped in one transaction.
pub const DROP_BATCH: u32 = 1_000;
/// Seconds an identity counts as the file's after our own save gave it another one: 7 d.
pub const LINEAGE_KEEP_S: i64 = 7 * 86_400;
/// Characters of the id of a document in a save. Source: contract 6.5.
pub const DOCUMENT_ID_CHARS_MAX: usize = 200;

/// Entries of a folder that are listed. Source: contract 6.2.
pub const DIRECTORY_ENTRIES_MAX: usize = 5_000;
/// Characters of the name of a new folder. Source: contract 6.2.
pub const FOLDER_NAME_CHARS_MAX: usize = 64;
/// Entries of a tree of files. Source: contract 6.3, as the next.
pub const TREE_ENTRIES_MAX: usize = 10_000;
/// Levels of a tree of files.
pub const TREE_DEPTH: RangeInclusive<u64> = 1..=5;
/// Bytes of the paths that one listing or tree tells: 4 MiB. Ours, as the next.
pub const LISTING_BYTES_MAX: usize = 4 << 20;
/// Bytes of all the `.gitignore` files that one tree is held against: 256 KiB.
pub const GITIGNORE_BYTES_MAX: u64 = 256 << 10;

/// Seconds the address of a served folder or preview counts: 30 min. Source: contract 6.7.
pub const SIGN_TTL_S: i64 = 1_800;
/// Previews that are listened for at a time. Source: contract 6.9, as the next seven.
pub const PREVIEW_LISTENERS_MAX: usize = 64;
/// Seconds without request and open connection after which a preview is closed: 30 min.
pub const PREVIEW_IDLE_S: u64 = 1_800;
/// Open connections of one preview.
pub const PREVIEW_SOCKETS_MAX: usize = 128;
/// Those of them that left HTTP for a WebSocket.
pub const PREVIEW_UPGRADED_MAX: usize = 64;
/// Seconds one half of a WebSocket through a preview outlives the other.
pub const PREVIEW_HALF_MAX_S: u64 = 10;
/// Milliseconds each loopback address of a dev server gets to take a connection.
pub const UPSTREAM_CONNECT_MS: u64 = 500;
/// Seconds a dev server may take to begin its answer, once it has the request.
pub const UPSTREAM_HEAD_MAX_S: u64 = 30;
/// Milliseconds within which a port that is probed takes a connection.
pub const PROBE_MS: u64 = 1_000;

/// Tabs of the local browser. Source: contract 7.2–7.8, as all `BROWSER_` and `CDP_` below.
pub const BROWSER_TABS_MAX: usize = 20;
/// Characters of a tab's address, and of one that is asked for.
pub const BROWSER_URL_CHARS_MAX: usize = 2_048;
/// Characters of a tab's title.
pub const BROWSER_TITLE_CHARS_MAX: usize = 512;
/// Milliseconds for which changes are collected before the revision moves.
pub const BROWSER_STATE_COALESCE_MS: u64 = 100;
/// Seconds from the start of the process to its first tab.
pub const BROWSER_LAUNCH_MAX_S: u64 = 20;
/// Seconds between the wish to close and the kill.
pub const BROWSER_CLOSE_GRACE_S: u64 = 5;
/// Seconds without viewer and share after which an embedded browser is closed: 30 min.
pub const BROWSER_IDLE_CLOSE_S: u64 = 1_800;
/// Seconds an answer to open may be held, see RFC 7240 `wait`.
pub const BROWSER_OPEN_WAIT_S_MAX: u64 = 60;
/// Seconds an answer of the browser may take; a ping without one is a crash.
pub const CDP_CALL_MAX_S: u64 = 10;
/// Bytes of one message of the browser: 64 MiB.
pub const CDP_MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Messages in a row that do not parse, after which the browser counts as crashed.
pub const CDP_GARBAGE_MESSAGES_MAX: usize = 10;
/// CSS pixels of each side of the embedded page.
pub const BROWSER_VIEWPORT_PX: RangeInclusive<u32> = 200..=4_096;
/// Physical pixels of one CSS pixel.
pub const BROWSER_SCALE: RangeInclusive<f64> = 0.5..=3.0;
/// Streams that show the browser at a time.
pub const BROWSER_VIEWERS_MAX: usize = 4;
/// Bytes of one picture of the stream: 2 MiB; of a screenshot for an agent too.
pub const BROWSER_FRAME_BYTES_MAX: usize = 2 << 20;
/// Pictures a viewer has not acknowledged yet.
pub const BROWSER_FRAMES_IN_FLIGHT: usize = 2;
/// Seconds without acknowledgement after which a viewer gets no more pictures.
pub const BROWSER_FRAME_ACK_S: u64 = 10;
/// Bytes of one message of a viewer: 64 KiB.
pub const BROWSER_STREAM_MESSAGE_BYTES_MAX: usize = 64 << 10;
/// Seconds between pings of a stream, and until a pong must have come.
pub const BROWSER_STREAM_PING_S: u64 = 20;
/// Seconds until a dialog that nobody answers is dismissed.
pub const BROWSER_DIALOG_S: u64 = 60;
/// Seconds until a request for a password that nobody answers is cancelled.
pub const BROWSER_AUTH_S: u64 = 120;
/// Characters of a dialog's message and of the answer to it.
pub const BROWSER_DIALOG_CHARS_MAX: usize = 2_048;
/// Steps of one input.
pub const BROWSER_STEPS: RangeInclusive<usize> = 1..=16;
/// Inputs of one tab that wait.
pub const BROWSER_INPUT_QUEUE_MAX: usize = 64;
/// CSS pixels up to which an input has coordinates.
pub const BROWSER_COORDINATE_MAX: f64 = 4_096.0;
/// CSS pixels one turn of the wheel may scroll, in either direction.
pub const BROWSER_WHEEL_MAX: f64 = 16_384.0;
/// Characters of typed text.
pub const BROWSER_TEXT_CHARS_MAX: usize = 2_048;
/// Characters of the name of a key. Ours; the longest of UI Events has 21.
pub const BROWSER_KEY_CHARS_MAX: usize = 32;
/// Bytes of the selected text that is copied: 64 KiB.
pub const BROWSER_SELECTION_BYTES_MAX: usize = 64 << 10;
/// Milliseconds without human input after which control is free again.
pub const BROWSER_HUMAN_HOLD_MS: u64 = 1_500;
/// Milliseconds an agent's action waits for a person.
pub const BROWSER_AGENT_WAIT_MS: u64 = 10_000;
/// Actions of agents within [`BROWSER_AGENT_WINDOW_MS`].
pub const BROWSER_AGENT_ACTIONS_MAX: usize = 20;
/// Milliseconds within which an agent's actions are counted.
pub const BROWSER_AGENT_WINDOW_MS: u64 = 10_000;
/// Bytes of the outline of a page: 64 KiB.
pub const BROWSER_SNAPSHOT_BYTES_MAX: usize = 64 << 10;
/// Pixels of the longest side of a screenshot for an agent.
pub const BROWSER_AGENT_SHOT_PX_MAX: f64 = 1_568.0;
/// Messages of a page's console that are kept.
pub const BROWSER_CONSOLE_MAX: usize = 200;
/// Characters of one of them. Ours.
pub const BROWSER_CONSOLE_CHARS_MAX: usize = 1_000;
/// Milliseconds an agent may wait for a text.
pub const BROWSER_WAIT_MS_MAX: u64 = 10_000;
/// Values of one choice in a list. Ours.
pub const BROWSER_OPTIONS_MAX: usize = 64;

/// Seconds a connection is silent before the kernel asks whether the other side is still there.
pub const KEEPALIVE_AFTER_S: u64 = 60;
/// Seconds between two such questions; a few without an answer end the connection.
pub const KEEPALIVE_EVERY_S: u64 = 15;
/// How often it is asked.
pub const KEEPALIVE_TRIES: u32 = 4;

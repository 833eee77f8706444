//! The catalogue of error codes: status, sentence and advice of each, once.
//! Answers, the pages under `/docs/errors` and the interface document all read it.

use crate::docs::ErrorDoc;

macro_rules! catalogue {
    ($($code:ident $status:literal $title:literal, $meaning:literal, $advice:literal;)+) => {
        $(
            #[doc = $meaning]
            pub const $code: ErrorDoc = ErrorDoc {
                code: stringify!($code),
                status: $status,
                title: $title,
                meaning: $meaning,
                advice: $advice,
            };
        )+

        /// Each of these codes, by status and name.
        pub static ALL: &[ErrorDoc] = &[$($code),+];
    };
}

pub mod cloud;
pub mod connectors;

/// Every code there is, by status.
pub fn every() -> Vec<ErrorDoc> {
    let mut every = [ALL, cloud::ALL, connectors::ALL].concat();
    every.sort_by_key(|doc| doc.status);
    every
}

/// Whether there is such a code.
pub fn is_code(word: &str) -> bool {
    let mut codes = ALL.iter().chain(cloud::ALL).chain(connectors::ALL);
    codes.any(|doc| doc.code == word)
}

catalogue! {
    BAD_REQUEST 400 "Bad request",
        "The request is not framed as HTTP/1.1 asks.",
        "Send exactly one Host header, a path of UTF-8 text and a whole body.";
    INVALID_JSON 400 "Invalid JSON",
        "The body is not readable JSON, an object in it repeats a key, or it has too many values.",
        "Check the body with a JSON parser; name each key once, nest at most 128 deep, and send at most 40,000 values.";
    VALIDATION_FAILED 400 "Validation failed",
        "The request does not have the right shape; the details name each field.",
        "Mend the fields named in details.fieldErrors and send the request again.";
    INVALID_HANDLE 400 "Invalid handle",
        "A handle has 2 to 32 of a-z, 0-9, dot, underscore and hyphen, and begins and ends with a letter or digit.",
        "Choose a handle within these rules; capitals are folded for you.";
    INVALID_EMOJI 400 "Invalid emoji",
        "A reaction is one emoji.",
        "Send one emoji sequence in the address, percent-encoded.";
    INVALID_SLUG 400 "Invalid short name",
        "A channel's short name is 1 to 80 of a-z, 0-9 and hyphen, and begins with a letter or digit.",
        "Give a slug of your own, or a title with at least one Latin letter or digit.";
    INVALID_PATH 400 "Invalid path",
        "The file system cannot follow that path.",
        "Check the path for loops of links and overlong names.";
    NULL_BYTE 400 "NUL character in a path",
        "A path holds a NUL character.",
        "Send the path without it.";
    NOT_A_DIRECTORY 400 "Not a folder",
        "That path is not a folder.",
        "Name the folder that holds the file.";
    NOT_A_FILE 400 "Not a file",
        "That path is not a regular file.",
        "Name a file, not a folder or device.";
    NOT_A_CHECKBOX 400 "Not a checkbox",
        "This line is no item of a task list.",
        "Name a line that begins with a bullet or number and [ ] or [x].";
    PORT_NOT_ALLOWED 400 "Port not allowed",
        "This port is the server's own.",
        "Name the port of a dev server.";
    UNKNOWN_RUNTIME 400 "Unknown runtime",
        "No runtime of this type is registered here.",
        "Use a registered type, such as rehearsal; GET /api/runtimes lists all there are. Where the address names the runtime, the status is 404.";
    AGENT_ID_MISMATCH 400 "Another agent",
        "The body names another agent than the address.",
        "Leave agentId out of the body, or name the same agent in both.";
    RESERVED_NAME 400 "Reserved name",
        "This name is that of guildhall's own tools, which every agent has.",
        "Choose another name.";
    UNKNOWN_SETTING 400 "Unknown setting",
        "There is no such setting; the details name the keys.",
        "Read GET /api/settings for the keys there are.";
    UNSUPPORTED_PERMISSION_MODE 400 "Unsupported permission mode",
        "This runtime has no such permission mode.",
        "Use one of the runtime's modes, or leave the field out.";
    ATTACHMENT_MISSING 400 "No file",
        "The form brings no file.",
        "Send multipart/form-data with one or more parts called files.";
    TOO_MANY_ATTACHMENTS 400 "Too many files",
        "The form brings more files than one entry takes.",
        "Send at most details.limit files at once.";
    URL_NOT_ALLOWED 400 "Address not allowed",
        "The local browser opens addresses of http and https alone, without a name and password in them.",
        "Name such an address, or about:blank.";
    AGENT_IDENTITY_UNVERIFIED 401 "Agent identity unverified",
        "The agent's token is unknown, revoked or expired. Restart the agent or mint a new one.",
        "Mint a token under Agents, or leave the header out if you are a person.";
    AGENT_TOKEN_REQUIRED 401 "Agent token required",
        "This address is for agents; it takes nobody else for one.",
        "Send a live agent token as Authorization: Bearer, or call from the agent's own process.";
    AUTH_REQUIRED 401 "Sign-in required",
        "The credential shown is not known here.",
        "Show a credential of this server, or none if you are the owner at this computer.";
    INVALID_CREDENTIALS 401 "Invalid credentials",
        "This e-mail address and password do not belong together.",
        "Check both; the owner can give you a new account if the password is lost.";
    NOT_THE_OWNER 401 "Not the owner",
        "The program asking is not known to run as the user who owns this server; for clients of another user the owner can set auth.peerCheck=off.",
        "Run the program as the user who started guildhall.";
    CALLER_IN_DOUBT 401 "Caller in doubt",
        "The program asking cannot be told from an agent's. Run `guildhall open` in a terminal of your own, and open the address it shows.",
        "Run `guildhall open` in a terminal of your own, and open the address it shows. If that changes nothing, stop the agents that are not enclosed.";
    SETUP_REQUIRED 401 "Setup required",
        "Nobody has an account here yet; the first one is the owner's.",
        "Make the first account with the setup code from the server's terminal or data folder.";
    TOKEN_EXPIRED 401 "Address expired",
        "This address no longer counts.",
        "Ask for a new one; POST /api/workbench/sign.";
    AGENT_SELF_ONLY 403 "Own agent only",
        "An agent may ask only about what is its own.",
        "Use your own agent's id, or ask a person.";
    AGENT_CANNOT_DECIDE 403 "Agents cannot decide",
        "Only a person may decide this: not an agent, and no program that an agent may have started.",
        "Answer it on the page or with the command line, from a terminal no agent runs in.";
    APPROVAL_DENIED 403 "Approval denied",
        "A person said no to this; the details say why.",
        "Do something else, or ask the person; the same request is not shown again for 10 minutes.";
    DOCUMENT_NOT_CHAT 403 "Not a file of a room or session",
        "This document shows no file, or stands on no canvas of a room or session.",
        "Save the file itself, without documentSave.";
    BAD_TOKEN 403 "Unknown address",
        "This address was not made by this server, or was changed.",
        "Ask for a new one; POST /api/workbench/sign.";
    HOST_NOT_ALLOWED 403 "Host not allowed",
        "This address is not on the list of names for this server.",
        "Use localhost or 127.0.0.1, or add the name to server.allowedHosts on the computer itself.";
    HUMANS_ONLY 403 "People only",
        "Agents may not do this. A person has to.",
        "Ask a person to do it.";
    INTERACTIVE_ONLY 403 "Signed-in people only",
        "A program may not do this with a key or token. A person has to, signed in.",
        "Sign in on the page and do it there.";
    ORIGIN_NOT_ALLOWED 403 "Origin not allowed",
        "The request comes from a page that is not this server's.",
        "Open guildhall's own page, or add the page's origin to server.allowedOrigins.";
    OUTSIDE_BOUNDARY 403 "Outside the allowed folder",
        "That path leaves the allowed folder.",
        "Choose a folder beneath one of files.roots.";
    NAVIGATION_ONLY 403 "Open it as a page",
        "This address is a page that a person opens by following a link.",
        "Open the link in a browser.";
    OWNER_ONLY 403 "Owner only",
        "Only the owner of this server may do this.",
        "Ask the owner to do it.";
    PASSWORD_CHANGE_REQUIRED 403 "Password change required",
        "The password of the invitation has to be replaced before anything else.",
        "Choose a password of your own with POST /api/auth/password.";
    PERMISSION_DENIED 403 "Permission denied",
        "The operating system does not let this server into that folder.",
        "Change the folder's permissions, or choose another one.";
    REGISTRATION_CLOSED 403 "Registration closed",
        "The owner has an account already; only the owner makes further ones.",
        "Sign in, or ask the owner for an account.";
    REQUESTER_CANNOT_DECIDE 403 "Requester cannot decide",
        "Who shows the token of an approval asked for it, and does not decide.",
        "Leave the header X-Service-Approval out if you are the one who decides.";
    SERVICE_WORKER_REFUSED 403 "No service workers",
        "A served folder runs no service worker.",
        "Serve the page without one, or run it in a dev server and look at its preview.";
    SETUP_CODE_WRONG 403 "Setup code wrong",
        "That is not the setup code of this server's last start.",
        "Copy the 26 letters from the server's terminal or from the file setup-code in its data folder.";
    WRONG_SCOPE 403 "Another kind of address",
        "This address is for something else.",
        "Ask for one of the kind serve; POST /api/workbench/sign.";
    OWNER_HERE_ONLY 403 "Only the owner, here",
        "Only the owner may do this, at the computer that the server runs on.",
        "Open the page at that computer itself.";
    LOCAL_BROWSER_REFUSED 403 "Not from the local browser",
        "A page in the local browser may not ask this server for anything but served files.",
        "Ask from the page that the browser was opened in.";
    ACCOUNT_NOT_FOUND 404 "Account not found",
        "There is no such account.",
        "List the accounts for their ids.";
    AGENT_NOT_FOUND 404 "Agent not found",
        "There is no such agent.",
        "List the agents for their ids; retired ones with includeRetired.";
    APPROVAL_NOT_FOUND 404 "Approval not found",
        "There is no such approval, or it is not yours.",
        "List the approvals for their ids; GET /api/approvals.";
    BACKUP_NOT_FOUND 404 "Backup not found",
        "There is no such backup, or it is not kept any more.",
        "List the backups and take one of them.";
    REVIVED_CREDENTIAL_NOT_FOUND 404 "Nothing to decide",
        "No such credential waits for a decision.",
        "Read what the last restore came to: GET /api/restore lists what is left to decide.";
    ATTACHMENT_NOT_FOUND 404 "Attachment not found",
        "There is no such file in this room.",
        "Read the entry for its files; an upload that nobody posts is dropped after a day.";
    AUTHOR_NOT_FOUND 404 "Author not found",
        "There is no such author.",
        "List the authors for their ids; an agent sees those it shares a room with.";
    CANVAS_DOCUMENT_NOT_FOUND 404 "Document not found",
        "There is no such document on this canvas.",
        "List the canvas for its documents; somebody may have closed it.";
    ENTRY_NOT_FOUND 404 "Entry not found",
        "There is no such entry in this room.",
        "List the room's entries for their ids.";
    KEY_NOT_FOUND 404 "Key not found",
        "There is no such key.",
        "List the keys for their ids.";
    MEMBER_NOT_FOUND 404 "Member not found",
        "There is no such member in this room.",
        "List the room's members; a fallback seat takes an agent that is one.";
    NOT_FOUND 404 "Not found",
        "Nothing is there.",
        "Check the address; the interface is described under /docs.";
    NO_PENDING_APPROVAL 404 "Nothing to approve",
        "This session has no tool call of this id that was ever asked about.",
        "List the asks that wait: GET /api/sessions/pending-interactions.";
    NO_PENDING_QUESTION 404 "Nothing to answer",
        "This session has no question of this id that was ever asked.",
        "List the asks that wait: GET /api/sessions/pending-interactions.";
    PREVIEW_NOT_FOUND 404 "Preview not found",
        "No preview of this port is open.",
        "List the previews: GET /api/workbench/previews.";
    QUEUED_MESSAGE_NOT_FOUND 404 "Not queued",
        "No such message waits in this session; its turn may have begun.",
        "Read the session's queue for what waits.";
    ROOM_NOT_FOUND 404 "Room not found",
        "There is no such room.",
        "List the rooms for their ids; an agent sees those it belongs to.";
    SERVER_NOT_FOUND 404 "Tool server not found",
        "This agent has no such tool server.",
        "List the agent's tool servers for their names.";
    SIGNIN_NOT_FOUND 404 "Sign-in not found",
        "There is no such sign-in, or its time is over.",
        "Start a new sign-in with the tool server.";
    SESSION_NOT_FOUND 404 "Session not found",
        "There is no such session.",
        "List the sessions for their ids.";
    TOKEN_NOT_FOUND 404 "Token not found",
        "There is no such token.",
        "List the agent's tokens for their ids.";
    TURN_NOT_FOUND 404 "Turn not found",
        "There is no such turn in this room.",
        "List the room's turns for their ids; agents that were not addressed have none.";
    TAB_NOT_FOUND 404 "No such tab",
        "The local browser has no such tab.",
        "List its tabs; each has an id of its own.";
    METHOD_NOT_ALLOWED 405 "Method not allowed",
        "This address does not take that method.",
        "Use one of the methods named in the Allow header.";
    NOT_ACCEPTABLE 406 "Not acceptable",
        "The answer has no form that the header Accept names.",
        "Accept both application/json and text/event-stream.";
    REQUEST_TIMEOUT 408 "Request timeout",
        "The request did not arrive in time.",
        "Send the head within 10 seconds and the body without long rests.";
    AGENT_EXISTS 409 "Agent exists",
        "An agent with this folder and runtime is registered already.",
        "Use the agent named in details.agentId, or retire it first.";
    AGENT_RETIRED 409 "Agent retired",
        "This agent is retired.",
        "Register its folder again; its author and handle come back.";
    APPROVAL_CHANGED 409 "Changed since shown",
        "The approval is about something else than what was shown.",
        "Look at it again, then decide with the digest it has.";
    APPROVAL_NOT_PENDING 409 "Not pending",
        "The approval is decided, used or withdrawn already; the details say where it stands.",
        "Read the approval; nothing is left to decide.";
    ATTACHMENT_ALREADY_POSTED 409 "Attachment already posted",
        "This file is part of an entry already.",
        "Upload it again to post it again.";
    BACKUP_DAMAGED 409 "Backup damaged",
        "This backup is damaged; nothing was changed.",
        "Restore another backup. The details say what is wrong with this one.";
    LATER_PASSWORD_MISSING 409 "The later password is gone",
        "The data set aside by the restore is not there any more, and with it the later password.",
        "Keep the password, and have the person change it; or remove the account.";
    AUTH_MODE_LOCAL 409 "No accounts in this mode",
        "This server knows its owner by the user of this computer and has no accounts.",
        "Start it with --auth login to let people sign in.";
    AUTHOR_NOT_CHANGEABLE 409 "Author not changeable",
        "The system author and retired authors cannot be changed.",
        "Change another author.";
    AUTHOR_RETIRED 409 "Author retired",
        "This author is retired and joins no room any more.",
        "Register its agent again to bring it back.";
    CANVAS_BEING_EDITED 409 "Being edited",
        "Somebody else is editing this document; the details say who and until when.",
        "Wait until the editing ends, or ask the one named in details.editingBy.";
    CONFLICT 409 "Changed meanwhile",
        "The file holds something else than you saw; nothing was saved.",
        "Compare with currentContent, then save with currentHash as the baseline.";
    DOCUMENT_FILE_MISMATCH 409 "Another file",
        "The document shows another file than the one to be saved.",
        "Save the file that the document shows, or leave documentSave out.";
    DOCUMENT_INCARNATION_CHANGED 409 "Document bound anew",
        "The document was bound to its file anew since you read it.",
        "Reload the document, then save with the incarnation it has now.";
    DOC_EVENT_ID_CONFLICT 409 "Event id used",
        "This event id was used for another save of the document.",
        "Choose a new eventId for a new save.";
    ALREADY_EXISTS 409 "There already",
        "Something of this name is there already.",
        "Choose another name, or use what is there.";
    DUPLICATE_NAME 409 "Name taken",
        "This agent has a tool server of this name; letters have no case.",
        "Choose another name, or change the server there is.";
    EMAIL_TAKEN 409 "E-mail address taken",
        "Another account has this e-mail address.",
        "Choose another address, or remove the other account first.";
    HANDLE_RESERVED 409 "Handle reserved",
        "This handle belongs to someone who gave it up and may take it back.",
        "Choose another handle.";
    HANDLE_TAKEN 409 "Handle taken",
        "Somebody else is called by this handle.",
        "Choose another handle.";
    IDEMPOTENCY_IN_PROGRESS 409 "Still being answered",
        "A request with this idempotency key is being answered now.",
        "Wait for the seconds named in Retry-After and send the same request again.";
    LIMIT_REACHED 409 "Limit reached",
        "A limit is reached; the details name it.",
        "Archive or remove what is no longer needed.";
    NESTED_THREAD 409 "Nested thread",
        "This entry is a reply itself; threads have one level.",
        "Answer the entry that the thread began with.";
    NOT_A_BRIDGED_ROOM 409 "Not a bridged room",
        "This room has no bridge to deliver notices to.",
        "Leave deliverNotices out.";
    NOT_A_MEMBER 409 "Not a member",
        "You are no member of this room.",
        "Join the room first.";
    OWNER_ACCOUNT 409 "Owner's account",
        "The owner's own account cannot be removed.",
        "Remove another account.";
    OWNER_MUST_BE_PRESENT 409 "Owner must be present",
        "A room with two agents, and every room an agent makes, needs the owner in it.",
        "Add the owner to the room.";
    SESSION_EXISTS 409 "Session exists",
        "A session with this id was opened with other words.",
        "Leave the id out, or read the session that has it.";
    SESSION_CLOSED 409 "Session closed",
        "This session is over; it can still be read.",
        "Open a new session with the same agent.";
    SESSION_READ_ONLY 409 "Session is read-only",
        "This session belongs to the agent's own command line and is only read here.",
        "Open a session of its own that resumes it: POST /api/sessions with resumeId.";
    QUEUE_FULL 409 "Queue full",
        "As many messages wait in this session as may.",
        "Wait for a turn to end, or remove a message that waits.";
    RUNTIME_CANNOT_RESUME 409 "Runtime cannot resume",
        "This runtime cannot go on with a session of before.",
        "Open a new session instead.";
    INTERACTION_ALREADY_RESOLVED 409 "Already answered",
        "This was answered already, or its time ran out; the details say how and when.",
        "Nothing is left to do here.";
    INTERACTION_CHANGED 409 "Changed since shown",
        "The agent asks for something else by now; the details hold the new digest.",
        "Look at it again, then answer with the new digest.";
    OPTION_NOT_OFFERED 409 "Not offered",
        "The agent does not offer this answer; the details list those it does.",
        "Choose one of details.options by its optionId.";
    USE_SESSION_ROUTE 409 "Answered at its session",
        "This is answered at its session; the details name the route.",
        "Send the answer to details.route.";
    TURN_NOT_RUNNABLE 409 "Turn not runnable",
        "This turn runs, ran or was stopped.",
        "Post again to have the agent answer anew.";
    TURN_WAS_STOPPED 409 "Turn was stopped",
        "A person stopped the turn this session works for; what it writes is not taken.",
        "Stop working on it.";
    ROOM_ARCHIVED 409 "Room archived",
        "This room is archived. Restore it to change anything.",
        "Restore the room first.";
    SECRET_ALREADY_SHOWN 409 "Secret already shown",
        "This was done before, and its secret is shown only once.",
        "Use what details.id names, or remove it and make a new one.";
    SETTING_FIXED 409 "Setting fixed",
        "A flag or the environment sets this; the details name the keys.",
        "Change the flag or the environment variable and start the server again.";
    SLUG_TAKEN 409 "Short name taken",
        "Another channel has this short name.",
        "Choose another title or slug.";
    SYSTEM_ROOM 409 "System room",
        "This is the room every installation has; it stays, and so does its owner.",
        "Make a room of your own.";
    TOO_MANY_SERVERS 409 "Too many tool servers",
        "One agent has at most 64 tool servers.",
        "Remove a server that is no longer needed.";
    TOO_MANY_KEYS 409 "Too many keys",
        "One person has at most 50 keys.",
        "Revoke a key that is no longer needed.";
    TOO_MANY_REACTIONS 409 "Too many reactions",
        "This entry has 20 different reactions already.",
        "Use one of the reactions that are there.";
    NOT_CONNECTED 409 "No browser runs",
        "The local browser is not open.",
        "Open it first.";
    BUSY 409 "Busy",
        "The local browser is being opened, closed or fetched.",
        "Wait until its state says so, and try again.";
    PROFILE_IN_USE 409 "Profile in use",
        "Another browser uses the profile of the local browser.",
        "Close that one first.";
    STALE 409 "Too late",
        "What this was meant for is not shown any more.",
        "Look at the present picture, and send its ids.";
    WRONG_MODE 409 "Wrong mode",
        "This is for the embedded browser alone.",
        "Use the window itself, or open the browser embedded.";
    TAB_LIMIT 409 "Too many tabs",
        "The local browser has as many tabs as it may.",
        "Close one first.";
    NO_DIALOG 409 "No dialog",
        "The tab shows no dialog.",
        "It was answered already, or the page took it back.";
    NO_AUTH_REQUEST 409 "No password asked for",
        "The tab asks for no password.",
        "It was answered already, or the page was left.";
    APPROVAL_EXPIRED 410 "Approval expired",
        "The approval's time is over.",
        "Send the gated request again to have it asked anew.";
    FILE_IDENTITY_CHANGED 412 "File replaced",
        "Another file has taken this one's place since you read it; nothing was saved.",
        "Read the file again and decide anew.";
    PRECONDITION_FAILED 412 "Changed meanwhile",
        "It changed after you read it; nothing was saved.",
        "Read it again and decide anew; details.currentETag is the tag it has now.";
    PAYLOAD_TOO_LARGE 413 "Payload too large",
        "The body is larger than this route takes.",
        "Send at most details.limitBytes bytes.";
    FILE_TOO_LARGE 413 "File too large",
        "The file has more bytes than are read and saved as text.",
        "Use at most details.limitBytes bytes.";
    URI_TOO_LONG 414 "Address too long",
        "The address is longer than this server takes.",
        "Send at most details.limitBytes bytes.";
    UNSUPPORTED_MEDIA_TYPE 415 "Unsupported media type",
        "The body must be application/json.",
        "Send Content-Type: application/json.";
    BINARY_FILE 415 "Not text",
        "The file holds a NUL byte, so it is no text.",
        "Open it with a program for its kind.";
    NOT_UTF8 415 "Not UTF-8",
        "The file is no UTF-8 text; it was left as it is.",
        "Convert it to UTF-8 first.";
    UNSUPPORTED_TYPE 415 "Not shown",
        "Files of this kind are not shown here.",
        "Ask for a picture, PDF, sound, film or 3D model; text is at GET /api/files/content.";
    RANGE_NOT_SATISFIABLE 416 "Range not satisfiable",
        "The file has no such part.",
        "Ask for bytes below the size that Content-Range names.";
    NOT_OAUTH_SERVER 422 "No sign-in here",
        "This tool server is a program, or its own header says who asks; nobody signs in there.",
        "Give it its secrets as env or headers of its connection.";
    SIGNIN_INSECURE_ADDRESS 422 "Unprotected address",
        "A token would travel to this tool server unprotected.",
        "Change the server's address to https.";
    IDEMPOTENCY_KEY_REUSED 422 "Idempotency key reused",
        "This idempotency key was used for another request.",
        "Use a new key for a new request.";
    AUTONOMY_NOT_ACKNOWLEDGED 428 "Autonomy not acknowledged",
        "This mode acts without asking. Acknowledge it in the same request.",
        "Send acknowledgedAutonomy: true if you want that.";
    RATE_LIMITED 429 "Rate limited",
        "Too many changes or wrong passwords in a short time.",
        "Wait for the seconds named in Retry-After.";
    TOO_MANY_CALLS_AT_ONCE 429 "Too many calls at a time",
        "16 messages of this agent are being answered already.",
        "Wait until one of them is answered.";
    REACTION_RATE_LIMITED 429 "Too many reactions in an hour",
        "An agent adds at most 20 reactions an hour in a room.",
        "Wait for the seconds named in Retry-After.";
    TURN_BUDGET_REACHED 429 "The hour's turns are used up",
        "As many automatic turns ran within the hour as may.",
        "Wait as the header Retry-After says, or raise the limit in the settings.";
    TOO_MANY_POSTS_THIS_TURN 429 "Too many posts in this turn",
        "The agent wrote as many posts in this turn as one may.",
        "Say the rest in the turn's answer.";
    TOO_MANY_CANVAS_OPS_THIS_TURN 429 "Too many canvas changes in this turn",
        "The agent changed the canvas as often in this turn as one may.",
        "Leave the rest to another turn.";
    TOO_MANY_APPROVALS 429 "Too many approvals",
        "As many approvals of this requester wait for a person as may.",
        "Wait for decisions, or withdraw what is no longer needed.";
    TOO_MANY_STREAMS 429 "Too many streams",
        "This caller holds as many streams as it may.",
        "Close a stream first.";
    INPUT_QUEUE_FULL 429 "Too much input",
        "As many inputs of this tab wait as may.",
        "Wait until some were done.";
    TOO_MANY_VIEWERS 429 "Too many viewers",
        "As many pages show the local browser as may.",
        "Close one of them.";
    HEADERS_TOO_LARGE 431 "Headers too large",
        "The request's headers are larger than this server takes.",
        "Send at most 100 headers of 32 KiB together.";
    INTERNAL_ERROR 500 "Internal error",
        "Something broke on our side. Nothing was saved unless it says so above.",
        "Try again; if it stays, the request id finds the line in the server's log.";
    ATTACHMENT_DAMAGED 500 "File damaged",
        "The stored file does not hold the bytes that were uploaded.",
        "Upload the file again, which mends it, or ask the owner of the server to restore it from a backup.";
    FILE_SAVE_FAILED 500 "Not saved",
        "The file could not be written; it holds what it held, or all of the new content.",
        "Read the file and try again; if it stays, the request id finds the line in the server's log.";
    FILE_IO_FAILED 500 "File not reached",
        "The disk did not answer for that file or folder; nothing was changed.",
        "Try again; if it stays, the request id finds the line in the server's log.";
    FILE_GATE_FULL 503 "Too many saves",
        "As many saves wait as may.",
        "Wait for the seconds named in Retry-After and try again.";
    FILE_GATE_TIMEOUT 503 "File busy",
        "Another save of this file did not end in time; nothing was saved.",
        "Wait for the seconds named in Retry-After and try again.";
    OVERLOADED 503 "Overloaded",
        "The server has too much to do.",
        "Wait for the seconds named in Retry-After and try again.";
    STORAGE_IO_FAILED 503 "Disk error",
        "The disk failed to read or write the server's data. The server verifies what is there before it takes a change again.",
        "Try again after the seconds named in Retry-After; when it comes again, look at the disk. The server's log names the error.";
    STORE_DAMAGED 503 "Data damaged",
        "The server's data is damaged. Reading goes on where it can; no change is accepted.",
        "Ask the owner of the server to go back to a backup: in Settings, Backups; or with `guildhall restore` while the server does not run.";
    SHUTTING_DOWN 503 "Shutting down",
        "The server is stopping.",
        "Try again when it runs.";
    BROWSER_DISABLED 503 "Browser switched off",
        "The local browser is switched off in the settings.",
        "Switch it on in the settings.";
    BROWSER_TIMEOUT 504 "No answer",
        "The browser did not answer in time; what was asked for may happen still.",
        "Look at the tab before you try again.";
    STORAGE_FULL 507 "Storage full",
        "The disk is full. Reading works; nothing was changed. Free space and try again.",
        "Free space on the disk that holds the data folder.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stand_in_the_order_of_their_status_and_once() {
        let mut seen = std::collections::HashSet::new();
        for pair in [ALL, cloud::ALL, connectors::ALL]
            .iter()
            .flat_map(|codes| codes.windows(2))
        {
            assert!(pair[0].status <= pair[1].status, "{}", pair[1].code);
        }
        for doc in every() {
            assert!(seen.insert(doc.code), "{} stands twice", doc.code);
            assert!(
                doc.meaning.ends_with('.') && doc.advice.ends_with('.'),
                "{}",
                doc.code
            );
        }
    }
}

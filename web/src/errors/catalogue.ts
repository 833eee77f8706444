/**
 * The one catalogue of refusal texts: what happened, what it means, what to do.
 * A code without a text here shows the server's own sentence, which is plain by contract.
 */

const texts: Record<string, string> = {
  // Ours: no answer came, so there is no code of the server's.
  UNREACHABLE: 'The server did not answer. Your text is kept; try again when it is back.',
  PAGE_ERROR: 'Something broke in this page. Reload it; drafts are kept.',

  AUTH_REQUIRED: 'You are not signed in. Sign in and try again.',
  NOT_THE_OWNER: 'The program asking does not run as the user who owns this server.',
  AGENT_IDENTITY_UNVERIFIED: "The agent's token is unknown, revoked or expired. Restart the agent or mint a new one.",
  HOST_NOT_ALLOWED:
    'This address is not on the list of names for this server. Add it under Settings, Network, on the computer itself.',
  ORIGIN_NOT_ALLOWED: 'The request came from another site and was refused. Open the page at the address the server printed.',
  HUMANS_ONLY: 'Only a person may do this, not an agent.',
  OWNER_ONLY: 'Only the owner of this server may do this.',
  NOT_FOUND: 'There is nothing at this address.',
  RATE_LIMITED: 'Too many requests in a short time. Wait a moment and try again.',
  TOO_MANY_STREAMS: 'Too many windows listen to this server. Close some and reload.',
  PAYLOAD_TOO_LARGE: 'That is larger than the server accepts. Send it in parts.',
  VALIDATION_FAILED: 'Something in the form is not as it has to be. The fields say what.',
  IDEMPOTENCY_IN_PROGRESS: 'The first try is still under way. Wait a moment and try again.',
  INTERNAL_ERROR: 'Something broke on our side. Nothing was saved unless it says so above.',
  OVERLOADED: 'The server is busy. Wait a moment and try again.',
  SHUTTING_DOWN: 'The server is stopping. Your text is kept; try again when it is back.',
  STORAGE_FULL: 'The disk is full. Reading works; nothing was changed. Free space and try again.',
  PRECONDITION_FAILED: 'Somebody changed this meanwhile. Look at it again before you change it.',
  LIMIT_REACHED: 'A limit of this server is reached. Remove something first.',

  BAD_REQUEST: 'The request could not be read. Reload the page and try again.',
  INVALID_JSON: 'The request could not be read. Reload the page and try again.',
  METHOD_NOT_ALLOWED: 'This page and this server do not fit together. Reload the page.',
  UNSUPPORTED_MEDIA_TYPE: 'This page and this server do not fit together. Reload the page.',
  URI_TOO_LONG: 'That address is too long.',
  HEADERS_TOO_LARGE: 'The browser sent more beside the request than the server reads. Clear the cookies of this address.',
  REQUEST_TIMEOUT: 'The request took too long to arrive. Try again.',
  IDEMPOTENCY_KEY_REUSED: 'This was sent before with another text. Send it anew.',
  PERMISSION_DENIED: 'The server may not read that path. Choose another one or change its permissions.',

  SETUP_REQUIRED: 'Nobody has an account here yet. Make the first one with the setup code.',
  INVALID_CREDENTIALS: 'E-mail and password do not belong together. Check both and try again.',
  PASSWORD_CHANGE_REQUIRED: 'Choose a password of your own first.',
  REGISTRATION_CLOSED: 'There is an owner already. Ask the owner for an account, or sign in.',
  SETUP_CODE_WRONG: 'That is not the setup code. It is printed where the server was started.',
  AUTH_MODE_LOCAL: 'This server runs in mode local and has no accounts. Start it with --auth login.',
  INTERACTIVE_ONLY: 'Only a person at this page may do this, not a program with a key.',
  ACCOUNT_NOT_FOUND: 'This account does not exist any more.',
  EMAIL_TAKEN: 'Somebody has an account with this e-mail already.',
  OWNER_ACCOUNT: 'The account of the owner cannot be removed.',
  KEY_NOT_FOUND: 'This key does not exist any more.',
  TOO_MANY_KEYS: 'You have as many keys as one may have. Revoke one first.',
  SETTING_FIXED: 'A flag or the environment sets this. Change it there and start the server again.',
  UNKNOWN_SETTING: 'This server does not know that setting. Reload the page.',

  AUTHOR_NOT_FOUND: 'That person or agent is not known here.',
  AUTHOR_NOT_CHANGEABLE: 'This author belongs to the house or is retired and cannot be changed.',
  AUTHOR_RETIRED: 'That author is retired and cannot join rooms any more.',
  HANDLE_TAKEN: 'This handle is in use by somebody else. Choose another one.',
  HANDLE_RESERVED: 'This handle is reserved: it belongs to someone who gave it up and may take it back, or to the house.',

  ROOM_NOT_FOUND: 'This room does not exist, or you may not see it.',
  ENTRY_NOT_FOUND: 'This entry does not exist, or you may not see it.',
  NOT_A_BRIDGED_ROOM: 'This room is not joined to an outside chat.',
  ROOM_ARCHIVED: 'This room is archived. Restore it to change anything.',
  NOT_A_MEMBER: 'You are not a member of this room. Join it to write here.',
  MEMBER_NOT_FOUND: 'They are not a member of this room.',
  SLUG_TAKEN: 'Another channel has this name. Choose another one.',
  SYSTEM_ROOM: 'The team room belongs to the house: it cannot be archived, and its owner stays in it.',
  OWNER_MUST_BE_PRESENT: 'A room with two or more agents must have the owner in it.',

  NESTED_THREAD: 'Threads have one level: answer the entry the thread began with.',
  INVALID_EMOJI: 'That is not one emoji. Paste or type a single one.',
  TOO_MANY_REACTIONS: 'This entry has as many different reactions as one may have. Use one that is there.',
  REACTION_RATE_LIMITED: 'Too many reactions in a short time. Wait a while and try again.',
  ATTACHMENT_NOT_FOUND: 'This file is not there any more. An upload that is not sent is kept for a day.',
  RANGE_NOT_SATISFIABLE: 'That part of the file does not exist. Download it whole.',
  ATTACHMENT_MISSING: 'The upload brought no file. Choose it again.',
  TOO_MANY_ATTACHMENTS: 'One message carries ten files. Send the others in a second one.',
  ATTACHMENT_ALREADY_POSTED: 'This file went out with another message. Attach it again.',

  CANVAS_DOCUMENT_NOT_FOUND: 'This document is not on the canvas any more.',
  CANVAS_BEING_EDITED: 'Somebody edits this document. Wait until they are done, or open a copy.',
  TOO_MANY_CANVAS_OPS_THIS_TURN: 'An agent may change the canvas only so often in one turn.',

  AGENT_NOT_FOUND: 'This agent does not exist.',
  AGENT_EXISTS: 'An agent with this runtime already works in this folder.',
  AGENT_RETIRED: 'This agent is retired and cannot be changed.',
  UNSUPPORTED_PERMISSION_MODE: 'The runtime of this agent does not have that permission mode.',
  AUTONOMY_NOT_ACKNOWLEDGED: 'In this mode the agent acts without asking. Say that you want that, then try again.',
  UNKNOWN_RUNTIME: 'This server does not know that runtime.',
  NOT_A_FILE: 'That path is a folder or something else. Name a file.',
  NOT_A_DIRECTORY: 'That path is a file. Name the folder the agent works in.',
  OUTSIDE_BOUNDARY: 'That path leaves the allowed folder.',
  SESSION_NOT_FOUND: 'This session does not exist, or you may not see it.',
  SESSION_CLOSED: 'This session is closed. Open a new one to go on.',
  SESSION_READ_ONLY: 'This session was made in a terminal and can only be read here.',
  SESSION_EXISTS: 'A session with this id exists already, with other words.',
  RUNTIME_CANNOT_RESUME: 'This runtime cannot go on with a session of the terminal. Open a new one.',
  RUNTIME_UNAVAILABLE: 'The program of this agent is not there or does not start. Look at it under Agents.',
  MODE_NOT_APPLIED: 'The agent did not take the permission mode, so nothing was sent to it. Choose another mode or try again.',
  QUEUE_FULL: 'As many messages wait as may wait. Remove one, or let the agent go on.',
  QUEUED_MESSAGE_NOT_FOUND: 'That message no longer waits: its turn began, or somebody removed it.',
  AGENT_CANNOT_DECIDE: 'Agents may not answer asks. A person has to.',
  NO_PENDING_APPROVAL: 'Nothing waits for an answer there any more.',
  NO_PENDING_QUESTION: 'That question no longer waits for an answer.',
  INTERACTION_ALREADY_RESOLVED: 'Already answered. Nothing was done twice.',
  INTERACTION_CHANGED: 'It changed since you saw it, so nothing was answered. Look at it again.',
  OPTION_NOT_OFFERED: 'The agent does not offer that answer.',
  USE_SESSION_ROUTE: 'This ask is answered in its session.',
  TURN_NOT_FOUND: 'That turn does not exist, or you may not see it.',
  TURN_NOT_RUNNABLE: 'That turn can no longer be started: it ran, or it was stopped.',
  TURN_BUDGET_REACHED: 'The turns of this hour are used up. Wait until they are counted anew, or raise the limit in the settings.',
  TURN_WAS_STOPPED: 'That turn was stopped, so what it says no longer counts.',
  TOO_MANY_POSTS_THIS_TURN: 'An agent may post only so often in one turn.',

  APPROVAL_NOT_FOUND: 'That ask does not exist any more.',
  APPROVAL_NOT_PENDING: 'That ask was decided already, or taken back. Nothing was done twice.',
  APPROVAL_EXPIRED: 'That ask waited too long and is over. Whoever asked has to ask again.',
  APPROVAL_CHANGED: 'It changed since you saw it, so nothing was answered. Look at it again.',
  APPROVAL_DENIED: 'The owner said no to exactly this a short while ago.',
  TOO_MANY_APPROVALS: 'Too many asks of yours wait already. Wait until some are decided.',
  REQUESTER_CANNOT_DECIDE: 'Whoever asks cannot be the one who decides.',

  AGENT_SELF_ONLY: 'An agent may look at its own tool servers only.',
  AGENT_ID_MISMATCH: 'The form and its address name two agents. Reload the page and try again.',
  SERVER_NOT_FOUND: 'This tool server does not exist any more.',
  SIGNIN_NOT_FOUND: 'This sign-in is over or never was. Start a new one.',
  NOT_OAUTH_SERVER: 'Nobody signs in at this tool server. It takes its secrets as variables or headers.',
  SIGNIN_INSECURE_ADDRESS: 'A sign-in would travel unprotected to this tool server. Change its address to https.',
  NAVIGATION_ONLY: 'This address is a page. Open its link in a browser.',
  RESERVED_NAME: 'The house keeps this name for itself. Choose another one.',
  DUPLICATE_NAME: 'This agent has a tool server of that name already. Choose another one.',
  TOO_MANY_SERVERS: 'This agent has as many tool servers as one may have. Remove one first.',

  TOKEN_NOT_FOUND: 'That token does not exist any more.',
  SECRET_ALREADY_SHOWN: 'That secret was shown once and is not kept. Mint a new one.',
};

/** Here the server's sentence names the very rule that was missed, so it stands as it is. */
const serverSpeaks = ['INVALID_HANDLE', 'INVALID_SLUG', 'INVALID_PATH'];

/** True when the page has decided what it says for this code. */
export const isKnown = (code: string): boolean => code in texts || serverSpeaks.includes(code);

/** The sentence the page shows for a refusal. */
export function sentenceFor(code: string, serverSentence: string): string {
  return texts[code] ?? (serverSentence || 'The server refused this without saying why.');
}

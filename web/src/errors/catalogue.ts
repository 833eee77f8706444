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

  CANVAS_DOCUMENT_NOT_FOUND: 'This document is not on the canvas any more.',
  CANVAS_BEING_EDITED: 'Somebody edits this document. Wait until they are done, or open a copy.',
  TOO_MANY_CANVAS_OPS_THIS_TURN: 'An agent may change the canvas only so often in one turn.',

  AGENT_NOT_FOUND: 'This agent does not exist.',
  AGENT_EXISTS: 'An agent with this runtime already works in this folder.',
  AGENT_RETIRED: 'This agent is retired and cannot be changed.',
  UNSUPPORTED_PERMISSION_MODE: 'The runtime of this agent does not have that permission mode.',
  AUTONOMY_NOT_ACKNOWLEDGED: 'In this mode the agent acts without asking. Say that you want that, then try again.',
  UNKNOWN_RUNTIME: 'This server does not know that runtime.',
  NOT_A_DIRECTORY: 'That path is a file. Name the folder the agent works in.',
  OUTSIDE_BOUNDARY: 'That path leaves the allowed folder.',
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

/** What a tool server says of itself, and the form that makes one. Pure. */

import type { Status } from '../attention/status';
import type { McpConnection, McpServer } from '../api/types';

/** The server's word for how it stands, in the page's vocabulary and in plain words. */
const standings: Record<string, { status: Status; words: string }> = {
  ready: { status: 'done', words: 'ready' },
  disabled: { status: 'idle', words: 'switched off' },
  unknown: { status: 'idle', words: 'not tried yet' },
  needsSignIn: { status: 'needs you', words: 'needs a sign-in' },
  needsApproval: { status: 'needs you', words: 'changed: needs your word' },
  commandMissing: { status: 'failed', words: 'its program is not found' },
  failing: { status: 'failed', words: 'cannot be reached' },
};

export const serverStatus = ({ status }: Pick<McpServer, 'status'>): { status: Status; words: string } =>
  standings[status] ?? { status: 'unknown', words: status };

/** True where something of it is broken or needs a person. */
export function isBroken(server: Pick<McpServer, 'status'>): boolean {
  const { status } = serverStatus(server);
  return status === 'needs you' || status === 'failed';
}

/**
 * True where its question, with the id in `approvalId`, is open no more and it still waits for the
 * answer: a test asks anew. `openIds` are the questions that are open.
 */
export function needsNewRequest({ status, approvalId }: Pick<McpServer, 'status' | 'approvalId'>, openIds: readonly string[]): boolean {
  return status === 'needsApproval' && (approvalId === null || !openIds.includes(approvalId));
}

/** What runs or is spoken with, one word a piece. */
export const commandLineOf = (connection: McpConnection): string[] =>
  connection.transport === 'stdio' ? [connection.command, ...(connection.args ?? [])] : [connection.url];

/** Names of variables or headers, whose values are kept out of sight. */
export function secretNames(connection: McpConnection): string[] {
  return Object.keys((connection.transport === 'stdio' ? connection.env : connection.headers) ?? {});
}

export function toolsText({ toolCount }: Pick<McpServer, 'toolCount'>): string {
  if (toolCount === null) return 'tools not listed yet';
  return toolCount === 1 ? '1 tool' : `${toolCount} tools`;
}

const signIns: Record<string, string> = { connected: 'signed in', 'needs-auth': 'not signed in' };
/** `""` where no sign-in is known to be wanted. */
export const signInText = ({ authStatus }: Pick<McpServer, 'authStatus'>): string => (authStatus === null ? '' : (signIns[authStatus] ?? authStatus));

/** True where a person can sign in, or has. */
export function takesSignIn({ connection, authStatus, status }: Pick<McpServer, 'connection' | 'authStatus' | 'status'>): boolean {
  if (connection.transport === 'stdio') return false;
  return connection.authKind === 'oauth2' || authStatus !== null || status === 'needsSignIn';
}

/** In a change it keeps the value that is stored. Source: contract 4.3. */
export const KEPT_SECRET = '***';

export type Pair = { name: string; value: string };

export type ServerForm = {
  transport: McpConnection['transport'];
  command: string;
  /** One argument a line. */
  args: string;
  env: Pair[];
  url: string;
  headers: Pair[];
};

export const blankForm: ServerForm = { transport: 'stdio', command: '', args: '', env: [], url: '', headers: [] };

/** Stored values are not put on the screen; they stay unless one is typed over. */
export function formOf(connection: McpConnection): ServerForm {
  const pairs = secretNames(connection).map((name) => ({ name, value: KEPT_SECRET }));
  if (connection.transport !== 'stdio') return { ...blankForm, transport: connection.transport, url: connection.url, headers: pairs };
  return { ...blankForm, command: connection.command, args: (connection.args ?? []).join('\n'), env: pairs };
}

/** What the form says. Arguments nobody touched go back as they were, whatever a line of the form can hold. */
export function connectionOf(form: ServerForm, stored?: McpConnection): McpConnection {
  const named = (pairs: Pair[]) => Object.fromEntries(pairs.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]));
  if (form.transport !== 'stdio') return { transport: form.transport, url: form.url.trim(), headers: named(form.headers) };
  const before = stored?.transport === 'stdio' ? (stored.args ?? []) : [];
  const args = form.args === before.join('\n') ? before : form.args.split('\n').filter((line) => line !== '');
  return { transport: 'stdio', command: form.command.trim(), args, env: named(form.env) };
}

export function isComplete({ transport, command, url }: ServerForm): boolean {
  return transport === 'stdio' ? command.trim() !== '' : url.trim() !== '';
}

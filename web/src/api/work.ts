/** The calls of agents at work: one function an operation, each body shaped as `agents-at-work` says. */

import { changed, reading, type Reading } from './client';
import type * as Work from './agents-at-work';

type Query = Record<string, string | number | boolean | undefined>;

async function ask<Body>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<{ data?: Body; error?: unknown; response: Response }> {
  const response = await fetch(path, {
    method,
    headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const read = (): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  };
  return response.ok ? { data: read() as Body, response } : { error: read(), response };
}

const get = <Body>(path: string, query: Query = {}): Promise<Reading<Body>> => {
  const words = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return reading(ask<Body>('GET', words.length === 0 ? path : `${path}?${new URLSearchParams(words)}`));
};
const post = <Body>(path: string, body?: unknown): Promise<Body> => changed(ask<Body>('POST', path, body));
const patch = <Body>(path: string, body: unknown): Promise<Body> => changed(ask<Body>('PATCH', path, body));
const remove = <Body>(path: string): Promise<Body> => changed(ask<Body>('DELETE', path));

const session = (id: string) => `/api/sessions/${encodeURIComponent(id)}`;
const room = (id: string) => `/api/rooms/${encodeURIComponent(id)}`;
const part = encodeURIComponent;

/** Rows a page holds at most. Source: contract 1.6. */
const PAGE_MAX = 200;
/** Messages read at once. */
export const MESSAGES_PAGE = 50;

export const work = {
  sessions: {
    page: (source: 'guildhall' | 'terminal', cursor?: string) =>
      get<Work.Sessions>('/api/sessions', { source, limit: PAGE_MAX, cursor }),
    one: (id: string) => get<Work.Session>(session(id)),
    open: (body: Work.OpenSession) => post<Work.Session>('/api/sessions', body),
    change: (id: string, body: Work.ChangeSession) => patch<Work.Session>(session(id), body),
    close: (id: string) => remove<Work.Session>(session(id)),
    /** Stops the turn; without `keepQueue` what waits is dropped too. */
    cancel: (id: string, keepQueue: boolean) => post<Work.Cancelled>(`${session(id)}/cancel`, { keepQueue }),
  },

  messages: {
    /** The newest page without a cursor, older ones by it; oldest first within a page. */
    page: (id: string, cursor?: string) => get<Work.Messages>(`${session(id)}/messages`, { limit: MESSAGES_PAGE, cursor }),
    /** `idempotencyKey` makes a repeat harmless: one message per key. */
    send: (id: string, content: string, idempotencyKey: string) =>
      changed(ask<Work.Accepted>('POST', `${session(id)}/messages`, { content }, { 'idempotency-key': idempotencyKey })),
    queue: (id: string) => get<Work.Queue>(`${session(id)}/queue`),
    edit: (id: string, messageId: string, content: string) =>
      patch<Work.Queue>(`${session(id)}/queue/${part(messageId)}`, { content }),
    unqueue: (id: string, messageId: string) => remove<Work.Queue>(`${session(id)}/queue/${part(messageId)}`),
  },

  interactions: {
    pending: () => get<Work.PendingInteractions>('/api/sessions/pending-interactions'),
    approve: (id: string, body: { toolCallId: string; digest: string; alwaysAllow: boolean; optionId?: string }) =>
      post<Work.Decided>(`${session(id)}/approve`, body),
    /** Takes no digest: a refusal is safe whatever was shown. */
    deny: (id: string, body: { toolCallId: string; reason?: string; tellAgent?: boolean }) =>
      post<Work.Decided>(`${session(id)}/deny`, body),
    answer: (id: string, body: { toolCallId: string; digest: string; answers: Work.Answers; decline?: boolean }) =>
      post<Work.Decided>(`${session(id)}/submit-answers`, body),
  },

  tasks: (id: string) => get<Work.Tasks>(`${session(id)}/tasks`),

  commands: (query: { cwd: string; runtime: string; refresh: boolean }) => get<Work.Commands>('/api/commands', query),

  runtimes: {
    capabilities: () => get<Work.Capabilities>('/api/capabilities'),
    list: () => get<Work.Runtimes>('/api/runtimes'),
    check: (type: string) => post<Work.Runtime>(`/api/runtimes/${part(type)}/check`),
  },

  turns: {
    page: (roomId: string, cursor?: string) => get<Work.Turns>(`${room(roomId)}/turns`, { limit: PAGE_MAX, cursor }),
    run: (roomId: string, turnId: string) => post<Work.Turn>(`${room(roomId)}/turns/${part(turnId)}/run`),
    halt: (roomId: string) => post<Work.Stopped>(`${room(roomId)}/halt`),
    haltOne: (roomId: string, authorId: string) => post<Work.Stopped>(`${room(roomId)}/halt/${part(authorId)}`),
  },

  /** `from` and `to` are RFC 3339; without them the last 30 days. */
  usage: (groupBy: Work.UsageGroup, from?: string, to?: string) => get<Work.UsageReport>('/api/usage', { groupBy, from, to }),
};

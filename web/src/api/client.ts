/**
 * The one module that talks HTTP, through the client made for `openapi.json`.
 * Every answer is either its body or an `ApiError`; every reading says at which event it was read.
 */

import createClient from 'openapi-fetch';
import type { Content } from '../canvas/content';
import type { CanvasOwner } from '../canvas/canvas-owner';
import { ApiError } from '../errors/error';
import type { components, paths } from './schema';
import type { RevivedDecision } from './types';

type Schemas = components['schemas'];

/** A body and the `X-Event-Seq` it was read at: events up to `seq` are already in it. */
export type SnapshotAt<Body> = { body: Body; seq: number };

/** Every part is optional; all that is asked is done, or nothing. */
export type ChangeDocument = { content?: Content; pinned?: boolean; activate?: boolean };

type Answer<Body> = { data?: Body; error?: unknown; response: Response };

export const http = createClient<paths>({ baseUrl: location.origin, headers: { accept: 'application/json' } });

/** Hears every refusal: whichever call finds out first tells that one is signed out. */
export const onRefusal = new Set<(refusal: ApiError) => void>();

/** Entries a page holds at most, and authors alike. Source: contract 1.6. */
export const PAGE_MAX = 200;

export async function readSnapshot<Body>(asked: Promise<Answer<Body>>): Promise<SnapshotAt<Body>> {
  let answer: Answer<Body>;
  try {
    answer = await asked;
  } catch {
    throw ApiError.unreachable();
  }
  if (!answer.response.ok) {
    const { status, headers } = answer.response;
    throw refusal(status, headers.get('x-request-id') ?? '', answer.error);
  }
  return { body: answer.data as Body, seq: Number(answer.response.headers.get('x-event-seq') ?? 0) };
}

export async function bodyOf<Body>(asked: Promise<Answer<Body>>): Promise<Body> {
  return (await readSnapshot(asked)).body;
}

function refusal(status: number, requestId: string, error: unknown): ApiError {
  const envelope = error as Partial<Schemas['ErrorEnvelope']> | undefined;
  const readable = typeof envelope?.code === 'string' && typeof envelope.error === 'string';
  const refused = readable
    ? new ApiError(envelope.code ?? '', envelope.error ?? '', requestId, status, envelope.details, { ...envelope })
    : new ApiError('UNREADABLE_ANSWER', `The answer (${status}) could not be read.`, requestId, status);
  for (const hear of onRefusal) hear(refused);
  return refused;
}

/** Tells of a refusal that a reader of its own got, such as that of the stream. */
export async function reportRefusal(response: Response): Promise<void> {
  const body: unknown = await response.json().catch(() => undefined);
  refusal(response.status, response.headers.get('x-request-id') ?? '', body);
}

/**
 * Sends files and says how far it is, 0 to 1, which `fetch` cannot.
 * An abort by `signal` ends it as unreachable.
 */
function upload<Body>(path: string, files: FormData, onprogress: (part: number) => void, signal: AbortSignal): Promise<Body> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', path);
    request.responseType = 'json';
    request.setRequestHeader('accept', 'application/json');
    request.upload.onprogress = ({ loaded, total }) => onprogress(total > 0 ? loaded / total : 0);
    request.onerror = request.onabort = () => reject(ApiError.unreachable());
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve(request.response as Body);
      else reject(refusal(request.status, request.getResponseHeader('x-request-id') ?? '', request.response));
    };
    signal.addEventListener('abort', () => request.abort());
    request.send(files);
  });
}

/** Not ready is an answer too: 503 with the same body. */
async function readiness(): Promise<Answer<Schemas['Ready']>> {
  const { data, error, response } = await http.GET('/readyz');
  return error && 'checks' in error ? { data: error, response: new Response() } : { data, error, response };
}

/** Where a backup's copy of the data is downloaded. */
export const backupPath = (id: string): string => `/api/backups/${encodeURIComponent(id)}/file`;

/** Where a room is downloaded whole, one JSON value a line. */
export const exportPath = (roomId: string): string => `/api/rooms/${encodeURIComponent(roomId)}/export`;

/** The same routes for the canvas of a room and of a session. */
const canvasAt = {
  room: {
    all: '/api/rooms/{id}/canvas',
    one: '/api/rooms/{id}/canvas/{documentId}',
    editing: '/api/rooms/{id}/canvas/{documentId}/editing',
    reload: '/api/rooms/{id}/canvas/{documentId}/reload',
  },
  session: {
    all: '/api/sessions/{id}/canvas',
    one: '/api/sessions/{id}/canvas/{documentId}',
    editing: '/api/sessions/{id}/canvas/{documentId}/editing',
    reload: '/api/sessions/{id}/canvas/{documentId}/reload',
  },
} as const;

export const api = {
  whoami: () => readSnapshot(http.GET('/api/auth/whoami')),
  health: () => readSnapshot(http.GET('/api/health')),
  ready: () => readSnapshot(readiness()),
  storage: () => readSnapshot(http.GET('/api/storage')),

  authors: {
    page: (cursor?: string) =>
      readSnapshot(
        http.GET('/api/rooms/authors', {
          params: { query: { includeRetired: true, limit: PAGE_MAX, ...(cursor ? { cursor } : {}) } },
        }),
      ),
    me: () => readSnapshot(http.GET('/api/rooms/authors/me')),
    one: (authorId: string) => readSnapshot(http.GET('/api/rooms/authors/{authorId}', { params: { path: { authorId } } })),
    change: (authorId: string, body: Schemas['ChangeAuthor']) =>
      bodyOf(http.PATCH('/api/rooms/authors/{authorId}', { params: { path: { authorId } }, body })),
    handles: (authorId: string) =>
      readSnapshot(http.GET('/api/rooms/authors/{authorId}/handles', { params: { path: { authorId } } })),
    setHandle: (authorId: string, handle: string) =>
      bodyOf(http.PATCH('/api/rooms/authors/{authorId}/handle', { params: { path: { authorId } }, body: { handle } })),
  },

  rooms: {
    list: () => readSnapshot(http.GET('/api/rooms', { params: { query: { includeArchived: true } } })),
    one: (id: string) => readSnapshot(http.GET('/api/rooms/{id}', { params: { path: { id } } })),
    create: (body: Schemas['MakeRoom']) => bodyOf(http.POST('/api/rooms', { body })),
    change: (id: string, body: Schemas['ChangeRoom']) =>
      bodyOf(http.PATCH('/api/rooms/{id}', { params: { path: { id } }, body })),
    typing: (id: string, on: boolean) =>
      bodyOf(http.POST('/api/rooms/{id}/signals', { params: { path: { id } }, body: { kind: 'typing', on } })),
    readTo: (id: string, lastReadSeq: number, allowBack = false) =>
      bodyOf(http.PUT('/api/rooms/{id}/read-cursor', { params: { path: { id } }, body: { lastReadSeq, allowBack } })),
  },

  members: {
    add: (id: string, authorId: string) =>
      bodyOf(http.POST('/api/rooms/{id}/members', { params: { path: { id } }, body: { authorId } })),
    change: (id: string, authorId: string, responseMode: Schemas['ResponseMode']) =>
      bodyOf(http.PATCH('/api/rooms/{id}/members/{authorId}', { params: { path: { id, authorId } }, body: { responseMode } })),
    remove: async (id: string, authorId: string): Promise<void> => {
      await bodyOf(http.DELETE('/api/rooms/{id}/members/{authorId}', { params: { path: { id, authorId } } }));
    },
  },

  entries: {
    page: (id: string, query: { before?: number; after?: number; limit: number }) =>
      readSnapshot(http.GET('/api/rooms/{id}/entries', { params: { path: { id }, query } })),
    one: (id: string, entryId: string) =>
      readSnapshot(http.GET('/api/rooms/{id}/entries/{entryId}', { params: { path: { id, entryId } } })),
    /** `idempotencyKey` makes a repeat harmless: one entry per key. */
    post: (id: string, body: Schemas['Post'], idempotencyKey: string) =>
      bodyOf(
        http.POST('/api/rooms/{id}/entries', {
          params: { path: { id } },
          headers: { 'idempotency-key': idempotencyKey },
          body,
        }),
      ),
    redact: (id: string, entryId: string) =>
      bodyOf(http.DELETE('/api/rooms/{id}/entries/{entryId}', { params: { path: { id, entryId } } })),
    /** Like its counterpart idempotent; both answer the whole set. */
    react: (id: string, entryId: string, emoji: string) =>
      bodyOf(http.PUT('/api/rooms/{id}/entries/{entryId}/reactions/{emoji}', { params: { path: { id, entryId, emoji } } })),
    unreact: (id: string, entryId: string, emoji: string) =>
      bodyOf(http.DELETE('/api/rooms/{id}/entries/{entryId}/reactions/{emoji}', { params: { path: { id, entryId, emoji } } })),
  },

  threads: {
    /** Threads one wrote in, newest activity first. */
    mine: (cursor?: string) => readSnapshot(http.GET('/api/rooms/threads', { params: { query: cursor ? { cursor } : {} } })),
    /** The replies above seq `after`. */
    page: (id: string, rootEntryId: string, after: number) =>
      readSnapshot(
        http.GET('/api/rooms/{id}/threads/{rootEntryId}', {
          params: { path: { id, rootEntryId }, query: { after, limit: PAGE_MAX } },
        }),
      ),
  },

  attachments: {
    /** One file a request, so that each has its own progress and its own refusal. */
    upload: (id: string, file: File, onprogress: (part: number) => void, signal: AbortSignal) => {
      const form = new FormData();
      form.append('files', file, file.name);
      return upload<Schemas['Uploaded']>(`/api/rooms/${encodeURIComponent(id)}/attachments`, form, onprogress, signal);
    },
  },

  search: (query: { q: string; limit: number; cursor?: string }) => readSnapshot(http.GET('/api/search', { params: { query } })),

  accounts: {
    register: (body: Schemas['Register']) => bodyOf(http.POST('/api/auth/register', { body })),
    signIn: (email: string, password: string) => bodyOf(http.POST('/api/auth/login', { body: { email, password } })),
    signOut: () => bodyOf(http.POST('/api/auth/logout')),
    changePassword: (current: string, next: string) => bodyOf(http.POST('/api/auth/password', { body: { current, next } })),
    list: () => readSnapshot(http.GET('/api/auth/accounts', { params: { query: { limit: PAGE_MAX } } })),
    invite: (email: string, displayName: string) => bodyOf(http.POST('/api/auth/accounts', { body: { email, displayName } })),
    remove: async (id: string): Promise<void> => {
      await bodyOf(http.DELETE('/api/auth/accounts/{id}', { params: { path: { id } } }));
    },
  },

  trustedBrowsers: {
    forget: async (): Promise<void> => {
      await bodyOf(http.DELETE('/api/auth/open'));
    },
  },

  keys: {
    list: () => readSnapshot(http.GET('/api/auth/keys', { params: { query: { limit: PAGE_MAX } } })),
    make: (label: string) => bodyOf(http.POST('/api/auth/keys', { body: { label } })),
    revoke: async (id: string): Promise<void> => {
      await bodyOf(http.DELETE('/api/auth/keys/{id}', { params: { path: { id } } }));
    },
  },

  backups: {
    list: () => readSnapshot(http.GET('/api/backups')),
    make: () => bodyOf(http.POST('/api/backups')),
  },

  restore: {
    start: (id: string) => bodyOf(http.POST('/api/backups/{id}/restore', { params: { path: { id } } })),
    last: () => readSnapshot(http.GET('/api/restore')),
    decide: (id: string, decision: RevivedDecision) =>
      bodyOf(http.POST('/api/restore/revived/{id}', { params: { path: { id } }, body: { decision } })),
  },

  settings: {
    list: () => readSnapshot(http.GET('/api/settings')),
    /** Null drops the stored value. */
    change: (body: Record<string, unknown>) => bodyOf(http.PATCH('/api/settings', { body })),
  },

  canvas: {
    list: ({ kind, id }: CanvasOwner) => readSnapshot(http.GET(canvasAt[kind].all, { params: { path: { id } } })),
    one: ({ kind, id }: CanvasOwner, documentId: string) => readSnapshot(http.GET(canvasAt[kind].one, { params: { path: { id, documentId } } })),
    open: ({ kind, id }: CanvasOwner, content: Content) =>
      bodyOf(http.POST(canvasAt[kind].all, { params: { path: { id } }, body: { content: content as Schemas['CanvasContent'] } })),
    /** With `rev` only while the document still is at that revision; else 412. */
    change: ({ kind, id }: CanvasOwner, documentId: string, change: ChangeDocument, rev?: number) =>
      bodyOf(
        http.PATCH(canvasAt[kind].one, {
          params: { path: { id, documentId } },
          ...(rev === undefined ? {} : { headers: { 'if-match': `"${rev}"` } }),
          body: change as Schemas['ChangeDocument'],
        }),
      ),
    close: async ({ kind, id }: CanvasOwner, documentId: string): Promise<void> => {
      await bodyOf(http.DELETE(canvasAt[kind].one, { params: { path: { id, documentId } } }));
    },
    /** `leaving`: the page goes away with this word, which then arrives all the same. */
    edit: ({ kind, id }: CanvasOwner, documentId: string, editing: boolean, leaving = false) =>
      bodyOf(http.POST(canvasAt[kind].editing, { params: { path: { id, documentId } }, body: { editing }, keepalive: leaving })),
    /** Binds a document to the file that now stands at its path; the owner alone may. */
    reload: ({ kind, id }: CanvasOwner, documentId: string) => bodyOf(http.POST(canvasAt[kind].reload, { params: { path: { id, documentId } } })),
    discuss: (id: string, documentId: string) =>
      bodyOf(http.POST('/api/rooms/{id}/canvas/{documentId}/thread', { params: { path: { id, documentId } } })),
  },

  agents: {
    list: () => readSnapshot(http.GET('/api/agents', { params: { query: { includeRetired: true } } })),
    create: (body: Schemas['RegisterAgent']) => bodyOf(http.POST('/api/agents', { body })),
    change: (id: string, body: Schemas['ChangeAgent']) =>
      bodyOf(http.PATCH('/api/agents/{id}', { params: { path: { id } }, body })),
    retire: (id: string) => bodyOf(http.DELETE('/api/agents/{id}', { params: { path: { id } } })),
    tokens: (id: string) => readSnapshot(http.GET('/api/agents/{id}/tokens', { params: { path: { id } } })),
    mint: (id: string, label: string) =>
      bodyOf(http.POST('/api/agents/{id}/tokens', { params: { path: { id } }, body: { label } })),
    revoke: (id: string, tokenId: string) =>
      bodyOf(http.DELETE('/api/agents/{id}/tokens/{tokenId}', { params: { path: { id, tokenId } } })),
  },
};

/**
 * The one module that talks HTTP, through the client made for `openapi.json`.
 * Every answer is either its body or an `ApiError`; every reading says at which event it was read.
 */

import createClient from 'openapi-fetch';
import type { Content } from '../canvas/content';
import { ApiError } from '../errors/error';
import type { components, paths } from './schema';

type Schemas = components['schemas'];

/** A body and the `X-Event-Seq` it was read at: events up to `seq` are already in it. */
export type Reading<Body> = { body: Body; seq: number };

/** Every part is optional; all that is asked is done, or nothing. */
export type ChangeDocument = { content?: Content; pinned?: boolean; activate?: boolean };

type Answer<Body> = { data?: Body; error?: unknown; response: Response };

const http = createClient<paths>({ baseUrl: location.origin, headers: { accept: 'application/json' } });

/** Entries a page holds at most, and authors alike. Source: contract 1.6. */
const PAGE_MAX = 200;

async function reading<Body>(asked: Promise<Answer<Body>>): Promise<Reading<Body>> {
  let answer: Answer<Body>;
  try {
    answer = await asked;
  } catch {
    throw ApiError.unreachable();
  }
  if (!answer.response.ok) throw refusal(answer.response, answer.error);
  return { body: answer.data as Body, seq: Number(answer.response.headers.get('x-event-seq') ?? 0) };
}

async function changed<Body>(asked: Promise<Answer<Body>>): Promise<Body> {
  return (await reading(asked)).body;
}

function refusal(response: Response, error: unknown): ApiError {
  const requestId = response.headers.get('x-request-id') ?? '';
  const envelope = error as Partial<Schemas['ErrorEnvelope']> | undefined;
  if (typeof envelope?.code !== 'string' || typeof envelope.error !== 'string') {
    return new ApiError('UNREADABLE_ANSWER', `The answer (${response.status}) could not be read.`, requestId, response.status);
  }
  return new ApiError(envelope.code, envelope.error, requestId, response.status, envelope.details);
}

export const api = {
  whoami: () => reading(http.GET('/api/auth/whoami')),
  health: () => reading(http.GET('/api/health')),

  authors: {
    page: (cursor?: string) =>
      reading(
        http.GET('/api/rooms/authors', {
          params: { query: { includeRetired: true, limit: PAGE_MAX, ...(cursor ? { cursor } : {}) } },
        }),
      ),
    me: () => reading(http.GET('/api/rooms/authors/me')),
    one: (authorId: string) => reading(http.GET('/api/rooms/authors/{authorId}', { params: { path: { authorId } } })),
    change: (authorId: string, body: Schemas['ChangeAuthor']) =>
      changed(http.PATCH('/api/rooms/authors/{authorId}', { params: { path: { authorId } }, body })),
    handles: (authorId: string) =>
      reading(http.GET('/api/rooms/authors/{authorId}/handles', { params: { path: { authorId } } })),
    setHandle: (authorId: string, handle: string) =>
      changed(http.PATCH('/api/rooms/authors/{authorId}/handle', { params: { path: { authorId } }, body: { handle } })),
  },

  rooms: {
    list: () => reading(http.GET('/api/rooms', { params: { query: { includeArchived: 'true' } } })),
    one: (id: string) => reading(http.GET('/api/rooms/{id}', { params: { path: { id } } })),
    create: (body: Schemas['MakeRoom']) => changed(http.POST('/api/rooms', { body })),
    change: (id: string, body: Schemas['ChangeRoom']) =>
      changed(http.PATCH('/api/rooms/{id}', { params: { path: { id } }, body })),
    typing: (id: string, on: boolean) =>
      changed(http.POST('/api/rooms/{id}/signals', { params: { path: { id } }, body: { kind: 'typing', on } })),
    readTo: (id: string, lastReadSeq: number, allowBack = false) =>
      changed(http.PUT('/api/rooms/{id}/read-cursor', { params: { path: { id } }, body: { lastReadSeq, allowBack } })),
  },

  members: {
    add: (id: string, authorId: string) =>
      changed(http.POST('/api/rooms/{id}/members', { params: { path: { id } }, body: { authorId } })),
    change: (id: string, authorId: string, responseMode: Schemas['ResponseMode']) =>
      changed(http.PATCH('/api/rooms/{id}/members/{authorId}', { params: { path: { id, authorId } }, body: { responseMode } })),
    remove: async (id: string, authorId: string): Promise<void> => {
      await changed(http.DELETE('/api/rooms/{id}/members/{authorId}', { params: { path: { id, authorId } } }));
    },
  },

  entries: {
    page: (id: string, query: { before?: number; after?: number; limit: number }) =>
      reading(http.GET('/api/rooms/{id}/entries', { params: { path: { id }, query } })),
    /** `idempotencyKey` makes a repeat harmless: one entry per key. */
    post: (id: string, text: string, idempotencyKey: string) =>
      changed(
        http.POST('/api/rooms/{id}/entries', {
          params: { path: { id } },
          headers: { 'idempotency-key': idempotencyKey },
          body: { text },
        }),
      ),
  },

  canvas: {
    list: (id: string) => reading(http.GET('/api/rooms/{id}/canvas', { params: { path: { id } } })),
    one: (id: string, documentId: string) =>
      reading(http.GET('/api/rooms/{id}/canvas/{documentId}', { params: { path: { id, documentId } } })),
    open: (id: string, content: Content) =>
      changed(http.POST('/api/rooms/{id}/canvas', { params: { path: { id } }, body: { content: content as Schemas['CanvasContent'] } })),
    /** With `rev` only while the document still is at that revision; else 412. */
    change: (id: string, documentId: string, change: ChangeDocument, rev?: number) =>
      changed(
        http.PATCH('/api/rooms/{id}/canvas/{documentId}', {
          params: { path: { id, documentId } },
          ...(rev === undefined ? {} : { headers: { 'if-match': `"${rev}"` } }),
          body: change as Schemas['ChangeDocument'],
        }),
      ),
    close: async (id: string, documentId: string): Promise<void> => {
      await changed(http.DELETE('/api/rooms/{id}/canvas/{documentId}', { params: { path: { id, documentId } } }));
    },
    /** `leaving`: the page goes away with this word, which then arrives all the same. */
    edit: (id: string, documentId: string, editing: boolean, leaving = false) =>
      changed(
        http.POST('/api/rooms/{id}/canvas/{documentId}/editing', {
          params: { path: { id, documentId } },
          body: { editing },
          keepalive: leaving,
        }),
      ),
    discuss: (id: string, documentId: string) =>
      changed(http.POST('/api/rooms/{id}/canvas/{documentId}/thread', { params: { path: { id, documentId } } })),
  },

  agents: {
    list: () => reading(http.GET('/api/agents', { params: { query: { includeRetired: true } } })),
    create: (body: Schemas['RegisterAgent']) => changed(http.POST('/api/agents', { body })),
    change: (id: string, body: Schemas['ChangeAgent']) =>
      changed(http.PATCH('/api/agents/{id}', { params: { path: { id } }, body })),
    retire: (id: string) => changed(http.DELETE('/api/agents/{id}', { params: { path: { id } } })),
    tokens: (id: string) => reading(http.GET('/api/agents/{id}/tokens', { params: { path: { id } } })),
    mint: (id: string, label: string) =>
      changed(http.POST('/api/agents/{id}/tokens', { params: { path: { id } }, body: { label } })),
    revoke: (id: string, tokenId: string) =>
      changed(http.DELETE('/api/agents/{id}/tokens/{tokenId}', { params: { path: { id, tokenId } } })),
  },
};

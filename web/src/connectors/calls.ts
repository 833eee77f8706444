/** The calls of connectors, one function an operation. */

import { changed, http, PAGE_MAX, reading } from '../api/client';
import type {
  AgentGrants,
  AttemptsPage,
  CatalogPage,
  Connection,
  Flow,
  NewProviderType,
  Provider,
  PutToolkit,
  Review,
  Revision,
  Selection,
  StartConnection,
  Toolkit,
} from './types';

type Init = { params?: { path?: Record<string, string>; query?: Record<string, string | number> }; body?: unknown };
type Ask = <Body>(path: string, init?: Init) => Promise<{ data?: Body; error?: unknown; response: Response }>;

/** The page's client for the paths below, with the types of this folder. */
const ask = http as unknown as Record<'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', Ask>;

const ROOT = '/api/connectors';
const at = (id: string) => ({ params: { path: { id } } });
const of = (id: string, slug: string) => ({ params: { path: { id, slug } } });

/** Lines of one page of the catalog. Source: contract 5.3. */
const CATALOG_PAGE = 100;

export const connectors = {
  providers: {
    list: () => reading(ask.GET<{ providers: Provider[] }>(`${ROOT}/providers`)),
    add: (type: NewProviderType, label: string) => changed(ask.POST<Provider>(`${ROOT}/providers`, { body: { type, label } })),
    rename: (id: string, label: string) => changed(ask.PATCH<Provider>(`${ROOT}/providers/{id}`, { ...at(id), body: { label } })),
    remove: async (id: string): Promise<void> => {
      await changed(ask.DELETE(`${ROOT}/providers/{id}`, at(id)));
    },
  },

  toolkits: {
    put: (id: string, slug: string, body: PutToolkit) => changed(ask.PUT<Toolkit>(`${ROOT}/providers/{id}/toolkits/{slug}`, { ...of(id, slug), body })),
    remove: async (id: string, slug: string): Promise<void> => {
      await changed(ask.DELETE(`${ROOT}/providers/{id}/toolkits/{slug}`, of(id, slug)));
    },
    /** The client secret of its sign-in; nobody reads it back. */
    saveSecret: async (id: string, slug: string, secret: string): Promise<void> => {
      await changed(ask.PUT(`${ROOT}/providers/{id}/toolkits/{slug}/credential`, { ...of(id, slug), body: { secret } }));
    },
    forgetSecret: async (id: string, slug: string): Promise<void> => {
      await changed(ask.DELETE(`${ROOT}/providers/{id}/toolkits/{slug}/credential`, of(id, slug)));
    },
  },

  catalog: (q: string, cursor: string | null) =>
    reading(
      ask.GET<CatalogPage>(`${ROOT}/catalog`, {
        params: { query: { limit: CATALOG_PAGE, ...(q === '' ? {} : { q }), ...(cursor === null ? {} : { cursor }) } },
      }),
    ),

  flows: {
    /** One key, one flow: a repeat after a lost answer gives the same. */
    start: (body: StartConnection, idempotencyKey: string) => changed(ask.POST<Flow>(`${ROOT}/connections`, { body: { ...body, idempotencyKey } })),
    reconnect: (id: string, idempotencyKey: string) =>
      changed(ask.POST<Flow>(`${ROOT}/connections/{id}/reconnect`, { ...at(id), body: { idempotencyKey } })),
    one: (id: string) => reading(ask.GET<Flow>(`${ROOT}/authentication-flows/{id}`, at(id))),
    giveKey: (id: string, secret: string) => changed(ask.POST<Flow>(`${ROOT}/authentication-flows/{id}/credential`, { ...at(id), body: { secret } })),
    cancel: (id: string) => changed(ask.DELETE<Flow>(`${ROOT}/authentication-flows/{id}`, at(id))),
  },

  connections: {
    list: () => reading(ask.GET<{ connections: Connection[] }>(`${ROOT}/connections`)),
    change: (id: string, body: { label?: string; enabled?: boolean }) =>
      changed(ask.PATCH<Connection>(`${ROOT}/connections/{id}`, { ...at(id), body })),
    pause: (id: string) => changed(ask.POST<Connection>(`${ROOT}/connections/{id}/pause`, at(id))),
    resume: (id: string) => changed(ask.POST<Connection>(`${ROOT}/connections/{id}/resume`, at(id))),
    disconnect: (id: string) => changed(ask.DELETE<Connection>(`${ROOT}/connections/{id}`, at(id))),
    /** Takes away what is left of a disconnected one. */
    remove: async (id: string): Promise<void> => {
      await changed(ask.POST(`${ROOT}/connections/{id}/remove`, at(id)));
    },
  },

  reviews: {
    /** Lists the service now. */
    open: (connectionId: string) => changed(ask.POST<Review>(`${ROOT}/connections/{id}/reviews`, at(connectionId))),
    /** Takes the place of all that was granted on the connection. */
    apply: (reviewId: string, body: Selection) => changed(ask.POST<{ grants: AgentGrants[] }>(`${ROOT}/reviews/{id}/apply`, { ...at(reviewId), body })),
  },

  /** What an agent may run with a connection. */
  accessible: (agentId: string, connectionId: string) =>
    reading(
      ask.GET<{ operations: Revision[] }>(`${ROOT}/accessible/{connectionId}/operations`, { params: { path: { connectionId }, query: { agentId } } }),
    ),

  usage: (query: { agentId?: string; connectionId?: string; cursor?: string }) =>
    reading(ask.GET<AttemptsPage>(`${ROOT}/usage`, { params: { query: { limit: PAGE_MAX, ...query } } })),
};

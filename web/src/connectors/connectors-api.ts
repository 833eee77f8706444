/** The calls of connectors, one function an operation. */

import { bodyOf, http, PAGE_MAX, readSnapshot } from '../api/client';
import type { NewProviderType, PutToolkit, GrantSelection, StartConnection } from './types';

const at = (id: string) => ({ params: { path: { id } } });
const of = (id: string, slug: string) => ({ params: { path: { id, slug } } });
const flow = (flowId: string) => ({ params: { path: { flowId } } });

/** Lines of one page of the catalog. Source: contract 5.3. */
const CATALOG_PAGE = 100;

export const connectorsApi = {
  providers: {
    list: () => readSnapshot(http.GET('/api/connectors/providers')),
    add: (type: NewProviderType, label: string) => bodyOf(http.POST('/api/connectors/providers', { body: { type, label } })),
    rename: (id: string, label: string) => bodyOf(http.PATCH('/api/connectors/providers/{id}', { ...at(id), body: { label } })),
    remove: async (id: string): Promise<void> => {
      await bodyOf(http.DELETE('/api/connectors/providers/{id}', at(id)));
    },
  },

  toolkits: {
    put: (id: string, slug: string, body: PutToolkit) =>
      bodyOf(http.PUT('/api/connectors/providers/{id}/toolkits/{slug}', { ...of(id, slug), body })),
    remove: async (id: string, slug: string): Promise<void> => {
      await bodyOf(http.DELETE('/api/connectors/providers/{id}/toolkits/{slug}', of(id, slug)));
    },
    /** The client secret of its sign-in; nobody reads it back. */
    saveSecret: async (id: string, slug: string, secret: string): Promise<void> => {
      await bodyOf(http.PUT('/api/connectors/providers/{id}/toolkits/{slug}/credential', { ...of(id, slug), body: { secret } }));
    },
    forgetSecret: async (id: string, slug: string): Promise<void> => {
      await bodyOf(http.DELETE('/api/connectors/providers/{id}/toolkits/{slug}/credential', of(id, slug)));
    },
  },

  catalog: (q: string, cursor: string | null) =>
    readSnapshot(
      http.GET('/api/connectors/catalog', {
        params: { query: { limit: CATALOG_PAGE, ...(q === '' ? {} : { q }), ...(cursor === null ? {} : { cursor }) } },
      }),
    ),

  flows: {
    /** One key, one flow: a repeat after a lost answer gives the same. */
    start: (body: StartConnection, idempotencyKey: string) =>
      bodyOf(http.POST('/api/connectors/connections', { body: { ...body, idempotencyKey } })),
    reconnect: (id: string, idempotencyKey: string) =>
      bodyOf(http.POST('/api/connectors/connections/{id}/reconnect', { ...at(id), body: { idempotencyKey } })),
    /** Those of the last half hour. */
    list: () => readSnapshot(http.GET('/api/connectors/authentication-flows')),
    one: (id: string) => readSnapshot(http.GET('/api/connectors/authentication-flows/{flowId}', flow(id))),
    giveKey: (id: string, secret: string) =>
      bodyOf(http.POST('/api/connectors/authentication-flows/{flowId}/credential', { ...flow(id), body: { secret } })),
    cancel: (id: string) => bodyOf(http.DELETE('/api/connectors/authentication-flows/{flowId}', flow(id))),
  },

  connections: {
    list: () => readSnapshot(http.GET('/api/connectors/connections')),
    change: (id: string, body: { label?: string; enabled?: boolean }) =>
      bodyOf(http.PATCH('/api/connectors/connections/{id}', { ...at(id), body })),
    pause: (id: string) => bodyOf(http.POST('/api/connectors/connections/{id}/pause', at(id))),
    resume: (id: string) => bodyOf(http.POST('/api/connectors/connections/{id}/resume', at(id))),
    disconnect: (id: string) => bodyOf(http.DELETE('/api/connectors/connections/{id}', at(id))),
    /** Takes away what is left of a disconnected one. */
    remove: async (id: string): Promise<void> => {
      await bodyOf(http.POST('/api/connectors/connections/{id}/remove', at(id)));
    },
  },

  reviews: {
    /** Lists the service now. */
    open: (connectionId: string) => bodyOf(http.POST('/api/connectors/connections/{id}/reviews', at(connectionId))),
    /** Takes the place of all that was granted on the connection. */
    apply: (id: string, body: GrantSelection) => bodyOf(http.POST('/api/connectors/reviews/{id}/apply', { ...at(id), body })),
  },

  sessions: {
    /** What a session's agent can reach, and what the session says of it. */
    list: (sessionId: string) => readSnapshot(http.GET('/api/sessions/{id}/connections', at(sessionId))),
    /** Null takes back what the session said. */
    say: (sessionId: string, connectionId: string, on: boolean | null) =>
      bodyOf(http.PUT('/api/sessions/{id}/connections/{connectionId}', { params: { path: { id: sessionId, connectionId } }, body: { on } })),
  },

  usage: (query: { agentId?: string; connectionId?: string; cursor?: string }) =>
    readSnapshot(http.GET('/api/connectors/usage', { params: { query: { limit: PAGE_MAX, ...query } } })),
};

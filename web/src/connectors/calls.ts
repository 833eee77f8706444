/** The calls of connectors, one function an operation. */

import { changed, http, PAGE_MAX, reading, type Reading } from '../api/client';
import type { components } from '../api/schema';
import type { CatalogPage, Connection, Flow, NewProviderType, Provider, PutToolkit, Review, Selection, StartConnection, Toolkit } from './types';

type Schemas = components['schemas'];

const at = (id: string) => ({ params: { path: { id } } });
const of = (id: string, slug: string) => ({ params: { path: { id, slug } } });
const flow = (flowId: string) => ({ params: { path: { flowId } } });

/** Lines of one page of the catalog. Source: contract 5.3. */
const CATALOG_PAGE = 100;

/** The document names some words as texts only; the page knows which there are. */
const worded = async <Body>(asked: Promise<unknown>): Promise<Body> => (await asked) as Body;

export const connectors = {
  providers: {
    list: () => worded<Reading<{ providers: Provider[] }>>(reading(http.GET('/api/connectors/providers'))),
    add: (type: NewProviderType, label: string) => changed(http.POST('/api/connectors/providers', { body: { type, label } })),
    rename: (id: string, label: string) => changed(http.PATCH('/api/connectors/providers/{id}', { ...at(id), body: { label } })),
    remove: async (id: string): Promise<void> => {
      await changed(http.DELETE('/api/connectors/providers/{id}', at(id)));
    },
  },

  toolkits: {
    put: (id: string, slug: string, body: PutToolkit) =>
      worded<Toolkit>(changed(http.PUT('/api/connectors/providers/{id}/toolkits/{slug}', { ...of(id, slug), body: body as Schemas['PutToolkit'] }))),
    remove: async (id: string, slug: string): Promise<void> => {
      await changed(http.DELETE('/api/connectors/providers/{id}/toolkits/{slug}', of(id, slug)));
    },
    /** The client secret of its sign-in; nobody reads it back. */
    saveSecret: async (id: string, slug: string, secret: string): Promise<void> => {
      await changed(http.PUT('/api/connectors/providers/{id}/toolkits/{slug}/credential', { ...of(id, slug), body: { secret } }));
    },
    forgetSecret: async (id: string, slug: string): Promise<void> => {
      await changed(http.DELETE('/api/connectors/providers/{id}/toolkits/{slug}/credential', of(id, slug)));
    },
  },

  catalog: (q: string, cursor: string | null) =>
    worded<Reading<CatalogPage>>(
      reading(
        http.GET('/api/connectors/catalog', {
          params: { query: { limit: CATALOG_PAGE, ...(q === '' ? {} : { q }), ...(cursor === null ? {} : { cursor }) } },
        }),
      ),
    ),

  flows: {
    /** One key, one flow: a repeat after a lost answer gives the same. */
    start: (body: StartConnection, idempotencyKey: string) =>
      worded<Flow>(changed(http.POST('/api/connectors/connections', { body: { ...body, idempotencyKey } }))),
    reconnect: (id: string, idempotencyKey: string) =>
      worded<Flow>(changed(http.POST('/api/connectors/connections/{id}/reconnect', { ...at(id), body: { idempotencyKey } }))),
    one: (id: string) => worded<Reading<Flow>>(reading(http.GET('/api/connectors/authentication-flows/{flowId}', flow(id)))),
    giveKey: (id: string, secret: string) =>
      worded<Flow>(changed(http.POST('/api/connectors/authentication-flows/{flowId}/credential', { ...flow(id), body: { secret } }))),
    cancel: (id: string) => worded<Flow>(changed(http.DELETE('/api/connectors/authentication-flows/{flowId}', flow(id)))),
  },

  connections: {
    list: () => worded<Reading<{ connections: Connection[] }>>(reading(http.GET('/api/connectors/connections'))),
    change: (id: string, body: { label?: string; enabled?: boolean }) =>
      worded<Connection>(changed(http.PATCH('/api/connectors/connections/{id}', { ...at(id), body }))),
    pause: (id: string) => worded<Connection>(changed(http.POST('/api/connectors/connections/{id}/pause', at(id)))),
    resume: (id: string) => worded<Connection>(changed(http.POST('/api/connectors/connections/{id}/resume', at(id)))),
    disconnect: (id: string) => worded<Connection>(changed(http.DELETE('/api/connectors/connections/{id}', at(id)))),
    /** Takes away what is left of a disconnected one. */
    remove: async (id: string): Promise<void> => {
      await changed(http.POST('/api/connectors/connections/{id}/remove', at(id)));
    },
  },

  reviews: {
    /** Lists the service now. */
    open: (connectionId: string) => worded<Review>(changed(http.POST('/api/connectors/connections/{id}/reviews', at(connectionId)))),
    /** Takes the place of all that was granted on the connection. */
    apply: (id: string, body: Selection) => changed(http.POST('/api/connectors/reviews/{id}/apply', { ...at(id), body })),
  },

  /** What an agent may run with a connection. */
  accessible: (agentId: string, connectionId: string) =>
    reading(http.GET('/api/connectors/accessible/{id}/operations', { params: { path: { id: connectionId }, query: { agentId } } })),

  usage: (query: { agentId?: string; connectionId?: string; cursor?: string }) =>
    reading(http.GET('/api/connectors/usage', { params: { query: { limit: PAGE_MAX, ...query } } })),
};

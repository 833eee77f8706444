/** What people and programs do with connectors, as the specs do it. */

import type { ToolkitAuth, Connection, AuthFlow, Provider, Review } from '../src/connectors/types';
import { expect, type AgentClient, type TestServer } from './test-server';

/** A small service; nothing listens at its address. */
export const notesDocument = (extra: Record<string, unknown> = {}) => ({
  openapi: '3.1.0',
  info: { title: 'Notes', version: '1.0' },
  servers: [{ url: 'http://127.0.0.1:9/api' }],
  paths: {
    '/notes': {
      get: { operationId: 'listNotes', summary: 'List the notes', responses: { 200: { description: 'ok' } } },
      post: { operationId: 'addNote', summary: 'Add a note', responses: { 201: { description: 'ok' } } },
    },
    ...extra,
  },
});

export const oneMore = {
  '/tags': { get: { operationId: 'listTags', summary: 'List the tags', responses: { 200: { description: 'ok' } } } },
};

export async function provider(server: TestServer, label: string, type: 'openapi' | 'mcp' = 'openapi'): Promise<Provider> {
  return server.post('/api/connectors/providers', { type, label });
}

/** The notes as a service that takes a key, unless it is said how one signs in. */
export async function putNotes(
  server: TestServer,
  providerId: string,
  document: unknown = notesDocument(),
  auth: ToolkitAuth = { kind: 'api-key', in: 'header', name: 'X-Key', prefix: '' },
): Promise<void> {
  const body = { displayName: 'Notes', document, auth };
  const response = await fetch(`${server.url}/api/connectors/providers/${providerId}/toolkits/notes`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', ...server.headers },
    body: JSON.stringify(body),
  });
  expect(response.status, await response.text()).toBe(200);
}

let keys = 0;

/** Connects a service over HTTP, with a key where it asks for one. */
export async function connect(server: TestServer, providerInstanceId: string, toolkit: string, label: string, secret = ''): Promise<Connection> {
  const { flowId } = await server.post<AuthFlow>('/api/connectors/connections', { providerInstanceId, toolkit, label, idempotencyKey: `spec ${++keys}` });
  const path = `/api/connectors/authentication-flows/${flowId}`;
  const flow = () => server.get<AuthFlow>(path);
  if (secret) {
    await expect.poll(async () => (await flow()).step).toBe('credential');
    await server.post(`${path}/credential`, { secret });
  }
  await expect.poll(async () => (await flow()).state).toBe('connected');
  return server.get(`/api/connectors/connections/${(await flow()).connectionId}`);
}

export async function rehearsal(server: TestServer): Promise<Provider> {
  const { providers } = await server.get<{ providers: Provider[] }>('/api/connectors/providers');
  return providers.find(({ type }) => type === 'rehearsal')!;
}

/** Grants the agent every operation of a connection. */
export async function grantAll(server: TestServer, connection: Connection, voice: AgentClient): Promise<Review> {
  const review = await server.post<Review>(`/api/connectors/connections/${connection.id}/reviews`, {});
  await apply(server, review, voice.agent.id, review.operations.map(({ id }) => id));
  return review;
}

/** Grants an agent these operations of a connection and nothing else; answers their ids. */
export async function grant(server: TestServer, connection: Connection, agentId: string, slugs: string[]): Promise<string[]> {
  const review = await server.post<Review>(`/api/connectors/connections/${connection.id}/reviews`, {});
  const ids = slugs.map((slug) => review.operations.find(({ operationSlug }) => operationSlug === slug)!.id);
  await apply(server, review, agentId, ids);
  return ids;
}

const apply = (server: TestServer, { reviewId }: Review, agentId: string, operationRevisionIds: string[]): Promise<unknown> =>
  server.post(`/api/connectors/reviews/${reviewId}/apply`, { grants: [{ agentId, operationRevisionIds }] });

/** Runs an operation of a review as the owner does from a program. */
export const run = (server: TestServer, connection: Connection, voice: AgentClient, operationRevisionId: string, args: unknown = {}): Promise<unknown> =>
  server.post('/api/connectors/executions', { agentId: voice.agent.id, connectionId: connection.id, operationRevisionId, arguments: args });

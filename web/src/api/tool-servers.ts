/** The calls of tool servers and of what a person must allow, one function an operation. */

import { bodyOf, http, PAGE_MAX, readSnapshot, type SnapshotAt } from './client';
import { ApprovalTokens } from './gated-requests';
import type { Approval, McpConnection, McpServer } from './types';

const at = (agentId: string) => ({ path: { agentId } });
const on = (id: string) => ({ path: { id } });
const of = (agentId: string, name: string) => ({ path: { agentId, name } });
/** Each answers all servers of the agent, unless the owner has to allow it first. */
const gate = new ApprovalTokens();

export const tools = {
  servers: {
    list: (id: string) => readSnapshot(http.GET('/api/agents/{agentId}/mcp-servers', { params: at(id) })),
    add: (id: string, name: string, connection: McpConnection) =>
      gate.request<McpServer[]>(['add', id, name, connection], (headers) =>
        bodyOf(http.POST('/api/agents/{agentId}/mcp-servers', { headers, params: at(id), body: { name, connection } })),
      ),
    /** Only while it is at revision `rev`; else 412. */
    change: (id: string, name: string, connection: McpConnection, rev: number) =>
      gate.request<McpServer[]>(['change', id, name, connection], (headers) =>
        bodyOf(
          http.PATCH('/api/agents/{agentId}/mcp-servers/{name}', {
            params: of(id, name),
            headers: { ...headers, 'if-match': `"${rev}"` },
            body: { connection },
          }),
        ),
      ),
    remove: (id: string, name: string) =>
      gate.request<McpServer[]>(['remove', id, name], (headers) =>
        bodyOf(http.DELETE('/api/agents/{agentId}/mcp-servers/{name}', { headers, params: of(id, name) })),
      ),
    enable: (id: string, name: string) =>
      gate.request<McpServer[]>(['enable', id, name], (headers) =>
        bodyOf(http.POST('/api/agents/{agentId}/mcp-servers/{name}/enable', { headers, params: of(id, name) })),
      ),
    disable: (id: string, name: string) =>
      gate.request<McpServer[]>(['disable', id, name], (headers) =>
        bodyOf(http.POST('/api/agents/{agentId}/mcp-servers/{name}/disable', { headers, params: of(id, name) })),
      ),
    /** Answers when the server was reached or the time for it is over; a failed test is an answer, too. */
    test: (id: string, name: string) => bodyOf(http.POST('/api/agents/{agentId}/mcp-servers/{name}/test', { params: of(id, name) })),
    discovered: (id: string) => readSnapshot(http.GET('/api/agents/{agentId}/mcp-discovered', { params: at(id) })),
    adopt: (id: string, name: string) =>
      gate.request<McpServer[]>(['adopt', id, name], (headers) =>
        bodyOf(http.POST('/api/agents/{agentId}/mcp-import', { headers, params: at(id), body: { name } })),
      ),
  },

  signIns: {
    start: (id: string, name: string) => bodyOf(http.POST('/api/agents/{agentId}/mcp-servers/{name}/signin', { params: of(id, name), body: {} })),
    one: (id: string, name: string, flowId: string) =>
      readSnapshot(http.GET('/api/agents/{agentId}/mcp-servers/{name}/signin/{flowId}', { params: { path: { agentId: id, name, flowId } } })),
    out: (id: string, name: string) => bodyOf(http.DELETE('/api/agents/{agentId}/mcp-servers/{name}/signin', { params: of(id, name) })),
    setClient: (id: string, name: string, clientId: string, clientSecret: string) =>
      bodyOf(
        http.PUT('/api/agents/{agentId}/mcp-servers/{name}/client', {
          params: of(id, name),
          body: clientSecret === '' ? { clientId } : { clientId, clientSecret },
        }),
      ),
    removeClient: (id: string, name: string) => bodyOf(http.DELETE('/api/agents/{agentId}/mcp-servers/{name}/client', { params: of(id, name) })),
  },

  approvals: {
    pending: (cursor?: string) =>
      readSnapshot(http.GET('/api/approvals', { params: { query: { limit: PAGE_MAX, ...(cursor ? { cursor } : {}) } } })),
    one: (id: string) => readSnapshot(http.GET('/api/approvals/{id}', { params: on(id) })) as Promise<SnapshotAt<Approval>>,
    grant: (id: string, digest: string) => bodyOf(http.POST('/api/approvals/{id}/grant', { params: on(id), body: { digest } })),
    /** Takes no digest: a refusal is safe whatever was shown. */
    deny: (id: string, reason?: string) =>
      bodyOf(http.POST('/api/approvals/{id}/deny', { params: on(id), body: reason ? { reason } : {} })),
    /** Of what was asked for here; it is no refusal. */
    withdraw: (id: string) => bodyOf(http.POST('/api/approvals/{id}/withdraw', { params: on(id) })),
  },
};

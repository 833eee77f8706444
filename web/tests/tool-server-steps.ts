/** What agents and people do with tool servers, as the specs do it. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { McpConnection, McpServer } from '../src/api/types';
import type { AgentClient, TestServer } from './test-server';

export type Answered = { status: number; body: { approvalToken?: string; approvalId?: string; code?: string } & McpServer[] };

/** A program that is there and does nothing. */
export function program(server: TestServer, name = 'tool.sh'): string {
  const path = join(server.dir, name);
  writeFileSync(path, '#!/bin/sh\ncat\n', { mode: 0o755 });
  return path;
}

/** A tool server in a few lines, with two tools. */
export function toolServer(server: TestServer, name = 'server.sh'): string {
  const path = join(server.dir, name);
  const tool = (it: string, hints: string) => `{"name":"${it}","title":"${it.toUpperCase()}","inputSchema":{"type":"object"},"annotations":${hints}}`;
  const answers: [string, string][] = [
    ['initialize', '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}'],
    ['tools/list', `{"tools":[${tool('look', '{"readOnlyHint":true}')},${tool('write', '{}')}]}`],
    ['tools/call', '{"content":[{"type":"text","text":"three notes lie there"}]}'],
  ];
  const cases = answers.map(([method, result]) => `*'"method":"${method}"'*) printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" '${result}' ;;`);
  const lines = [
    '#!/bin/sh',
    'while read -r line; do',
    `id=$(printf '%s' "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')`,
    'case "$line" in',
    ...cases,
    `*'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\\n' "$id" ;;`,
    'esac',
    'done',
  ];
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o755 });
  return path;
}

/** A program that says why it does not work, and ends. */
export function brokenServer(server: TestServer): string {
  const path = join(server.dir, 'broken.sh');
  writeFileSync(path, '#!/bin/sh\necho "reading the settings" >&2\necho "no room for $KEY" >&2\nexit 7\n', { mode: 0o755 });
  return path;
}

/** The agent itself asks for a server, as any program that holds its token would. */
export async function askFor(server: TestServer, voice: AgentClient, name: string, connection: McpConnection, token = ''): Promise<Answered> {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'x-service-agent': voice.token, prefer: 'wait=0' };
  if (token) headers['x-service-approval'] = token;
  const asked = { method: 'POST', headers, body: JSON.stringify({ name, connection }) };
  const response = await fetch(`${server.url}/api/agents/${voice.agent.id}/mcp-servers`, asked);
  return { status: response.status, body: (await response.json()) as Answered['body'] };
}

/** The owner asks for what needs a card, says yes to what the card shows, and asks again. */
export async function approved(server: TestServer, method: 'POST' | 'PATCH', path: string, body: unknown): Promise<McpServer[]> {
  const send = async (more: Record<string, string>): Promise<{ status: number; body: Answered['body'] }> => {
    const headers = { 'content-type': 'application/json', ...more };
    const response = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) });
    return { status: response.status, body: (await response.json()) as Answered['body'] };
  };
  const asked = await send({ prefer: 'wait=0' });
  if (asked.status !== 202) throw new Error(`${method} ${path} needs no card: ${asked.status} ${JSON.stringify(asked.body)}`);
  const card = `/api/approvals/${asked.body.approvalId}`;
  const { digest } = await server.get<{ digest: string }>(card);
  await server.post(`${card}/grant`, { digest });
  const again = await send({ 'x-service-approval': asked.body.approvalToken ?? '' });
  if (again.status !== 200) throw new Error(`${method} ${path}: ${again.status} ${JSON.stringify(again.body)}`);
  return again.body;
}

export const serversOf = (server: TestServer, voice: AgentClient): Promise<McpServer[]> => server.get(`/api/agents/${voice.agent.id}/mcp-servers`);

export const writeDiscovered = (server: TestServer, voice: AgentClient, file: unknown): void =>
  writeFileSync(join(server.folder(voice.agent.name), '.mcp.json'), JSON.stringify(file));


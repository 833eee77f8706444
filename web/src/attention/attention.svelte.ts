/** What stands on the attention grid: sessions, rooms with news, and broken things. */

import type { Session } from '../api/types';
import { agents } from '../agents/agents.svelte';
import type { Agent, McpServer, Room } from '../api/types';
import { approvals, type ApprovalView } from '../approvals/approvals.svelte';
import { session as viewer } from '../accounts/session.svelte';
import { cloud } from '../cloud/link.svelte';
import type { CloudLink } from '../cloud/types';
import { needsAttention, linkStatus as linkStanding } from '../cloud/texts';
import { connections } from '../connectors/connections.svelte';
import { authFlows } from '../connectors/auth-flows.svelte';
import type { Connection, AuthFlow } from '../connectors/types';
import { connectionStatus as connectionStanding } from '../connectors/texts';
import { stream } from '../events/stream.svelte';
import { interactions } from '../interactions/interactions.svelte';
import { servers } from '../mcp-servers/servers.svelte';
import { serverStatus } from '../mcp-servers/server';
import { rooms } from '../rooms/rooms.svelte';
import { sessions } from '../sessions/sessions.svelte';
import { byUrgency, statusOf, type RankedStatus, type Status } from './status';

export type Tile = RankedStatus & { key: string } & (
    | { kind: 'session'; session: Session }
    | { kind: 'room'; room: Room }
    | { kind: 'agent'; agent: Agent }
    | { kind: 'server'; agent: Agent; server: McpServer }
    | { kind: 'approval'; approval: ApprovalView }
    | { kind: 'connection'; connection: Connection }
    | { kind: 'flow'; flow: AuthFlow }
    | { kind: 'cloud'; link: CloudLink }
  );

export function statusIn(session: Session): Status {
  return statusOf(session, {
    pending: Math.max(session.pendingCount, interactions.ofSession(session.id).length),
    fresh: sessions.fresh(session),
    lost: stream.state === 'lost',
  });
}

/** Since when a session is as it is: while it waits for a person, since the oldest interaction opened. */
const sinceOf = (session: Session): string => interactions.ofSession(session.id)[0]?.openedAt ?? session.updatedAt;

export function tiles(): Tile[] {
  const some: Tile[] = [
    ...sessions.open.map(
      (session): Tile => ({ kind: 'session', key: `session ${session.id}`, session, status: statusIn(session), since: sinceOf(session) }),
    ),
    ...rooms.news.map((room): Tile => {
      const status: Status = (room.mentionCount ?? 0) > 0 ? 'needs you' : room.working > 0 ? 'working' : 'done';
      return { kind: 'room', key: `room ${room.id}`, room, status, since: room.lastActivityAt };
    }),
    ...agents.active
      .filter(({ state }) => state === 'runtime-missing')
      .map((agent): Tile => ({ kind: 'agent', key: `agent ${agent.id}`, agent, status: 'failed', since: agent.updatedAt })),
    ...approvals.pending
      .filter(({ kind }) => kind !== 'repin')
      .map((approval): Tile => ({ kind: 'approval', key: `approval ${approval.id}`, approval, status: 'needs you', since: approval.requestedAt })),
    ...brokenServers(),
    ...connections.broken.map(
      (connection): Tile => ({ kind: 'connection', key: `connection ${connection.id}`, connection, status: connectionStanding(connection).status, since: connection.updatedAt }),
    ),
    ...authFlows.waiting.map((flow): Tile => ({ kind: 'flow', key: `flow ${flow.flowId}`, flow, status: 'needs you', since: flow.createdAt })),
    ...cloudLink(),
  ];
  return some.sort(byUrgency);
}

/** True where a tile stands that is neither a session nor a room. */
export const hasProblemTiles = (): boolean =>
  approvals.pending.length > 0 || brokenServers().length > 0 || connections.broken.length > 0 || authFlows.waiting.length > 0 || cloudLink().length > 0 || agents.active.some(({ state }) => state === 'runtime-missing');

/** Since when is known only of one that waits for a word: nothing tells when the others broke. */
function brokenServers(): Tile[] {
  return servers.broken.flatMap(({ agentId, server }): Tile[] => {
    const agent = agents.get(agentId);
    if (!agent || agent.state === 'retired') return [];
    const since = approvals.get(server.approvalId ?? '')?.requestedAt ?? '';
    return [{ kind: 'server', key: `server ${agentId} ${server.name}`, agent, server, status: serverStatus(server).status, since }];
  });
}

/** For the owner alone: nobody else can do anything about it. Nothing tells since when it is so. */
function cloudLink(): Tile[] {
  const { link } = cloud;
  if (!link || !viewer.isOwner || !needsAttention(link)) return [];
  return [{ kind: 'cloud', key: 'cloud', link, status: linkStanding(link).status, since: '' }];
}

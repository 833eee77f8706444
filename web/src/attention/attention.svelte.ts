/** What stands on the attention grid: sessions, rooms with news, and broken things. */

import type { Session } from '../api/types';
import { agents } from '../agents/agents.svelte';
import type { Agent, Room } from '../api/types';
import { stream } from '../events/stream.svelte';
import { asks } from '../interactions/asks.svelte';
import { rooms } from '../rooms/rooms.svelte';
import { sessions } from '../sessions/sessions.svelte';
import { byUrgency, statusOf, type Ranked, type Status } from './status';

export type Tile = Ranked & { key: string } & (
    | { kind: 'session'; session: Session }
    | { kind: 'room'; room: Room }
    | { kind: 'agent'; agent: Agent }
  );

export function statusIn(session: Session): Status {
  return statusOf(session, {
    pending: Math.max(session.pendingCount, asks.ofSession(session.id).length),
    fresh: sessions.fresh(session),
    lost: stream.state === 'lost',
  });
}

/** Since when a session is as it is: for an ask, since the oldest one was asked. */
const sinceOf = (session: Session): string => asks.ofSession(session.id)[0]?.openedAt ?? session.updatedAt;

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
  ];
  return some.sort(byUrgency);
}

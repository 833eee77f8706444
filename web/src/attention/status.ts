/** The status vocabulary of the page: one word, one sign, one rank each. Pure. Source: experience, section 5. */

import type { Session } from '../api/types';

export type Status = 'needs you' | 'failed' | 'unknown' | 'held' | 'working' | 'done' | 'idle' | 'expired';

export const statuses: Record<Status, { sign: string; rank: number }> = {
  'needs you': { sign: '▲', rank: 1 },
  failed: { sign: '✕', rank: 2 },
  unknown: { sign: '?', rank: 2 },
  held: { sign: '‖', rank: 3 },
  working: { sign: '●', rank: 4 },
  done: { sign: '✓', rank: 5 },
  idle: { sign: '◌', rank: 6 },
  expired: { sign: '⌛', rank: 6 },
};

export type SessionNews = {
  /** Its pending interactions. */
  pending: number;
  /** A turn ended that nobody looked at. */
  fresh: boolean;
  /** The stream is lost, so a turn that ran may have ended. */
  lost: boolean;
};

/** What a person would say of the session. */
export function statusOf({ state, queuedCount }: Pick<Session, 'state' | 'queuedCount'>, { pending, fresh, lost }: SessionNews): Status {
  if (pending > 0 || state === 'waiting') return 'needs you';
  if (state === 'failed') return 'failed';
  if (state === 'starting' || state === 'running' || state === 'cancelling') return lost ? 'unknown' : 'working';
  // A queue without a turn waits for something: a free process, or a person after a restart.
  if (state === 'idle' && queuedCount > 0) return 'held';
  return state === 'idle' && fresh ? 'done' : 'idle';
}

export type RankedStatus = { status: Status; since: string };

/** Most urgent first, then what waits longest; at rest, what moved last. */
export function byUrgency(a: RankedStatus, b: RankedStatus): number {
  const rank = statuses[a.status].rank - statuses[b.status].rank;
  if (rank !== 0) return rank;
  if (a.since === b.since) return 0;
  const earlier = a.since < b.since ? -1 : 1;
  return statuses[a.status].rank >= statuses.done.rank ? -earlier : earlier;
}

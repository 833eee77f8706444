/** Everything that waits for a person, of both sorts, oldest first. */

import { asks, type Ask } from '../interactions/asks.svelte';
import { approvals, type Wish } from './approvals.svelte';

export type Waiting = { id: string; since: string } & ({ ask: Ask; wish?: never } | { wish: Wish; ask?: never });

/** In the order they came, so that a new one never takes the place of another. */
export function together(some: readonly Ask[], wishes: readonly Wish[]): Waiting[] {
  return [
    ...some.map((ask): Waiting => ({ id: ask.id, since: ask.openedAt, ask })),
    ...wishes.map((wish): Waiting => ({ id: wish.id, since: wish.requestedAt, wish })),
  ].sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
}

class WaitingForYou {
  list = $derived(together(asks.pending, approvals.pending));
  count = $derived(asks.pending.length + approvals.pending.length);
}

export const waiting = new WaitingForYou();

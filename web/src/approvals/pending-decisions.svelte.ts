/** Everything that waits for a person: asks of both sorts, oldest first, and sign-ins. */

import { agents } from '../agents/agents.svelte';
import { asks, type Ask } from '../interactions/interactions.svelte';
import { servers } from '../mcp-servers/servers.svelte';
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
  /** Tool servers of agents at work, with their agents. */
  signIns = $derived(
    servers.shut.flatMap(({ agentId, server }) => {
      const agent = agents.get(agentId);
      return agent && agent.state !== 'retired' ? [{ agent, server }] : [];
    }),
  );
  count = $derived(asks.pending.length + approvals.pending.length + this.signIns.length);
}

export const waiting = new WaitingForYou();

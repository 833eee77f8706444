/** Everything that waits for a person: interactions and approvals, oldest first, and sign-ins. */

import { agents } from '../agents/agents.svelte';
import { interactions, type InteractionView } from '../interactions/interactions.svelte';
import { servers } from '../mcp-servers/servers.svelte';
import { approvals, type ApprovalView } from './approvals.svelte';

export type PendingDecision = { id: string; since: string } & ({ interaction: InteractionView; approval?: never } | { approval: ApprovalView; interaction?: never });

/** In the order they came, so that a new one never takes the place of another. */
export function oldestFirst(some: readonly InteractionView[], approvals: readonly ApprovalView[]): PendingDecision[] {
  return [
    ...some.map((interaction): PendingDecision => ({ id: interaction.id, since: interaction.openedAt, interaction })),
    ...approvals.map((approval): PendingDecision => ({ id: approval.id, since: approval.requestedAt, approval })),
  ].sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
}

class PendingDecisions {
  list = $derived(oldestFirst(interactions.pending, approvals.pending));
  /** Tool servers of agents at work, with their agents. */
  signIns = $derived(
    servers.shut.flatMap(({ agentId, server }) => {
      const agent = agents.get(agentId);
      return agent && agent.state !== 'retired' ? [{ agent, server }] : [];
    }),
  );
  count = $derived(interactions.pending.length + approvals.pending.length + this.signIns.length);
}

export const pendingDecisions = new PendingDecisions();

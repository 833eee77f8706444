/** The tokens of the agents one looked at: ids and dates, never values. */

import { SvelteMap } from 'svelte/reactivity';
import { api } from '../api/client';
import type { AgentToken } from '../api/types';
import type { HallEvent } from '../events/frames';

class Tokens {
  #byAgent = new SvelteMap<string, AgentToken[]>();
  #errors = new SvelteMap<string, unknown>();

  /** Undefined until they were read. */
  of(agentId: string): AgentToken[] | undefined {
    return this.#byAgent.get(agentId);
  }

  errorOf(agentId: string): unknown {
    return this.#errors.get(agentId) ?? null;
  }

  async load(agentId: string): Promise<void> {
    try {
      const { body } = await api.agents.tokens(agentId);
      this.#byAgent.set(agentId, body.tokens);
      this.#errors.delete(agentId);
    } catch (error) {
      this.#errors.set(agentId, error);
    }
  }

  /** The events name ids only, so the list is read again. */
  applyEvent = (event: HallEvent): void => {
    if (!['agent_token_created', 'agent_token_revoked', 'agent_retired'].includes(event.type)) return;
    const agentId = (event.data.agentId ?? (event.data.agent as { id: string } | undefined)?.id) as string | undefined;
    if (agentId !== undefined && this.#byAgent.has(agentId)) void this.load(agentId);
  };

  reload = (): void => {
    for (const agentId of this.#byAgent.keys()) void this.load(agentId);
  };
}

export const agentTokens = new Tokens();

/** True while a program can still use the token. */
export function isLive(token: AgentToken, now: Date): boolean {
  return token.revokedAt === null && [token.expiresAt, token.idleExpiresAt].every((at) => Date.parse(at) > now.getTime());
}

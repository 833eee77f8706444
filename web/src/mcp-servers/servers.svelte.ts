/** The tool servers of the agents. */

import { SvelteMap } from 'svelte/reactivity';
import { tools } from '../api/tool-servers';
import type { McpServer } from '../api/types';
import type { HallEvent } from '../events/frames';
import { isBroken } from './server';

class Servers {
  #byAgent = new SvelteMap<string, McpServer[]>();
  #errors = new SvelteMap<string, unknown>();
  /** Which reading of an agent's list is the latest; an older one that arrives later counts no more. */
  #readings = new Map<string, number>();

  /** With whose they are. */
  broken = $derived(
    [...this.#byAgent].flatMap(([agentId, list]) => list.filter(isBroken).map((server) => ({ agentId, server }))),
  );

  /** Those that a person has to sign in to, with whose they are. */
  shut = $derived(this.broken.filter(({ server }) => server.status === 'needsSignIn'));

  /** Undefined until they were read. */
  of(agentId: string): McpServer[] | undefined {
    return this.#byAgent.get(agentId);
  }

  errorOf(agentId: string): unknown {
    return this.#errors.get(agentId) ?? null;
  }

  load = async (agentId: string): Promise<void> => {
    const reading = this.#begin(agentId);
    try {
      const { body } = await tools.servers.list(agentId);
      if (this.#readings.get(agentId) !== reading) return;
      this.#byAgent.set(agentId, body);
      this.#errors.delete(agentId);
    } catch (error) {
      if (this.#readings.get(agentId) === reading) this.#errors.set(agentId, error);
    }
  };

  loadFor(agentIds: string[]): void {
    for (const agentId of agentIds) void this.load(agentId);
  }

  /** Takes in the list that an action answered. */
  put(agentId: string, list: McpServer[]): void {
    this.#begin(agentId);
    this.#byAgent.set(agentId, list);
  }

  /** Events hide values and leave out what follows from others, so the list is read again. */
  applyEvent = (event: HallEvent): void => {
    const agentId = event.data.agentId;
    if (event.type.startsWith('mcp_server_') && typeof agentId === 'string') void this.load(agentId);
  };

  reload = (): void => {
    this.loadFor([...this.#byAgent.keys()]);
  };

  #begin(agentId: string): number {
    const reading = (this.#readings.get(agentId) ?? 0) + 1;
    this.#readings.set(agentId, reading);
    return reading;
  }
}

export const servers = new Servers();

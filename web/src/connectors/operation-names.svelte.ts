/** What operations are called of which an execution tells only the revision. */

import { SvelteMap } from 'svelte/reactivity';
import { connectors } from './calls';
import type { Execution } from './executions';

class OperationNames {
  #names = new SvelteMap<string, string>();
  #asked = new Set<string>();

  /** Undefined where it is granted to nobody any more, so that nothing names it. */
  of(revisionId: string): string | undefined {
    return this.#names.get(revisionId);
  }

  /** Asks once what each agent may run with each account. */
  learn(executions: readonly Pick<Execution, 'agentId' | 'connectionId' | 'revisionId'>[]): void {
    for (const { agentId, connectionId, revisionId } of executions) {
      const key = `${agentId} ${connectionId}`;
      if (this.#names.has(revisionId) || this.#asked.has(key)) continue;
      this.#asked.add(key);
      void this.#read(agentId, connectionId);
    }
  }

  async #read(agentId: string, connectionId: string): Promise<void> {
    try {
      const { body } = await connectors.accessible(agentId, connectionId);
      for (const { id, title, operationSlug } of body.operations) this.#names.set(id, title || operationSlug);
    } catch {
      // The agent or the account is gone; the list shows the id then.
    }
  }
}

export const operationNames = new OperationNames();

/** The registered agents. */

import { SvelteMap } from 'svelte/reactivity';
import { api } from '../api/client';
import type { Agent, Author } from '../api/types';
import { authors } from '../authors/authors.svelte';
import type { HallEvent } from '../events/frames';
import { readAndApply } from '../events/read-and-apply';
import { SCRIPTED_RUNTIME } from '../runtimes/runtimes.svelte';

class Agents {
  loaded = $state(false);
  error = $state<unknown>(null);
  seq = 0;

  #byId = new SvelteMap<string, Agent>();

  all = $derived([...this.#byId.values()].sort((a, b) => a.name.localeCompare(b.name)));
  active = $derived(this.all.filter((agent) => agent.state !== 'retired'));
  retired = $derived(this.all.filter((agent) => agent.state === 'retired'));

  get(agentId: string): Agent | undefined {
    return this.#byId.get(agentId);
  }

  /** True when the author is a scripted agent. */
  scripted(author: Pick<Author, 'agentRef'> | undefined): boolean {
    return this.get(author?.agentRef ?? '')?.runtime === SCRIPTED_RUNTIME;
  }

  load = async (): Promise<void> => {
    try {
      await readAndApply(
        api.agents.list,
        ({ agents }, seq) => {
          this.seq = seq;
          const listed = new Set(agents.map(({ id }) => id));
          for (const agentId of this.#byId.keys()) if (!listed.has(agentId)) this.#byId.delete(agentId);
          for (const agent of agents) this.#byId.set(agent.id, agent);
        },
        this.applyEvent,
      );
      this.error = null;
      this.loaded = true;
    } catch (error) {
      this.error = error;
      throw error;
    }
  };

  applyEvent = (event: HallEvent): void => {
    if (event.seq <= this.seq) return;
    if (['agent_created', 'agent_updated', 'agent_retired'].includes(event.type)) {
      this.put(event.data.agent as Agent);
    } else if (event.type === 'author_updated') {
      // An agent's handle is its author's.
      const author = event.data.author as Author;
      const agent = this.#byId.get(author.agentRef);
      if (agent) this.#byId.set(agent.id, { ...agent, handle: author.handle });
    }
  };

  put(agent: Agent): void {
    this.#byId.set(agent.id, agent);
    void authors.ensure(agent.authorId);
  }
}

export const agents = new Agents();

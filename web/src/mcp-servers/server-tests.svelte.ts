/** The tests of tool servers that ran while this page is open: the server keeps none. */

import { SvelteMap } from 'svelte/reactivity';
import { tools } from '../api/tool-servers';
import type { McpServer, TestedServer } from '../api/types';

export type LastTest = {
  busy: boolean;
  /** The entry that was tested; a changed one has not been. */
  rev: number;
  at: string;
  result: TestedServer | null;
  error: unknown;
};

class Tests {
  #byServer = new SvelteMap<string, LastTest>();

  /** Undefined unless the entry was tested as it stands. */
  of(agentId: string, { name, rev }: McpServer): LastTest | undefined {
    const last = this.#byServer.get(key(agentId, name));
    return last?.rev === rev ? last : undefined;
  }

  run = async (agentId: string, server: McpServer): Promise<void> => {
    const { name, rev } = server;
    const before = this.of(agentId, server);
    if (before?.busy) return;
    const told = { busy: false, rev, result: null, error: null };
    this.#put(agentId, name, { ...told, busy: true, at: new Date().toISOString(), result: before?.result ?? null });
    try {
      const result = await tools.servers.test(agentId, name);
      this.#put(agentId, name, { ...told, at: new Date().toISOString(), result });
    } catch (error) {
      this.#put(agentId, name, { ...told, at: new Date().toISOString(), error });
    }
  };

  #put(agentId: string, name: string, last: LastTest): void {
    this.#byServer.set(key(agentId, name), last);
  }
}

const key = (agentId: string, name: string): string => `${agentId}/${name.toLowerCase()}`;

export const tests = new Tests();

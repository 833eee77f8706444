/** The runtimes of this machine and what each can do; read when first asked for. */

import { SvelteMap } from 'svelte/reactivity';
import type { Capability, PermissionMode, Runtime } from '../api/types';
import { work } from '../api/agent-work';
import type { HallEvent } from '../events/frames';

/** The runtime that only plays back a script; wherever its name stands, it says so. */
export const SCRIPTED_RUNTIME = 'rehearsal';

class Runtimes {
  loaded = $state(false);
  error = $state<unknown>(null);
  list = $state.raw<Runtime[]>([]);
  defaultRuntime = $state('');

  #capabilities = new SvelteMap<string, Capability>();
  #checking = new SvelteMap<string, true>();
  #asked = false;

  /** Those an agent can work with now. */
  usable = $derived(this.list.filter(({ registered, installed, type }) => type === SCRIPTED_RUNTIME || (registered && installed)));

  capabilities(type: string): Capability | undefined {
    return this.#capabilities.get(type);
  }

  mode(type: string, id: string): PermissionMode | undefined {
    return this.#capabilities.get(type)?.permissionModes.values.find((mode) => mode.id === id);
  }

  modes(type: string): PermissionMode[] {
    return this.#capabilities.get(type)?.permissionModes.values ?? [];
  }

  labelOf(type: string): string {
    if (type === SCRIPTED_RUNTIME) return 'Rehearsal (scripted)';
    return this.list.find((runtime) => runtime.type === type)?.label || type;
  }

  checking(type: string): boolean {
    return this.#checking.has(type);
  }

  /** Reads once; `load` reads again. */
  ensure(): void {
    if (!this.#asked) void this.load();
  }

  load = async (): Promise<void> => {
    this.#asked = true;
    try {
      const [list, { body }] = await Promise.all([work.runtimes.list(), work.runtimes.capabilities()]);
      this.list = list.body.runtimes;
      this.defaultRuntime = body.defaultRuntime;
      this.#capabilities.clear();
      for (const [type, entry] of Object.entries(body.capabilities)) this.#capabilities.set(type, entry);
      this.error = null;
      this.loaded = true;
    } catch (error) {
      this.error = error;
    }
  };

  /** Starts the program and asks it who it is; what it reports may widen what is known of it. */
  async check(type: string): Promise<void> {
    this.#checking.set(type, true);
    try {
      await work.runtimes.check(type);
      await this.load();
    } finally {
      this.#checking.delete(type);
    }
  }

  applyEvent = (event: HallEvent): void => {
    if (event.type === 'runtime_changed' && this.#asked) void this.load();
  };

  reload = (): void => {
    if (this.#asked) void this.load();
  };
}

export const runtimes = new Runtimes();

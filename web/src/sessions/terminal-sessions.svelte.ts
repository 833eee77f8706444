/** Sessions that an agent's own command line made: read here, never written to. */

import { SvelteMap } from 'svelte/reactivity';
import type { Session } from '../api/types';
import { work } from '../api/agent-work';
import type { HallEvent } from '../events/frames';

class Terminal {
  list = $state.raw<Session[]>([]);
  loaded = $state(false);
  error = $state<unknown>(null);
  warnings = $state.raw<string[]>([]);
  next = $state.raw<string | null>(null);
  /** Read by their address, before or without the list. */
  #single = new SvelteMap<string, Session>();

  load = async (): Promise<void> => {
    await this.#read(null);
  };

  more = async (): Promise<void> => {
    if (this.next !== null) await this.#read(this.next);
  };

  get(id: string): Session | undefined {
    return this.list.find((session) => session.id === id) ?? this.#single.get(id);
  }

  put(session: Session): void {
    this.#single.set(session.id, session);
  }

  /** Reads on until the session is found; false when there is none such. */
  async find(id: string): Promise<boolean> {
    if (!this.loaded) await this.load();
    while (!this.get(id) && this.next !== null && !this.error) await this.more();
    return this.get(id) !== undefined;
  }

  /** A session the list does not hold may have begun. */
  applyEvent = (event: HallEvent): void => {
    if (event.type !== 'tasks_changed' || !this.loaded) return;
    const id = event.data.sessionId as string;
    if (this.get(id)) void this.load();
  };

  async #read(cursor: string | null): Promise<void> {
    try {
      const { body } = await work.sessions.page('terminal', cursor ?? undefined);
      this.list = cursor === null ? body.sessions : [...this.list, ...body.sessions];
      this.next = body.nextCursor;
      this.warnings = body.warnings;
      this.loaded = true;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  }
}

export const terminalSessions = new Terminal();

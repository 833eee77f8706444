/** The tasks of one session, read whenever an event says that they changed. */

import type { Task } from '../api/types';
import { work } from '../api/agent-work';
import { coalesced } from '../events/coalesce';
import type { HallEvent } from '../events/frames';

export class SessionTasks {
  readonly id: string;
  list = $state.raw<Task[]>([]);
  loaded = $state(false);
  error = $state<unknown>(null);
  /** The event the list is true at, and when it was read. */
  asOf = $state<{ seq: number; at: string } | null>(null);

  constructor(sessionId: string) {
    this.id = sessionId;
  }

  load = coalesced(() => this.#read());

  applyEvent(event: HallEvent): void {
    if (event.type === 'tasks_changed') void this.load();
  }

  async #read(): Promise<void> {
    try {
      const { body, seq } = await work.tasks(this.id);
      this.list = body.tasks;
      this.asOf = { seq, at: new Date().toISOString() };
      this.loaded = true;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  }
}

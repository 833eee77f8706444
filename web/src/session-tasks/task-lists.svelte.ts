/** The tasks of every session somebody looks at, one list each. */

import type { HallEvent } from '../events/frames';
import { SessionTasks } from './session-tasks.svelte';

class TaskLists {
  #bySession = new Map<string, SessionTasks>();

  get(sessionId: string): SessionTasks {
    const known = this.#bySession.get(sessionId) ?? new SessionTasks(sessionId);
    this.#bySession.set(sessionId, known);
    return known;
  }

  applyEvent = (event: HallEvent): void => {
    if (event.type === 'tasks_changed') this.#bySession.get(event.data.sessionId as string)?.applyEvent(event);
  };

  reload = (): void => {
    for (const tasks of this.#bySession.values()) if (tasks.loaded) void tasks.load();
  };
}

export const taskLists = new TaskLists();

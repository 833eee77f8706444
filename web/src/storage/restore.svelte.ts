/** Going back to a backup: the server restarts, and the page waits for it; then what the last restore came to. */

import { api } from '../api/client';
import type { Restore, RevivedCredential, RevivedDecision } from '../api/types';
import { ApiError } from '../errors/error';

const LOOK_EVERY_MS = 1_000;

class Restoring {
  /** What the last restore came to; null before it was read, and where there was none. */
  last = $state.raw<Restore | null>(null);
  error = $state<unknown>(null);
  /** When the backup was made that the server restarts from; null while it does not. */
  backupAt = $state<string | null>(null);
  /** The credential that is being decided. */
  deciding = $state<string | null>(null);

  load = async (): Promise<void> => {
    try {
      this.last = (await api.restore.last()).body.restore;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  };

  /** Has the server restart from a backup; the page loads anew when the next server answers. */
  start = async (id: string): Promise<void> => {
    const { backup, startedAt } = await api.restore.start(id);
    this.backupAt = backup.createdAt;
    void this.#wait(startedAt);
  };

  decide = async ({ id }: RevivedCredential, decision: RevivedDecision): Promise<void> => {
    this.deciding = id;
    try {
      this.last = await api.restore.decide(id, decision);
    } finally {
      this.deciding = null;
    }
  };

  async #wait(startedAt: string): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      try {
        const health = await api.health();
        if (health.body.startedAt !== startedAt) break;
      } catch (error) {
        // No answer comes while it restarts; one that refuses is of a server that runs.
        if (error instanceof ApiError && error.status > 0 && error.status < 500) break;
      }
    }
    // Everything this page knows is of the data of before.
    location.reload();
  }
}

export const restoring = new Restoring();

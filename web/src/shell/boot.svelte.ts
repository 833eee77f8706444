/** The start of the page: who am I, what is there, then the stream from where the readings stand. */

import { accounts } from '../accounts/accounts.svelte';
import { keys } from '../accounts/keys.svelte';
import { session } from '../accounts/session.svelte';
import { agents } from '../agents/agents.svelte';
import { tokens } from '../agents/tokens.svelte';
import { api } from '../api/client';
import { authors } from '../authors/authors.svelte';
import { stream } from '../events/stream.svelte';
import { openRooms } from '../rooms/open-room.svelte';
import { rooms } from '../rooms/rooms.svelte';
import { settings } from '../settings/settings.svelte';
import { threads } from '../threads/threads.svelte';
import { toasts } from '../ui/toasts.svelte';

class Boot {
  ready = $state(false);
  error = $state<unknown>(null);
  version = $state('');

  run = async (): Promise<void> => {
    this.error = null;
    try {
      const [who, health] = await Promise.all([api.whoami(), api.health()]);
      session.take(who.body);
      this.version = health.body.version;
      if (session.need !== '') return;
      await Promise.all([authors.load(), rooms.load(), agents.load()]);
      this.#listen(health.body.logId);
      this.ready = true;
    } catch (error) {
      this.error = error;
    }
  };

  #listen(logId: string): void {
    stream.onEvent((event) => {
      authors.fold(event);
      agents.fold(event);
      tokens.fold(event);
      rooms.fold(event);
      openRooms.fold(event);
      threads.fold(event);
      accounts.fold(event);
      keys.fold(event);
      settings.fold(event);
    });
    stream.onSignal(openRooms.foldSignal);
    stream.onReset(() => {
      void Promise.all([authors.load(), agents.load(), rooms.load()]).catch((error: unknown) => toasts.fail(error));
      openRooms.reload();
      tokens.reload();
      threads.reload();
      settings.reload();
    });
    stream.start(Math.min(authors.seq, rooms.seq, agents.seq), logId);
  }
}

export const boot = new Boot();

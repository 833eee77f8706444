/** The threads one wrote in, newest activity first; read again when one of them moves. */

import { api } from '../api/client';
import type { Entry } from '../api/types';
import type { ThreadSeen } from '../api/types';
import { authors } from '../authors/authors.svelte';
import { coalesced } from '../events/coalesce';
import type { HallEvent } from '../events/frames';

class Threads {
  list = $state.raw<ThreadSeen[]>([]);
  loaded = $state(false);
  error = $state<unknown>(null);
  next = $state<string | null>(null);

  /** True while an older page is read. */
  #turning = false;

  /** Reads the first page. */
  load = coalesced(() => this.#read());

  more = async (): Promise<void> => {
    if (!this.next || this.#turning) return;
    this.#turning = true;
    try {
      const { body } = await api.threads.mine(this.next);
      const known = new Set(this.list.map(({ root }) => root.id));
      this.#show([...this.list, ...body.threads.filter(({ root }) => !known.has(root.id))]);
      this.next = body.nextCursor;
      this.error = null;
    } catch (error) {
      this.error = error;
    } finally {
      this.#turning = false;
    }
  };

  /** Whether one takes part in a thread only a reading can tell. */
  applyEvent = (event: HallEvent): void => {
    if (!this.loaded) return;
    const isReply = event.type === 'entry_added' && (event.data.entry as Entry).threadRootEntryId !== null;
    if (isReply || event.type === 'entry_redacted' || event.type === 'read_cursor') void this.load();
  };

  reload = (): void => {
    if (this.loaded) void this.load();
  };

  async #read(): Promise<void> {
    try {
      const { body } = await api.threads.mine();
      this.#show(body.threads);
      this.next = body.nextCursor;
      this.loaded = true;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  }

  #show(list: ThreadSeen[]): void {
    this.list = list;
    for (const { root } of list) void authors.ensure(root.authorId);
  }
}

export const threads = new Threads();

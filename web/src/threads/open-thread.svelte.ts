/** A thread one looks into: its root and its replies, kept true by the stream. */

import { api } from '../api/client';
import type { Entry } from '../api/types';
import { Uploads } from '../attachments/uploads.svelte';
import { authors } from '../authors/authors.svelte';
import { ReadPositions, withReply } from '../entries/apply-events';
import type { HallEvent } from '../events/frames';
import { readAndApply } from '../events/read-and-apply';

/** Pages read at once (200 replies each); a longer thread is read on by a press. */
const PAGES_MAX = 5;

export class OpenThread {
  readonly roomId: string;
  readonly rootId: string;
  readonly uploads: Uploads;
  root = $state.raw<Entry | null>(null);
  /** Oldest first. */
  replies = $state.raw<readonly Entry[]>([]);
  /** True when the thread goes on after the last reply held; then live ones wait for the reading. */
  hasMore = $state(false);
  loading = $state(false);
  error = $state<unknown>(null);

  #readAt = new ReadPositions();

  constructor(roomId: string, rootId: string) {
    this.roomId = roomId;
    this.rootId = rootId;
    this.uploads = new Uploads(roomId);
  }

  /** Reads the thread from its beginning. */
  load = async (): Promise<void> => {
    this.replies = [];
    await this.loadMore();
  };

  /** Reads on after the last reply held. */
  loadMore = async (): Promise<void> => {
    if (this.loading) return;
    this.loading = true;
    try {
      for (let page = 0; page < PAGES_MAX && (page === 0 || this.hasMore); page++) await this.#readPage();
      this.error = null;
    } catch (error) {
      this.error = error;
    } finally {
      this.loading = false;
    }
  };

  applyEvent(event: HallEvent): void {
    if (!this.root) return;
    this.#set(this.#readAt.after([this.root, ...this.replies], event));
    if (event.type !== 'entry_added' || this.hasMore) return;
    const entry = event.data.entry as Entry;
    if (entry.threadRootEntryId !== this.rootId || entry.seq <= this.#last()) return;
    this.#readAt.note([entry], event.seq);
    void authors.ensure(entry.authorId);
    this.replies = [...this.replies, entry];
  }

  /** Takes in what a route answered for one entry, before its event comes. */
  put(entryId: string, change: Partial<Entry>): void {
    if (this.root) this.#set(withReply([this.root, ...this.replies], entryId, change));
  }

  async #readPage(): Promise<void> {
    const after = this.#last();
    await readAndApply(
      () => api.threads.page(this.roomId, this.rootId, after),
      ({ root, entries, hasMore }, seq) => {
        this.#readAt.note([root, ...entries], seq);
        this.root = root;
        this.replies = [...this.replies.filter((reply) => reply.seq <= after), ...entries];
        this.hasMore = hasMore;
        for (const { authorId } of [root, ...entries]) void authors.ensure(authorId);
      },
      (event) => this.applyEvent(event),
    );
  }

  #last(): number {
    return this.replies.at(-1)?.seq ?? 0;
  }

  #set([root, ...replies]: readonly Entry[]): void {
    this.root = root ?? null;
    this.replies = replies;
  }
}

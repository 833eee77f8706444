/** The entries of one room as far as they are held, and what is on its way there. */

import { api } from '../api/client';
import type { EntriesPage, Entry } from '../api/types';
import { authors } from '../authors/authors.svelte';
import { asApiError, type ApiError } from '../errors/error';
import type { HallEvent } from '../events/frames';
import { readAndFold } from '../events/reading';
import { forget, leftover, newKey, remember, type Outgoing } from './outbox';
import { emptyWindow, firstSeq, lastSeq, PAGE, withEntry, withNewer, withOlder, type EntryWindow } from './window';

export type Pending = Outgoing & { error: ApiError | null };

export class Timeline {
  readonly roomId: string;
  window = $state.raw<EntryWindow>(emptyWindow);
  pending = $state.raw<Pending[]>([]);
  loaded = $state(false);
  loading = $state<'' | 'older' | 'newer' | 'all'>('');
  error = $state<unknown>(null);
  /** True while the reader looks at the end of the list. */
  follows = true;
  /** The newest seq of the room that this page knows of, held or not. */
  newest = $state(0);
  /** The entry that came last over the stream, for the live region. */
  latest = $state.raw<Entry | null>(null);

  constructor(roomId: string) {
    this.roomId = roomId;
    this.pending = leftover(roomId, Date.now()).map((item) => ({ ...item, error: null }));
  }

  /** Reads the newest page. */
  loadNewest = (): Promise<void> => this.#replace(() => api.entries.page(this.roomId, { limit: PAGE }), true);

  /** Reads the page that begins after `seq`, with a few entries before it to stand on. */
  loadAround = (seq: number): Promise<void> =>
    this.#replace(() => api.entries.page(this.roomId, { after: Math.max(0, seq - 10), limit: PAGE }), false);

  async loadOlder(): Promise<void> {
    if (this.loading || !this.window.hasOlder) return;
    await this.#during('older', async () => {
      const before = firstSeq(this.window);
      const { body } = await api.entries.page(this.roomId, { before, limit: PAGE });
      if (firstSeq(this.window) === before) this.#show(withOlder(this.window, body.entries, body.hasMore));
    });
  }

  async loadNewer(): Promise<void> {
    if (this.loading || !this.window.hasNewer) return;
    await this.#during('newer', async () => {
      const after = lastSeq(this.window);
      const read = () => api.entries.page(this.roomId, { after, limit: PAGE });
      const take = ({ entries, hasMore }: EntriesPage) => this.#show(withNewer(this.window, entries, hasMore));
      await readAndFold(read, take, (event) => this.fold(event));
    });
  }

  fold(event: HallEvent): void {
    if (event.type !== 'entry_added') return;
    const entry = event.data.entry as Entry;
    if (entry.roomId !== this.roomId || !this.loaded) return;
    this.#take(entry);
    if (entry.authorId !== authors.meId) this.latest = entry;
  }

  /** Shows the text as "sending" at once and posts it; a failure keeps it, with its key, for another try. */
  async send(text: string): Promise<void> {
    await this.#post({ key: newKey(), text, at: new Date().toISOString(), state: 'sending', error: null });
  }

  async resend(pending: Pending): Promise<void> {
    await this.#post({ ...pending, state: 'sending', error: null });
  }

  discard(key: string): void {
    this.pending = this.pending.filter((item) => item.key !== key);
    forget(this.roomId, key);
  }

  async #post(item: Pending): Promise<void> {
    this.#put(item);
    try {
      const { entry } = await api.entries.post(this.roomId, item.text, item.key);
      this.discard(item.key);
      if (this.loaded) this.#take(entry);
    } catch (error) {
      // The stream may have brought the entry although its answer was lost.
      if (!this.pending.some(({ key }) => key === item.key)) return;
      this.#put({ ...item, state: 'failed', error: asApiError(error) });
    }
  }

  #put(item: Pending): void {
    const { key, text, at, state } = item;
    remember(this.roomId, { key, text, at, state });
    const known = this.pending.some((other) => other.key === key);
    this.pending = known
      ? this.pending.map((other) => (other.key === key ? item : other))
      : [...this.pending, item];
  }

  #take(entry: Entry): void {
    this.newest = Math.max(this.newest, entry.seq);
    if (entry.seq > lastSeq(this.window)) this.#arrived(entry, true);
    const next = withEntry(this.window, entry, this.follows);
    if (next) this.#show(next);
    else void this.#fill();
  }

  /**
   * My own entry may come before its answer, or although its answer was lost: then what waits has arrived.
   * A refusal is an answer, so what was refused stays.
   */
  #arrived(entry: Entry, isLive: boolean): void {
    if (entry.authorId !== authors.meId || this.pending.length === 0) return;
    const same = this.pending.filter((item) => item.text === entry.text);
    const unanswered = ({ state, error, at }: Pending) =>
      state === 'failed' && (error === null || error.status === 0) && Date.parse(at) <= Date.parse(entry.createdAt);
    const match = (isLive ? same.find((item) => item.state === 'sending') : undefined) ?? same.find(unanswered);
    if (match) this.discard(match.key);
  }

  /** Entries between the window and a live one are missing: the window reads on from its end. */
  async #fill(): Promise<void> {
    this.window = { ...this.window, hasNewer: true };
    await this.loadNewer();
  }

  #show(window: EntryWindow): void {
    this.window = window;
    this.newest = Math.max(this.newest, lastSeq(window));
    for (const entry of window.entries) {
      void authors.ensure(entry.authorId);
      this.#arrived(entry, false);
    }
  }

  async #replace(read: () => ReturnType<typeof api.entries.page>, atEnd: boolean): Promise<void> {
    await this.#during('all', () =>
      readAndFold(
        read,
        ({ entries, hasMore }) => {
          this.loaded = true;
          const first = entries[0]?.seq ?? 1;
          this.#show({ entries, hasOlder: atEnd ? hasMore : first > 1, hasNewer: atEnd ? false : hasMore });
        },
        (event) => this.fold(event),
      ),
    );
  }

  async #during(what: 'older' | 'newer' | 'all', work: () => Promise<void>): Promise<void> {
    this.loading = what;
    try {
      await work();
      this.error = null;
    } catch (error) {
      this.error = error;
    } finally {
      this.loading = '';
    }
  }
}

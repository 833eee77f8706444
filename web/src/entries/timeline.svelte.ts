/** The entries of one room as far as they are held, and what is on its way there. */

import { api } from '../api/client';
import type { Entry } from '../api/types';
import { authors } from '../authors/authors.svelte';
import { asApiError, type ApiError } from '../errors/error';
import type { HallEvent } from '../events/frames';
import { readAndApply } from '../events/read-and-apply';
import { ReadPositions, withReply } from './apply-events';
import { removeUnsent, unansweredPosts, newIdempotencyKey, saveUnsent, type UnsentPost } from './outbox';
import { emptyWindow, firstSeq, lastSeq, PAGE, withEntry, withNewer, withOlder, type EntryWindow } from './entry-window';

export type PendingPost = UnsentPost & { error: ApiError | null };

/** What one sends: a text, files, or both, into the room or into a thread of it. */
export type NewPost = Pick<UnsentPost, 'text' | 'threadRootEntryId' | 'attachmentIds'>;

export class Timeline {
  readonly roomId: string;
  window = $state.raw<EntryWindow>(emptyWindow);
  pending = $state.raw<PendingPost[]>([]);
  loaded = $state(false);
  loading = $state<'' | 'older' | 'newer' | 'all'>('');
  error = $state<unknown>(null);
  /** True while the reader looks at the end of the list. */
  follows = true;
  /** The newest seq of the room that this page knows of, held or not. */
  newest = $state(0);
  /** The entry that came last over the stream, for the live region. */
  latest = $state.raw<Entry | null>(null);
  /** Roots that replies of the window name and that lie outside it. */
  roots = $state.raw<ReadonlyMap<string, Entry>>(new Map());

  #readAt = new ReadPositions();
  #rootsAt = new ReadPositions();

  constructor(roomId: string) {
    this.roomId = roomId;
    this.pending = unansweredPosts(roomId, Date.now()).map((item) => ({ ...item, error: null }));
  }

  /** Reads the newest page. */
  loadNewest = (): Promise<void> => this.#replace({ limit: PAGE });

  /** Reads the page that begins after `seq`, with a few entries before it to stand on. */
  loadAround = (seq: number): Promise<void> => this.#replace({ after: Math.max(0, seq - 10), limit: PAGE });

  async loadOlder(): Promise<void> {
    if (this.loading || !this.window.hasOlder) return;
    await this.#during('older', async () => {
      const before = firstSeq(this.window);
      await this.#readPage({ before, limit: PAGE }, (entries, hasMore, seq) => {
        if (firstSeq(this.window) !== before) return;
        this.#readAt.note(entries, seq);
        this.#show(withOlder(this.window, entries, hasMore));
      });
    });
  }

  async loadNewer(): Promise<void> {
    if (this.loading || !this.window.hasNewer) return;
    await this.#during('newer', async () => {
      const after = lastSeq(this.window);
      await this.#readPage({ after, limit: PAGE }, (entries, hasMore, seq) => {
        this.#readAt.note(entries.filter((entry) => entry.seq > lastSeq(this.window)), seq);
        this.#show(withNewer(this.window, entries, hasMore));
      });
    });
  }

  applyEvent(event: HallEvent): void {
    if (!this.loaded) return;
    const entries = this.#readAt.after(this.window.entries, event);
    if (entries !== this.window.entries) this.window = { ...this.window, entries };
    const known = [...this.roots.values()];
    const roots = this.#rootsAt.after(known, event);
    if (roots !== known) this.roots = new Map(roots.map((root) => [root.id, root]));
    if (event.type !== 'entry_added') return;
    const entry = event.data.entry as Entry;
    if (entry.roomId !== this.roomId) return;
    if (entry.seq > lastSeq(this.window)) this.#readAt.note([entry], event.seq);
    this.#take(entry);
    if (entry.authorId !== authors.meId) this.latest = entry;
  }

  /** Takes in what a route answered for one entry, before its event comes. */
  put(entryId: string, change: Partial<Entry>): void {
    this.window = { ...this.window, entries: withReply(this.window.entries, entryId, change) };
  }

  /** A held entry, or a root that a held reply names. */
  get(entryId: string): Entry | undefined {
    return this.window.entries.find(({ id }) => id === entryId) ?? this.roots.get(entryId);
  }

  /** Shows the text as "sending" at once and posts it; a failure keeps it, with its key, for another try. */
  async send(sending: NewPost): Promise<void> {
    await this.#post({ key: newIdempotencyKey(), ...sending, at: new Date().toISOString(), state: 'sending', error: null });
  }

  async resend(pending: PendingPost): Promise<void> {
    await this.#post({ ...pending, state: 'sending', error: null });
  }

  discard(key: string): void {
    this.pending = this.pending.filter((item) => item.key !== key);
    removeUnsent(this.roomId, key);
  }

  async #post(item: PendingPost): Promise<void> {
    this.#put(item);
    try {
      const { text, threadRootEntryId, attachmentIds } = item;
      const body = { text, ...(threadRootEntryId ? { threadRootEntryId } : {}), ...(attachmentIds.length > 0 ? { attachmentIds } : {}) };
      const { entry } = await api.entries.post(this.roomId, body, item.key);
      this.discard(item.key);
      if (this.loaded) this.#take(entry);
    } catch (error) {
      // The stream may have brought the entry although its answer was lost.
      if (!this.pending.some(({ key }) => key === item.key)) return;
      this.#put({ ...item, state: 'failed', error: asApiError(error) });
    }
  }

  #put(item: PendingPost): void {
    const { error: _, ...outgoing } = item;
    saveUnsent(this.roomId, outgoing);
    const known = this.pending.some(({ key }) => key === item.key);
    this.pending = known
      ? this.pending.map((other) => (other.key === item.key ? item : other))
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
    const files = entry.attachments.map(({ id }) => id).join();
    const same = this.pending.filter(
      ({ text, threadRootEntryId, attachmentIds }) =>
        text === entry.text && threadRootEntryId === entry.threadRootEntryId && attachmentIds.join() === files,
    );
    const unanswered = ({ state, error, at }: PendingPost) =>
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

  async #replace(query: { after?: number; limit: number }): Promise<void> {
    await this.#during('all', () =>
      this.#readPage(query, (entries, hasMore, seq) => {
        this.loaded = true;
        const first = entries[0]?.seq ?? 1;
        this.#readAt.clear();
        this.#readAt.note(entries, seq);
        const atEnd = query.after === undefined;
        this.#show({ entries, hasOlder: atEnd ? hasMore : first > 1, hasNewer: atEnd ? false : hasMore });
      }),
    );
  }

  /** Reads one page with the roots it names, and folds what happened meanwhile. */
  async #readPage(
    query: { before?: number; after?: number; limit: number },
    take: (entries: Entry[], hasMore: boolean, seq: number) => void,
  ): Promise<void> {
    await readAndApply(
      () => api.entries.page(this.roomId, query),
      ({ entries, threadRoots, hasMore }, seq) => {
        this.#rootsAt.note(threadRoots, seq);
        this.roots = new Map([...this.roots, ...threadRoots.map((root) => [root.id, root] as const)]);
        take(entries, hasMore, seq);
      },
      (event) => this.applyEvent(event),
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

/** What later events do to entries that are already held: replies count, reactions change, texts go. */

import type { Entry, Reaction } from '../api/types';
import type { HallEvent } from '../events/frames';

/** The entry an event changes, other than one it adds; null when none. */
export function entriesTouchedBy({ type, data }: HallEvent): string | null {
  if (type === 'entry_added') return (data.entry as Entry).threadRootEntryId;
  if (type === 'entry_redacted') return (data.entry as Entry).id;
  if (type === 'entry_reactions') return data.entryId as string;
  return null;
}

/** The entry as it is after an event that touches it. */
export function withEvent(entry: Entry, { type, data }: HallEvent): Entry {
  switch (type) {
    case 'entry_added': {
      const { createdAt } = data.entry as Entry;
      return { ...entry, threadReplyCount: entry.threadReplyCount + 1, threadLastReplyAt: createdAt };
    }
    case 'entry_redacted':
      return data.entry as Entry;
    case 'entry_reactions':
      return { ...entry, reactions: data.reactions as Reaction[] };
    default:
      return entry;
  }
}

/**
 * Up to which event each held entry is true.
 * A reading may be ahead of the stream, and a count must not count an event twice.
 */
export class ReadPositions {
  #seqs = new Map<string, number>();

  /** These entries were read at event `seq`. */
  note(entries: readonly Entry[], seq: number): void {
    for (const { id } of entries) this.#seqs.set(id, seq);
  }

  /** The entries after an event; the same list when it touches none of them, or none that is behind it. */
  after(entries: readonly Entry[], event: HallEvent): readonly Entry[] {
    const id = entriesTouchedBy(event);
    if (id === null || event.seq <= (this.#seqs.get(id) ?? 0)) return entries;
    const index = entries.findIndex((entry) => entry.id === id);
    const entry = entries[index];
    if (!entry) return entries;
    this.#seqs.set(id, event.seq);
    return entries.with(index, withEvent(entry, event));
  }

  clear(): void {
    this.#seqs.clear();
  }
}

/** The list with one entry as a route just answered it. */
export function withReply(entries: readonly Entry[], id: string, change: Partial<Entry>): readonly Entry[] {
  const index = entries.findIndex((entry) => entry.id === id);
  const entry = entries[index];
  return entry ? entries.with(index, { ...entry, ...change }) : entries;
}

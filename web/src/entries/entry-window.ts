/**
 * The part of a room's entries that is held in memory: one run of seqs without a gap.
 * Pure; every function answers a new window. A room of any length costs at most `WINDOW_MAX` entries.
 */

import type { Entry } from '../api/types';

export const PAGE = 50;
export const WINDOW_MAX = 300;

export type EntryWindow = {
  /** Oldest first, seqs one apart. */
  entries: readonly Entry[];
  hasOlder: boolean;
  /** True when the room goes on after the last one held. */
  hasNewer: boolean;
};

export const emptyWindow: EntryWindow = { entries: [], hasOlder: false, hasNewer: false };

export const firstSeq = (window: EntryWindow): number => window.entries[0]?.seq ?? 0;
export const lastSeq = (window: EntryWindow): number => window.entries.at(-1)?.seq ?? 0;

/** An older page in front; what falls off at the end can be read again. */
export function withOlder(window: EntryWindow, page: readonly Entry[], hasOlder: boolean): EntryWindow {
  const first = firstSeq(window);
  const entries = [...page.filter((entry) => entry.seq < first || first === 0), ...window.entries];
  const kept = entries.slice(0, WINDOW_MAX);
  return { entries: kept, hasOlder, hasNewer: window.hasNewer || kept.length < entries.length };
}

/** A newer page behind; what falls off in front can be read again. */
export function withNewer(window: EntryWindow, page: readonly Entry[], hasNewer: boolean): EntryWindow {
  const last = lastSeq(window);
  const entries = [...window.entries, ...page.filter((entry) => entry.seq > last)];
  const kept = entries.slice(-WINDOW_MAX);
  return { entries: kept, hasOlder: window.hasOlder || kept.length < entries.length, hasNewer };
}

/**
 * A live entry. Behind a window that does not reach the newest entry it is left out,
 * as is one already held; null says that entries between are missing and must be read.
 * `follows` = the reader looks at the end; for one who does not, a full window lets go of nothing in front.
 */
export function withEntry(window: EntryWindow, entry: Entry, follows: boolean): EntryWindow | null {
  const last = lastSeq(window);
  if (window.hasNewer || (last > 0 && entry.seq <= last)) return window;
  if (entry.seq > last + 1) return null;
  if (!follows && window.entries.length >= WINDOW_MAX) return { ...window, hasNewer: true };
  return withNewer(window, [entry], false);
}

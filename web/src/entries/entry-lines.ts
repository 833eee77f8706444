/** What stands between and beside entries: day lines, the "new" line, and whose name is repeated. Pure. */

import type { Entry } from '../api/types';
import { dayOf } from '../ui/time';

export type EntryListLine = {
  entry: Entry;
  /** A new day begins with this entry. */
  day: boolean;
  /** The first entry that was unread when the room was opened. */
  fresh: boolean;
  /** Follows closely on the same author's entry, whose name need not stand again. */
  follows: boolean;
};

const FOLLOWS_MS = 5 * 60_000;

/** `newAfter` is the read position at opening, null when there is none to show. */
export function entryListLines(entries: readonly Entry[], hasOlder: boolean, newAfter: number | null, meId: string): EntryListLine[] {
  // When the first unread entry lies before those held, its line stands there, not here.
  const before = hasOlder && newAfter !== null && (entries[0]?.seq ?? 0) > newAfter + 1;
  let fresh = newAfter === null || before;
  return entries.map((entry, index) => {
    const previous = entries[index - 1];
    const isFresh = !fresh && entry.seq > (newAfter ?? 0) && entry.authorId !== meId && entry.kind === 'post';
    if (isFresh) fresh = true;
    const day = previous ? dayOf(previous.createdAt) !== dayOf(entry.createdAt) : !hasOlder;
    const follows =
      previous !== undefined &&
      !day &&
      !isFresh &&
      previous.kind === 'post' &&
      entry.kind === 'post' &&
      previous.authorId === entry.authorId &&
      (previous.threadRootEntryId ?? null) === (entry.threadRootEntryId ?? null) &&
      Date.parse(entry.createdAt) - Date.parse(previous.createdAt) < FOLLOWS_MS;
    return { entry, day, fresh: isFresh, follows };
  });
}

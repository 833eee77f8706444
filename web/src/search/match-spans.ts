/** An excerpt cut where the searched words stand. Pure. */

import { escapeHidden } from '../text/entry-pieces';

export type ExcerptPiece = { text: string; hit: boolean };

/** Source: contract 2.3, "Search". */
export const QUERY_MAX = 200;
const WORD_MIN = 2;

/** `spans` count UTF-16 units of `excerpt`; those that overlap or reach out of it are cut to fit. */
export function splitAtMatches(excerpt: string, spans: readonly { offset: number; length: number }[]): ExcerptPiece[] {
  const pieces: ExcerptPiece[] = [];
  const push = (text: string, hit: boolean) => {
    if (text !== '') pieces.push({ text: escapeHidden(text), hit });
  };
  let at = 0;
  for (const { offset, length } of spans.toSorted((a, b) => a.offset - b.offset)) {
    const start = Math.max(at, offset);
    const end = Math.min(excerpt.length, offset + length);
    if (end <= start) continue;
    push(excerpt.slice(at, start), false);
    push(excerpt.slice(start, end), true);
    at = end;
  }
  push(excerpt.slice(at), false);
  return pieces;
}

/** True when the server would take it: one word of two letters or digits at least, 200 characters at most. */
export function isSearchable(query: string): boolean {
  const words = query.trim().split(/\s+/);
  return [...query].length <= QUERY_MAX && words.some((word) => (word.match(/[\p{L}\p{N}]/gu)?.length ?? 0) >= WORD_MIN);
}

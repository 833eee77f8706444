/** A change of one file as the rows of a unified diff. Nothing that changed is ever left out. Pure. */

import { diffChunks } from '../canvas/text-diff';

/** Line numbers are null where the line does not stand on that side. */
export type DiffLine = { kind: 'same' | 'gone' | 'new'; before: number | null; after: number | null; text: string };
/** Lines that are the same on both sides and shown on demand. */
export type FoldedLines = { kind: 'fold'; key: string; lines: DiffLine[] };
export type DiffRow = DiffLine | FoldedLines;

/** Unchanged lines shown around a change. */
const AROUND = 3;
/** Fewer than this are not worth folding. */
const FOLD_MIN = 4;

export function linesOf(before: string | null, after: string): DiffLine[] {
  let [a, b] = [0, 0];
  const number = (kind: DiffLine['kind'], text: string): DiffLine => ({
    kind,
    before: kind === 'new' ? null : (a += 1),
    after: kind === 'gone' ? null : (b += 1),
    text,
  });
  const whole = (kind: 'gone' | 'new', text: string) => endless(text).map((line) => number(kind, line));
  if (before === null || before === '') return whole('new', after);
  if (after === '') return whole('gone', before);
  const lines = diffChunks(before, after).flatMap(({ kind, lines: some }) => some.map((text) => number(kind, text)));
  // A text that ends with a line end is cut into one piece more than it has lines.
  return lines.at(-1)?.kind === 'same' && lines.at(-1)?.text === '' ? lines.slice(0, -1) : lines;
}

function endless(text: string): string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

export function rowsOf(lines: readonly DiffLine[]): DiffRow[] {
  const rows: DiffRow[] = [];
  for (let at = 0; at < lines.length; ) {
    const kind = lines[at]?.kind;
    let end = at;
    while (end < lines.length && (lines[end]?.kind === 'same') === (kind === 'same')) end += 1;
    const run = lines.slice(at, end);
    const head = at === 0 ? 0 : AROUND;
    const tail = end === lines.length ? 0 : AROUND;
    const folded = run.length - head - tail;
    if (kind === 'same' && folded >= FOLD_MIN && run.length < lines.length) {
      rows.push(...run.slice(0, head), { kind: 'fold', key: `fold ${at}`, lines: run.slice(head, run.length - tail) });
      rows.push(...run.slice(run.length - tail));
    } else {
      rows.push(...run);
    }
    at = end;
  }
  return rows;
}

export const countsOf = (lines: readonly DiffLine[]): { gone: number; added: number } => ({
  gone: lines.filter(({ kind }) => kind === 'gone').length,
  added: lines.filter(({ kind }) => kind === 'new').length,
});

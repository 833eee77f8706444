/** Two texts compared, and two changes of one text put together, line by line. Pure. */

/** A stretch of lines: in both texts, only in the old one, or only in the new one. */
export type DiffChunk = { kind: 'same' | 'gone' | 'new'; lines: string[] };

/** Above this many pairs of lines what differs is shown as one block: finding the smallest difference would take too long. */
const PAIRS_MAX = 4_000_000;

export function diffChunks(before: string, after: string): DiffChunk[] {
  const stretches: DiffChunk[] = [];
  const say = (kind: DiffChunk['kind'], lines: string[]) => {
    const last = stretches.at(-1);
    if (lines.length === 0) return;
    if (last?.kind === kind) last.lines.push(...lines);
    else stretches.push({ kind, lines: [...lines] });
  };
  const [a, b] = [before.split('\n'), after.split('\n')];
  let at = 0;
  for (const { from, to, lines } of changesOf(a, b)) {
    say('same', a.slice(at, from));
    say('gone', a.slice(from, to));
    say('new', lines);
    at = to;
  }
  say('same', a.slice(at));
  return stretches;
}

/** Lines `from..to` of the old text are replaced by `lines`. */
type Change = { from: number; to: number; lines: string[] };

function changesOf(a: string[], b: string[]): Change[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const [inA, inB] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  if (inA.length === 0 && inB.length === 0) return [];
  const pairs = inA.length * inB.length > PAIRS_MAX ? [] : commonLines(inA, inB);

  const changes: Change[] = [];
  let [x, y] = [0, 0];
  for (const [toX, toY] of [...pairs, [inA.length, inB.length] as const]) {
    if (toX > x || toY > y) changes.push({ from: head + x, to: head + toX, lines: inB.slice(y, toY) });
    [x, y] = [toX + 1, toY + 1];
  }
  return changes;
}

/** The longest common subsequence, as pairs of line numbers. */
function commonLines(a: string[], b: string[]): [number, number][] {
  const width = b.length + 1;
  const length = new Uint32Array((a.length + 1) * width);
  const at = (x: number, y: number) => length[x * width + y] ?? 0;
  for (let x = a.length - 1; x >= 0; x--) {
    for (let y = b.length - 1; y >= 0; y--) {
      length[x * width + y] = a[x] === b[y] ? at(x + 1, y + 1) + 1 : Math.max(at(x + 1, y), at(x, y + 1));
    }
  }
  const pairs: [number, number][] = [];
  for (let x = 0, y = 0; x < a.length && y < b.length; ) {
    if (a[x] === b[y]) pairs.push([x++, y++]);
    else if (at(x + 1, y) >= at(x, y + 1)) x += 1;
    else y += 1;
  }
  return pairs;
}

export const MARK_MINE = '<<<<<<< mine';
export const MARK_BETWEEN = '=======';
export const MARK_THEIRS = '>>>>>>> theirs';

/**
 * Both changes of `base` in one text; where they touch the same lines, both stand there between marks.
 * `conflicts` counts these places.
 */
export function merge(base: string, mine: string, theirs: string): { text: string; conflicts: number } {
  const lines = base.split('\n');
  const [left, right] = [changesOf(lines, mine.split('\n')), changesOf(lines, theirs.split('\n'))];
  const out: string[] = [];
  let conflicts = 0;
  let at = 0;
  while (left.length > 0 || right.length > 0) {
    const from = Math.min(left[0]?.from ?? Infinity, right[0]?.from ?? Infinity);
    const [ours, others] = [[] as Change[], [] as Change[]];
    let to = from;
    const takeFrom = (changes: Change[], taken: Change[]): boolean => {
      const next = changes[0];
      if (!next || next.from > to) return false;
      taken.push(next);
      changes.shift();
      to = Math.max(to, next.to);
      return true;
    };
    while (takeFrom(left, ours) || takeFrom(right, others));
    out.push(...lines.slice(at, from));
    const [my, their] = [applied(lines, ours, from, to), applied(lines, others, from, to)];
    if (others.length === 0 || my.join('\n') === their.join('\n')) out.push(...my);
    else if (ours.length === 0) out.push(...their);
    else {
      conflicts += 1;
      out.push(MARK_MINE, ...my, MARK_BETWEEN, ...their, MARK_THEIRS);
    }
    at = to;
  }
  return { text: [...out, ...lines.slice(at)].join('\n'), conflicts };
}

function applied(lines: string[], changes: Change[], from: number, to: number): string[] {
  const out: string[] = [];
  let at = from;
  for (const change of changes) {
    out.push(...lines.slice(at, change.from), ...change.lines);
    at = change.to;
  }
  return [...out, ...lines.slice(at, to)];
}

import { expect, test } from 'vitest';
import type { Entry } from '../api/types';
import { emptyWindow, lastSeq, firstSeq, WINDOW_MAX, withEntry, withNewer, withOlder } from './entry-window';

const run = (from: number, to: number): Entry[] =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ seq: from + index, id: `e${from + index}` }) as Entry);
const held = (from: number, to: number) => withNewer(emptyWindow, run(from, to), false);

test('an entry that came already is not doubled', () => {
  const window = held(1, 5);
  expect(withEntry(window, run(5, 5)[0]!, true)).toBe(window);
});

test('the next entry is added, the one after a gap asks for a reading', () => {
  expect(lastSeq(withEntry(held(1, 5), run(6, 6)[0]!, true)!)).toBe(6);
  expect(withEntry(held(1, 5), run(8, 8)[0]!, true)).toBeNull();
});

test('the first entry of an empty room is added', () => {
  expect(withEntry(emptyWindow, run(1, 1)[0]!, true)?.entries).toHaveLength(1);
});

test('a window that stands back in time leaves live entries out', () => {
  const back = { ...held(1, 5), hasNewer: true };
  expect(withEntry(back, run(6, 6)[0]!, true)).toBe(back);
});

test('overlapping pages make one run without gap or repeat', () => {
  const older = withOlder(held(51, 100), run(1, 60), false);
  expect(older.entries.map((entry) => entry.seq)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
});

test('a long window lets go of its far end and says so', () => {
  const long = withOlder(held(WINDOW_MAX + 1, 2 * WINDOW_MAX), run(WINDOW_MAX - 49, WINDOW_MAX), true);
  expect(long.entries).toHaveLength(WINDOW_MAX);
  expect(firstSeq(long)).toBe(WINDOW_MAX - 49);
  expect(long).toMatchObject({ hasOlder: true, hasNewer: true });

  const longer = withNewer(held(1, WINDOW_MAX), run(WINDOW_MAX + 1, WINDOW_MAX + 10), false);
  expect(firstSeq(longer)).toBe(11);
  expect(longer).toMatchObject({ hasOlder: true, hasNewer: false });
});

test('who reads further up keeps what is read, however much comes', () => {
  const full = held(1, WINDOW_MAX);
  const next = run(WINDOW_MAX + 1, WINDOW_MAX + 1)[0]!;
  expect(withEntry(full, next, false)).toEqual({ ...full, hasNewer: true });
  expect(firstSeq(withEntry(full, next, true)!)).toBe(2);
});

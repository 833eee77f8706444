import { expect, test } from 'vitest';
import { MARK_BETWEEN, MARK_MINE, MARK_THEIRS, merge, diffChunks } from './text-diff';

const lines = (...all: string[]) => all.join('\n');

test('equal texts are one stretch', () => {
  expect(diffChunks('a\nb', 'a\nb')).toEqual([{ kind: 'same', lines: ['a', 'b'] }]);
});

test('what went and what came stand where they were', () => {
  expect(diffChunks(lines('a', 'b', 'c', 'd'), lines('a', 'x', 'c', 'd', 'e'))).toEqual([
    { kind: 'same', lines: ['a'] },
    { kind: 'gone', lines: ['b'] },
    { kind: 'new', lines: ['x'] },
    { kind: 'same', lines: ['c', 'd'] },
    { kind: 'new', lines: ['e'] },
  ]);
});

test('every comparison holds both texts whole', () => {
  const random = (seed: number) => Array.from({ length: 12 }, (_, at) => 'abc'[(seed * (at + 3) * 7 + ((seed >> 3) * at)) % 3]).join('\n');
  for (let seed = 1; seed < 60; seed++) {
    const [before, after] = [random(seed), random(seed * 5 + 1)];
    const stretches = diffChunks(before, after);
    const without = (kind: string) => stretches.filter((stretch) => stretch.kind !== kind).flatMap((stretch) => stretch.lines).join('\n');
    expect([without('new'), without('gone')]).toEqual([before, after]);
  }
});

test('changes in different places are put together', () => {
  const base = lines('one', 'two', 'three', 'four', 'five');
  expect(merge(base, lines('ONE', 'two', 'three', 'four', 'five'), lines('one', 'two', 'three', 'four', 'five', 'six'))).toEqual({
    text: lines('ONE', 'two', 'three', 'four', 'five', 'six'),
    conflicts: 0,
  });
});

test('the same change by both is one change', () => {
  expect(merge('a\nb', 'a\nB', 'a\nB')).toEqual({ text: 'a\nB', conflicts: 0 });
});

test('two changes of the same lines both stand there, between marks', () => {
  expect(merge(lines('a', 'b', 'c'), lines('a', 'mine', 'c'), lines('a', 'theirs', 'c'))).toEqual({
    text: lines('a', MARK_MINE, 'mine', MARK_BETWEEN, 'theirs', MARK_THEIRS, 'c'),
    conflicts: 1,
  });
});

test('merging with an unchanged side gives the other', () => {
  for (const [base, other] of [['a\nb', 'x'], ['', 'a\nb'], ['a\nb\nc', 'c\nb']] as const) {
    expect(merge(base, base, other)).toEqual({ text: other, conflicts: 0 });
    expect(merge(base, other, base)).toEqual({ text: other, conflicts: 0 });
  }
});

import { expect, test } from 'vitest';
import { countsOf, linesOf, rowsOf, type DiffLine } from './diff-rows';

const short = ({ kind, before, after, text }: DiffLine) => `${before ?? '-'} ${after ?? '-'} ${{ same: ' ', gone: '-', new: '+' }[kind]}${text}`;

test('lines carry the numbers of both sides', () => {
  expect(linesOf('a\nb\nc\n', 'a\nB\nc\nd\n').map(short)).toEqual(['1 1  a', '2 - -b', '- 2 +B', '3 3  c', '- 4 +d']);
});

test('a new file is all new, an emptied one all gone', () => {
  expect(linesOf(null, 'x\ny\n').map(short)).toEqual(['- 1 +x', '- 2 +y']);
  expect(linesOf('x\n', '').map(short)).toEqual(['1 - -x']);
  expect(linesOf(null, '')).toEqual([]);
});

test('a line end that comes or goes at the end is a row', () => {
  expect(linesOf('a\n', 'a').map(short)).toEqual(['1 1  a', '2 - -']);
  expect(linesOf('a', 'a\n').map(short)).toEqual(['1 1  a', '- 2 +']);
});

test('folding hides unchanged lines only, and unfolding gives the whole diff back', () => {
  const before = Array.from({ length: 60 }, (_, index) => `line ${index}`);
  const after = before.with(20, 'changed').toSpliced(40, 1);
  const lines = linesOf(before.join('\n'), after.join('\n'));
  const rows = rowsOf(lines);
  expect(rows.flatMap((row) => (row.kind === 'fold' ? row.lines : [row]))).toEqual(lines);
  expect(rows.flatMap((row) => (row.kind === 'fold' ? row.lines : [])).every(({ kind }) => kind === 'same')).toBe(true);
  expect(rows.filter(({ kind }) => kind === 'fold')).toHaveLength(3);
  expect(countsOf(lines)).toEqual({ gone: 2, added: 1 });
});

test('a long change is whole, however long it is', () => {
  const after = Array.from({ length: 12_000 }, (_, index) => `line ${index}`).join('\n');
  expect(rowsOf(linesOf(null, after))).toHaveLength(12_000);
});

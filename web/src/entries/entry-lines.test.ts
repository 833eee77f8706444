import { expect, test } from 'vitest';
import type { Entry } from '../api/types';
import { entryListLines } from './entry-lines';

const entry = (seq: number, authorId: string, minute: number): Entry =>
  ({ seq, authorId, kind: 'post', createdAt: new Date(2026, 10, 21, 12, minute).toISOString() }) as Entry;

test('the "new" line stands once, before the first unread entry of somebody else', () => {
  const lines = entryListLines([entry(1, 'a', 0), entry(2, 'me', 1), entry(3, 'a', 2), entry(4, 'a', 3)], false, 1, 'me');
  expect(lines.map(({ fresh }) => fresh)).toEqual([false, false, true, false]);
});

test('where the first unread entry is not held, no other one is marked', () => {
  expect(entryListLines([entry(9, 'a', 0)], true, 3, 'me')[0]?.fresh).toBe(false);
  expect(entryListLines([entry(4, 'a', 0)], true, 3, 'me')[0]?.fresh).toBe(true);
});

test('without a read position there is none', () => {
  expect(entryListLines([entry(1, 'a', 0)], false, null, 'me')[0]?.fresh).toBe(false);
});

test('a name stands again after five minutes, after another author and after a line', () => {
  const lines = entryListLines([entry(1, 'a', 0), entry(2, 'a', 4), entry(3, 'a', 10), entry(4, 'b', 10), entry(5, 'b', 11)], false, 4, 'me');
  expect(lines.map(({ follows }) => follows)).toEqual([false, true, false, false, false]);
});

test('the first entry held begins a day only when nothing older exists', () => {
  expect(entryListLines([entry(1, 'a', 0)], false, null, 'me')[0]?.day).toBe(true);
  expect(entryListLines([entry(9, 'a', 0)], true, null, 'me')[0]?.day).toBe(false);
});

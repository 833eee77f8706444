import { expect, test } from 'vitest';
import { splitAtMatches, isSearchable } from './match-spans';

const marked = (excerpt: string, ...spans: [number, number][]) =>
  splitAtMatches(excerpt, spans.map(([offset, length]) => ({ offset, length })))
    .map(({ text, hit }) => (hit ? `[${text}]` : text))
    .join('');

test('the words that were found are marked', () => {
  expect(marked('the arch stands', [4, 4])).toBe('the [arch] stands');
  expect(marked('arch and arch', [0, 4], [9, 4])).toBe('[arch] and [arch]');
  expect(marked('nothing')).toBe('nothing');
});

test('places count UTF-16 units, as the server does', () => {
  expect(marked('😀😀 arch', [5, 4])).toBe('😀😀 [arch]');
});

test('spans out of order, overlapping or outside do no harm', () => {
  expect(marked('abcdef', [4, 2], [0, 2])).toBe('[ab]cd[ef]');
  expect(marked('abcdef', [0, 4], [2, 3])).toBe('[abcd][e]f');
  expect(marked('abc', [2, 50], [99, 1])).toBe('ab[c]');
});

test('what hides or reorders is made visible, in and beside a hit', () => {
  expect(marked('a\u202Eb c\u202Ed', [4, 3])).toBe('a⟨U+202E⟩b [c⟨U+202E⟩d]');
});

test('a query needs one word of two letters or digits', () => {
  expect(['ab', 'a bc', '4711', 'ü1', 'ab!'].every(isSearchable)).toBe(true);
  expect(['', ' ', 'a', 'a b', '!!', 'x'.repeat(201)].some(isSearchable)).toBe(false);
});

import { expect, test } from 'vitest';
import { fuzzyFilter } from './fuzzy';

const names = ['team', 'release notes', 'research', 'Ada Lovelace @ada', 'Create a channel'];
const find = (query: string) => fuzzyFilter(query, names, (name) => name);

test('no query keeps everything in its order', () => {
  expect(find('')).toEqual(names);
});

test('letters must be there, in order', () => {
  expect(find('zz')).toEqual([]);
  expect(find('ml')).toEqual([]);
});

test('the start of a word beats its middle', () => {
  expect(fuzzyFilter('re', ['core', 'research'], (name) => name)).toEqual(['research', 'core']);
  expect(find('note')).toEqual(['release notes']);
  expect(find('lov')).toEqual(['Ada Lovelace @ada']);
});

test('first letters of words find the phrase', () => {
  expect(find('cac')[0]).toBe('Create a channel');
  expect(find('rn')[0]).toBe('release notes');
});

import { expect, test } from 'vitest';
import type { Author } from '../api/types';
import { candidatesFor, completeMention, unreachedMentions, mentionFragmentAt } from './mention';

const author = (id: string, displayName: string, handle: string): Author => ({
  id,
  kind: 'human',
  displayName,
  emoji: '',
  color: '',
  imageUrl: '',
  agentRef: '',
  handle,
});
const ada = author('1', 'Ada Lovelace', 'ada');
const alan = author('2', 'Alan', 'alan.t');
const grace = author('3', 'Grace', '');
const everyone = [grace, alan, ada];
const members = (id: string) => id !== '2';

test('a mention is written after a blank or at the start, not inside a word', () => {
  expect(mentionFragmentAt('hi @ad', 6)).toEqual({ start: 3, query: 'ad' });
  expect(mentionFragmentAt('@', 1)).toEqual({ start: 0, query: '' });
  expect(mentionFragmentAt('mail ada@ex', 11)).toBeNull();
  expect(mentionFragmentAt('hi @ada and', 11)).toBeNull();
});

test('code has no mentions', () => {
  expect(mentionFragmentAt('run `x @ad', 10)).toBeNull();
  expect(mentionFragmentAt('```\n@ad', 7)).toBeNull();
  expect(mentionFragmentAt('`x` @ad', 7)).toEqual({ start: 4, query: 'ad' });
});

test('members with a handle come first, the others say why they are not reached', () => {
  const found = candidatesFor('', everyone, members);
  expect(found.map(({ author: { id }, warning }) => [id, warning])).toEqual([
    ['1', ''],
    ['2', 'not a member'],
    ['3', 'has no handle'],
  ]);
});

test('names and handles are both searched', () => {
  expect(candidatesFor('love', everyone, members).map(({ author: { id } }) => id)).toEqual(['1']);
  expect(candidatesFor('zz', everyone, members)).toEqual([]);
});

test('completing replaces what was typed and leaves one blank', () => {
  expect(completeMention('hi @ad', { start: 3, query: 'ad' }, 6, 'ada')).toEqual({ text: 'hi @ada ', caret: 8 });
  expect(completeMention('hi @ad there', { start: 3, query: 'ad' }, 6, 'ada').text).toBe('hi @ada there');
});

test('a handle of someone outside the room is noticed, with or without a full stop', () => {
  expect(unreachedMentions('ask @alan.t. please', everyone, members)).toEqual([alan]);
  expect(unreachedMentions('ask @ada and `@alan.t`', everyone, members)).toEqual([]);
});

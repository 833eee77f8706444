import { expect, test } from 'vitest';
import { offered, whoReacted } from './emoji';

const reaction = (...authorIds: string[]) => ({ emoji: '👍', authorIds, firstAt: 't' });
const name = (id: string) => id.toUpperCase();

test('who reacted is said in words, oneself first', () => {
  expect(whoReacted(reaction('ada'), 'me', name)).toBe('ADA');
  expect(whoReacted(reaction('ada', 'me'), 'me', name)).toBe('You and ADA');
  expect(whoReacted(reaction('a', 'b', 'me'), 'me', name)).toBe('You, A and B');
});

test('a crowd is counted', () => {
  const crowd = reaction(...Array.from({ length: 20 }, (_, index) => `p${index}`));
  expect(whoReacted(crowd, 'me', name)).toMatch(/^P0, .*P7 and 12 more$/);
});

test('no emoji is offered twice, and each has a name of its own', () => {
  expect(new Set(offered.map(({ emoji }) => emoji)).size).toBe(offered.length);
  expect(new Set(offered.map(({ name: words }) => words)).size).toBe(offered.length);
});

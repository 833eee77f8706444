import { expect, test } from 'vitest';
import { costsWords, countWords, fillOf } from './usage-texts';

test('counts are short and do not claim more than they know', () => {
  expect([0, 999, 1000, 12_345, 999_400, 4_100_000].map(countWords)).toEqual(['0', '999', '1k', '12.3k', '999k', '4.1M']);
});

test('currencies stand beside each other, and nothing reported is no nought', () => {
  expect(costsWords([])).toBe('not reported');
  expect(costsWords([{ amount: 0.0123, currency: 'USD' }, { amount: 12, currency: 'EUR' }])).toBe('USD 0.0123 + EUR 12.00');
});

test('a context nobody told of has no fill', () => {
  expect(fillOf({ contextUsed: 0, contextSize: 0 })).toBeNull();
  expect(fillOf({ contextUsed: 50_000, contextSize: 200_000 })).toBe(25);
  expect(fillOf({ contextUsed: 9, contextSize: 3 })).toBe(100);
});

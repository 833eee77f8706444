import { expect, test } from 'vitest';
import { costsText, countText, contextPercent } from './usage-texts';

test('counts are short and do not claim more than they know', () => {
  expect([0, 999, 1000, 12_345, 999_400, 4_100_000].map(countText)).toEqual(['0', '999', '1k', '12.3k', '999k', '4.1M']);
});

test('currencies stand beside each other, and nothing reported is no nought', () => {
  expect(costsText([])).toBe('not reported');
  expect(costsText([{ amount: 0.0123, currency: 'USD' }, { amount: 12, currency: 'EUR' }])).toBe('USD 0.0123 + EUR 12.00');
});

test('a context nobody told of has no fill', () => {
  expect(contextPercent({ contextUsed: 0, contextSize: 0 })).toBeNull();
  expect(contextPercent({ contextUsed: 50_000, contextSize: 200_000 })).toBe(25);
  expect(contextPercent({ contextUsed: 9, contextSize: 3 })).toBe(100);
});

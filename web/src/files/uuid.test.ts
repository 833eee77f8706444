import { expect, test } from 'vitest';
import { newUuid } from './uuid';

test('an id has the form of a random UUID, and no two are the same', () => {
  expect(newUuid(new Uint8Array(16).fill(0xff))).toBe('ffffffff-ffff-4fff-bfff-ffffffffffff');
  expect(newUuid()).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(newUuid()).not.toBe(newUuid());
});

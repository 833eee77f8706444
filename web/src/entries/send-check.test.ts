import { expect, test } from 'vitest';
import { sendBlocker } from './send-check';

test('a text may be as long as the server takes it, counted in characters', () => {
  expect(sendBlocker('🪵'.repeat(100_000), false)).toBe('');
  expect(sendBlocker('🪵'.repeat(100_002), false)).toBe('That is 2 characters too long. Send it in parts.');
});

test('nothing goes out while the connection is lost', () => {
  expect(sendBlocker('hello', true)).toContain('Not connected');
});

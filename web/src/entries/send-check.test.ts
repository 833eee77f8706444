import { expect, test } from 'vitest';
import { obstacleTo } from './send-check';

test('a text may be as long as the server takes it, counted in characters', () => {
  expect(obstacleTo('🪵'.repeat(100_000), false)).toBe('');
  expect(obstacleTo('🪵'.repeat(100_002), false)).toBe('That is 2 characters too long. Send it in parts.');
});

test('nothing goes out while the connection is lost', () => {
  expect(obstacleTo('hello', true)).toContain('Not connected');
});

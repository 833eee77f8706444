import { expect, test } from 'vitest';
import { isOpen, isRunnable, limitText, ruleText, turnStatus } from './texts';

test('a limit is said with its count and whose it is', () => {
  const limit = { name: 'maxAgentDepth', value: 3, used: 3, source: 'room' as const };
  expect(limitText({ rule: 'depth', limit })).toBe('depth 3 of 3, set for this room');
  expect(limitText({ rule: 'hour_global', limit: { ...limit, name: 'x', value: 5000, used: 5000, source: 'install' } })).toBe(
    'turn 5000 of 5000, set for this server',
  );
  expect(limitText({ rule: 'unheard', limit })).toBe('maxAgentDepth 3 of 3, set for this room');
  expect(limitText({ rule: 'done', limit: null })).toBe('');
});

test('only stored turns that were refused or are held can be run', () => {
  expect(isRunnable({ id: 't', state: 'refused' })).toBe(true);
  expect(isRunnable({ id: 't', state: 'held' })).toBe(true);
  expect(isRunnable({ id: '', state: 'refused' })).toBe(false);
  expect(isRunnable({ id: 't', state: 'answered' })).toBe(false);
  expect(isOpen({ state: 'waiting' })).toBe(true);
  expect(isOpen({ state: 'stopped' })).toBe(false);
});

test('words from a newer server stand as they are', () => {
  expect(ruleText('brand_new')).toBe('brand_new');
  expect(turnStatus('brand_new').word).toBe('brand_new');
});

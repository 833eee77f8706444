import { expect, test } from 'vitest';
import { toolCallStatus, kindText, sessionStatusText } from './texts';

test('a failed session says why and what to do', () => {
  expect(sessionStatusText({ state: 'failed', stateReason: 'claude-agent-acp is not installed.', queuedCount: 0 })).toEqual({
    text: 'claude-agent-acp is not installed.',
    todo: 'Send a message to start the agent again.',
    bad: true,
  });
  expect(sessionStatusText({ state: 'failed', stateReason: '', queuedCount: 2 })?.todo).toContain('held');
});

test('a queue without a turn is held, and that is said', () => {
  expect(sessionStatusText({ state: 'idle', stateReason: '', queuedCount: 1 })?.text).toBe('What waits is held.');
  expect(sessionStatusText({ state: 'idle', stateReason: '', queuedCount: 0 })).toBeNull();
  expect(sessionStatusText({ state: 'running', stateReason: '', queuedCount: 3 })).toBeNull();
});

test('words from a newer server stand as they are', () => {
  expect(toolCallStatus('dreaming').word).toBe('dreaming');
  expect(kindText('juggle')).toBe('tool');
});

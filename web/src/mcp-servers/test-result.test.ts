import { expect, test } from 'vitest';
import type { TestedServer } from '../api/types';
import { testHints, testResultText } from './test-result';

const failed: TestedServer = { ok: false, toolCount: null, tools: [], needsAuth: false, code: 'ENDED', error: null, durationMs: 5, pinChanged: false };

test('what was reached says how fast and with how much', () => {
  expect(testResultText({ ...failed, ok: true, toolCount: 1, durationMs: 999 }).sentence).toBe('Reached in 999 ms, with 1 tool.');
  expect(testResultText({ ...failed, ok: true, toolCount: 0, durationMs: 1250 }).sentence).toBe('Reached in 1.3 s, with 0 tools.');
});

test('what failed says why, and the last words of a program line by line', () => {
  expect(testResultText({ ...failed, error: 'the server cannot be reached: refused' })).toEqual({ sentence: 'The server cannot be reached: refused.', words: [] });
  expect(testResultText({ ...failed, error: 'The server is switched off.' })).toEqual({ sentence: 'The server is switched off.', words: [] });
  const ended = testResultText({ ...failed, error: 'the server ended with exit code 3:\nreading\n  no key' });
  expect(ended).toEqual({ sentence: 'The server ended with exit code 3:', words: ['reading', '  no key'] });
  expect(testResultText(failed).sentence).toBe('It failed.');
});

test('a tool that only reads destroys nothing, whatever else it says', () => {
  const all = [true, false].flatMap((readOnly) => [true, false].map((destructive) => testHints({ readOnly, destructive })));
  expect(all).toEqual(['only reads', 'only reads', 'may destroy', 'changes']);
});

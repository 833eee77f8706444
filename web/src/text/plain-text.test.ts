import { expect, test } from 'vitest';
import { plainText, sentenceOf } from './plain-text';

test('marks of Markdown are left out, the words they stand around are kept', () => {
  expect(plainText('## Done\nBricks are **burnt**, see `kiln.md` and [the notes](https://a.b/c).')).toBe(
    'Done Bricks are burnt, see kiln.md and the notes.',
  );
  expect(plainText('| Stone | State | |---|:--:| | west | loose |')).toBe('| Stone | State | | west | loose |');
});

test('what only looks like a mark stays', () => {
  expect(plainText('#say 2 ** 3 ** 4, a__b, *.md')).toBe('#say 2 ** 3 ** 4, a__b, *.md');
  expect(plainText('x\u202Ey')).toBe('x⟨U+202E⟩y');
});

test('a reason is a sentence', () => {
  expect(sentenceOf('the agent’s process ended with exit code 1')).toBe('The agent’s process ended with exit code 1.');
  expect(sentenceOf('claude-agent-acp is not installed.')).toBe('claude-agent-acp is not installed.');
  expect(sentenceOf('')).toBe('');
});

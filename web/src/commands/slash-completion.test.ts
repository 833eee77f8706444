import { expect, test } from 'vitest';
import type { SlashCommand } from '../api/types';
import { commandsFor, insertCommand, slashFragmentAt, sourceOf } from './slash-completion';

const command = (fullCommand: string, more: Partial<SlashCommand> = {}): SlashCommand => ({
  namespace: '',
  command: fullCommand.slice(1),
  fullCommand,
  description: '',
  argumentHint: '',
  allowedTools: [],
  filePath: '',
  ...more,
});

test('a command is begun at the start or after a space, anywhere in the text', () => {
  expect(slashFragmentAt('/re', 3)).toEqual({ start: 0, query: 're' });
  expect(slashFragmentAt('please /Git:Co now', 14)).toEqual({ start: 7, query: 'git:co' });
  expect(slashFragmentAt('line\n/x', 7)).toEqual({ start: 5, query: 'x' });
});

test('a path, an address and a fraction begin no command', () => {
  for (const text of ['src/main', 'https://', '1/2', '/etc/passwd', '/re view']) expect(slashFragmentAt(text, text.length)).toBeNull();
});

test('names that begin so come first, then parts, then words of the description', () => {
  const all = [command('/other', { description: 'reviews it' }), command('/pre-review'), command('/git:review'), command('/review')];
  expect(commandsFor('rev', all).map(({ fullCommand }) => fullCommand)).toEqual(['/review', '/git:review', '/pre-review', '/other']);
  expect(commandsFor('', all)).toHaveLength(4);
  expect(commandsFor('zzz', all)).toEqual([]);
});

test('the chosen one replaces what was begun and keeps the rest', () => {
  expect(insertCommand('do /re now', { start: 3, query: 're' }, 6, command('/review'))).toEqual({ text: 'do /review now', caret: 11 });
  expect(insertCommand('/re', { start: 0, query: 're' }, 3, command('/review'))).toEqual({ text: '/review ', caret: 8 });
});

test('where it stands says whose it is', () => {
  const at = (filePath: string) => sourceOf(command('/x', { filePath }));
  expect([at(''), at('~/.claude/commands/x.md'), at('.claude/commands/x.md'), at('.agents/skills/x/SKILL.md')]).toEqual([
    'agent', 'user', 'project', 'skill',
  ]);
});

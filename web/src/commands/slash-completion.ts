/** Completing a slash command while one writes. Pure. */

import type { SlashCommand } from '../api/types';

/** The command being written at the caret: where its `/` stands and what follows it. */
export type SlashFragment = { start: number; query: string };

const NAME = /^[\p{L}\p{N}_:.-]*$/u;

/** The half-written command before `caret`, or null. A `/` inside a word or a path is none. */
export function slashFragmentAt(text: string, caret: number): SlashFragment | null {
  const start = text.lastIndexOf('/', caret - 1);
  if (start === -1 || (start > 0 && !/\s/.test(text[start - 1] ?? ''))) return null;
  const query = text.slice(start + 1, caret);
  return NAME.test(query) ? { start, query: query.toLowerCase() } : null;
}

/** Who fits: the name's own beginning first, then a part's beginning, then any place in name or description. */
export function commandsFor(query: string, commands: readonly SlashCommand[], max = 50): SlashCommand[] {
  return commands
    .map((command) => ({ command, fit: fitOf(query, command) }))
    .filter(({ fit }) => fit > 0)
    .sort((a, b) => b.fit - a.fit || (a.command.fullCommand < b.command.fullCommand ? -1 : 1))
    .slice(0, max)
    .map(({ command }) => command);
}

function fitOf(query: string, { fullCommand, description }: SlashCommand): number {
  const name = fullCommand.slice(1).toLowerCase();
  if (query === '' || name.startsWith(query)) return 4;
  if (name.split(/[:._-]/).some((part) => part.startsWith(query))) return 3;
  if (name.includes(query)) return 2;
  return description.toLowerCase().includes(query) ? 1 : 0;
}

/** The text with the command in place of what was begun, and where the caret goes. */
export function insertCommand(text: string, writing: SlashFragment, caret: number, { fullCommand }: SlashCommand): { text: string; caret: number } {
  const after = text.slice(caret);
  const space = /^\s/.test(after) ? '' : ' ';
  return { text: text.slice(0, writing.start) + fullCommand + space + after, caret: writing.start + fullCommand.length + 1 };
}

/** Whose command it is, by where it stands. */
export function sourceOf({ filePath }: SlashCommand): 'agent' | 'skill' | 'user' | 'project' {
  if (filePath === '') return 'agent';
  if (/(^|\/)skills\//.test(filePath)) return 'skill';
  return filePath.startsWith('~/') ? 'user' : 'project';
}

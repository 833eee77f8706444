/** The boxes of task lists in a Markdown text, by line. Pure. */

import type { Block, Inline } from './markdown';

/** Up to a box: the quotes and lists its item lies in, then `[ ]`, `[x]` or `[X]`. What the server takes for one, too. */
const BOX = /^([\s>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+[\s>]*)+\[)([ xX])\](?=[ \t]|$)/;

/** The lines of a text without their endings, which are LF, CR LF or CR. */
export const linesOf = (text: string): string[] => text.split(/\r\n|\r|\n/);

/** Whether the box of a line is checked; null when it has none. */
export function checkboxState(line: string): boolean | null {
  const mark = BOX.exec(line)?.[2];
  return mark === undefined ? null : mark !== ' ';
}

/** The text with the box of `line`, counted from 1, checked or not; every other character stays. */
export function withCheckbox(text: string, line: number, checked: boolean): string {
  // Odd parts are the endings.
  const parts = text.split(/(\r\n|\r|\n)/);
  const at = (line - 1) * 2;
  return parts.with(at, (parts[at] ?? '').replace(BOX, `$1${checked ? 'x' : ' '}]`)).join('');
}

/** The words of an item, without its marks. */
export function taskText(blocks: readonly Block[]): string {
  const [first] = blocks;
  return first?.kind === 'paragraph' ? inWords(first.children) : '';
}

function inWords(inline: readonly Inline[]): string {
  return inline.map((piece) => ('text' in piece ? piece.text : 'children' in piece ? inWords(piece.children) : ' ')).join('');
}

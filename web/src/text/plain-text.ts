/** Text of others as one plain line. Pure. */

import { escapeHidden } from './entry-pieces';

/** Marks of Markdown that say nothing without being drawn; what they stand around is kept. */
const MARKS: [RegExp, string][] = [
  [/(\*\*|__)(?=\S)(.+?)(?<=\S)\1/g, '$2'],
  [/`([^`]+)`/g, '$1'],
  [/!?\[([^\]]+)\]\([^)\s]+\)/g, '$1'],
  [/(^|\s)#{1,6}\s+/g, '$1'],
  [/\|(?:\s*:?-{2,}:?\s*\|)+/g, ''],
];

/** A message in the words one would read aloud, for a line that leads to it. */
export function plainText(text: string): string {
  const plain = MARKS.reduce((left, [mark, kept]) => left.replace(mark, kept), text);
  return escapeHidden(plain.replace(/\s+/g, ' ').trim());
}

/** A reason from a program as a sentence: it begins with a capital and ends with a full stop. */
export function sentenceOf(reason: string): string {
  const words = reason.trim();
  const [first = '', ...rest] = words;
  if (words === '') return '';
  // A first word with a digit, a slash or a dash is a name and is not spelt anew.
  const begun = /^\p{Ll}+(?:[\s’']|$)/u.test(words) ? first.toUpperCase() + rest.join('') : words;
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

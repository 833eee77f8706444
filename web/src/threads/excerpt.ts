/** An entry in a few words, for a line that leads to it. Pure. */

import type { Entry } from '../api/types';
import { escapeHidden } from '../text/entry-pieces';

const EXCERPT_MAX = 140;

export function excerptOf({ text, redactedAt, attachments }: Entry): string {
  if (redactedAt) return 'text removed';
  const line = escapeHidden(text.trim().replace(/\s+/g, ' '));
  if (line === '') return attachments.map(({ name }) => name).join(', ') || 'no text';
  const chars = [...line];
  return chars.length > EXCERPT_MAX ? `${chars.slice(0, EXCERPT_MAX - 1).join('')}…` : line;
}

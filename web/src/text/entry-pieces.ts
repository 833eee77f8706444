/**
 * Entry text as pieces to show. Pure.
 * The text is data: no markup is read from it but code marks, links and the mentions the server found.
 * Characters that could hide or reorder what stands there are made visible.
 */

import type { MentionSpan } from '../api/types';

export type TextPiece =
  | { kind: 'text'; text: string }
  | { kind: 'link'; text: string; href: string }
  | { kind: 'mention'; text: string; authorId: string }
  | { kind: 'code'; text: string }
  | { kind: 'block'; text: string; language: string }
  /** A control or direction character, by its code point: `U+202E`. */
  | { kind: 'hidden'; text: string };

/** A fence opens at a line start and closes at one, or runs to the end. */
const FENCE = /^```([^\n`]*)\n([\s\S]*?)(?:\n```[ \t]*(?:\n|$)|$(?![\s\S]))/gm;
const INLINE_CODE = /`([^`\n]+)`/g;
const LINK = /\bhttps?:\/\/[^\s<>"'`]+/g;
/** C0 and C1 but tab and newline, soft hyphen, zero-width, bidirectional marks, separators, tags. */
const HIDDEN =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|\u{E0001}|[\u{E0020}-\u{E007F}]/gu;

export function piecesOf(text: string, mentions: readonly MentionSpan[]): TextPiece[] {
  const clean = text.replace(/\r\n/g, '\n');
  // Offsets count UTF-16 units of the stored text; a text with CR LF has them moved.
  const spans = clean === text ? mentions : mentions.map((span) => ({ ...span, offset: moved(text, span.offset) }));
  const pieces: TextPiece[] = [];
  cut(clean, FENCE, 0, (part, at, match) => {
    if (match) pieces.push({ kind: 'block', text: escapeHidden(match[2] ?? ''), language: (match[1] ?? '').trim() });
    else pieces.push(...inline(part, at, spans));
  });
  return pieces;
}

function inline(text: string, from: number, mentions: readonly MentionSpan[]): TextPiece[] {
  const pieces: TextPiece[] = [];
  cut(text, INLINE_CODE, from, (part, at, match) => {
    if (match) pieces.push({ kind: 'code', text: escapeHidden(match[1] ?? '') });
    else pieces.push(...mentioned(part, at, mentions));
  });
  return pieces;
}

function mentioned(text: string, from: number, mentions: readonly MentionSpan[]): TextPiece[] {
  const pieces: TextPiece[] = [];
  let at = 0;
  const inside = mentions
    .filter(({ offset, length }) => offset >= from && offset + length <= from + text.length)
    .toSorted((a, b) => a.offset - b.offset);
  for (const { offset, length, authorId } of inside) {
    const start = offset - from;
    if (start < at) continue;
    pieces.push(...linked(text.slice(at, start)));
    pieces.push({ kind: 'mention', text: text.slice(start, start + length), authorId });
    at = start + length;
  }
  pieces.push(...linked(text.slice(at)));
  return pieces;
}

function linked(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  cut(text, LINK, 0, (part, _at, match) => {
    if (!match) {
      pieces.push(...shown(part));
      return;
    }
    // A sentence's own punctuation after an address, and an unopened bracket, are not part of it.
    const tail = /[.,;:!?]+$|(?<!\([^)]*)\)[.,;:!?]*$/.exec(part)?.[0] ?? '';
    const address = part.slice(0, part.length - tail.length);
    const href = safeHref(address);
    if (href === null) pieces.push(...shown(part));
    else pieces.push({ kind: 'link', text: escapeHidden(address), href }, ...shown(tail));
  });
  return pieces;
}

function safeHref(address: string): string | null {
  try {
    const url = new URL(address);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null;
  } catch {
    return null;
  }
}

function shown(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  cut(text, HIDDEN, 0, (part, _at, match) => {
    pieces.push(match ? { kind: 'hidden', text: codePoint(part) } : { kind: 'text', text: part });
  });
  return pieces;
}

/** Where a piece cannot hold others (code, the words of a link), hidden characters are written out. */
export function escapeHidden(text: string): string {
  return text.replace(HIDDEN, (char) => `⟨${codePoint(char)}⟩`);
}

function codePoint(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function moved(text: string, offset: number): number {
  return offset - (text.slice(0, offset).match(/\r\n/g)?.length ?? 0);
}

/** Calls `each` for every match and every stretch between, in order, with its offset in the whole. */
function cut(
  text: string,
  pattern: RegExp,
  from: number,
  each: (part: string, at: number, match: RegExpExecArray | null) => void,
): void {
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > at) each(text.slice(at, match.index), from + at, null);
    each(match[0], from + match.index, match);
    at = match.index + match[0].length;
  }
  if (at < text.length) each(text.slice(at), from + at, null);
}

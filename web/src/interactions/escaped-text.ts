/** Text as it really is, for whoever has to decide about it. Pure. */

/**
 * Characters that are drawn as nothing, as something else, or that turn others around:
 * C0 and C1 but tab and newline, soft hyphen, fillers, zero-width ones and joiners, marks of direction,
 * separators, variation selectors, tags, and spaces that look like the plain one.
 */
const UNSEEN =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u00A0\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFC]|[\u{E0000}-\u{E0FFF}]/gu;

export type EscapedPiece = { text: string; hidden: boolean };

/** The text in stretches; each unseen character is one of its own, by its code point. Entry text is shown more leniently. */
export function escapedPieces(text: string): EscapedPiece[] {
  const pieces: EscapedPiece[] = [];
  let at = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (match.index > at) pieces.push({ text: text.slice(at, match.index), hidden: false });
    pieces.push({ text: codePoint(match[0]), hidden: true });
    at = match.index + match[0].length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), hidden: false });
  return pieces;
}

/** The same in one string, where pieces cannot be drawn apart. */
export const escapedText = (text: string): string =>
  escapedPieces(text)
    .map(({ text: shown, hidden }) => (hidden ? `⟨${shown}⟩` : shown))
    .join('');

function codePoint(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

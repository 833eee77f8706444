/**
 * Line ends: an editor knows one kind, a file may hold two, and a save must not change any. Pure.
 */

/** `lf` also for a text of one line; `mixed` for whatever is not all of one kind. */
export type LineEndings = 'lf' | 'crlf' | 'mixed';

/** What of a text the editor does not hold: its line ends and a byte order mark. */
export type TextFormat = { ends: LineEndings; mark: boolean };

const MARK = '\u{feff}';

export function textFormatOf(text: string): TextFormat {
  return { ends: endsOf(text), mark: text.startsWith(MARK) };
}

function endsOf(text: string): LineEndings {
  if (!text.includes('\r')) return 'lf';
  return /(?<!\r)\n|\r(?!\n)/.test(text) ? 'mixed' : 'crlf';
}

/** What the editor holds. Of mixed ends the carriage returns stay in the lines, where they are shown as signs. */
export function toEditor(text: string): string {
  const { ends, mark } = textFormatOf(text);
  const rest = mark ? text.slice(1) : text;
  return ends === 'crlf' ? rest.replaceAll('\r\n', '\n') : rest;
}

/** What is saved: byte for byte what was opened, where nothing was written. */
export function fromEditor(text: string, { ends, mark }: TextFormat): string {
  return (mark ? MARK : '') + (ends === 'crlf' ? text.replace(/\r?\n/g, '\r\n') : text);
}

/** In words, for whoever wonders; `""` for the usual kind. */
export function textFormatText({ ends, mark }: TextFormat): string {
  const words = { lf: '', crlf: 'CR LF', mixed: 'mixed line ends' }[ends];
  return [words, mark ? 'byte order mark' : ''].filter(Boolean).join(', ');
}

/**
 * Markdown as a tree of our own, to be drawn node by node. Pure.
 * Safe by construction: the tree has no node for raw HTML, none for a picture from elsewhere,
 * and no link but http, https and mailto; what would be one of these stays the text it was written as.
 */

import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import { escapeHidden } from '../text/entry-pieces';
import { isDataImage, parseWebUrl } from './source';
import { checkboxState, linesOf } from './task-checkboxes';

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong'; children: Inline[] }
  | { kind: 'em'; children: Inline[] }
  | { kind: 'del'; children: Inline[] }
  | { kind: 'link'; href: string; children: Inline[] }
  /** A picture that is part of the document itself. */
  | { kind: 'picture'; src: string; alt: string }
  | { kind: 'break' };

export type ListItem = {
  /** Null when it is no task. */
  done: boolean | null;
  /** The line of the text its box stands in, from 1; null when that is not certain. */
  line: number | null;
  children: Block[];
};

export type Block =
  /** `level` nests without gaps from 1, whatever depths the text skips. */
  | { kind: 'heading'; depth: number; level: number; children: Inline[] }
  | { kind: 'paragraph'; children: Inline[] }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'quote'; children: Block[] }
  | { kind: 'list'; start: number | null; items: ListItem[] }
  | { kind: 'table'; header: Inline[][]; rows: Inline[][][]; align: ColumnAlign[] }
  | { kind: 'rule' };

export type ColumnAlign = 'left' | 'center' | 'right' | null;

/** Beyond this many characters a text is shown as it is: reading its marks would make the page wait. */
export const MARKDOWN_CHARS_MAX = 500_000;
/** Quotes and lists inside each other are drawn this deep. */
const NESTING_MAX = 24;

/** The names people write; any other stays as it stands. */
const ENTITIES: Record<string, string> = {
  amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00A0', copy: '©', reg: '®', trade: '™', hellip: '…',
  mdash: '—', ndash: '–', laquo: '«', raquo: '»', lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”', times: '×',
  middot: '·', bull: '•', rarr: '→', larr: '←', deg: '°', euro: '€', sect: '§',
};

/** What is being read: the lines of the whole text, and the depths of the headings so far. */
type Reading = { lines: string[]; depths: number[] };

/** Reads CommonMark with GitHub's tables, task lists and strikethrough; a text too large or too nested is one code block. */
export function markdownOf(text: string): Block[] {
  const whole: Block[] = [{ kind: 'code', language: '', text: escapeHidden(text) }];
  if (text.length > MARKDOWN_CHARS_MAX) return whole;
  try {
    return blocksOf(new Lexer({ gfm: true }).lex(text), { lines: linesOf(text), depths: [] }, 0, 0);
  } catch {
    // The reader descends with the text's nesting, so a hostile text can exhaust the stack.
    return whole;
  }
}

/** `line` is the one the first token begins in, from 0. */
function blocksOf(tokens: Token[], reading: Reading, nesting: number, line: number): Block[] {
  let next = line;
  return (tokens as MarkedToken[]).flatMap((token): Block[] => {
    const at = next;
    next += breaksIn(token.raw);
    if (nesting > NESTING_MAX) return [plain(token.raw)];
    switch (token.type) {
      case 'space':
      case 'def':
        return [];
      case 'checkbox':
        // The item says it.
        return [];
      case 'heading':
        return [{ kind: 'heading', depth: token.depth, level: levelOf(reading.depths, token.depth), children: inlineOf(token.tokens) }];
      case 'paragraph':
        return [{ kind: 'paragraph', children: inlineOf(token.tokens) }];
      case 'text':
        return [{ kind: 'paragraph', children: inlineOf(token.tokens ?? [token]) }];
      case 'code':
        return [{ kind: 'code', language: token.lang?.split(/\s/)[0] ?? '', text: escapeHidden(token.text) }];
      case 'blockquote':
        return [{ kind: 'quote', children: blocksOf(token.tokens, reading, nesting + 1, at) }];
      case 'list':
        return [listOf(token, reading, nesting, at)];
      case 'table':
        return [tableOf(token)];
      case 'hr':
        return [{ kind: 'rule' }];
      default:
        return [plain(token.raw.trimEnd())];
    }
  });
}

const plain = (text: string): Block => ({ kind: 'paragraph', children: [{ kind: 'text', text: escapeHidden(text) }] });

const breaksIn = (raw: string): number => raw.split('\n').length - 1;

function listOf(list: Tokens.List, reading: Reading, nesting: number, line: number): Block {
  let next = line;
  const items = list.items.map((item): ListItem => {
    const at = next;
    next += breaksIn(item.raw);
    const done = item.task ? item.checked === true : null;
    return {
      done,
      line: done !== null && isAt(reading.lines[at], item, done) ? at + 1 : null,
      children: blocksOf(item.tokens, reading, nesting + 1, at),
    };
  });
  return { kind: 'list', start: list.ordered ? Number(list.start) || 1 : null, items };
}

/** The reader counts no lines itself: a line that was counted is believed where it says the same. */
function isAt(line: string | undefined, item: Tokens.ListItem, done: boolean): boolean {
  const first = item.raw.split('\n', 1)[0]?.trim() ?? '';
  return line !== undefined && checkboxState(line) === done && line.trimEnd().endsWith(first);
}

function tableOf(table: Tokens.Table): Block {
  const cells = (row: Tokens.TableCell[]) => row.map((cell) => inlineOf(cell.tokens));
  return { kind: 'table', header: cells(table.header), rows: table.rows.map(cells), align: table.align };
}

function levelOf(depths: number[], depth: number): number {
  while ((depths.at(-1) ?? 0) >= depth) depths.pop();
  return depths.push(depth);
}

function inlineOf(tokens: Token[]): Inline[] {
  return (tokens as MarkedToken[]).flatMap((token): Inline[] => {
    switch (token.type) {
      case 'text':
        return token.tokens ? inlineOf(token.tokens) : [{ kind: 'text', text: escapeHidden(decoded(token.text)) }];
      case 'escape':
        return [{ kind: 'text', text: escapeHidden(token.text) }];
      case 'codespan':
        return [{ kind: 'code', text: escapeHidden(token.text) }];
      case 'strong':
      case 'em':
      case 'del':
        return [{ kind: token.type, children: inlineOf(token.tokens) }];
      case 'br':
        return [{ kind: 'break' }];
      case 'checkbox':
        return [];
      case 'link':
        return linkOf(parseWebUrl(decoded(token.href), ['http:', 'https:', 'mailto:']), inlineOf(token.tokens));
      case 'image':
        if (isDataImage(token.href)) return [{ kind: 'picture', src: token.href, alt: escapeHidden(token.text) }];
        return linkOf(parseWebUrl(decoded(token.href)), [{ kind: 'text', text: `Picture: ${escapeHidden(token.text) || 'without a name'}` }]);
      default:
        return [{ kind: 'text', text: escapeHidden(token.raw) }];
    }
  });
}

function linkOf(address: URL | null, children: Inline[]): Inline[] {
  return address ? [{ kind: 'link', href: address.href, children }] : children;
}

function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[name as string] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : whole;
  });
}

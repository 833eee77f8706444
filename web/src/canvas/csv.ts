/** Tables written as text (RFC 4180), with the separator found out. Pure. */

export type Table = {
  header: string[];
  /** The first rows, at most as many as were asked for, each as wide as the header. */
  rows: string[][];
  /** Rows below the header, those not kept included. */
  count: number;
};

/** Reads a table; the first record is its header. `keep` bounds the rows that are kept, not those that are counted. */
export function tableOf(text: string, keep: number): Table {
  const separator = separatorOf(text);
  let header: string[] | null = null;
  let width = 0;
  let count = 0;
  const rows: string[][] = [];
  for (const record of records(text.replace(/^\uFEFF/, ''), separator)) {
    if (header === null) {
      header = record;
      continue;
    }
    count += 1;
    if (rows.length < keep) {
      rows.push(record);
      width = Math.max(width, record.length);
    }
  }
  width = Math.max(width, header?.length ?? 0);
  const filled = (record: string[]) => [...record, ...Array<string>(width - record.length).fill('')];
  return { header: filled(header ?? []), rows: rows.map(filled), count };
}

/** Whichever of comma, semicolon and tab the first line has most of, outside quotes. */
function separatorOf(text: string): string {
  const line = (/^(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(text)?.[0] ?? '').replace(/"(?:[^"]|"")*"/g, '');
  const amount = (separator: string) => line.split(separator).length;
  return [',', ';', '\t'].reduce((best, other) => (amount(other) > amount(best) ? other : best));
}

/** Every record that is not an empty line; a quote that is never closed runs to the end. */
function* records(text: string, separator: string): Generator<string[]> {
  let record: string[] = [];
  let field = '';
  let at = 0;
  const isBlank = () => record.length === 0 && field === '';
  while (at < text.length) {
    const char = text[at];
    if (char === '"' && field === '') {
      const end = closing(text, at + 1);
      field = text.slice(at + 1, end).replaceAll('""', '"');
      at = end + 1;
    } else if (char === separator) {
      record.push(field);
      field = '';
      at += 1;
    } else if (char === '\n' || char === '\r') {
      if (!isBlank()) yield [...record, field];
      record = [];
      field = '';
      at += char === '\r' && text[at + 1] === '\n' ? 2 : 1;
    } else {
      const end = endOf(text, at + 1, separator);
      field += text.slice(at, end);
      at = end;
    }
  }
  if (!isBlank()) yield [...record, field];
}

function closing(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return text.length;
}

function endOf(text: string, from: number, separator: string): number {
  let at = from;
  while (at < text.length && text[at] !== separator && text[at] !== '\n' && text[at] !== '\r') at += 1;
  return at;
}

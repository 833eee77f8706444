/** Where the bytes of a document come from: its own text, an address elsewhere, or a path of this computer. Pure. */

export type ContentSource =
  | { kind: 'data'; mime: string; bytes: Uint8Array<ArrayBuffer> }
  | { kind: 'remote'; url: URL }
  | { kind: 'path'; path: string };

/** Reads a `src`; a broken `data:` address is a path that nobody finds. */
export function sourceOf(src: string): ContentSource {
  const data = parseDataUrl(src);
  if (data) return data;
  const url = parseWebUrl(src);
  return url ? { kind: 'remote', url } : { kind: 'path', path: src };
}

/** The address if its scheme is one of `schemes`, else null. */
export function parseWebUrl(text: string, schemes: readonly string[] = ['http:', 'https:']): URL | null {
  try {
    const url = new URL(text);
    return schemes.includes(url.protocol) ? url : null;
  } catch {
    return null;
  }
}

/** What a browser document opens: an address, `localhost` as people write it, or a path of this server. */
export function parseBrowserUrl(text: string, here: string): URL | null {
  if (/^localhost(?=[:/]|$)/.test(text)) return parseWebUrl(`http://${text}`);
  return parseWebUrl(/^\/(?![/\\])/.test(text) ? here + text : text);
}

/** True for a picture whose bytes stand in the address itself; nothing is asked of anybody to show it. */
export const isDataImage = (src: string): boolean => /^data:image\/[a-z0-9.+-]+[;,]/i.test(src);

/** Reads a `data:` URI (RFC 2397); null when it is none or its bytes cannot be read. */
export function parseDataUrl(src: string): Extract<ContentSource, { kind: 'data' }> | null {
  const match = /^data:([^,]*),(.*)$/is.exec(src);
  if (!match) return null;
  const [mime = '', ...parameters] = (match[1] ?? '').split(';').map((part) => part.trim().toLowerCase());
  const body = match[2] ?? '';
  const bytes = parameters.includes('base64') ? fromBase64(body) : fromPercent(body);
  return bytes && { kind: 'data', mime: mime || 'text/plain', bytes };
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(decodeURIComponent(text)), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

function fromPercent(text: string): Uint8Array<ArrayBuffer> {
  const raw = new TextEncoder().encode(text);
  const bytes: number[] = [];
  for (let at = 0; at < raw.length; at++) {
    const hex = raw[at] === 0x25 ? String.fromCharCode(raw[at + 1] ?? 0, raw[at + 2] ?? 0) : '';
    if (/^[\da-f]{2}$/i.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      at += 2;
    } else {
      bytes.push(raw[at] ?? 0);
    }
  }
  return Uint8Array.from(bytes);
}

/** The last part of a path or address, for want of a better name. */
export function baseName(path: string): string {
  return path.split(/[/\\]/).findLast((part) => part !== '') ?? path;
}

/** `512 B`, `1.2 kB`, `3.4 MB`, `5.4 GB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const [amount, unit] =
    bytes < 1_000_000 ? [bytes / 1_000, 'kB'] : bytes < 1_000_000_000 ? [bytes / 1_000_000, 'MB'] : [bytes / 1_000_000_000, 'GB'];
  return `${Math.round(amount * 10) / 10} ${unit}`;
}

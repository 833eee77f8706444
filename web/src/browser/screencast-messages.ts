/** The messages of the stream of pictures, as they lie on the wire. Pure. Source: contract 7.6. */

import type { BrowserState } from '../api/types';
import type { InputStep } from './input';

/** Bytes before the JPEG. */
export const HEADER_BYTES = 24;
const VERSION = 1;
const JPEG = 1;

export type ScreencastFrame = {
  viewId: number;
  sequence: number;
  /** Of the page, in CSS pixels; the JPEG may have more or fewer. */
  width: number;
  height: number;
  /** Milliseconds since 1970, by the clock of the server. */
  at: number;
  jpeg: Uint8Array<ArrayBuffer>;
};

/** Reads a binary message; null for one of another version or format, or one cut off. */
export function parseFrame(message: ArrayBuffer): ScreencastFrame | null {
  if (message.byteLength <= HEADER_BYTES) return null;
  const header = new DataView(message, 0, HEADER_BYTES);
  if (header.getUint8(0) !== VERSION || header.getUint8(1) !== JPEG) return null;
  const [width, height] = [header.getUint16(12), header.getUint16(14)];
  if (width === 0 || height === 0) return null;
  return {
    viewId: header.getUint32(4),
    sequence: header.getUint32(8),
    width,
    height,
    at: Number(header.getBigUint64(16)),
    jpeg: new Uint8Array(message, HEADER_BYTES),
  };
}

export type ServerMessage =
  | { type: 'state'; state: BrowserState }
  | { type: 'view'; viewId: number; tabId: string; connectionId: string }
  | { type: 'inputResult'; id: number; ok: boolean; code: string }
  | { type: 'agentCursor'; tabId: string; x: number; y: number; action: string };

/** Reads a text message; null for one that a newer server may know. */
export function parseServerMessage(text: string): ServerMessage | null {
  let message: Record<string, unknown>;
  try {
    message = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
  switch (message.type) {
    case 'state':
      return { type: 'state', state: message as unknown as BrowserState };
    case 'view':
    case 'agentCursor':
      return message as ServerMessage;
    case 'inputResult':
      return { type: 'inputResult', id: Number(message.id), ok: message.ok === true, code: typeof message.code === 'string' ? message.code : '' };
    default:
      return null;
  }
}

export type ClientMessage =
  /** Null asks for no pictures. */
  | { type: 'view'; tabId: string | null; maxWidth: number; maxHeight: number }
  | { type: 'ack'; viewId: number; sequence: number }
  | { type: 'input'; id: number; viewId: number; steps: InputStep[] };

/** Which pictures are drawn: those of the present view, and none that is older than what is seen already. */
export class FrameOrder {
  #viewId: number | null = null;
  #last = -1;

  /** Another view begins. */
  begin(viewId: number): void {
    this.#viewId = viewId;
    this.#last = -1;
  }

  /** There is no view any more. */
  end(): void {
    this.#viewId = null;
  }

  /** True for a decoded picture that is drawn now; decoding may finish out of order. */
  draws({ viewId, sequence }: Pick<ScreencastFrame, 'viewId' | 'sequence'>): boolean {
    if (viewId !== this.#viewId || sequence <= this.#last) return false;
    this.#last = sequence;
    return true;
  }

  /** The view that is seen, which is what input is meant for; null until its first picture was drawn. */
  get seen(): number | null {
    return this.#last === -1 ? null : this.#viewId;
  }
}

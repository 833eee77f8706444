/** What comes down a stream: the same frames by SSE and by WebSocket. Pure. */

/** A stored change: `seq` is its place in the one log, and no two have the same. */
export type HallEvent = {
  seq: number;
  scope: string;
  type: string;
  at: string;
  actorId: string | null;
  data: Record<string, unknown>;
};

/** A passing sign (typing): never stored, never repeated. */
export type Signal = {
  type: string;
  scope: string;
  at: string;
  actorId: string | null;
  data: { kind: string; authorId: string; on: boolean; until: string | null };
};

/** One frame; `id` is the cursor it moves to, null when it moves none. */
export type Frame = { event: string; id: number | null; data: unknown };

/**
 * Cuts a `text/event-stream` into frames (WHATWG HTML, 9.2.6), fed piece by piece.
 * A frame with an id and no data is a `position`: the cursor moves past events this caller cannot see.
 */
export class SseParser {
  #rest = '';
  #event = '';
  #data: string[] = [];
  #id: number | null = null;

  push(chunk: string): Frame[] {
    const frames: Frame[] = [];
    const lines = (this.#rest + chunk).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        const frame = this.#take();
        if (frame) frames.push(frame);
      } else {
        this.#field(line);
      }
    }
    return frames;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') this.#event = value;
    else if (name === 'data') this.#data.push(value);
    else if (name === 'id' && /^\d+$/.test(value)) this.#id = Number(value);
  }

  #take(): Frame | null {
    const [event, data, id] = [this.#event, this.#data, this.#id];
    this.#event = '';
    this.#data = [];
    this.#id = null;
    if (data.length === 0) return id === null ? null : { event: 'position', id, data: null };
    return { event: event || 'message', id, data: JSON.parse(data.join('\n')) };
  }
}

/** Reads one WebSocket text message. */
export function frameFromMessage(text: string): Frame {
  const message = JSON.parse(text) as { event: string; id?: string; data?: unknown };
  return { event: message.event, id: message.id === undefined ? null : Number(message.id), data: message.data ?? null };
}

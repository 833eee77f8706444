/** Keeps a line open: reconnects from the last cursor, 0.5 s doubling to 15 s with jitter. */

import type { Frame } from './frames';
import type { EventConnection, ConnectEvents } from './event-connection';

const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 15_000;

/** How long to wait before try number `tries` (from 0); `chance` in 0..1 spreads many pages over time. */
export function retryDelayMs(tries: number, chance: number): number {
  const full = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** tries);
  return full / 2 + (full / 2) * chance;
}

export type ReconnectingStreamCallbacks = {
  /** `prev` is the cursor before this frame: who stands before it has missed something. */
  frame(prev: number, frame: Frame): void;
  up(): void;
  down(): void;
};

export class ReconnectingStream {
  #open: ConnectEvents;
  #events: ReconnectingStreamCallbacks;
  #cursor: number;
  #logId: string;
  #line: EventConnection | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tries = 0;
  #up = false;

  constructor(open: ConnectEvents, cursor: number, logId: string, events: ReconnectingStreamCallbacks) {
    this.#open = open;
    this.#cursor = cursor;
    this.#logId = logId;
    this.#events = events;
    this.connect();
  }

  /** Tries at once, whatever the wait was; for a click, or a network that came back. */
  connect = (): void => {
    clearTimeout(this.#timer);
    this.#line?.close();
    this.#line = this.#open(this.#cursor, this.#logId, {
      alive: () => this.#alive(),
      frame: (frame) => this.#take(frame),
      ended: (retryAfterS) => this.#ended(retryAfterS),
    });
  };

  close(): void {
    clearTimeout(this.#timer);
    this.#line?.close();
    this.#line = null;
  }

  #alive(): void {
    this.#tries = 0;
    if (this.#up) return;
    this.#up = true;
    this.#events.up();
  }

  #take(frame: Frame): void {
    const prev = this.#cursor;
    if (frame.event === 'reset') {
      // Another log or one cut off: the old cursor means nothing, and its log's name is not sent again.
      this.#cursor = (frame.data as { cursor: number }).cursor;
      this.#logId = '';
    } else if (frame.id !== null) {
      this.#cursor = Math.max(this.#cursor, frame.id);
    }
    this.#events.frame(prev, frame);
  }

  #ended(retryAfterS: number): void {
    if (this.#up) {
      this.#up = false;
      this.#events.down();
    }
    const wait = Math.max(retryAfterS * 1000, retryDelayMs(this.#tries, Math.random()));
    this.#tries += 1;
    this.#timer = setTimeout(this.connect, wait);
  }
}

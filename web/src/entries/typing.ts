/** Tells the room that one is writing: at once, then at most every five seconds, and when one stops. */

import { api } from '../api/client';

const EVERY_MS = 5_000;

export class TypingSignal {
  #roomId: string;
  #told = 0;

  constructor(roomId: string) {
    this.#roomId = roomId;
  }

  write(): void {
    const now = Date.now();
    if (now - this.#told < EVERY_MS) return;
    this.#told = now;
    this.#tell(true);
  }

  stop(): void {
    if (this.#told === 0) return;
    this.#told = 0;
    this.#tell(false);
  }

  #tell(on: boolean): void {
    // A lost sign harms nobody: it ends by itself.
    api.rooms.typing(this.#roomId, on).catch(() => {});
  }
}

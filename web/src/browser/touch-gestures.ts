/** Fingers on the picture: a tap is a click, a long one the other button, and whoever draws scrolls. Pure. */

import type { InputStep } from './input';
import type { Point } from './coordinates';

/** CSS pixels of the page a finger may tremble. */
const TREMBLE_PX = 8;
/** How long a finger rests for the other button. */
const LONG_MS = 550;

export class TouchGestures {
  #from: Point;
  #last: Point;
  #since: number;
  #scrolls = false;

  /** `now` in milliseconds, by any clock that does not jump. */
  constructor(at: Point, now: number) {
    this.#from = at;
    this.#last = at;
    this.#since = now;
  }

  move(at: Point): InputStep[] {
    if (!this.#scrolls && Math.hypot(at.x - this.#from.x, at.y - this.#from.y) <= TREMBLE_PX) return [];
    this.#scrolls = true;
    const step: InputStep = { type: 'wheel', ...this.#from, deltaX: this.#last.x - at.x, deltaY: this.#last.y - at.y };
    this.#last = at;
    return [step];
  }

  up(now: number): InputStep[] {
    if (this.#scrolls) return [];
    return [{ type: 'click', ...this.#from, button: now - this.#since >= LONG_MS ? 'right' : 'left', count: 1 }];
  }
}

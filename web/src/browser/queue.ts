/**
 * Steps on their way to the page. Pure.
 * A few messages are under way at a time; what the mouse did meanwhile is one move, not a hundred.
 */

import type { InputStep } from './input';

/** Steps of one message. Source: contract 7.7. */
const STEPS_MAX = 16;
/** Bytes of the steps of one message; the whole may have 64 KiB. Source: contract 7.6. */
const BYTES_MAX = 48 * 1_024;
/** Messages without an answer; the server keeps 64 of a tab. */
const UNDER_WAY_MAX = 4;
/** What waits here at most; whoever holds a key down on a page that hangs is not remembered for ever. */
export const WAITING_MAX = 2_048;

export class InputQueue {
  #waiting: InputStep[] = [];
  #underWay = new Set<number>();
  #nextId = 1;

  /** Adds steps; false when there are so many that these were dropped, all of them. */
  push(steps: InputStep[]): boolean {
    if (this.#waiting.length + steps.length > WAITING_MAX) return false;
    for (const step of steps) this.#add(step);
    return true;
  }

  #add(step: InputStep): void {
    const last = this.#waiting.at(-1);
    if (step.type === 'mouseMove' && last?.type === 'mouseMove') {
      this.#waiting[this.#waiting.length - 1] = step;
    } else if (step.type === 'wheel' && last?.type === 'wheel' && last.x === step.x && last.y === step.y && fits(last, step)) {
      this.#waiting[this.#waiting.length - 1] = { ...step, deltaX: last.deltaX + step.deltaX, deltaY: last.deltaY + step.deltaY };
    } else {
      this.#waiting.push(step);
    }
  }

  /** The next message; null while nothing waits, or enough is under way. */
  take(): { id: number; steps: InputStep[] } | null {
    if (this.#waiting.length === 0 || this.#underWay.size >= UNDER_WAY_MAX) return null;
    let bytes = 0;
    let count = 0;
    for (const step of this.#waiting.slice(0, STEPS_MAX)) {
      bytes += bytesOf(step);
      if (count > 0 && bytes > BYTES_MAX) break;
      count += 1;
    }
    const id = this.#nextId++;
    this.#underWay.add(id);
    return { id, steps: this.#waiting.splice(0, count) };
  }

  /** A message was answered. */
  done(id: number): void {
    this.#underWay.delete(id);
  }

  /** True while nothing waits and everything sent was answered. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#underWay.size === 0;
  }

  /** Another page, or another connection: what was meant for the old one is not done to the new one. */
  clear(): void {
    this.#waiting = [];
    this.#underWay.clear();
  }
}

type Wheel = Extract<InputStep, { type: 'wheel' }>;

const fits = (a: Wheel, b: Wheel): boolean => Math.abs(a.deltaX + b.deltaX) <= 16_384 && Math.abs(a.deltaY + b.deltaY) <= 16_384;

const encoder = new TextEncoder();
const bytesOf = (step: InputStep): number => encoder.encode(JSON.stringify(step)).length + 1;

/**
 * Steps on their way to the page, and what is told of those that do not get there. Pure.
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
  /** Messages without an answer, and whether each is more than a movement. */
  #underWay = new Map<number, boolean>();
  /** The same of views before this one. */
  #late = new Map<number, boolean>();
  #nextId = 1;
  #code = '';
  /** The message that the refusal came after: what was done before it does not take it back. */
  #refusedAt = 0;

  /** Code of what was refused last; `''` once something later was done. */
  get code(): string {
    return this.#code;
  }

  /** Adds steps; false when there are so many that these were dropped, all of them. */
  push(steps: InputStep[]): boolean {
    if (this.#waiting.length + steps.length > WAITING_MAX) {
      this.#refuse('INPUT_QUEUE_FULL');
      return false;
    }
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
    const steps = this.#waiting.splice(0, count);
    this.#underWay.set(id, steps.some(isAction));
    return { id, steps };
  }

  /** A message was answered: with a code where it was refused, with `''` where it was done. */
  done(id: number, code: string): void {
    const action = this.#underWay.get(id) ?? this.#late.get(id) ?? false;
    this.#underWay.delete(id);
    this.#late.delete(id);
    // A movement in a page that is gone is nobody's loss.
    if (code !== '' && (action || code !== 'STALE')) this.#refuse(code);
    else if (code === '' && action && id >= this.#refusedAt) this.#code = '';
  }

  /** These steps were made on a picture whose page is gone. */
  miss(steps: InputStep[]): void {
    if (steps.some(isAction)) this.#refuse('STALE');
  }

  #refuse(code: string): void {
    this.#code = code;
    this.#refusedAt = this.#nextId;
  }

  /** True while nothing waits and everything sent was answered. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#underWay.size === 0;
  }

  /** Another page: what was meant for the one before is not done to it, and that is told. */
  turn(): void {
    for (const [id, action] of this.#underWay) this.#late.set(id, action);
    this.#underWay.clear();
    this.miss(this.#waiting.splice(0));
  }

  /** Another connection, which answers nothing that was said on the one before. */
  clear(): void {
    this.#waiting = [];
    this.#underWay.clear();
    this.#late.clear();
  }
}

/** True for what a person misses when it is not done: they press or type, and do not merely point. */
const isAction = ({ type }: InputStep): boolean => type === 'click' || type === 'mouseDown' || type === 'keyDown' || type === 'text';

type Wheel = Extract<InputStep, { type: 'wheel' }>;

const fits = (a: Wheel, b: Wheel): boolean => Math.abs(a.deltaX + b.deltaX) <= 16_384 && Math.abs(a.deltaY + b.deltaY) <= 16_384;

const encoder = new TextEncoder();
const bytesOf = (step: InputStep): number => encoder.encode(JSON.stringify(step)).length + 1;

import { expect, test } from 'vitest';
import type { InputStep } from './input';
import { textSteps } from './input';
import { InputQueue, WAITING_MAX } from './input-queue';

const move = (x: number): InputStep => ({ type: 'mouseMove', x, y: 0 });
const key = (name: string): InputStep => ({ type: 'keyDown', key: name, code: name, modifiers: 0 });
const wheel = (deltaY: number, x = 0): InputStep => ({ type: 'wheel', x, y: 0, deltaX: 0, deltaY });

/** Everything the queue gives, each message answered at once. */
function drained(queue: InputQueue): InputStep[][] {
  const messages: InputStep[][] = [];
  for (let next = queue.take(); next; next = queue.take()) {
    messages.push(next.steps);
    queue.done(next.id, '');
  }
  return messages;
}

test('steps go out in order, at most sixteen a message', () => {
  const queue = new InputQueue();
  const steps = Array.from({ length: 20 }, (_, at) => key(String(at)));
  queue.push(steps);
  const messages = drained(queue);
  expect(messages.map(({ length }) => length)).toEqual([16, 4]);
  expect(messages.flat()).toEqual(steps);
});

test('it is idle when everything was answered, or will not be', () => {
  const queue = new InputQueue();
  expect(queue.isIdle).toBe(true);
  queue.push([key('a')]);
  expect(queue.isIdle).toBe(false);
  const message = queue.take();
  expect(queue.isIdle).toBe(false);
  queue.done(message?.id ?? 0, '');
  expect(queue.isIdle).toBe(true);
  queue.push([key('b')]);
  queue.clear();
  expect(queue.isIdle).toBe(true);
});

test('moves that wait are one move, and turns of the wheel at one place one turn; nothing is put past a key', () => {
  const queue = new InputQueue();
  queue.push([move(1), move(2), move(3), key('a'), move(4), wheel(10), wheel(5), wheel(5, 9)]);
  expect(drained(queue)).toEqual([[move(3), key('a'), move(4), wheel(15), wheel(5, 9)]]);
});

test('a turn that would be too far stays two', () => {
  const queue = new InputQueue();
  queue.push([wheel(16_000), wheel(16_000)]);
  expect(drained(queue)).toEqual([[wheel(16_000), wheel(16_000)]]);
});

test('four messages are under way at a time, and each answer makes room for one', () => {
  const queue = new InputQueue();
  const ids: number[] = [];
  for (let at = 0; at < 6; at++) {
    queue.push([key(String(at))]);
    const next = queue.take();
    if (next) ids.push(next.id);
  }
  expect(ids).toHaveLength(4);
  expect(new Set(ids).size).toBe(4);
  queue.done(ids[0]!, '');
  expect(queue.take()?.steps).toEqual([key('4'), key('5')]);
  expect(queue.take()).toBeNull();
});

test('a message stays below what the server reads, also of characters that take many bytes', () => {
  const queue = new InputQueue();
  const steps = textSteps('🏛'.repeat(20_000));
  queue.push(steps);
  const messages = drained(queue);
  for (const message of messages) expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThan(60 * 1_024);
  expect(messages.flat()).toEqual(steps);
});

test('what does not fit is not taken at all, and what was there stays', () => {
  const queue = new InputQueue();
  expect(queue.push(Array.from({ length: WAITING_MAX }, () => key('a')))).toBe(true);
  expect(queue.push([key('b')])).toBe(false);
  expect(drained(queue).flat()).toHaveLength(WAITING_MAX);
});

test('what was meant for another page is forgotten', () => {
  const queue = new InputQueue();
  for (let at = 0; at < 4; at++) {
    queue.push([key('a')]);
    queue.take();
  }
  queue.push([key('old')]);
  queue.clear();
  expect(queue.take()).toBeNull();
  queue.push([key('new')]);
  expect(queue.take()?.steps).toEqual([key('new')]);
});

const press: InputStep = { type: 'mouseDown', x: 1, y: 1, button: 'left' };
const sent = (queue: InputQueue, ...steps: InputStep[]): number => {
  queue.push(steps);
  return queue.take()!.id;
};

test('a press that came too late is told, whether it was on its way, waited, or had no page', () => {
  const onItsWay = new InputQueue();
  const id = sent(onItsWay, press);
  onItsWay.turn();
  expect(onItsWay.code).toBe('');
  onItsWay.done(id, 'STALE');
  expect(onItsWay.code).toBe('STALE');

  const waiting = new InputQueue();
  for (let at = 0; at < 4; at += 1) sent(waiting, key(String(at)));
  waiting.push([press]);
  expect(waiting.take()).toBeNull();
  waiting.turn();
  expect(waiting.code).toBe('STALE');

  const between = new InputQueue();
  between.miss([move(1), press]);
  expect(between.code).toBe('STALE');
});

test('what merely moved is not missed', () => {
  const queue = new InputQueue();
  const up: InputStep = { type: 'mouseUp', x: 1, y: 1, button: 'left' };
  const id = sent(queue, move(1), up);
  queue.push([wheel(3)]);
  queue.miss([move(2)]);
  queue.turn();
  queue.done(id, 'STALE');
  expect(queue.code).toBe('');
});

test('a refusal stands until something later was done', () => {
  const queue = new InputQueue();
  const before = sent(queue, press);
  queue.turn();
  queue.miss([key('a')]);
  queue.done(before, '');
  expect(queue.code).toBe('STALE');
  queue.done(sent(queue, move(1)), '');
  expect(queue.code).toBe('STALE');
  queue.done(sent(queue, press), '');
  expect(queue.code).toBe('');
});

import { expect, test } from 'vitest';
import { nextArming, initialArming, ARM_MS, actionOfKey, isChoosing, isReached, isWriting, keyPressAllowedAt, letterAllowedAt, pressAllowedAt, QUIET_MS, type ArmingState, type ArmingEvent } from './arming';

const NEVER = -Infinity;
const chosen = (now: number): ArmingState => nextArming(initialArming(0, 0), 'chosen', now);

test('without a look at the window nothing counts, however long one waits', () => {
  const hidden = nextArming(chosen(0), 'hidden', 10);
  expect([pressAllowedAt(hidden), keyPressAllowedAt(hidden, NEVER), letterAllowedAt(hidden, NEVER)]).toEqual([null, null, null]);
  expect(isReached(null, 1e9)).toBe(false);
});

test('a press is dead for a moment after the card appeared, changed, moved, and the window was shown', () => {
  for (const happening of ['changed', 'moved', 'shown'] as const) {
    const from = pressAllowedAt(nextArming(initialArming(0, 0), happening, 1_000));
    expect(from).toBe(1_000 + ARM_MS);
    expect(isReached(from, 1_000 + ARM_MS - 1)).toBe(false);
    expect(isReached(from, 1_000 + ARM_MS)).toBe(true);
  }
  expect(pressAllowedAt(initialArming(1_000, 0))).toBe(1_000 + ARM_MS);
  // It needs no focus: the first press decides.
  expect(pressAllowedAt(nextArming(initialArming(0, 0), 'focused', 1_000))).toBe(ARM_MS);
});

test('a letter counts only on a card that was chosen, and that is over when the focus leaves it', () => {
  expect(letterAllowedAt(initialArming(0, 0), NEVER)).toBeNull();
  expect(letterAllowedAt(nextArming(initialArming(0, 0), 'focused', 0), NEVER)).toBeNull();
  expect(letterAllowedAt(chosen(1_000), NEVER)).toBe(1_000 + ARM_MS);
  expect(letterAllowedAt(nextArming(chosen(0), 'left', 10), NEVER)).toBeNull();
  // Coming back by a jump chooses nothing.
  expect(letterAllowedAt(nextArming(nextArming(chosen(0), 'left', 10), 'focused', 20), NEVER)).toBeNull();
  // A jump within a card that was chosen leaves it chosen.
  expect(letterAllowedAt(nextArming(chosen(0), 'focused', 10), NEVER)).toBe(ARM_MS);
});

test('keys are dead for a second after anything was written', () => {
  expect(letterAllowedAt(chosen(0), 5_000)).toBe(5_000 + QUIET_MS);
  expect(keyPressAllowedAt(chosen(0), 5_000)).toBe(5_000 + QUIET_MS);
  expect(pressAllowedAt(chosen(0))).toBe(ARM_MS);
});

test('only A and D ask for anything, and not where letters are words', () => {
  const press = (key: string, more = {}) => actionOfKey({ key, inField: false, repeat: false, modified: false, ...more });
  expect([press('a'), press('A'), press('d'), press('D')]).toEqual(['approve', 'approve', 'deny', 'deny']);
  for (const key of ['Enter', ' ', 'Escape', 'Tab', 'y', 'n', '1', 'ArrowDown']) expect(press(key)).toBeNull();
  for (const more of [{ inField: true }, { repeat: true }, { modified: true }]) {
    expect(press('a', more)).toBeNull();
    expect(press('d', more)).toBeNull();
  }
});

test('arrow keys choose, and what sentences are written with does not', () => {
  const press = { inField: false, repeat: false, modified: false };
  expect(isChoosing({ ...press, key: 'ArrowDown' })).toBe(true);
  expect(isChoosing({ ...press, key: 'ArrowDown', inField: true })).toBe(false);
  for (const key of [...'Can one of you, 7 é?', 'Enter', 'Backspace', 'Dead']) {
    expect(isWriting({ key, modified: false })).toBe(true);
    expect(isChoosing({ ...press, key })).toBe(false);
  }
  for (const key of ['Tab', 'Shift', 'ArrowDown', 'Escape', 'F5']) expect(isWriting({ key, modified: false })).toBe(false);
  expect(isWriting({ key: 'c', modified: true })).toBe(false);
});

/** Small, seeded, and the same on every machine. */
function random(seed: number): () => number {
  return () => {
    seed = (seed * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return seed / 4_294_967_296;
  };
}

/** What may be done with a card, as it stands in a log that the rules do not see. */
type Logged = { what: ArmingEvent | 'wrote'; at: number };
const HAPPENINGS: ArmingEvent[] = ['changed', 'moved', 'hidden', 'shown', 'focused', 'chosen', 'left'];

/** The same rules told from the log alone. */
function letterMayCount(log: readonly Logged[], now: number): boolean {
  const last = (...what: Logged['what'][]) => log.findLast((one) => what.includes(one.what));
  const since = (one: Logged | undefined, ms: number) => one === undefined || now - one.at >= ms;
  const left = log.findLastIndex(({ what }) => what === 'left');
  const choice = log.slice(left + 1).find(({ what }) => what === 'chosen');
  if (choice === undefined || last('hidden', 'shown')?.what === 'hidden') return false;
  return since(choice, ARM_MS) && since(last('changed'), ARM_MS) && since(last('shown'), ARM_MS) && since(last('wrote'), QUIET_MS);
}

test('over random happenings a letter counts exactly when the card was chosen, stood still and nobody wrote', () => {
  const next = random(19);
  let counted = 0;
  for (let run = 0; run < 200; run += 1) {
    let arming = initialArming(0, 0);
    let now = ARM_MS;
    let wroteAt = NEVER;
    const log: Logged[] = [];
    for (let step = 0; step < 100; step += 1) {
      now += next() * (next() < 0.2 ? 2_000 : 300);
      if (next() < 0.4) {
        // A letter pressed on the card: it counts by what was written before it, and is itself written.
        const counts = isReached(letterAllowedAt(arming, wroteAt), now);
        expect(counts).toBe(letterMayCount(log, now));
        counted += counts ? 1 : 0;
        wroteAt = now;
        log.push({ what: 'wrote', at: now });
      } else {
        const what = HAPPENINGS[Math.floor(next() * HAPPENINGS.length)]!;
        arming = nextArming(arming, what, now);
        log.push({ what, at: now });
      }
    }
  }
  // Enough of both, or the property would hold of nothing.
  expect(counted).toBeGreaterThan(100);
});

test('no sentence decides on a card that the focus only jumped to', () => {
  const next = random(7);
  const sentences = ['Can one of you have a look', 'In the main branch a change', 'and add a date', 'dear all, a d A D'];
  for (let run = 0; run < 500; run += 1) {
    let arming = initialArming(0, 0);
    let now = 10_000;
    for (const key of sentences[run % sentences.length]!) {
      // However long somebody thinks between two letters.
      now += next() * 3_000;
      if (key === 'n') arming = nextArming(arming, 'focused', now);
      const action = actionOfKey({ key, inField: false, repeat: false, modified: false });
      expect(action !== null && isReached(letterAllowedAt(arming, NEVER), now)).toBe(false);
    }
  }
});

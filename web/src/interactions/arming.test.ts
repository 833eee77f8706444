import { expect, test } from 'vitest';
import { ARM_MS, armedFrom, deedOf, isArmed, type Arming } from './arming';

const at = (focusedAt: number | null, changedAt = 0, visibleAt: number | null = 0): Arming => ({ focusedAt, changedAt, visibleAt });

test('without focus, or in a hidden window, no waiting arms a card', () => {
  expect(armedFrom(at(null))).toBeNull();
  expect(isArmed(at(null), 1e9)).toBe(false);
  expect(isArmed(at(0, 0, null), 1e9)).toBe(false);
});

test('a card is dead for a while after focus, change of content, and becoming visible', () => {
  for (const arming of [at(1000), at(0, 1000), at(0, 0, 1000)]) {
    expect(isArmed(arming, 1000)).toBe(false);
    expect(isArmed(arming, 1000 + ARM_MS - 1)).toBe(false);
    expect(isArmed(arming, 1000 + ARM_MS)).toBe(true);
  }
});

test('only A and D on the card itself ask for anything', () => {
  const press = (key: string, more = {}) => deedOf({ key, onCard: true, repeat: false, modified: false, ...more });
  expect([press('a'), press('A'), press('d'), press('D')]).toEqual(['approve', 'approve', 'deny', 'deny']);
  for (const key of ['Enter', ' ', 'Escape', 'Tab', 'y', 'n', 'ArrowDown']) expect(press(key)).toBeNull();
  for (const more of [{ onCard: false }, { repeat: true }, { modified: true }]) {
    expect(press('a', more)).toBeNull();
    expect(press('d', more)).toBeNull();
  }
});

/** Small, seeded, and the same on every machine. */
function random(seed: number): () => number {
  return () => {
    seed = (seed * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return seed / 4_294_967_296;
  };
}

test('ten thousand random keys answer nothing unless the card had the focus for long enough', () => {
  const next = random(7);
  const keys = ['a', 'd', 'A', 'D', 'Enter', ' ', 'Escape', 'Tab', 'x', 'ArrowUp'];
  let arming = at(null);
  let now = 0;
  for (let count = 0; count < 10_000; count += 1) {
    now += next() * 300;
    const chance = next();
    if (chance < 0.1) arming = { ...arming, focusedAt: arming.focusedAt === null ? now : null };
    else if (chance < 0.2) arming = { ...arming, changedAt: now };
    else if (chance < 0.3) arming = { ...arming, visibleAt: arming.visibleAt === null ? now : null };
    const key = keys[Math.floor(next() * keys.length)] ?? '';
    const onCard = arming.focusedAt !== null && next() < 0.5;
    const answered = deedOf({ key, onCard, repeat: false, modified: false }) !== null && isArmed(arming, now);
    if (answered) {
      expect(onCard).toBe(true);
      expect(now - (arming.focusedAt ?? Infinity)).toBeGreaterThanOrEqual(ARM_MS);
      expect(now - arming.changedAt).toBeGreaterThanOrEqual(ARM_MS);
      expect(now - (arming.visibleAt ?? Infinity)).toBeGreaterThanOrEqual(ARM_MS);
    }
  }
});

import { expect, test } from 'vitest';
import { newer, selectedIn, stateIn } from './browser-state';
import { state, tab } from './states.fixture';

test('the higher revision counts, whichever way it came', () => {
  const [old, now] = [state({ revision: 7 }), state({ revision: 8 })];
  expect(newer(null, old)).toBe(old);
  expect(newer(old, now)).toBe(now);
  expect(newer(now, old)).toBe(now);
});

test('of one revision the later word counts, because it may say the same of a newer server', () => {
  const [one, other] = [state(), state()];
  expect(newer(one, other)).toBe(other);
});

test('the selected tab is found, and none where there is none', () => {
  const two = state({ tabs: [tab('a'), tab('b')], selectedTabId: 'b' });
  expect(selectedIn(two)?.id).toBe('b');
  expect(selectedIn(state({ tabs: [], selectedTabId: '' }))).toBeUndefined();
});

test('a passing sign brings a state, bare or in its data; one of something else brings none', () => {
  const now = state();
  expect(stateIn(now)).toBe(now);
  expect(stateIn({ type: 'browser_state', scope: 'hall', data: now })).toBe(now);
  expect(stateIn({ type: 'signal', scope: 'room:r1', data: { kind: 'typing', authorId: 'a1', on: true, until: null } })).toBeNull();
  expect(stateIn(null)).toBeNull();
});

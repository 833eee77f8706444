import { expect, test } from 'vitest';
import { newerState, selectedTab, stateFromEvent } from './browser-state';
import { state, tab } from './states.fixture';

test('the higher revision counts, whichever way it came', () => {
  const [old, now] = [state({ revision: 7 }), state({ revision: 8 })];
  expect(newerState(null, old)).toBe(old);
  expect(newerState(old, now)).toBe(now);
  expect(newerState(now, old)).toBe(now);
});

test('of one revision the later word counts, because it may say the same of a newer server', () => {
  const [one, other] = [state(), state()];
  expect(newerState(one, other)).toBe(other);
});

test('the selected tab is found, and none where there is none', () => {
  const two = state({ tabs: [tab('a'), tab('b')], selectedTabId: 'b' });
  expect(selectedTab(two)?.id).toBe('b');
  expect(selectedTab(state({ tabs: [], selectedTabId: '' }))).toBeUndefined();
});

test('a passing sign brings a state, bare or in its data; one of something else brings none', () => {
  const now = state();
  expect(stateFromEvent(now)).toBe(now);
  expect(stateFromEvent({ type: 'browser_state', scope: 'hall', data: now })).toBe(now);
  expect(stateFromEvent({ type: 'signal', scope: 'room:r1', data: { kind: 'typing', authorId: 'a1', on: true, until: null } })).toBeNull();
  expect(stateFromEvent(null)).toBeNull();
});

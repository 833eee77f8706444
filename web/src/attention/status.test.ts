import { expect, test } from 'vitest';
import type { SessionState } from '../api/types';
import { byUrgency, statusOf, type RankedStatus } from './status';

const of = (state: SessionState, more: { queuedCount?: number; pending?: number; fresh?: boolean; lost?: boolean } = {}) =>
  statusOf({ state, queuedCount: more.queuedCount ?? 0 }, { pending: more.pending ?? 0, fresh: more.fresh ?? false, lost: more.lost ?? false });

test('every state has one word', () => {
  expect(of('idle')).toBe('idle');
  expect(of('idle', { fresh: true })).toBe('done');
  expect(of('idle', { queuedCount: 1 })).toBe('held');
  for (const state of ['starting', 'running', 'cancelling'] as const) expect(of(state)).toBe('working');
  expect(of('waiting')).toBe('needs you');
  expect(of('failed')).toBe('failed');
  expect(of('closed', { fresh: true })).toBe('idle');
});

test('an interaction outranks whatever else is true, a lost stream makes work unknown', () => {
  for (const state of ['idle', 'failed', 'running'] as const) expect(of(state, { pending: 1 })).toBe('needs you');
  expect(of('running', { lost: true })).toBe('unknown');
  expect(of('idle', { lost: true })).toBe('idle');
});

test('the most urgent comes first, then what waits longest, then what moved last', () => {
  const at = (status: RankedStatus['status'], since: string): RankedStatus => ({ status, since });
  const tiles = [at('idle', '1'), at('idle', '9'), at('working', '5'), at('needs you', '8'), at('needs you', '2'), at('done', '3'), at('failed', '7')];
  expect(tiles.toSorted(byUrgency).map(({ status, since }) => `${status} ${since}`)).toEqual([
    'needs you 2', 'needs you 8', 'failed 7', 'working 5', 'done 3', 'idle 9', 'idle 1',
  ]);
});

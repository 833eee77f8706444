import { expect, test } from 'vitest';
import type { Connection, ReadinessState } from './types';
import { cleanupText, nextStepText, fixOf, flowStatus, flowText, grantText, isBroken, isFinal, attemptStatus, providerStatus, connectionStatus } from './texts';

const readiness = (state: ReadinessState) => ({ readiness: { state, reason: null, fix: null } });

test('every readiness has its word of the page and at most one fix', () => {
  const of = (state: ReadinessState, lifecycle: Connection['lifecycle'] = 'connected') => {
    const one = { ...readiness(state), lifecycle };
    return [connectionStatus(one).status, isBroken(one), fixOf(one)];
  };
  expect(of('ready')).toEqual(['done', false, null]);
  expect(of('paused', 'paused')).toEqual(['held', false, 'resume']);
  expect(of('paused')).toEqual(['held', false, 'switch on']);
  expect(of('needs_you')).toEqual(['needs you', true, 'reconnect']);
  expect(of('needs_you', 'paused')).toEqual(['needs you', true, 'reconnect']);
  expect(of('unavailable')).toEqual(['failed', true, 'providers']);
  expect(of('gone', 'disconnected')).toEqual(['idle', false, null]);
});

test('a word of a newer server is shown as it is, and is not called good', () => {
  expect(connectionStatus(readiness('odd' as ReadinessState))).toEqual({ status: 'unknown', words: 'odd' });
  expect(attemptStatus('odd' as 'error')).toEqual({ status: 'unknown', words: 'odd' });
});

test('a flow says what it asks for, and at its end why', () => {
  const words = (state: 'starting' | 'pending' | 'failed' | 'expired' | 'start_unknown', step: 'none' | 'browser' | 'device' | 'credential' = 'none', reason: string | null = null) =>
    flowText({ state, step, reason });
  expect(words('pending', 'credential')).toContain('key');
  expect(words('pending', 'device')).toContain('code');
  expect(words('pending', 'browser')).toContain('sign-in');
  expect(words('failed', 'none', 'The service said no.')).toBe('The service said no.');
  expect(words('failed', 'none', 'a\u202Eb')).toBe('a⟨U+202E⟩b');
  expect(words('failed')).not.toBe('');
  expect(words('start_unknown')).toContain('Start it again');
  expect(words('expired')).toContain('in time');
});

test('a flow needs a person only where there is something to do', () => {
  expect(flowStatus({ state: 'pending', step: 'browser' }).status).toBe('needs you');
  expect(flowStatus({ state: 'pending', step: 'none' }).status).toBe('working');
  expect(flowStatus({ state: 'start_unknown', step: 'none' }).status).toBe('failed');
  expect(flowStatus({ state: 'expired', step: 'none' }).status).toBe('expired');
  expect((['starting', 'pending', 'connected', 'failed', 'expired', 'start_unknown'] as const).filter((state) => isFinal({ state }))).toEqual([
    'connected',
    'failed',
    'expired',
    'start_unknown',
  ]);
});

test('what a disconnected connection left behind is told', () => {
  expect(cleanupText({ lifecycle: 'connected', externalCleanup: 'failed' })).toBe('');
  expect(cleanupText({ lifecycle: 'disconnected', externalCleanup: 'failed' })).toContain('yourself');
  expect(cleanupText({ lifecycle: 'disconnected', externalCleanup: 'complete' })).toContain('took');
});

test('grants, providers and what comes next in plain words', () => {
  expect([0, 1, 7].map((grantCount) => grantText({ grantCount }))).toEqual(['no agent may use it', '1 grant', '7 grants']);
  expect(providerStatus({ status: 'unavailable', statusDetail: 'no route' })).toEqual({ status: 'failed', words: 'no route' });
  expect(new Set((['none', 'api-key', 'oauth2'] as const).map(nextStepText)).size).toBe(3);
  expect(attemptStatus(null).status).toBe('working');
});

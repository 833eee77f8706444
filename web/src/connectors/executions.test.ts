import { expect, test } from 'vitest';
import { durationText, executionsOf, mergeAttempts } from './executions';
import type { ExecutionAttempt } from './types';

const attempt = (id: string, number: number, some: Partial<ExecutionAttempt> = {}): ExecutionAttempt => ({
  logicalOperationId: id,
  attempt: number,
  agentId: 'ada',
  connectionId: 'c',
  operationRevisionId: 'r',
  operationSlug: 'add_note',
  title: '',
  surface: 'agent',
  classification: 'read',
  status: 'success',
  code: null,
  startedAt: '2026-11-22T10:00:00.000Z',
  endedAt: '2026-11-22T10:00:00.500Z',
  ...some,
});

test('two attempts are one execution that ends as the second did', () => {
  const failed = attempt('b', 1, { status: 'error', code: 'PROVIDER_HTTP_503' });
  const second = attempt('b', 2, { title: 'Add a note', startedAt: '2026-11-22T10:00:02.000Z', endedAt: '2026-11-22T10:00:02.400Z' });
  const [b, a, ...rest] = executionsOf([second, failed, attempt('a', 1)]);
  expect(rest).toEqual([]);
  expect([b?.id, b?.status, b?.code, b?.attempts, b?.tookMs, b?.startedAt, b?.title]).toEqual(['b', 'success', null, 2, 2_400, '2026-11-22T10:00:00.000Z', 'Add a note']);
  expect([a?.id, a?.attempts, a?.tookMs, a?.title]).toEqual(['a', 1, 500, 'add_note']);
});

test('what is under way has no end yet', () => {
  const [one] = executionsOf([attempt('a', 1, { status: null, endedAt: null })]);
  expect([one?.status, one?.tookMs]).toEqual([null, null]);
});

test('a duration is as exact as it has to be', () => {
  expect([null, 0, 999, 1_000, 2_449, 75_300].map(durationText)).toEqual(['', '0 ms', '999 ms', '1.0 s', '2.4 s', '75 s']);
});

test('the newest page read again stands before the older ones, and replaces them where it does not reach them', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((id) => attempt(id, 1)) as [ExecutionAttempt, ExecutionAttempt, ExecutionAttempt];
  const ended = { ...b, code: 'X' };
  expect(mergeAttempts([c, ended], [b, a])).toEqual([c, ended, a]);
  expect(mergeAttempts([c], [])).toEqual([c]);
  expect(mergeAttempts([c], [b, a])).toBeNull();
});

/** Executions made of their attempts, newest first. Pure. */

import type { ExecutionAttempt, AttemptStatus, Classification, ExecutionSurface } from './types';

export type Execution = {
  id: string;
  agentId: string;
  connectionId: string;
  /** What people call the operation. */
  title: string;
  classification: Classification;
  surface: ExecutionSurface;
  /** null while it is under way. */
  status: AttemptStatus | null;
  code: string | null;
  attempts: number;
  startedAt: string;
  /** From the first sending to the last end; null while it is under way. */
  tookMs: number | null;
};

/** Attempts come newest first; those of one execution may stand on two pages. */
export function executionsOf(attempts: readonly ExecutionAttempt[]): Execution[] {
  const byId = new Map<string, ExecutionAttempt[]>();
  for (const attempt of attempts) {
    const known = byId.get(attempt.logicalOperationId);
    if (known) known.push(attempt);
    else byId.set(attempt.logicalOperationId, [attempt]);
  }
  return [...byId.values()].map(executionOf);
}

function executionOf(some: readonly ExecutionAttempt[]): Execution {
  const inOrder = [...some].sort((a, b) => a.attempt - b.attempt);
  const [first, last] = [inOrder[0]!, inOrder.at(-1)!];
  return {
    id: last.logicalOperationId,
    agentId: last.agentId,
    connectionId: last.connectionId,
    title: last.title || last.operationSlug,
    classification: last.classification,
    surface: last.surface,
    status: last.status,
    code: last.code,
    attempts: last.attempt,
    startedAt: first.startedAt,
    tookMs: last.endedAt === null ? null : Math.max(0, Date.parse(last.endedAt) - Date.parse(first.startedAt)),
  };
}

/**
 * The newest page read again, before what further pages brought. Where the two do not meet something lies
 * between them that nobody read, so that the older part counts no more: null.
 */
export function mergeAttempts(newest: readonly ExecutionAttempt[], known: readonly ExecutionAttempt[]): ExecutionAttempt[] | null {
  const keyOf = ({ logicalOperationId, attempt }: ExecutionAttempt) => `${logicalOperationId} ${attempt}`;
  const read = new Set(newest.map(keyOf));
  const older = known.filter((attempt) => !read.has(keyOf(attempt)));
  return older.length === known.length && known.length > 0 ? null : [...newest, ...older];
}

const SECOND_MS = 1_000;

/** `340 ms`, `2.4 s`, `75 s`; `""` while it is under way. */
export function durationText(ms: number | null): string {
  if (ms === null) return '';
  if (ms < SECOND_MS) return `${ms} ms`;
  return ms < 10 * SECOND_MS ? `${(ms / SECOND_MS).toFixed(1)} s` : `${Math.round(ms / SECOND_MS)} s`;
}

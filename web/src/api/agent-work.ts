/** The calls of agents at work, one function an operation: sessions, interactions, tasks, commands, runtimes, turns, usage. */

import { bodyOf, http, PAGE_MAX, readSnapshot } from './client';
import type { FormAnswers, ChangeSession, OpenSession, UsageGroup } from './types';

const at = (id: string) => ({ path: { id } });

export const work = {
  sessions: {
    page: (source: 'guildhall' | 'terminal', cursor?: string) =>
      readSnapshot(http.GET('/api/sessions', { params: { query: { source, limit: PAGE_MAX, ...(cursor ? { cursor } : {}) } } })),
    one: (id: string) => readSnapshot(http.GET('/api/sessions/{id}', { params: at(id) })),
    open: (body: OpenSession) => bodyOf(http.POST('/api/sessions', { body })),
    change: (id: string, body: ChangeSession) => bodyOf(http.PATCH('/api/sessions/{id}', { params: at(id), body })),
    close: (id: string) => bodyOf(http.DELETE('/api/sessions/{id}', { params: at(id) })),
    /** Stops the turn; without `keepQueue` what waits is dropped too. */
    cancel: (id: string, keepQueue: boolean) => bodyOf(http.POST('/api/sessions/{id}/cancel', { params: at(id), body: { keepQueue } })),
  },

  messages: {
    /** From the oldest on; the cursor of a page leads to the newer ones. */
    page: (id: string, cursor?: string) =>
      readSnapshot(
        http.GET('/api/sessions/{id}/messages', {
          params: { ...at(id), query: { limit: PAGE_MAX, ...(cursor ? { cursor } : {}) } },
        }),
      ),
    /** `idempotencyKey` makes a repeat harmless: one message per key. */
    send: (id: string, content: string, idempotencyKey: string) =>
      bodyOf(
        http.POST('/api/sessions/{id}/messages', {
          params: at(id),
          headers: { 'idempotency-key': idempotencyKey },
          body: { content },
        }),
      ),
    queue: (id: string) => readSnapshot(http.GET('/api/sessions/{id}/queue', { params: at(id) })),
    edit: (id: string, messageId: string, content: string) =>
      bodyOf(http.PATCH('/api/sessions/{id}/queue/{messageId}', { params: { path: { id, messageId } }, body: { content } })),
    unqueue: (id: string, messageId: string) =>
      bodyOf(http.DELETE('/api/sessions/{id}/queue/{messageId}', { params: { path: { id, messageId } } })),
  },

  interactions: {
    pending: () => readSnapshot(http.GET('/api/sessions/pending-interactions')),
    /** The newest of a session, whatever became of them; the cursor of a page leads to older ones. */
    page: (id: string, cursor?: string) =>
      readSnapshot(
        http.GET('/api/sessions/{id}/interactions', {
          params: { ...at(id), query: { limit: PAGE_MAX, ...(cursor ? { cursor } : {}) } },
        }),
      ),
    approve: (id: string, body: { toolCallId: string; digest: string; alwaysAllow: boolean; optionId?: string }) =>
      bodyOf(http.POST('/api/sessions/{id}/approve', { params: at(id), body })),
    /** Takes no digest: a refusal is safe whatever was shown. */
    deny: (id: string, body: { toolCallId: string; reason?: string; tellAgent?: boolean }) =>
      bodyOf(http.POST('/api/sessions/{id}/deny', { params: at(id), body })),
    answer: (id: string, body: { toolCallId: string; digest: string; answers: FormAnswers; decline?: boolean }) =>
      bodyOf(http.POST('/api/sessions/{id}/submit-answers', { params: at(id), body })),
  },

  tasks: (id: string) => readSnapshot(http.GET('/api/sessions/{id}/tasks', { params: at(id) })),

  /** `refresh` makes the server look at the files now. */
  commands: ({ cwd, runtime, refresh }: { cwd: string; runtime: string; refresh: boolean }) =>
    readSnapshot(http.GET('/api/commands', { params: { query: { cwd, runtime, refresh: String(refresh) as 'true' | 'false' } } })),

  runtimes: {
    capabilities: () => readSnapshot(http.GET('/api/capabilities')),
    list: () => readSnapshot(http.GET('/api/runtimes')),
    check: (type: string) => bodyOf(http.POST('/api/runtimes/{type}/check', { params: { path: { type } } })),
  },

  turns: {
    page: (id: string, cursor?: string) =>
      readSnapshot(http.GET('/api/rooms/{id}/turns', { params: { ...at(id), query: { limit: PAGE_MAX, ...(cursor ? { cursor } : {}) } } })),
    run: (id: string, turnId: string) => bodyOf(http.POST('/api/rooms/{id}/turns/{turnId}/run', { params: { path: { id, turnId } } })),
    halt: (id: string) => bodyOf(http.POST('/api/rooms/{id}/halt', { params: at(id) })),
  },

  usage: (groupBy: UsageGroup) => readSnapshot(http.GET('/api/usage', { params: { query: { groupBy } } })),
};

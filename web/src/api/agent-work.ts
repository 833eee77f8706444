/** The calls of agents at work, one function an operation: sessions, asks, tasks, commands, runtimes, turns, usage. */

import { changed, http, PAGE_MAX, reading } from './client';
import type { Answers, ChangeSession, OpenSession, UsageGroup } from './types';

const at = (id: string) => ({ path: { id } });

export const work = {
  sessions: {
    page: (source: 'guildhall' | 'terminal', cursor?: string) =>
      reading(http.GET('/api/sessions', { params: { query: { source, limit: PAGE_MAX, ...(cursor ? { cursor } : {}) } } })),
    one: (id: string) => reading(http.GET('/api/sessions/{id}', { params: at(id) })),
    open: (body: OpenSession) => changed(http.POST('/api/sessions', { body })),
    change: (id: string, body: ChangeSession) => changed(http.PATCH('/api/sessions/{id}', { params: at(id), body })),
    close: (id: string) => changed(http.DELETE('/api/sessions/{id}', { params: at(id) })),
    /** Stops the turn; without `keepQueue` what waits is dropped too. */
    cancel: (id: string, keepQueue: boolean) => changed(http.POST('/api/sessions/{id}/cancel', { params: at(id), body: { keepQueue } })),
  },

  messages: {
    /** From the oldest on; the cursor of a page leads to the newer ones. */
    page: (id: string, cursor?: string) =>
      reading(
        http.GET('/api/sessions/{id}/messages', {
          params: { ...at(id), query: { limit: PAGE_MAX, ...(cursor ? { cursor } : {}) } },
        }),
      ),
    /** `idempotencyKey` makes a repeat harmless: one message per key. */
    send: (id: string, content: string, idempotencyKey: string) =>
      changed(
        http.POST('/api/sessions/{id}/messages', {
          params: at(id),
          headers: { 'idempotency-key': idempotencyKey },
          body: { content },
        }),
      ),
    queue: (id: string) => reading(http.GET('/api/sessions/{id}/queue', { params: at(id) })),
    edit: (id: string, messageId: string, content: string) =>
      changed(http.PATCH('/api/sessions/{id}/queue/{messageId}', { params: { path: { id, messageId } }, body: { content } })),
    unqueue: (id: string, messageId: string) =>
      changed(http.DELETE('/api/sessions/{id}/queue/{messageId}', { params: { path: { id, messageId } } })),
  },

  interactions: {
    pending: () => reading(http.GET('/api/sessions/pending-interactions')),
    /** The newest of a session, whatever became of them; the cursor of a page leads to older ones. */
    page: (id: string, cursor?: string) =>
      reading(
        http.GET('/api/sessions/{id}/interactions', {
          params: { ...at(id), query: { limit: PAGE_MAX, ...(cursor ? { cursor } : {}) } },
        }),
      ),
    approve: (id: string, body: { toolCallId: string; digest: string; alwaysAllow: boolean; optionId?: string }) =>
      changed(http.POST('/api/sessions/{id}/approve', { params: at(id), body })),
    /** Takes no digest: a refusal is safe whatever was shown. */
    deny: (id: string, body: { toolCallId: string; reason?: string; tellAgent?: boolean }) =>
      changed(http.POST('/api/sessions/{id}/deny', { params: at(id), body })),
    answer: (id: string, body: { toolCallId: string; digest: string; answers: Answers; decline?: boolean }) =>
      changed(http.POST('/api/sessions/{id}/submit-answers', { params: at(id), body })),
  },

  tasks: (id: string) => reading(http.GET('/api/sessions/{id}/tasks', { params: at(id) })),

  /** `refresh` makes the server look at the files now. */
  commands: ({ cwd, runtime, refresh }: { cwd: string; runtime: string; refresh: boolean }) =>
    reading(http.GET('/api/commands', { params: { query: { cwd, runtime, refresh: String(refresh) as 'true' | 'false' } } })),

  runtimes: {
    capabilities: () => reading(http.GET('/api/capabilities')),
    list: () => reading(http.GET('/api/runtimes')),
    check: (type: string) => changed(http.POST('/api/runtimes/{type}/check', { params: { path: { type } } })),
  },

  turns: {
    page: (id: string, cursor?: string) =>
      reading(http.GET('/api/rooms/{id}/turns', { params: { ...at(id), query: { limit: PAGE_MAX, ...(cursor ? { cursor } : {}) } } })),
    run: (id: string, turnId: string) => changed(http.POST('/api/rooms/{id}/turns/{turnId}/run', { params: { path: { id, turnId } } })),
    halt: (id: string) => changed(http.POST('/api/rooms/{id}/halt', { params: at(id) })),
  },

  usage: (groupBy: UsageGroup) => reading(http.GET('/api/usage', { params: { query: { groupBy } } })),
};

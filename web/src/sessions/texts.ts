/** States of sessions and tool calls in words. Pure. */

import type { Session, ToolKind, ToolStatus } from '../api/types';
import { sentenceOf } from '../text/plain-text';

const outcomes: Record<string, string> = {
  max_tokens: 'The agent ran out of tokens and stopped.',
  max_turn_requests: 'The agent asked its model too often in one turn and stopped.',
  refusal: 'The agent refused to go on.',
  cancelled: 'Stopped.',
  interrupted: 'The turn broke off: the agent’s program or the server ended.',
  failed: 'The turn failed.',
};

/** How a turn ended, where that is worth a word; `""` when it simply ended. */
export const outcomeText = (outcome: string): string => outcomes[outcome] ?? '';

const calls: Record<ToolStatus, { sign: string; word: string }> = {
  pending: { sign: '◌', word: 'announced' },
  waiting: { sign: '▲', word: 'needs you' },
  in_progress: { sign: '●', word: 'running' },
  completed: { sign: '✓', word: 'done' },
  failed: { sign: '✕', word: 'failed' },
  denied: { sign: '✕', word: 'denied' },
  cancelled: { sign: '◌', word: 'cancelled' },
};
export const toolCallStatus = (status: string): { sign: string; word: string } => calls[status as ToolStatus] ?? { sign: '?', word: status };

const kinds: Record<ToolKind, string> = {
  read: 'read',
  edit: 'edit',
  delete: 'delete',
  move: 'move',
  search: 'search',
  execute: 'command',
  think: 'thought',
  fetch: 'network',
  switch_mode: 'mode',
  other: 'tool',
};
export const kindText = (kind: string): string => kinds[kind as ToolKind] ?? 'tool';

/** What the session's own state wants a person to know and to do; null when nothing. */
export function sessionStatusText({ state, stateReason, queuedCount }: Pick<Session, 'state' | 'stateReason' | 'queuedCount'>): { text: string; todo: string; bad: boolean } | null {
  switch (state) {
    case 'failed':
      return {
        text: sentenceOf(stateReason) || 'The last turn failed.',
        todo: queuedCount > 0 ? 'What waits is held. Send, edit or remove a message to go on.' : 'Send a message to start the agent again.',
        bad: true,
      };
    case 'starting':
      return { text: sentenceOf(stateReason) || 'The agent is being started.', todo: '', bad: false };
    case 'cancelling':
      return { text: 'The agent is being stopped.', todo: '', bad: false };
    case 'idle':
      if (queuedCount === 0) return null;
      return { text: sentenceOf(stateReason) || 'What waits is held.', todo: 'Send, edit or remove a message to go on.', bad: false };
    case 'closed':
      return { text: 'This session is closed. It can be read, not written to.', todo: '', bad: false };
    default:
      return null;
  }
}

/** The turn ledger in words: which rule decided, and with what count. Pure. Source: contract 2.7. */

import type { Turn, TurnState } from '../api/types';

const states: Record<TurnState, { sign: string; word: string }> = {
  not_addressed: { sign: '–', word: 'not addressed' },
  refused: { sign: '✕', word: 'refused' },
  collecting: { sign: '●', word: 'about to start' },
  held: { sign: '‖', word: 'held' },
  running: { sign: '●', word: 'working' },
  waiting: { sign: '▲', word: 'needs you' },
  answered: { sign: '✓', word: 'answered' },
  silent: { sign: '◌', word: 'said nothing' },
  failed: { sign: '✕', word: 'failed' },
  stopped: { sign: '◌', word: 'stopped' },
};

export const turnStatus = (state: string): { sign: string; word: string } => states[state as TurnState] ?? { sign: '?', word: state };

const rules: Record<Turn['rule'], string> = {
  silent: 'It reacts to nothing in this room',
  not_named: 'It reacts when named, and was not',
  not_engaged: 'It was not named and nobody speaks with it just now',
  not_direct: 'It reacts to posts that address it alone',
  seat_stood_down: 'Another agent was named, so it stood down',
  depth: 'The chain of answers is as long as the room allows',
  repeat: 'It took its share of turns after this post',
  hour_room: 'This room used up its turns for the hour',
  hour_global: 'This server used up its turns for the hour',
  room_archived: 'The room is archived',
  not_a_member: 'It is not a member any more',
  agent_gone: 'The agent is gone',
  runtime_unavailable: 'Its runtime is not there',
  addressed: 'It was addressed',
  agent_busy: 'It is busy with other turns',
  started: 'It was addressed',
  by_person: 'A person started it',
  awaiting_person: 'It waits for an answer of a person',
  done: 'It is done',
  error: 'Something went wrong',
  timeout: 'It took too long',
  server_restart: 'The server was started anew meanwhile',
  halted: 'A person stopped it',
};

export const ruleText = (rule: string): string => rules[rule as Turn['rule']] ?? rule;

/** What is counted, by the rule that counts it. */
const counted: Record<string, string> = { depth: 'depth', repeat: 'turn', hour_room: 'turn', hour_global: 'turn', agent_busy: 'turn' };

/** `depth 3 of 3, set for this room`; `""` when no limit was met. */
export function limitText({ rule, limit }: { rule: string; limit: Turn['limit'] }): string {
  if (limit === null) return '';
  const whose = limit.source === 'room' ? 'set for this room' : 'set for this server';
  return `${counted[rule] ?? limit.name} ${limit.used} of ${limit.value}, ${whose}`;
}

/** Only a person's word starts what a rule refused or holds. */
export const isRunnable = ({ id, state }: Pick<Turn, 'id' | 'state'>): boolean => id !== '' && (state === 'refused' || state === 'held');

const OPEN: TurnState[] = ['collecting', 'held', 'running', 'waiting'];
export const isOpen = ({ state }: Pick<Turn, 'state'>): boolean => OPEN.includes(state);

/** What events do to the messages of a session, and how messages are told apart for reading. Pure. */

import type { Message, Part, ToolCall } from '../api/types';

export type TextKind = 'text' | 'thinking';
export type AppendedText = { messageId: string; part: TextKind; offset: number; text: string };

/** How long the text of this kind is, in UTF-16 units, over all parts. */
export function lengthOf(message: Message, kind: TextKind): number {
  return message.parts.reduce((sum, part) => sum + (part.type === kind ? part.text.length : 0), 0);
}

/**
 * The message with the text added, or null when something before it was missed.
 * What is known already is not added twice.
 */
export function withText(message: Message, { part: kind, offset, text }: AppendedText): Message | null {
  const known = lengthOf(message, kind);
  if (offset > known) return null;
  const fresh = text.slice(known - offset);
  if (fresh === '') return message;
  const last = message.parts.at(-1);
  const parts: Part[] =
    last?.type === kind
      ? [...message.parts.slice(0, -1), { type: kind, text: last.text + fresh }]
      : [...message.parts, { type: kind, text: fresh }];
  return { ...message, parts };
}

/** The message with the call as it is known now, in its place or at the end. */
export function withToolCall(message: Message, call: ToolCall): Message {
  const next: Part = { type: 'tool_call', ...call };
  const at = message.parts.findIndex((part) => part.type === 'tool_call' && part.toolCallId === call.toolCallId);
  return { ...message, parts: at === -1 ? [...message.parts, next] : message.parts.with(at, next) };
}

/** A message of the agent that its first event makes. */
export function startedMessage(sessionId: string, messageId: string, turnId: string | null, seq: number, at: string): Message {
  return { id: messageId, seq, sessionId, turnId, role: 'assistant', authorId: '', state: 'streaming', createdAt: at, parts: [] };
}

/** Known messages with those just read: what was read wins, order is by place. Queued ones stand in the queue alone. */
export function mergeMessages(known: readonly Message[], read: readonly Message[]): Message[] {
  const byId = new Map(known.map((message) => [message.id, message]));
  for (const message of read) byId.set(message.id, message);
  return [...byId.values()]
    .filter(({ state, seq }) => state !== 'queued' && seq > 0)
    .sort((a, b) => a.seq - b.seq || (a.id < b.id ? -1 : 1));
}

/** Something that happened beside the messages, told in a row of its own. */
export type TranscriptNote = { key: string; at: string; text: string };
export type TranscriptRow<Ask> =
  | { kind: 'message'; key: string; message: Message }
  | { kind: 'aside'; key: string; aside: TranscriptNote }
  | { kind: 'ask'; key: string; interaction: Ask };

/**
 * Messages in their order, and between them what happened beside them, each behind what was said before it:
 * asides, and asks that are about no call of a message. Both come in the order of their time.
 */
export function transcriptRows<Ask extends { id: string; openedAt: string }>(
  messages: readonly Message[],
  asides: readonly TranscriptNote[],
  interactions: readonly Ask[],
): TranscriptRow<Ask>[] {
  const beside = [
    ...asides.map((aside) => ({ at: aside.at, row: { kind: 'aside' as const, key: `aside ${aside.key}`, aside } })),
    ...interactions.map((interaction) => ({ at: interaction.openedAt, row: { kind: 'ask' as const, key: `ask ${interaction.id}`, interaction } })),
  ].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  const rows: TranscriptRow<Ask>[] = [];
  let next = 0;
  const besideUntil = (at: string | null) => {
    for (let one = beside[next]; one && (at === null || one.at < at); one = beside[next]) {
      rows.push(one.row);
      next += 1;
    }
  };
  for (const message of messages) {
    besideUntil(message.createdAt);
    rows.push({ kind: 'message', key: message.id, message });
  }
  besideUntil(null);
  return rows;
}

/** Files the agent changed in these messages, newest last, each once. */
export function changedFiles(messages: readonly Message[]): string[] {
  const paths = new Set<string>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (part.type !== 'tool_call' || part.status !== 'completed') continue;
    for (const content of part.content) {
      if (content.type !== 'diff') continue;
      paths.delete(content.path);
      paths.add(content.path);
    }
  }
  return [...paths];
}

/** A path as seen from `folder`; whole where it lies elsewhere. */
export const pathIn = (folder: string, path: string): string => {
  const inside = folder.endsWith('/') ? folder : `${folder}/`;
  return path.startsWith(inside) && path !== inside ? path.slice(inside.length) : path;
};

/** The text of all text parts, for copies. */
export const textOf = (message: Message): string =>
  message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');

/** The message a tool call stands in, if it is among these. */
export const messageOfCall = (messages: readonly Message[], toolCallId: string): Message | undefined =>
  messages.findLast(({ parts }) => parts.some((part) => part.type === 'tool_call' && part.toolCallId === toolCallId));

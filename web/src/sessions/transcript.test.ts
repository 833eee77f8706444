import { expect, test } from 'vitest';
import type { Message, ToolCall } from '../api/types';
import { startedMessage, changedFiles, lengthOf, mergeMessages, pathIn, transcriptRows, withText, withToolCall } from './transcript';

const empty = startedMessage('s', 'm', null, 1, '2026-11-21T12:00:00Z');
const call = (toolCallId: string, more: Partial<ToolCall> = {}): ToolCall => ({
  toolCallId,
  title: 'Edit',
  toolName: 'edit_file',
  kind: 'edit',
  status: 'in_progress',
  input: null,
  output: null,
  content: [],
  locations: [],
  ...more,
});
const say = (message: Message, offset: number, text: string, part: 'text' | 'thinking' = 'text') =>
  withText(message, { messageId: 'm', part, offset, text });

test('pieces join by offset into one text', () => {
  const first = say(empty, 0, 'Hello ')!;
  const second = say(first, 6, 'there 👋')!;
  expect(second.parts).toEqual([{ type: 'text', text: 'Hello there 👋' }]);
  expect(lengthOf(second, 'text')).toBe(14);
});

test('a piece heard twice is added once, and an overlapping one only as far as it is new', () => {
  const first = say(empty, 0, 'abc')!;
  expect(say(first, 0, 'abc')).toBe(first);
  expect(say(first, 1, 'bcde')!.parts).toEqual([{ type: 'text', text: 'abcde' }]);
});

test('a gap is told, never bridged', () => {
  expect(say(empty, 3, 'def')).toBeNull();
  expect(say(say(empty, 0, 'ab')!, 3, 'd')).toBeNull();
});

test('words after a tool call begin a new part, and offsets count over all parts of a kind', () => {
  const one = withToolCall(say(empty, 0, 'before')!, call('c1'));
  const two = say(one, 6, 'after')!;
  expect(two.parts.map(({ type }) => type)).toEqual(['text', 'tool_call', 'text']);
  const three = say(two, 0, 'hm', 'thinking')!;
  expect(say(three, 11, '!')!.parts.at(-1)).toEqual({ type: 'text', text: '!' });
});

test('a call known already keeps its place', () => {
  const message = say(withToolCall(empty, call('c1')), 0, 'x')!;
  const done = withToolCall(message, call('c1', { status: 'completed' }));
  expect(done.parts[0]).toMatchObject({ toolCallId: 'c1', status: 'completed' });
  expect(done.parts).toHaveLength(2);
});

test('any cutting of a text gives the same message', () => {
  const whole = 'The quick brown fox — jumps.';
  for (let size = 1; size <= whole.length; size += 1) {
    let message: Message | null = empty;
    for (let at = 0; at < whole.length && message; at += size) message = say(message, at, whole.slice(at, at + size));
    expect(message?.parts).toEqual([{ type: 'text', text: whole }]);
  }
});

test('what was read replaces what was known, in order of place, without the queue', () => {
  const at = (id: string, seq: number, state: Message['state'] = 'complete'): Message => ({ ...empty, id, seq, state });
  const known = [at('a', 1), at('b', 2, 'streaming')];
  const read = [at('b', 2), at('c', 3), at('q', 0, 'queued')];
  expect(mergeMessages(known, read).map(({ id, state }) => `${id} ${state}`)).toEqual(['a complete', 'b complete', 'c complete']);
});

test('changed files are those of calls that ended well, each once', () => {
  const diff = (path: string) => ({ type: 'diff' as const, path, oldText: 'a', newText: 'b' });
  let message = withToolCall(empty, call('1', { status: 'completed', content: [diff('a.md')] }));
  message = withToolCall(message, call('2', { status: 'denied', content: [diff('no.md')] }));
  message = withToolCall(message, call('3', { status: 'completed', content: [diff('b.md'), diff('a.md')] }));
  expect(changedFiles([message])).toEqual(['b.md', 'a.md']);
});

test('what happened beside the messages stands behind what was said before it', () => {
  const said = (id: string, createdAt: string): Message => ({ ...empty, id, createdAt });
  const aside = (key: string, at: string) => ({ key, at, text: key });
  const interactions = [{ id: 'q', openedAt: '4' }];
  const rows = transcriptRows([said('a', '1'), said('b', '3')], [aside('x', '2'), aside('y', '3'), aside('z', '9')], interactions);
  expect(rows.map(({ key }) => key)).toEqual(['a', 'aside x', 'b', 'aside y', 'ask q', 'aside z']);
  expect(transcriptRows([], [aside('x', '2')], []).map(({ key }) => key)).toEqual(['aside x']);
});

test('a path in the folder of the session is shown from there, another one whole', () => {
  expect(pathIn('/w/wall', '/w/wall/new/file.md')).toBe('new/file.md');
  expect(pathIn('/w/wall', '/w/wallpaper.md')).toBe('/w/wallpaper.md');
  expect(pathIn('/', '/etc/hosts')).toBe('etc/hosts');
});

import { expect, test } from 'vitest';
import type { Entry } from '../api/types';
import type { HallEvent } from '../events/frames';
import { ReadPositions, withReply } from './apply-events';

const entry = (id: string, more: Partial<Entry> = {}): Entry =>
  ({ id, text: id, threadRootEntryId: null, threadReplyCount: 0, threadLastReplyAt: null, reactions: [], redactedAt: null, ...more }) as Entry;
const event = (seq: number, type: string, data: Record<string, unknown>): HallEvent => ({ seq, scope: 'room:r', type, at: 't', actorId: null, data });
const reply = (seq: number, root: string) => event(seq, 'entry_added', { entry: entry(`reply ${seq}`, { threadRootEntryId: root, createdAt: `t${seq}` }) });

test('a reply counts at its root, once', () => {
  const at = new ReadPositions();
  const held = [entry('a'), entry('b')];
  at.note(held, 10);
  const once = at.after(held, reply(11, 'b'));
  expect(once[1]).toMatchObject({ threadReplyCount: 1, threadLastReplyAt: 't11' });
  expect(once[0]).toBe(held[0]);
  expect(at.after(once, reply(11, 'b'))).toBe(once);
  expect(at.after(once, reply(12, 'b'))[1]).toMatchObject({ threadReplyCount: 2, threadLastReplyAt: 't12' });
});

test('what a reading already held is not counted again when the stream brings it late', () => {
  const at = new ReadPositions();
  const held = [entry('a', { threadReplyCount: 1 })];
  at.note(held, 20);
  expect(at.after(held, reply(15, 'a'))).toBe(held);
});

test('reactions are replaced as a whole, a redacted entry by what is left of it', () => {
  const at = new ReadPositions();
  const held = [entry('a', { reactions: [{ emoji: '👍', authorIds: ['x'], firstAt: 't' }] })];
  const reactions = [{ emoji: '🎉', authorIds: ['y'], firstAt: 't' }];
  expect(at.after(held, event(1, 'entry_reactions', { entryId: 'a', reactions }))[0]).toMatchObject({ text: 'a', reactions });
  const gone = entry('a', { text: '', redactedAt: 't2' });
  expect(at.after(held, event(2, 'entry_redacted', { entry: gone }))[0]).toBe(gone);
});

test('an event of another entry, and an unknown one, change nothing', () => {
  const at = new ReadPositions();
  const held = [entry('a')];
  expect(at.after(held, reply(1, 'elsewhere'))).toBe(held);
  expect(at.after(held, event(2, 'entry_added', { entry: entry('b') }))).toBe(held);
  expect(at.after(held, event(3, 'entry_painted', { entryId: 'a' }))).toBe(held);
});

test('an answer changes its entry alone', () => {
  const held = [entry('a'), entry('b')];
  expect(withReply(held, 'b', { text: 'new' }).map(({ text }) => text)).toEqual(['a', 'new']);
  expect(withReply(held, 'c', { text: 'new' })).toBe(held);
});

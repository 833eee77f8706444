import { expect, test } from 'vitest';
import type { Entry, Room } from '../api/types';
import type { HallEvent } from '../events/frames';
import { byActivity, applyRoomEvent, displayTitle } from './apply-events';

const room = (more: Partial<Room> = {}): Room =>
  ({
  id: 'r',
  kind: 'channel',
  slug: 'team',
  title: '#team',
  topic: null,
  archived: false,
  wellKnown: 'team',
  createdAt: 't0',
  lastActivityAt: 't1',
  unreadCount: 0,
  mentionCount: 0,
  participants: null,
  working: 0,
  viewerHasPosted: false,
  ...more,
  }) as Room;
const event = (type: string, data: Record<string, unknown>): HallEvent => ({
  seq: 5,
  scope: 'room:r',
  type,
  at: 't2',
  actorId: null,
  data,
});
const entry = (more: Partial<Entry>): Record<string, unknown> => ({
  entry: { roomId: 'r', kind: 'post', authorId: 'ada', mentions: [], createdAt: 't2', ...more },
});

test('a post by somebody else is unread, and counts as a mention when it names me', () => {
  expect(applyRoomEvent(room(), event('entry_added', entry({})), 'me').room).toMatchObject({
    unreadCount: 1,
    mentionCount: 0,
    lastActivityAt: 't2',
  });
  expect(applyRoomEvent(room(), event('entry_added', entry({ mentions: ['me'] })), 'me').room).toMatchObject({
    unreadCount: 1,
    mentionCount: 1,
  });
});

test('my own posts, notices, and rooms I am no member of count nothing', () => {
  expect(applyRoomEvent(room(), event('entry_added', entry({ authorId: 'me' })), 'me').room).toMatchObject({
    unreadCount: 0,
    viewerHasPosted: true,
  });
  expect(applyRoomEvent(room(), event('entry_added', entry({ kind: 'notice' })), 'me').room?.unreadCount).toBe(0);
  expect(applyRoomEvent(room({ unreadCount: null }), event('entry_added', entry({})), 'me').room?.unreadCount).toBeNull();
});

test('a changed room keeps what is the viewer’s own', () => {
  const changed = applyRoomEvent(room({ unreadCount: 4, mentionCount: 1 }), event('room_updated', { room: { id: 'r', title: 'new' } }), 'me');
  expect(changed.room).toMatchObject({ title: 'new', unreadCount: 4, mentionCount: 1 });
});

test('only my own read position moves my counts', () => {
  const read = (authorId: string) => event('read_cursor', { roomId: 'r', authorId, unreadCount: 0, mentionCount: 0 });
  expect(applyRoomEvent(room({ unreadCount: 3 }), read('me'), 'me').room?.unreadCount).toBe(0);
  expect(applyRoomEvent(room({ unreadCount: 3 }), read('ada'), 'me').room?.unreadCount).toBe(3);
});

test('what only a GET can tell is read again', () => {
  expect(applyRoomEvent(undefined, event('room_created', { room: { id: 'r' } }), 'me').reread).toBe(true);
  expect(applyRoomEvent(room(), event('room_member_added', { member: { roomId: 'r', authorId: 'me' } }), 'me').reread).toBe(true);
  expect(applyRoomEvent(room(), event('room_member_added', { member: { roomId: 'r', authorId: 'ada' } }), 'me').reread).toBe(false);
});

test('unknown events change nothing', () => {
  expect(applyRoomEvent(room(), event('room_painted', { roomId: 'r' }), 'me')).toEqual({ room: null, reread: false });
});

test('the newest activity stands first', () => {
  const list = [room({ id: 'a', lastActivityAt: 't1' }), room({ id: 'b', lastActivityAt: 't2' }), room({ id: 'c', lastActivityAt: 't2' })];
  expect(list.sort(byActivity).map(({ id }) => id)).toEqual(['c', 'b', 'a']);
});

test('a direct message is called by the others in it, unless somebody gave it a title', () => {
  const participants = [{ id: 'me', displayName: 'Ada' }, { id: 'b', displayName: 'Scribe' }] as Room['participants'];
  expect(displayTitle(room({ kind: 'dm', title: 'Ada, Scribe', participants }), 'me')).toBe('Scribe');
  expect(displayTitle(room({ kind: 'dm', title: 'Lunch', participants }), 'me')).toBe('Lunch');
  expect(displayTitle(room({ title: '#team' }), 'me')).toBe('team');
});

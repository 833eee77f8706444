/** What an event does to the list of rooms. Pure: the same list comes from a fresh GET. */

import type { AuthorSummary, Entry, Member, ReadCursor, Room } from '../api/types';
import type { HallEvent } from '../events/frames';

export type RoomsUpdate = {
  /** The room as it is now; null when the event changes none that is known. */
  room: Room | null;
  /** True when only a new GET can tell the viewer's own fields. */
  reread: boolean;
};

const NOTHING: RoomsUpdate = { room: null, reread: false };

/** `known` is the room the event speaks of, undefined when it is not in the list. */
export function applyRoomEvent(known: Room | undefined, event: HallEvent, meId: string): RoomsUpdate {
  switch (event.type) {
    case 'room_created':
      return { room: null, reread: known === undefined };
    case 'room_updated':
      return known ? { room: withoutViewer(known, event.data.room as Room), reread: false } : { room: null, reread: true };
    case 'entry_added':
      return known ? { room: withEntry(known, event.data.entry as Entry, meId), reread: false } : NOTHING;
    case 'read_cursor':
      return known ? { room: withCursor(known, event.data as ReadCursor, meId), reread: false } : NOTHING;
    case 'room_member_added':
    case 'room_member_removed': {
      const authorId = (event.data.member as Member | undefined)?.authorId ?? event.data.authorId;
      return { room: null, reread: authorId === meId || known?.kind === 'dm' };
    }
    default:
      return NOTHING;
  }
}

/** Which room an event speaks of; null when of none. */
export function roomIdOf(event: HallEvent): string | null {
  const data = event.data as {
    roomId?: string;
    room?: { id: string };
    member?: { roomId: string };
    entry?: { roomId: string };
  };
  return data.room?.id ?? data.entry?.roomId ?? data.member?.roomId ?? data.roomId ?? null;
}

/** The event's room has no fields of the viewer, so those stay. */
function withoutViewer(known: Room, room: Room): Room {
  return {
    ...known,
    ...room,
    unreadCount: known.unreadCount,
    mentionCount: known.mentionCount ?? null,
    viewerHasPosted: known.viewerHasPosted,
    participants: room.participants ?? known.participants,
    working: room.working ?? known.working,
    lastActivityAt: room.lastActivityAt > known.lastActivityAt ? room.lastActivityAt : known.lastActivityAt,
  };
}

function withEntry(known: Room, entry: Entry, meId: string): Room {
  const mine = entry.authorId === meId;
  const counts = known.unreadCount !== null && entry.kind === 'post' && !mine;
  return {
    ...known,
    lastActivityAt: entry.createdAt,
    viewerHasPosted: known.viewerHasPosted || mine,
    unreadCount: counts ? (known.unreadCount ?? 0) + 1 : known.unreadCount,
    mentionCount: counts && entry.mentions.includes(meId) ? (known.mentionCount ?? 0) + 1 : (known.mentionCount ?? null),
  };
}

function withCursor(known: Room, cursor: ReadCursor, meId: string): Room {
  if (cursor.authorId !== meId) return known;
  return { ...known, unreadCount: cursor.unreadCount, mentionCount: cursor.mentionCount };
}

/** Newest activity first, then the larger id, as the server lists them. */
export function byActivity(a: Room, b: Room): number {
  if (a.lastActivityAt !== b.lastActivityAt) return a.lastActivityAt < b.lastActivityAt ? 1 : -1;
  return a.id < b.id ? 1 : -1;
}

/**
 * The name as one calls the room: without the `#`, whose sign stands beside it,
 * and a direct message that follows its members' names without one's own.
 */
export function displayTitle(room: Room, meId: string): string {
  const names = (some: readonly AuthorSummary[]) => some.map(({ displayName }) => displayName).join(', ');
  if (room.participants && room.title === names(room.participants)) return names(othersIn(room, meId));
  return room.title.replace(/^#/, '') || (room.slug ?? '');
}

/** The others in a direct message; oneself when nobody else is there. */
export function othersIn(room: Room, meId: string): AuthorSummary[] {
  const all = room.participants ?? [];
  const others = all.filter((author) => author.id !== meId);
  return others.length > 0 ? others : all;
}

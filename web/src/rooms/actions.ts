/** What one can do to a room from more than one place. */

import { api, exportPath } from '../api/client';
import type { Room } from '../api/types';
import { authors } from '../authors/authors.svelte';
import { roomPath } from '../shell/route';
import { router } from '../shell/router.svelte';
import type { MenuItem } from '../ui/menu';
import { toasts } from '../ui/toasts.svelte';
import { openRooms } from './open-room.svelte';
import { rooms } from './rooms.svelte';

async function tried(action: () => Promise<unknown>, done = ''): Promise<boolean> {
  try {
    await action();
    if (done) toasts.say(done);
    return true;
  } catch (error) {
    toasts.fail(error);
    return false;
  }
}

/** Opens the direct message with one other author; the server finds it or makes it. */
export const openDm = (authorId: string): Promise<boolean> =>
  tried(async () => {
    const room = await api.rooms.create({ kind: 'dm', memberIds: [authorId] });
    rooms.put(room);
    router.go(roomPath(room.id));
  });

export const join = (room: Room): Promise<boolean> => tried(() => api.members.add(room.id, authors.meId));

export const setArchived = (room: Room, archived: boolean): Promise<boolean> =>
  tried(async () => rooms.put(await api.rooms.change(room.id, { archived })), archived ? 'Archived.' : 'Restored.');

export const markRead = (room: Room): Promise<boolean> =>
  tried(async () => {
    // Above the newest entry counts as the newest, so the list need not know its number.
    await api.rooms.readTo(room.id, Number.MAX_SAFE_INTEGER);
  });

/** The newest entry becomes unread again. */
export const markUnread = (room: Room): Promise<boolean> =>
  tried(async () => {
    const { body } = await api.entries.page(room.id, { limit: 1 });
    const newest = body.entries.at(-1);
    if (newest) await openRooms.get(room.id).markUnreadFrom(newest.seq);
  });

/** The menu of a room; what its state forbids is not offered. */
export function roomMenu(room: Room, edit: () => void): MenuItem[] {
  const items: MenuItem[] = [];
  if (room.unreadCount === null && !room.archived) {
    items.push({ label: 'Join', icon: 'plus', onselect: () => void join(room) });
  } else if ((room.unreadCount ?? 0) > 0) {
    items.push({ label: 'Mark read', icon: 'check', onselect: () => void markRead(room) });
  } else if (room.unreadCount !== null) {
    items.push({ label: 'Mark unread', icon: 'unread', onselect: () => void markUnread(room) });
  }
  if (!room.archived) items.push({ label: room.kind === 'channel' ? 'Name and topic' : 'Name', icon: 'edit', onselect: edit });
  items.push({ label: 'Export as JSON lines', icon: 'download', href: exportPath(room.id) });
  if (!room.wellKnown) {
    items.push({
      label: room.archived ? 'Restore' : 'Archive',
      icon: 'archive',
      onselect: () => void setArchived(room, !room.archived),
    });
  }
  return items;
}

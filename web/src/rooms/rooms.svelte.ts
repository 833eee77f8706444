/** Every room this person can see, with unread and mention counts kept true by the stream. */

import { SvelteMap } from 'svelte/reactivity';
import { api } from '../api/client';
import type { Author, Room, ServerWarning } from '../api/types';
import { authors } from '../authors/authors.svelte';
import { coalesced } from '../events/coalesce';
import type { HallEvent } from '../events/frames';
import { readAndApply } from '../events/read-and-apply';
import { byActivity, applyRoomEvent, displayTitle, roomIdOf } from './apply-events';

class Rooms {
  loaded = $state(false);
  error = $state<unknown>(null);
  warnings = $state.raw<ServerWarning[]>([]);
  seq = 0;

  #byId = new SvelteMap<string, Room>();

  all = $derived([...this.#byId.values()].sort(byActivity));
  open = $derived(this.all.filter((room) => !room.archived));
  archived = $derived(this.all.filter((room) => room.archived));
  /** Rooms with something new: those that name the viewer first. */
  news = $derived(
    this.open
      .filter((room) => (room.unreadCount ?? 0) > 0)
      .sort((a, b) => Number((b.mentionCount ?? 0) > 0) - Number((a.mentionCount ?? 0) > 0)),
  );
  unread = $derived(this.open.reduce((sum, room) => sum + (room.unreadCount ?? 0), 0));
  mentions = $derived(this.open.reduce((sum, room) => sum + (room.mentionCount ?? 0), 0));

  get(roomId: string): Room | undefined {
    return this.#byId.get(roomId);
  }

  load = coalesced(() => this.#read());

  applyEvent = (event: HallEvent): void => {
    if (event.seq <= this.seq) return;
    const roomId = roomIdOf(event);
    if (roomId !== null) {
      const known = this.#byId.get(roomId);
      const { room, reread } = applyRoomEvent(known, event, authors.meId);
      if (room) this.#byId.set(room.id, room);
      if (reread) void this.load().catch(() => {});
    } else if (event.type === 'author_updated') {
      this.#rename(event.data.author as Author);
    }
  };

  /** Takes in a room as a route just answered it. */
  put(room: Room): void {
    this.#byId.set(room.id, { ...this.#byId.get(room.id), ...room });
  }

  /** A direct message carries its members' names, in its participants and often in its title. */
  #rename(author: Author): void {
    const touched = [...this.#byId.values()].some((room) => room.participants?.some(({ id }) => id === author.id));
    if (touched) void this.load().catch(() => {});
  }

  async #read(): Promise<void> {
    try {
      await readAndApply(
        api.rooms.list,
        ({ rooms, warnings }, seq) => {
          this.seq = seq;
          this.warnings = warnings;
          const listed = new Set(rooms.map(({ id }) => id));
          for (const roomId of this.#byId.keys()) if (!listed.has(roomId)) this.#byId.delete(roomId);
          for (const room of rooms) this.#byId.set(room.id, room);
        },
        this.applyEvent,
      );
      this.error = null;
      this.loaded = true;
    } catch (error) {
      this.error = error;
      throw error;
    }
  }
}

export const rooms = new Rooms();

/** What the viewer calls the room. */
export const nameOf = (room: Room): string => displayTitle(room, authors.meId);

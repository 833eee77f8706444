/** A room one looks into: its details, members, entries, who types, and how far one has read. */

import { SvelteMap } from 'svelte/reactivity';
import { api } from '../api/client';
import type { Entry, Member, Room, RoomDetail } from '../api/types';
import { Uploads } from '../attachments/uploads.svelte';
import { authors } from '../authors/authors.svelte';
import { Canvas } from '../canvas/canvas.svelte';
import { Timeline } from '../entries/timeline.svelte';
import type { HallEvent, Signal } from '../events/frames';
import { readAndApply } from '../events/read-and-apply';
import { OpenThread } from '../threads/open-thread.svelte';
import { RoomTurns } from '../turns/room-turns.svelte';
import { roomIdOf } from './apply-events';
import { rooms } from './rooms.svelte';

/** A typing sign without an end of its own is believed this long. */
const TYPING_MS = 8_000;
const THREADS_KEPT_MAX = 4;

export class OpenRoom {
  readonly id: string;
  readonly timeline: Timeline;
  readonly uploads: Uploads;
  readonly canvas: Canvas;
  readonly turns: RoomTurns;
  detail = $state.raw<RoomDetail | null>(null);
  error = $state<unknown>(null);
  /** Entries above this were unread when the room was opened: the "new" line stands there. */
  newAfter = $state<number | null>(null);
  /** True after "mark unread from here": reading on does not undo what was just asked for. */
  held = $state(false);
  /** Where the list was scrolled to when the room was left; null = at its end. */
  scrollTop: number | null = null;

  #members = new SvelteMap<string, Member>();
  #typing = new SvelteMap<string, ReturnType<typeof setTimeout>>();
  #threads = new Map<string, OpenThread>();
  #seq = 0;
  /** The read position the server told last, and the one it is asked to move to. */
  #known = 0;
  #wanted = 0;
  #reporting = false;

  members = $derived([...this.#members.values()].sort((a, b) => (a.joinedAt < b.joinedAt ? -1 : 1)));
  mine = $derived(this.#members.get(authors.meId));
  typing = $derived([...this.#typing.keys()].filter((authorId) => authorId !== authors.meId));

  constructor(id: string) {
    this.id = id;
    this.timeline = new Timeline(id);
    this.uploads = new Uploads(id);
    this.canvas = new Canvas({ kind: 'room', id });
    this.turns = new RoomTurns(id);
  }

  /** The listing's row is the truer one for counts and title; the detail stands in until it is there. */
  get room(): Room | null {
    return rooms.get(this.id) ?? this.detail;
  }

  /** A thread of this room, kept true as long as the room is. */
  thread(rootId: string): OpenThread {
    const known = this.#threads.get(rootId) ?? new OpenThread(this.id, rootId);
    this.#threads.delete(rootId);
    this.#threads.set(rootId, known);
    const oldest = this.#threads.keys().next().value;
    if (this.#threads.size > THREADS_KEPT_MAX && oldest) this.#threads.delete(oldest);
    return known;
  }

  /** What a route answered for one entry, wherever it stands. */
  putEntry(entryId: string, change: Partial<Entry>): void {
    this.timeline.put(entryId, change);
    for (const thread of this.#threads.values()) thread.put(entryId, change);
  }

  isMember(authorId: string): boolean {
    return this.#members.has(authorId);
  }

  /** Reads the room and its newest entries; the "new" line is set anew. */
  async open(): Promise<void> {
    await this.loadDetail();
    this.#markNew();
    if (!this.error) await Promise.all([this.timeline.loadNewest(), this.canvas.load(), this.turns.load()]);
  }

  /** Comes back to a room that was kept true meanwhile. */
  reopen(): void {
    this.held = false;
    this.#markNew();
  }

  /** The "new" line stands where one had read to, if there is anything to read. */
  #markNew(): void {
    this.newAfter = this.mine && (this.room?.unreadCount ?? 0) > 0 ? this.#known : null;
  }

  /** After a reset: everything again, while scroll, drafts and the "new" line stay. */
  async reload(): Promise<void> {
    await this.loadDetail();
    await Promise.all([this.timeline.loadNewest(), this.canvas.load(), this.turns.load()]);
    for (const thread of this.#threads.values()) void thread.load();
  }

  async loadDetail(): Promise<void> {
    try {
      await readAndApply(
        () => api.rooms.one(this.id),
        (detail, seq) => this.#take(detail, seq),
        (event) => this.#foldDetail(event),
      );
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  }

  applyEvent(event: HallEvent): void {
    this.canvas.applyEvent(event);
    if (roomIdOf(event) !== this.id && event.scope !== `room:${this.id}`) return;
    this.timeline.applyEvent(event);
    this.turns.applyEvent(event);
    for (const thread of this.#threads.values()) thread.applyEvent(event);
    this.#foldDetail(event);
  }

  applySignal({ data, scope }: Signal): void {
    if (scope !== `room:${this.id}` || data.kind !== 'typing') return;
    clearTimeout(this.#typing.get(data.authorId));
    this.#typing.delete(data.authorId);
    if (!data.on) return;
    void authors.ensure(data.authorId);
    this.#typing.set(
      data.authorId,
      setTimeout(() => this.#typing.delete(data.authorId), TYPING_MS),
    );
  }

  /** Moves the read position forward to `seq`; one request at a time, the newest wish wins. */
  async read(seq: number): Promise<void> {
    if (!this.mine || this.held || seq <= Math.max(this.#wanted, this.#known)) return;
    this.#wanted = seq;
    if (this.#reporting) return;
    this.#reporting = true;
    try {
      for (let told = 0; told < this.#wanted; ) {
        told = this.#wanted;
        const { lastReadSeq } = await api.rooms.readTo(this.id, told);
        this.#known = Math.max(this.#known, lastReadSeq);
      }
    } catch {
      // Not worth a message: the position is told again with the next entry or window focus.
      this.#wanted = 0;
    } finally {
      this.#reporting = false;
    }
  }

  /** Everything from entry `seq` on becomes unread again. */
  async markUnreadFrom(seq: number): Promise<void> {
    const { lastReadSeq } = await api.rooms.readTo(this.id, seq - 1, true);
    this.held = true;
    this.#wanted = 0;
    this.#known = lastReadSeq;
    this.newAfter = lastReadSeq;
  }

  #take(detail: RoomDetail, seq: number): void {
    this.#seq = seq;
    this.detail = detail;
    this.#members.clear();
    for (const member of detail.members) this.#put(member);
    authors.know(detail.formerAuthors);
    this.#known = this.mine?.lastReadSeq ?? 0;
  }

  #put(member: Member): void {
    authors.know([member.author]);
    this.#members.set(member.authorId, member);
  }

  #foldDetail(event: HallEvent): void {
    if (event.seq <= this.#seq || roomIdOf(event) !== this.id) return;
    if (event.type === 'room_member_added' || event.type === 'room_member_updated') {
      this.#put(event.data.member as Member);
    } else if (event.type === 'room_member_removed') {
      this.#members.delete(event.data.authorId as string);
    } else if (event.type === 'entry_added') {
      const { authorId, seq } = event.data.entry as Entry;
      // What comes while one looks elsewhere is new when one looks again.
      if (authorId !== authors.meId && !document.hasFocus() && this.#known >= seq - 1) this.newAfter = seq - 1;
      clearTimeout(this.#typing.get(authorId));
      this.#typing.delete(authorId);
    } else if (event.type === 'read_cursor' && event.data.authorId === authors.meId) {
      this.#known = event.data.lastReadSeq as number;
    }
  }
}

/** The rooms last looked into, kept true so that coming back costs nothing. */
class OpenRooms {
  #kept = new Map<string, OpenRoom>();

  get(roomId: string): OpenRoom {
    const known = this.#kept.get(roomId);
    if (known) {
      this.#kept.delete(roomId);
      this.#kept.set(roomId, known);
      return known;
    }
    const room = new OpenRoom(roomId);
    this.#kept.set(roomId, room);
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > KEPT_MAX && oldest) this.#kept.delete(oldest);
    return room;
  }

  applyEvent = (event: HallEvent): void => {
    for (const room of this.#kept.values()) room.applyEvent(event);
  };

  applySignal = (signal: Signal): void => {
    for (const room of this.#kept.values()) room.applySignal(signal);
  };

  reload = (): void => {
    for (const room of this.#kept.values()) void room.reload();
  };
}

const KEPT_MAX = 8;

export const openRooms = new OpenRooms();

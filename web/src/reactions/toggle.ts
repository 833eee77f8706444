import { api } from '../api/client';
import type { Entry } from '../api/types';
import { authors } from '../authors/authors.svelte';
import type { OpenRoom } from '../rooms/open-room.svelte';
import { toasts } from '../ui/toasts.svelte';
import { isMine } from './emoji';

/** Adds one's reaction, or takes it back; shown when the server has said yes. */
export async function toggleReaction(room: OpenRoom, entry: Entry, emoji: string): Promise<void> {
  const mine = entry.reactions.some((reaction) => reaction.emoji === emoji && isMine(reaction, authors.meId));
  try {
    const { reactions } = await (mine ? api.entries.unreact : api.entries.react)(room.id, entry.id, emoji);
    room.putEntry(entry.id, { reactions });
  } catch (error) {
    toasts.fail(error);
  }
}

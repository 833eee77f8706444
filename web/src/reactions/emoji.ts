/** Reactions: the short list that is offered, and who reacted in words. Pure; any other emoji can be typed. */

import type { Reaction } from '../api/types';

export const offered: readonly { emoji: string; name: string }[] = [
  { emoji: '👍', name: 'Thumbs up' },
  { emoji: '👎', name: 'Thumbs down' },
  { emoji: '❤️', name: 'Heart' },
  { emoji: '🎉', name: 'Party' },
  { emoji: '😄', name: 'Smile' },
  { emoji: '😂', name: 'Laughing' },
  { emoji: '🤔', name: 'Thinking' },
  { emoji: '😮', name: 'Surprised' },
  { emoji: '😢', name: 'Sad' },
  { emoji: '👀', name: 'Eyes' },
  { emoji: '✅', name: 'Done' },
  { emoji: '❌', name: 'Cross' },
  { emoji: '🙏', name: 'Thanks' },
  { emoji: '👏', name: 'Applause' },
  { emoji: '🚀', name: 'Rocket' },
  { emoji: '🔥', name: 'Fire' },
  { emoji: '💯', name: 'Hundred' },
  { emoji: '💡', name: 'Idea' },
  { emoji: '🐛', name: 'Bug' },
  { emoji: '⚠️', name: 'Warning' },
  { emoji: '❓', name: 'Question' },
  { emoji: '➕', name: 'Plus' },
  { emoji: '☕', name: 'Coffee' },
  { emoji: '🌱', name: 'Seedling' },
];

/** Names said one by one; the rest is counted. */
const NAMED_MAX = 8;

export const isMine = ({ authorIds }: Reaction, meId: string): boolean => authorIds.includes(meId);

/** `You, Ada and Scribe`, or `You, Ada … and 12 more`; oneself first. */
export function whoReacted({ authorIds }: Reaction, meId: string, nameOf: (authorId: string) => string): string {
  const others = authorIds.filter((id) => id !== meId).map(nameOf);
  const names = [...(authorIds.includes(meId) ? ['You'] : []), ...others];
  const shown = names.length > NAMED_MAX ? [...names.slice(0, NAMED_MAX), `${names.length - NAMED_MAX} more`] : names;
  const last = shown.at(-1) ?? 'Nobody';
  return shown.length > 1 ? `${shown.slice(0, -1).join(', ')} and ${last}` : last;
}

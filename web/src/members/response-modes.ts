/** When an agent reacts in a room, in words. */

import type { ResponseMode } from '../api/types';

export const responseModes: { mode: ResponseMode; name: string; hint: string }[] = [
  { mode: 'always', name: 'Always', hint: 'reacts to every post' },
  { mode: 'engaged', name: 'Engaged', hint: 'reacts when named, and goes on while spoken with' },
  { mode: 'direct-only', name: 'Direct only', hint: 'reacts to posts that address it alone' },
  { mode: 'mention-only', name: 'Mention only', hint: 'reacts when named' },
  { mode: 'silent', name: 'Silent', hint: 'never reacts by itself' },
];

export const modeName = (mode: ResponseMode): string => responseModes.find((known) => known.mode === mode)?.name ?? mode;

/** What stands unsent in a room's composer, kept per room and never sent by itself. */

import { keep, kept } from '../ui/browser-storage';

const keyOf = (roomId: string) => `guildhall.draft.${roomId}`;

export const draftOf = (roomId: string): string => kept(keyOf(roomId));
export const keepDraft = (roomId: string, text: string): void => keep(keyOf(roomId), text);

/** What stands unsent in a room's composer, kept per room and never sent by itself. */

import { storeValue, storedValue } from '../ui/browser-storage';

const keyOf = (roomId: string) => `guildhall.draft.${roomId}`;

export const draftOf = (roomId: string): string => storedValue(keyOf(roomId));
export const keepDraft = (roomId: string, text: string): void => storeValue(keyOf(roomId), text);

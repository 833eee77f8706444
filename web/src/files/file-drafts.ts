/** Texts of files that are not saved yet, kept in this browser with what they were based on. */

import { storeValue, storedValue } from '../ui/browser-storage';

/** What a text was made from: a save holds only while the file still is exactly this. */
export type DraftBase = { content: string; hash: string; identity: string };
export type Draft = { base: DraftBase; text: string; at: string };

/** Browsers keep about five million characters for one address; one draft takes a part of them at most. */
export const DRAFT_CHARS_MAX = 1_500_000;

const keyOf = (path: string) => `guildhall.file-draft.${path}`;

/** The draft of the file of this whole path; null when there is none or it cannot be read. */
export function draftOf(path: string): Draft | null {
  try {
    const draft = JSON.parse(storedValue(keyOf(path)) || 'null') as Draft | null;
    return typeof draft?.text === 'string' && typeof draft.base?.hash === 'string' && typeof draft.base.content === 'string' ? draft : null;
  } catch {
    return null;
  }
}

/** False when it was too large to be kept: then it lives as long as the page. */
export function keepDraft(path: string, draft: Draft): boolean {
  if (draft.text.length + draft.base.content.length > DRAFT_CHARS_MAX) {
    dropDraft(path);
    return false;
  }
  const value = JSON.stringify(draft);
  storeValue(keyOf(path), value);
  return storedValue(keyOf(path)) === value;
}

export const dropDraft = (path: string): void => storeValue(keyOf(path), '');

/** Texts of canvas documents that are not saved yet, kept in this browser per canvas with what they were based on. */

import { storeValue, storedValue } from '../ui/browser-storage';
import type { Content } from './content';

export type Draft = {
  /** The content that was opened, with its revision: what a conflict is judged against. */
  base: Content;
  rev: number;
  title: string;
  text: string;
  at: string;
};

export type Drafts = Record<string, Draft>;

const keyOf = (canvasId: string) => `guildhall.canvas-drafts.${canvasId}`;

export function draftsOf(canvasId: string): Drafts {
  try {
    return JSON.parse(storedValue(keyOf(canvasId)) || '{}') as Drafts;
  } catch {
    return {};
  }
}

/** Keeps or, with null, forgets one draft; another tab's drafts of the same canvas stay. Returns what is kept now. */
export function keepDraft(canvasId: string, documentId: string, draft: Draft | null): Drafts {
  const { [documentId]: _, ...others } = draftsOf(canvasId);
  const drafts = draft ? { ...others, [documentId]: draft } : others;
  storeValue(keyOf(canvasId), Object.keys(drafts).length === 0 ? '' : JSON.stringify(drafts));
  return drafts;
}

/** Texts of canvas documents that are not saved yet, kept in this browser per room with what they were based on. */

import { keep, kept } from '../ui/storage';
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

const keyOf = (roomId: string) => `guildhall.canvas-drafts.${roomId}`;

export function draftsOf(roomId: string): Drafts {
  try {
    return JSON.parse(kept(keyOf(roomId)) || '{}') as Drafts;
  } catch {
    return {};
  }
}

/** Keeps or, with null, forgets one draft; another tab's drafts of the same room stay. Returns what is kept now. */
export function keepDraft(roomId: string, documentId: string, draft: Draft | null): Drafts {
  const { [documentId]: _, ...others } = draftsOf(roomId);
  const drafts = draft ? { ...others, [documentId]: draft } : others;
  keep(keyOf(roomId), Object.keys(drafts).length === 0 ? '' : JSON.stringify(drafts));
  return drafts;
}

/** Shapes the interface document does not name yet; gone as soon as it does. */

import type { Attachment, Entry } from './types';

export type Account = { id: string; email: string; displayName: string; role: 'owner' | 'person'; authorId: string; createdAt: string };
export type InvitedAccount = { account: Account; invitePassword: string };
export type ApiKey = { id: string; label: string; createdAt: string; lastUsedAt?: string | null };
export type MadeKey = { id: string; label: string; key: string; createdAt: string };
export type Span = { offset: number; length: number };
export type SearchResult = {
  source: string;
  roomId: string;
  entryId: string;
  seq: number;
  authorId: string;
  createdAt: string;
  excerpt: string;
  spans: Span[];
};
export type SearchPage = { results: SearchResult[]; nextCursor: string | null; warnings: unknown[] };
export type ThreadPage = { root: Entry; entries: Entry[]; hasMore: boolean };
export type ThreadSummary = {
  roomId: string;
  roomTitle: string;
  root: Entry;
  replyCount: number;
  unreadCount: number;
  lastActivityAt: string;
};
export type ThreadList = { threads: ThreadSummary[]; nextCursor: string | null };
export type Uploaded = { attachments: Attachment[] };

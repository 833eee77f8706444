/**
 * Texts on their way to the server, kept in this browser until an answer came.
 * Each has a key that makes a repeat harmless: the server posts one entry per key.
 */

import { storeValue, storedValue } from '../ui/browser-storage';

export type UnsentPost = {
  key: string;
  text: string;
  /** The entry it answers in a thread; null in the room itself. */
  threadRootEntryId: string | null;
  /** Files that are on the server already and go out with it. */
  attachmentIds: string[];
  /** When Enter was pressed, RFC 3339. */
  at: string;
  state: 'sending' | 'failed';
};

/** After this long without an answer, a text of another (perhaps closed) tab counts as not sent. */
const UNANSWERED_MS = 60_000;

const keyOf = (roomId: string) => `guildhall.outbox.${roomId}`;

/** What an earlier page left: its answers never came, so each waits for a person's "Send again". */
export function unansweredPosts(roomId: string, now: number): UnsentPost[] {
  return read(roomId)
    .filter((item) => item.state === 'failed' || now - Date.parse(item.at) > UNANSWERED_MS || item.tab === tabId())
    .map(({ key, text, threadRootEntryId, attachmentIds, at }) => ({ key, text, threadRootEntryId, attachmentIds, at, state: 'failed' }));
}

export function saveUnsent(roomId: string, item: UnsentPost): void {
  const others = read(roomId).filter(({ key }) => key !== item.key);
  write(roomId, [...others, { ...item, tab: tabId() }]);
}

export function removeUnsent(roomId: string, key: string): void {
  write(
    roomId,
    read(roomId).filter((item) => item.key !== key),
  );
}

type Stored = UnsentPost & { tab: string };

function read(roomId: string): Stored[] {
  try {
    const stored = JSON.parse(storedValue(keyOf(roomId)) || '[]') as Stored[];
    return stored.map((item) => ({ ...item, threadRootEntryId: item.threadRootEntryId ?? null, attachmentIds: item.attachmentIds ?? [] }));
  } catch {
    return [];
  }
}

function write(roomId: string, items: Stored[]): void {
  storeValue(keyOf(roomId), items.length === 0 ? '' : JSON.stringify(items));
}

/** The same for one tab over its reloads. */
function tabId(): string {
  try {
    const known = sessionStorage.getItem('guildhall.tab');
    if (known) return known;
    const made = newIdempotencyKey();
    sessionStorage.setItem('guildhall.tab', made);
    return made;
  } catch {
    return '';
  }
}

/** 128 random bits as hex; unlike `crypto.randomUUID` also on plain http off loopback. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

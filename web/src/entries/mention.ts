/** Completing and checking @-mentions while one writes. Pure; what counts is decided by the server. */

import type { Author } from '../api/types';

/** The mention being written at the caret: where its `@` stands and what follows it. */
export type MentionFragment = { start: number; query: string };

export type Candidate = {
  author: Author;
  member: boolean;
  /** Why choosing them will not reach them; `""` when it will. */
  warning: string;
};

const NAME = /^[A-Za-z0-9._-]*$/;

/** The half-written mention before `caret`, or null. An `@` inside a word (an e-mail address) is none. */
export function mentionFragmentAt(text: string, caret: number): MentionFragment | null {
  const start = text.lastIndexOf('@', caret - 1);
  if (start === -1 || (start > 0 && /[\p{L}\p{N}_.@-]/u.test(text[start - 1] ?? ''))) return null;
  const query = text.slice(start + 1, caret);
  if (!NAME.test(query) || query.length > 32 || insideCode(text, start)) return null;
  return { start, query: query.toLowerCase() };
}

/** True when `at` stands in fenced or inline code, where the server reads no mentions. */
function insideCode(text: string, at: number): boolean {
  const before = text.slice(0, at);
  if ((before.match(/^```/gm)?.length ?? 0) % 2 === 1) return true;
  const line = before.slice(before.lastIndexOf('\n') + 1);
  return ((line.match(/`/g)?.length ?? 0) - (line.match(/```/g)?.length ?? 0) * 3) % 2 === 1;
}

/** Who fits the query: members first, then those who would not be reached, each with the reason. */
export function candidatesFor(
  query: string,
  authors: readonly Author[],
  isMember: (authorId: string) => boolean,
  max = 8,
): Candidate[] {
  return authors
    .filter((author) => !author.retired && author.kind !== 'system')
    .map((author) => ({ author, member: isMember(author.id), fit: fitOf(query, author) }))
    .filter(({ fit }) => fit > 0)
    .sort((a, b) => rank(b) - rank(a) || a.author.displayName.localeCompare(b.author.displayName))
    .slice(0, max)
    .map(({ author, member }) => ({ author, member, warning: warningFor(author, member) }));
}

function rank({ author, member, fit }: { author: Author; member: boolean; fit: number }): number {
  return (author.handle !== '' ? 100 : 0) + (member ? 10 : 0) + fit;
}

function fitOf(query: string, { handle, displayName }: Author): number {
  if (query === '') return 1;
  const name = displayName.toLowerCase();
  if (handle.startsWith(query)) return 4;
  if (name.startsWith(query)) return 3;
  if (name.split(/\s+/).some((word) => word.startsWith(query))) return 2;
  return handle.includes(query) ? 1 : 0;
}

function warningFor(author: Author, member: boolean): string {
  if (author.handle === '') return 'has no handle';
  return member ? '' : 'not a member';
}

/** The text with the half-written mention replaced, and where the caret goes. */
export function completeMention(text: string, writing: MentionFragment, caret: number, handle: string): { text: string; caret: number } {
  const after = text.slice(caret);
  const inserted = `@${handle}${/^\s/.test(after) ? '' : ' '}`;
  return { text: text.slice(0, writing.start) + inserted + after, caret: writing.start + handle.length + 2 };
}

/** Authors whose handle is written in the text although they are not members: their name stays plain text. */
export function unreachedMentions(text: string, authors: readonly Author[], isMember: (authorId: string) => boolean): Author[] {
  const names = new Set(
    [...text.matchAll(/(?<![\p{L}\p{N}_.@-])@([A-Za-z0-9][A-Za-z0-9._-]*)/gu)]
      .filter((match) => !insideCode(text, match.index))
      .flatMap(([, name = '']) => [name.toLowerCase(), name.toLowerCase().replace(/[._-]+$/, '')]),
  );
  return authors.filter(
    ({ id, handle, retired, kind }) => handle !== '' && !retired && kind !== 'system' && names.has(handle) && !isMember(id),
  );
}

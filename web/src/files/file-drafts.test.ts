import { beforeEach, expect, test, vi } from 'vitest';
import { DRAFT_CHARS_MAX, draftOf, dropDraft, keepDraft } from './file-drafts';

const base = { content: 'old', hash: 'a'.repeat(64), identity: 'i' };
const draft = { base, text: 'new', at: '2026-01-01T00:00:00Z' };
let room = Infinity;

beforeEach(() => {
  const held = new Map<string, string>();
  room = Infinity;
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => held.get(key) ?? null,
    setItem: (key: string, value: string) => {
      if (value.length > room) throw new Error('full');
      held.set(key, value);
    },
    removeItem: (key: string) => held.delete(key),
  });
});

test('a draft is kept with what it was made from, and dropped', () => {
  expect(keepDraft('/a', draft)).toBe(true);
  expect(draftOf('/a')).toEqual(draft);
  expect(draftOf('/b')).toBeNull();
  dropDraft('/a');
  expect(draftOf('/a')).toBeNull();
});

test('what is too large, or finds no room, is said to be not kept', () => {
  keepDraft('/a', draft);
  expect(keepDraft('/a', { ...draft, text: 'x'.repeat(DRAFT_CHARS_MAX) })).toBe(false);
  expect(draftOf('/a')).toBeNull();
  room = 10;
  expect(keepDraft('/a', draft)).toBe(false);
});

test('what somebody else wrote there is no draft', () => {
  localStorage.setItem('guildhall.file-draft./a', '{"text":1}');
  expect(draftOf('/a')).toBeNull();
  localStorage.setItem('guildhall.file-draft./a', '{');
  expect(draftOf('/a')).toBeNull();
});

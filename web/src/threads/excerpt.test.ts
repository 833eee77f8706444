import { expect, test } from 'vitest';
import type { Entry } from '../api/types';
import { excerptOf } from './excerpt';

const entry = (more: Partial<Entry>): Entry => ({ text: '', redactedAt: null, attachments: [], ...more }) as Entry;

test('a text is one line, cut between characters', () => {
  expect(excerptOf(entry({ text: ' one\n\n  two ' }))).toBe('one two');
  const cut = excerptOf(entry({ text: '👩'.repeat(200) }));
  expect([...cut]).toHaveLength(140);
  expect(cut.endsWith('👩…')).toBe(true);
});

test('without a text the files stand for it, and what is gone says so', () => {
  expect(excerptOf(entry({ attachments: [{ name: 'a.png' }, { name: 'b.pdf' }] as Entry['attachments'] }))).toBe('a.png, b.pdf');
  expect(excerptOf(entry({ redactedAt: 't', text: '' }))).toBe('text removed');
});

test('what hides or reorders is made visible', () => {
  expect(excerptOf(entry({ text: 'a\u202Eb' }))).toBe('a⟨U+202E⟩b');
});

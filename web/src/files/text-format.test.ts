import { expect, test } from 'vitest';
import { fromEditor, textFormatOf, textFormatText, toEditor } from './text-format';

const texts = ['', 'a', 'a\n', 'a\r\nb\r\n', 'a\r\nb\n', 'a\rb', '\r', '\n\r', '\u{feff}a\r\n😀', '\u{feff}', '\u{feff}a\rb\n', 'a\u{feff}\r\n', '\r\n\r\n'];

test('whatever the line ends are, what was not changed is saved as it was opened', () => {
  for (const text of texts) expect(fromEditor(toEditor(text), textFormatOf(text))).toBe(text);
});

test('one kind of line end is seen as what it is', () => {
  expect(texts.slice(0, 7).map((text) => textFormatOf(text).ends)).toEqual(['lf', 'lf', 'lf', 'crlf', 'mixed', 'mixed', 'mixed']);
  expect(toEditor('\u{feff}a\r\nb')).toBe('a\nb');
});

test('new lines get the kind the file has', () => {
  expect(fromEditor('a\nb\nc', { ends: 'crlf', mark: true })).toBe('\u{feff}a\r\nb\r\nc');
  expect(fromEditor('a\nb', { ends: 'lf', mark: false })).toBe('a\nb');
});

test('only the unusual is said', () => {
  expect([textFormatText({ ends: 'lf', mark: false }), textFormatText({ ends: 'mixed', mark: true })]).toEqual(['', 'mixed line ends, byte order mark']);
});

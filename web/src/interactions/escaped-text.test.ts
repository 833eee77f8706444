import { expect, test } from 'vitest';
import { escapedPieces, escapedText } from './escaped-text';

test('what cannot be seen is written out', () => {
  expect(escapedText('rm\u200B -rf \u202E/\u2066x')).toBe('rm⟨U+200B⟩ -rf ⟨U+202E⟩/⟨U+2066⟩x');
  for (const code of [0x00, 0x07, 0x0d, 0x1b, 0x7f, 0x85, 0xa0, 0xad, 0x200c, 0x200d, 0x2028, 0x3164, 0xfe0f, 0xfeff, 0xe0041]) {
    const char = String.fromCodePoint(code);
    expect(escapedText(`a${char}b`)).toBe(`a⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩b`);
  }
});

test('what can be seen stays, tabs and line ends too', () => {
  const text = 'Größe\t“x” 日本\nnext 👋';
  expect(escapedPieces(text)).toEqual([{ text, hidden: false }]);
});

test('stretches come in order, each hidden character alone', () => {
  expect(escapedPieces('\u200B\u200Ba')).toEqual([
    { text: 'U+200B', hidden: true },
    { text: 'U+200B', hidden: true },
    { text: 'a', hidden: false },
  ]);
  expect(escapedPieces('')).toEqual([]);
});

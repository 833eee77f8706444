import { expect, test } from 'vitest';
import { dialectOf, extensionOf, initialViewMode, iconOf, isRenderedOnly, languageNamed, languageOf, mediaOf, renderedKindOf } from './file-types';

test('a name says what a file is shown as', () => {
  const kinds = ['a/Photo.PNG', 'b.pdf', 'c.mp3', 'd.webm', 'e.glb', 'f.rs', 'Makefile', '.png', 'a.png/b'];
  expect(kinds.map(mediaOf)).toEqual(['image', 'pdf', 'audio', 'video', 'model3d', null, null, null, null]);
  expect(['.gitignore', 'a.tar.gz', 'x.'].map(extensionOf)).toEqual(['', 'gz', '']);
});

test('what is a text and more is shown in both ways, and a picture of bytes in one', () => {
  expect(['a.svg', 'a.md', 'a.csv', 'a.html', 'a.rs'].map(renderedKindOf)).toEqual(['image', 'markdown', 'table', 'page', null]);
  expect(['a.svg', 'a.md', 'a.png', 'a.rs'].map(initialViewMode)).toEqual(['shown', 'text', 'shown', 'text']);
  expect(['a.svg', 'a.png', 'a.md'].map(isRenderedOnly)).toEqual([false, true, false]);
  expect(['a.png', 'a.md', 'a.json', 'a.rs'].map(iconOf)).toEqual(['picture', 'text', 'braces', 'file']);
});

test('languages by name, and the dialects of JavaScript', () => {
  expect(['a.ts', 'b.json', 'c.md', 'd.css', 'e.html', 'f.py', 'g.rs', 'h.txt'].map(languageOf)).toEqual(['javascript', 'json', 'markdown', 'css', 'html', 'python', 'rust', null]);
  expect(['a.ts', 'a.tsx', 'a.js', 'a.mts'].map(dialectOf)).toEqual([
    { jsx: false, typescript: true },
    { jsx: true, typescript: true },
    { jsx: true, typescript: false },
    { jsx: false, typescript: true },
  ]);
  expect(['Rust', 'typescript', 'py', 'cobol', 'constructor', ''].map(languageNamed)).toEqual(['rust', 'javascript', 'python', null, null, null]);
  expect(dialectOf('TypeScript').typescript).toBe(true);
});

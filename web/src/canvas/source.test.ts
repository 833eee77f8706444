import { expect, test } from 'vitest';
import { baseName, parseBrowserUrl, parseDataUrl, isDataImage, sizeText, sourceOf, parseWebUrl } from './source';

const textOf = (src: string) => new TextDecoder().decode(parseDataUrl(src)?.bytes);

test('a source is a text of its own, an address, or a path', () => {
  expect(sourceOf('data:text/csv,a')).toMatchObject({ kind: 'data', mime: 'text/csv' });
  expect(sourceOf('https://x.example/a.png')).toMatchObject({ kind: 'remote' });
  expect(sourceOf('/home/ada/a.png')).toEqual({ kind: 'path', path: '/home/ada/a.png' });
  expect(sourceOf('javascript:alert(1)')).toEqual({ kind: 'path', path: 'javascript:alert(1)' });
  expect(sourceOf('data:image/png;base64,%%%')).toMatchObject({ kind: 'path' });
});

test('data addresses in base64 and percent form', () => {
  expect(textOf('data:text/csv;charset=utf-8;base64,YSxiCjEsMg==')).toBe('a,b\n1,2');
  expect(textOf('data:text/csv,a%2Cb%0A1,ü')).toBe('a,b\n1,ü');
  expect(parseDataUrl('data:,x')?.mime).toBe('text/plain');
  expect(parseDataUrl('data:no comma')).toBeNull();
});

test('what a browser opens, as people and agents write it', () => {
  const href = (text: string) => parseBrowserUrl(text, 'http://hall.example')?.href ?? null;
  expect(href('localhost:5173/a')).toBe('http://localhost:5173/a');
  expect(href('/serve/t/x')).toBe('http://hall.example/serve/t/x');
  expect(href('https://x.example')).toBe('https://x.example/');
  expect(['//evil.example', 'localhost.evil', 'javascript:alert(1)'].map(href)).toEqual([null, null, null]);
});

test('only a picture in the address itself counts as one', () => {
  expect(isDataImage('data:image/svg+xml;utf8,<svg/>')).toBe(true);
  expect(isDataImage('data:text/html,image/png')).toBe(false);
  expect(isDataImage('https://x.example/data:image/png,')).toBe(false);
});

test('addresses by their scheme, names and sizes', () => {
  expect(parseWebUrl('ftp://x.example')).toBeNull();
  expect(parseWebUrl('mailto:a@b', ['mailto:'])?.href).toBe('mailto:a@b');
  expect([baseName('/a/b.md'), baseName('C:\\x\\y.csv'), baseName('/')]).toEqual(['b.md', 'y.csv', '/']);
  expect([sizeText(12), sizeText(1_240), sizeText(3_450_000), sizeText(750_000)]).toEqual(['12 B', '1.2 kB', '3.5 MB', '750 kB']);
});

import { expect, test } from 'vitest';
import { copyOf, isCopyable, isKind, kindName, textOf, withText, fieldText } from './content';
import { contentOf, dataAddress, isReplaceable, openable, valueOf } from './document-forms';

test('what an editor edits goes back where it came from', () => {
  const text = { type: 'markdown', title: 'Plan', content: '# a', sourcePath: '/a.md' };
  expect(textOf(text)).toBe('# a');
  expect(withText(text, '# b')).toEqual({ ...text, content: '# b' });
  const json = { type: 'json', title: 'x', data: { a: [1] } };
  expect(withText(json, textOf(json))).toEqual(json);
  expect(() => withText(json, '{')).toThrow(SyntaxError);
});

test('kinds the page does not know keep their own name and are compared whole', () => {
  expect([isKind('hologram'), isKind('toString'), kindName('hologram')]).toEqual([false, false, 'hologram']);
  expect(textOf({ type: 'hologram', beam: 1 })).toContain('"beam": 1');
  expect(fieldText({ type: 'x', a: 1 }, 'a')).toBe('');
});

test('a copy is another document: it has no path', () => {
  expect(['markdown', 'json', 'url', 'file'].map((type) => isCopyable({ type }))).toEqual([true, true, false, false]);
  expect(copyOf({ type: 'markdown', content: 'a', sourcePath: '/a.md' }, 'a.md')).toEqual({ type: 'markdown', content: 'a', title: 'a.md (copy)' });
});

test('a form says a content, and what it replaces stays otherwise as it was', () => {
  expect(contentOf('url', ' https://x.example ', ' Site ')).toEqual({ type: 'url', url: 'https://x.example', title: 'Site' });
  expect(contentOf('markdown', ' a ', '')).toEqual({ type: 'markdown', content: ' a ' });
  expect(contentOf('json', '[1]', '')).toEqual({ type: 'json', data: [1] });
  const before = { type: 'image', src: 'https://x.example/a.png', alt: 'map', title: 'Old' };
  expect(contentOf('image', valueOf(before), '', before)).toEqual({ type: 'image', src: 'https://x.example/a.png', alt: 'map' });
});

test('whatever a person can open can be replaced', () => {
  expect(openable.filter((type) => !isReplaceable({ type }))).toEqual([]);
  expect(isReplaceable({ type: 'mcp_app' })).toBe(false);
});

test('a chosen file becomes an address of its own bytes', async () => {
  expect(await dataAddress('csv', new File(['a,b'], 'x.csv', { type: 'application/vnd.ms-excel' }))).toBe('data:text/csv;base64,YSxi');
  expect(await dataAddress('image', new File(['x'], 'x.png', { type: 'image/png' }))).toBe('data:image/png;base64,eA==');
});

import { expect, test } from 'vitest';
import type { TreeEntry } from '../api/types';
import { treeMove, treeRows, typeahead, type TreeBranch } from './tree-rows';

const entry = (path: string, type: 'dir' | 'file' = 'file', isSymlink = false): TreeEntry => ({
  name: path.split('/').at(-1) ?? '',
  path,
  type,
  size: 1,
  mtime: '2026-01-01T00:00:00Z',
  isSymlink,
});
const branch = (...entries: TreeEntry[]): TreeBranch => ({ entries, truncated: false, busy: false, error: null });

const read = new Map([
  ['', branch(entry('docs', 'dir'), entry('src', 'dir'), entry('src-link', 'dir', true), entry('a.md'))],
  ['src', branch(entry('src/lib', 'dir'), entry('src/main.rs'))],
  ['docs', branch()],
]);
const rows = treeRows(read, new Set(['', 'src', 'docs']));
const said = (all = rows) => all.map((row) => `${row.level} ${row.kind === 'note' ? `(${row.text})` : row.path}`);

test('open folders show what lies in them, level by level', () => {
  expect(said()).toEqual(['1 docs', '2 (Empty)', '1 src', '2 src/lib', '2 src/main.rs', '1 src-link', '1 a.md']);
  expect(said(treeRows(new Map([['', { ...branch(entry('a')), truncated: true }]]), new Set()))).toEqual(['1 a', '1 (There is more than is listed.)']);
  expect(said(treeRows(new Map([['', { ...branch(), error: new Error('x') }]]), new Set()))).toEqual(['1 (This folder could not be read.)']);
});

test('keys move, open and close as in every tree', () => {
  const at = (key: string, path: string) => treeMove(key, path, rows);
  expect(at('ArrowDown', 'docs')).toEqual({ kind: 'go', path: 'src' });
  expect(at('ArrowUp', 'docs')).toEqual({ kind: 'go', path: 'docs' });
  expect(at('End', 'docs')).toEqual({ kind: 'go', path: 'a.md' });
  expect(at('ArrowRight', 'src')).toEqual({ kind: 'go', path: 'src/lib' });
  expect(at('ArrowRight', 'src/lib')).toEqual({ kind: 'open', path: 'src/lib' });
  expect(at('ArrowLeft', 'src/lib')).toEqual({ kind: 'go', path: 'src' });
  expect(at('ArrowLeft', 'src')).toEqual({ kind: 'close', path: 'src' });
  expect(at('Enter', 'a.md')).toEqual({ kind: 'choose', path: 'a.md' });
  expect([at('ArrowRight', 'a.md'), at('ArrowLeft', 'a.md'), at('x', 'a.md')]).toEqual([null, null, null]);
  // What lies behind a link is not listed, so a link is never opened.
  expect(at('ArrowRight', 'src-link')).toBeNull();
});

test('a letter goes to the next name that begins with it', () => {
  expect(typeahead('s', 'docs', rows)).toBe('src');
  expect(typeahead('S', 'src', rows)).toBe('src-link');
  expect(typeahead('d', 'a.md', rows)).toBe('docs');
  expect(typeahead('z', 'a.md', rows)).toBeNull();
});

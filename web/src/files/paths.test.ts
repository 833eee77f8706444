import { expect, test } from 'vitest';
import { previewTargetOf, filesPath, folderOf, foldersAbove, isFolderName, isAbsolute, joinPath, fileNameOf, portOf, pathWithin } from './paths';

test('a path is put together, taken apart, and named from its folder', () => {
  expect([joinPath('/a/', 'b/c'), joinPath('/a', ''), joinPath('/a', '/x'), joinPath('/', 'x')]).toEqual(['/a/b/c', '/a', '/x', '/x']);
  expect([folderOf('/a/b'), folderOf('/a'), folderOf('/'), folderOf('a'), folderOf('a/b/')]).toEqual(['/a', '/', '/', '', 'a']);
  expect([fileNameOf('/a/b/'), fileNameOf('b'), fileNameOf('/')]).toEqual(['b', 'b', '/']);
  expect([pathWithin('/a', '/a/b/c'), pathWithin('/a', '/ab'), pathWithin('/a/', '/a'), pathWithin('/', '/x')]).toEqual(['b/c', null, '', 'x']);
});

test('to see a file, the folders above it are opened from outside in', () => {
  expect(foldersAbove('a/b/c.ts')).toEqual(['a', 'a/b']);
  expect(foldersAbove('c.ts')).toEqual([]);
});

test('an address says what is shown, and is read back as it was written', () => {
  const address = filesPath('/home/ada lovelace', 'a&b/ü.md', 5173);
  const query = new URLSearchParams(address.slice(address.indexOf('?')));
  expect([query.get('cwd'), query.get('path'), previewTargetOf(query.get('preview') ?? '')]).toEqual(['/home/ada lovelace', 'a&b/ü.md', 5173]);
  expect(filesPath()).toBe('/files');
});

test('what is no port is none', () => {
  expect(['1', '65535', ' 80 ', '0', '65536', '80a', '', '1e3'].map(portOf)).toEqual([1, 65_535, 80, null, null, null, null, null]);
  expect(['list', 'folder', '8080', 'x'].map(previewTargetOf)).toEqual(['list', 'folder', 8080, '']);
});

test('folders and their names as the server takes them', () => {
  expect(['/a', '~', '~/a', 'a', '~ada'].map(isAbsolute)).toEqual([true, true, true, false, false]);
  expect(['a', 'My site 2', '.git', 'a.', '', 'a/b', 'x'.repeat(64), 'x'.repeat(65)].map(isFolderName)).toEqual([true, true, false, false, false, false, true, false]);
});

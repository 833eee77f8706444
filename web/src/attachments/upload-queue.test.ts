import { expect, test } from 'vitest';
import { FILES_MAX, filesLeft, sizeText, uploadStatus, starting, newUpload, withUpload, type Upload } from './upload-queue';

const file = (name: string) => ({ name, size: 10 });
const queue = (...states: Upload['state'][]): Upload[] => states.map((state, key) => ({ ...newUpload(key, file(`f${key}`)), state }));

test('two files are sent at a time, oldest first', () => {
  expect(starting(queue('waiting', 'waiting', 'waiting')).map(({ key }) => key)).toEqual([0, 1]);
  expect(starting(queue('ready', 'sending', 'waiting', 'waiting')).map(({ key }) => key)).toEqual([2]);
  expect(starting(queue('sending', 'sending', 'waiting'))).toEqual([]);
  expect(starting(queue('failed', 'waiting')).map(({ key }) => key)).toEqual([1]);
});

test('an entry holds ten files, whatever is dropped', () => {
  expect(filesLeft([], 3)).toBe(3);
  expect(filesLeft(queue('ready', 'failed'), 50)).toBe(FILES_MAX - 2);
  expect(filesLeft(Array.from({ length: 10 }, (_, key) => newUpload(key, file('x'))), 1)).toBe(0);
});

test('sending waits for every file, and a failed one stops it', () => {
  expect(uploadStatus([])).toBe('none');
  expect(uploadStatus(queue('ready', 'sending'))).toBe('busy');
  expect(uploadStatus(queue('waiting'))).toBe('busy');
  expect(uploadStatus(queue('ready', 'failed', 'sending'))).toBe('failed');
  expect(uploadStatus(queue('ready', 'ready'))).toBe('ready');
});

test('a change touches one file', () => {
  const before = queue('sending', 'sending');
  const after = withUpload(before, 1, { part: 0.5 });
  expect(after.map(({ part }) => part)).toEqual([0, 0.5]);
  expect(after[0]).toBe(before[0]);
});

test('sizes are said in two digits', () => {
  expect([0, 999, 1000, 3449, 9960, 123_456, 2_100_000, 10_485_760].map(sizeText)).toEqual([
    '0 B', '999 B', '1.0 kB', '3.4 kB', '10 kB', '123 kB', '2.1 MB', '10 MB',
  ]);
});

import { expect, test } from 'vitest';
import { fileErrorText } from './file-errors';

const CODES = ['FILE_TOO_LARGE', 'BINARY_FILE', 'NOT_UTF8', 'NOT_FOUND', 'OUTSIDE_BOUNDARY', 'PERMISSION_DENIED', 'OWNER_ONLY', 'NOT_A_FILE', 'NOT_A_DIRECTORY', 'UNSUPPORTED_TYPE'];

test('every refusal that says what a file is has a page of its own', () => {
  expect(CODES.filter((code) => fileErrorText(code) === null)).toEqual([]);
  expect(fileErrorText('UNREACHABLE')).toBeNull();
});

test('only what may be read can be saved elsewhere', () => {
  expect(CODES.filter((code) => fileErrorText(code)?.bytes)).toEqual(['FILE_TOO_LARGE', 'BINARY_FILE', 'NOT_UTF8', 'UNSUPPORTED_TYPE']);
});

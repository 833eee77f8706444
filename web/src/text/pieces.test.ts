import { expect, test } from 'vitest';
import { piecesOf } from './entry-pieces';

test('plain text stays as it was typed, newlines too', () => {
  expect(piecesOf('one\n  two', [])).toEqual([{ kind: 'text', text: 'one\n  two' }]);
});

test('markup is text', () => {
  expect(piecesOf('<b>*hi*</b> [x](javascript:alert(1))', [])).toEqual([
    { kind: 'text', text: '<b>*hi*</b> [x](javascript:alert(1))' },
  ]);
});

test('addresses are links, without the punctuation of the sentence', () => {
  expect(piecesOf('see https://a.example/x?y=1. (http://b.example)', [])).toEqual([
    { kind: 'text', text: 'see ' },
    { kind: 'link', text: 'https://a.example/x?y=1', href: 'https://a.example/x?y=1' },
    { kind: 'text', text: '.' },
    { kind: 'text', text: ' (' },
    { kind: 'link', text: 'http://b.example', href: 'http://b.example/' },
    { kind: 'text', text: ')' },
  ]);
});

test('brackets that belong to an address stay in it', () => {
  expect(piecesOf('https://a.example/x_(y)', [])).toMatchObject([{ kind: 'link', text: 'https://a.example/x_(y)' }]);
});

test('mentions are where the server found them, counted in UTF-16 units', () => {
  expect(piecesOf('😀 @ada!', [{ offset: 3, length: 4, authorId: 'a' }])).toEqual([
    { kind: 'text', text: '😀 ' },
    { kind: 'mention', text: '@ada', authorId: 'a' },
    { kind: 'text', text: '!' },
  ]);
});

test('a carriage return before a mention does not move it', () => {
  expect(piecesOf('a\r\n@ada', [{ offset: 3, length: 4, authorId: 'a' }])).toEqual([
    { kind: 'text', text: 'a\n' },
    { kind: 'mention', text: '@ada', authorId: 'a' },
  ]);
});

test('code is shown as code and nothing is read in it', () => {
  expect(piecesOf('run `https://x.example`\n```sh\nls @ada\n```\ndone', [])).toEqual([
    { kind: 'text', text: 'run ' },
    { kind: 'code', text: 'https://x.example' },
    { kind: 'text', text: '\n' },
    { kind: 'block', text: 'ls @ada', language: 'sh' },
    { kind: 'text', text: 'done' },
  ]);
});

test('an unclosed fence runs to the end', () => {
  expect(piecesOf('```\na\nb', [])).toEqual([{ kind: 'block', text: 'a\nb', language: '' }]);
});

test('characters that hide or reorder are made visible', () => {
  expect(piecesOf('abc\u202Edef\u0007', [])).toEqual([
    { kind: 'text', text: 'abc' },
    { kind: 'hidden', text: 'U+202E' },
    { kind: 'text', text: 'def' },
    { kind: 'hidden', text: 'U+0007' },
  ]);
  expect(piecesOf('`a\u200Bb`', [])).toEqual([{ kind: 'code', text: 'a⟨U+200B⟩b' }]);
});

test('an emoji made of several stays one', () => {
  expect(piecesOf('👩‍💻', [])).toEqual([{ kind: 'text', text: '👩‍💻' }]);
});

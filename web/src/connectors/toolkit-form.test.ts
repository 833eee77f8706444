import { expect, test } from 'vitest';
import { blankForm, bodyOf, formOf, slugOf, type ToolkitForm } from './toolkit-form';
import type { Toolkit } from './types';

const form = (some: Partial<ToolkitForm>): ToolkitForm => ({ ...blankForm, slug: 'notes', displayName: 'Notes', document: '{"openapi":"3.1.0"}', ...some });
const fieldOf = (type: 'openapi' | 'mcp', some: Partial<ToolkitForm>) => {
  const read = bodyOf(type, form(some));
  return read.ok ? '' : read.field;
};

test('a pasted document is sent as it is', () => {
  expect(bodyOf('openapi', form({ description: ' About. ', baseUrl: ' https://api.example ' }))).toEqual({
    ok: true,
    value: {
      displayName: 'Notes',
      description: 'About.',
      document: { openapi: '3.1.0' },
      baseUrl: 'https://api.example',
      auth: { kind: 'none' },
      account: null,
      overrides: {},
    },
  });
});

test('a document that is named is sent as its address alone', () => {
  const read = bodyOf('openapi', form({ from: 'address', documentUrl: 'https://api.example/openapi.json' }));
  expect(read.ok && [read.value.documentUrl, 'document' in read.value, 'baseUrl' in read.value]).toEqual(['https://api.example/openapi.json', false, false]);
});

test('an MCP server needs its address and no document', () => {
  const read = bodyOf('mcp', form({ document: '', url: 'http://127.0.0.1:9/mcp' }));
  expect(read.ok && [read.value.url, 'document' in read.value]).toEqual(['http://127.0.0.1:9/mcp', false]);
});

test('the first place that cannot be sent is named', () => {
  expect(fieldOf('openapi', { displayName: ' ' })).toBe('displayName');
  for (const slug of ['', 'Notes', '-notes', 'a'.repeat(65), 'a b']) expect(fieldOf('openapi', { slug })).toBe('slug');
  for (const document of ['', 'openapi: 3.1.0', '[1]', 'null', '"x"']) expect(fieldOf('openapi', { document })).toBe('document');
  expect(fieldOf('openapi', { from: 'address' })).toBe('documentUrl');
  expect(fieldOf('mcp', {})).toBe('url');
  expect(fieldOf('openapi', { authKind: 'api-key', keyName: '' })).toBe('keyName');
  expect(fieldOf('openapi', { authKind: 'oauth2' })).toBe('issuer');
  expect(fieldOf('mcp', { url: 'https://a/mcp', authKind: 'oauth2' })).toBe('');
  expect(fieldOf('mcp', { url: 'https://a/mcp', authKind: 'oauth2', tokenUrl: 'https://a/t' })).toBe('issuer');
  expect(fieldOf('openapi', { authKind: 'oauth2', tokenUrl: 'https://a/t' })).toBe('issuer');
  expect(fieldOf('openapi', { authKind: 'oauth2', flow: 'device_code', tokenUrl: 'https://a/t', authorizationUrl: 'https://a/a' })).toBe('issuer');
  expect(fieldOf('openapi', { authKind: 'oauth2', tokenUrl: 'https://a/t', authorizationUrl: 'https://a/a' })).toBe('');
  expect(fieldOf('openapi', { accountPath: '/me' })).toBe('accountPointer');
  for (const overrides of ['getNote', 'getNote = worse', '= write', 'getNote write']) expect(fieldOf('openapi', { overrides })).toBe('overrides');
});

test('keys, sign-ins, accounts and raised classes are read', () => {
  const key = bodyOf('openapi', form({ authKind: 'api-key', keyIn: 'query', keyName: 'api_key', keyPrefix: '' }));
  expect(key.ok && key.value.auth).toEqual({ kind: 'api-key', in: 'query', name: 'api_key', prefix: '' });
  const oauth = bodyOf('openapi', form({ authKind: 'oauth2', issuer: 'https://id.example', scopes: ' a  b\nc ', overrides: 'a=b = write\n\n x = destructive ', accountPath: '/me', accountPointer: '/name' }));
  expect(oauth.ok && [oauth.value.auth, oauth.value.overrides, oauth.value.account]).toEqual([
    { kind: 'oauth2', flow: 'authorization_code', issuer: 'https://id.example', scopes: ['a', 'b', 'c'] },
    { 'a=b': { classification: 'write' }, x: { classification: 'destructive' } },
    { path: '/me', pointer: '/name' },
  ]);
});

test('what is there survives the form', () => {
  const toolkit: Toolkit = {
    slug: 'mail',
    displayName: 'Mail',
    description: 'Letters.',
    documentUrl: 'https://mail.example/openapi.json',
    baseUrl: 'https://mail.example',
    url: null,
    auth: { kind: 'oauth2', flow: 'device_code', issuer: 'https://id.example', clientId: 'app', scopes: ['mail'] },
    account: { path: '/me', pointer: '/email' },
    overrides: { send: { classification: 'destructive' }, read: { classification: null } },
    version: '1.0',
    operationCount: 2,
    leftOutCount: 0,
    leftOut: [],
    hasCredential: true,
  };
  const read = bodyOf('openapi', formOf(toolkit));
  expect(read).toEqual({
    ok: true,
    value: {
      displayName: 'Mail',
      description: 'Letters.',
      documentUrl: 'https://mail.example/openapi.json',
      baseUrl: 'https://mail.example',
      auth: { kind: 'oauth2', flow: 'device_code', issuer: 'https://id.example', clientId: 'app', scopes: ['mail'] },
      account: { path: '/me', pointer: '/email' },
      overrides: { send: { classification: 'destructive' } },
    },
  });
});

test('a name for people gives a name for addresses', () => {
  expect(['My Notes!', 'Büro  2', '  --x--  ', '日本', 'a'.repeat(80)].map(slugOf)).toEqual(['my-notes', 'buro-2', 'x', '', 'a'.repeat(64)]);
});

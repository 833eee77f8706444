import { expect, test } from 'vitest';
import type { McpConnection } from '../api/types';
import { blankForm, connectionOf, formOf, isBroken, needsNewRequest, isComplete, serverStatus, takesSignIn } from './server';

const stored: McpConnection = { transport: 'stdio', command: 'node', args: ['a b', '', 'line\nbreak'], env: { KEY: 'secret' } };

test('a form that nobody touched says what is stored, and shows no value', () => {
  const form = formOf(stored);
  expect(JSON.stringify(form)).not.toContain('secret');
  expect(connectionOf(form, stored)).toEqual({ ...stored, env: { KEY: '***' } });
});

test('arguments are one a line, with their spaces', () => {
  const form = { ...blankForm, command: ' npx ', args: '-y\n two words \n' };
  expect(connectionOf(form)).toEqual({ transport: 'stdio', command: 'npx', args: ['-y', ' two words '], env: {} });
});

test('of the other transport nothing is sent', () => {
  const form = { ...formOf(stored), transport: 'sse' as const, url: 'http://here/sse', headers: [{ name: '', value: 'x' }] };
  expect(connectionOf(form, stored)).toEqual({ transport: 'sse', url: 'http://here/sse', headers: {} });
  expect(isComplete({ ...form, url: ' ' })).toBe(false);
});

test('what needs a person or failed is broken, what is off or new is not', () => {
  const states = ['ready', 'disabled', 'unknown', 'needsSignIn', 'needsApproval', 'commandMissing', 'failing'];
  expect(states.filter((status) => isBroken({ status }))).toEqual(['needsSignIn', 'needsApproval', 'commandMissing', 'failing']);
});

test('a changed server is asked about again once its question is open no more', () => {
  const changed = { status: 'needsApproval', approvalId: 'q1' };
  expect(needsNewRequest(changed, ['q1', 'q2'])).toBe(false);
  expect(needsNewRequest(changed, ['q2'])).toBe(true);
  expect(needsNewRequest({ ...changed, approvalId: null }, ['q2'])).toBe(true);
  expect(needsNewRequest({ status: 'ready', approvalId: null }, [])).toBe(false);
});

test('a word of a newer server stands as it is', () => {
  expect(serverStatus({ status: 'dreaming' })).toEqual({ status: 'unknown', words: 'dreaming' });
});

test('a sign-in is offered where the server asks for one, and never at a program', () => {
  const http = { transport: 'http' as const, url: 'https://there/mcp', headers: {} };
  const quiet = { connection: http, authStatus: null, status: 'ready' };
  expect(takesSignIn(quiet)).toBe(false);
  expect(takesSignIn({ ...quiet, connection: { ...http, authKind: 'oauth2' } })).toBe(true);
  expect(takesSignIn({ ...quiet, authStatus: 'connected' })).toBe(true);
  expect(takesSignIn({ ...quiet, status: 'needsSignIn' })).toBe(true);
  expect(takesSignIn({ connection: stored, authStatus: 'needs-auth', status: 'needsSignIn' })).toBe(false);
});

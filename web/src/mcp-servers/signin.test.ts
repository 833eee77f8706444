import { expect, test } from 'vitest';
import { linkOf, withSignInEvent, signInText, type SignIn } from './signin';

const known: SignIn = { flowId: 'f1', url: 'http://127.0.0.1:1/api/oauth/start/t', disclosure: 'd', phase: 'opened', code: null, error: null };
const resolved = (data: Record<string, unknown>) => ({ type: 'mcp_signin_resolved', data });

test('a sign-in somebody else asked for is known by its event', () => {
  const data = { flowId: 'f2', signInUrl: 'u', disclosure: 'd' };
  expect(withSignInEvent(known, { type: 'mcp_signin_required', data })).toMatchObject({ flowId: 'f2', url: 'u', phase: 'waiting' });
  expect(withSignInEvent(known, { type: 'mcp_signin_required', data: { ...data, flowId: 'f1' } })).toBeUndefined();
});

test('its end is its own', () => {
  expect(withSignInEvent(known, resolved({ flowId: 'f1', outcome: 'connected', code: null }))).toMatchObject({ phase: 'done', code: null });
  expect(withSignInEvent(known, resolved({ flowId: 'f1', outcome: 'failed', code: 'SIGNIN_EXPIRED' }))).toMatchObject({ code: 'SIGNIN_EXPIRED' });
  expect(withSignInEvent(known, resolved({ flowId: 'f0', outcome: 'connected' }))).toBeUndefined();
  expect(withSignInEvent(undefined, resolved({ flowId: 'f1', outcome: 'connected' }))).toBeUndefined();
});

test('a failure without words here keeps those of the server', () => {
  expect(signInText({ ...known, phase: 'done', code: 'SIGNIN_NEW', error: 'Why.' })).toBe('Why.');
  expect(signInText({ ...known, phase: 'done' })).toBe('Signed in.');
});

test('the link leads to this page’s own address, whatever it says', () => {
  expect(linkOf(known.url, 'http://localhost:9')).toBe('http://localhost:9/api/oauth/start/t');
  expect(linkOf('javascript:alert(1)', 'http://localhost:9')).not.toContain('javascript:');
  expect(linkOf('nonsense', 'http://localhost:9')).toBe('');
});

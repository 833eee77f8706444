import { expect, test } from 'vitest';
import type { WhoAmI } from '../api/types';
import { ApiError } from '../errors/error';
import { endsDoubt, isOfDoubt, needAfter, needOf, passwordTrouble } from './sign-in-requirements';

const who = (more: Partial<WhoAmI>): WhoAmI => ({ mode: 'login', caller: null, ownerHere: false, registrationOpen: false, ...more });
const caller = { kind: 'owner', authorId: 'a', displayName: 'Ada', credential: 'cookie' } as unknown as WhoAmI['caller'];

test('only mode login knows nobody, and the first visitor makes the first account', () => {
  expect(needOf(who({}))).toBe('sign-in');
  expect(needOf(who({ registrationOpen: true }))).toBe('first-account');
  expect(needOf(who({ caller }))).toBe('');
  expect(needOf(who({ mode: 'local' }))).toBe('');
});

test('a refusal says when one is signed out, and most say nothing about it', () => {
  const refused = (code: string) => needAfter(new ApiError(code, '', '', 401));
  expect(refused('AUTH_REQUIRED')).toBe('sign-in');
  expect(refused('SETUP_REQUIRED')).toBe('first-account');
  expect(refused('PASSWORD_CHANGE_REQUIRED')).toBe('new-password');
  for (const code of ['INVALID_CREDENTIALS', 'NOT_THE_OWNER', 'OWNER_ONLY', 'UNREACHABLE']) expect(refused(code)).toBeNull();
});

test('doubt ends with any answer but a refusal for it, and not while nobody answers', () => {
  const refused = (code: string, status: number) => new ApiError(code, '', '', status);
  expect(isOfDoubt(refused('CALLER_IN_DOUBT', 401))).toBe(true);
  expect(isOfDoubt(refused('AUTH_REQUIRED', 401))).toBe(false);
  expect(endsDoubt(null)).toBe(true);
  expect(endsDoubt(refused('AUTH_REQUIRED', 401))).toBe(true);
  expect(endsDoubt(refused('CALLER_IN_DOUBT', 401))).toBe(false);
  expect(endsDoubt(refused('SHUTTING_DOWN', 503))).toBe(false);
  expect(endsDoubt(ApiError.unreachable())).toBe(false);
});

test('a password has 12 to 256 characters, typed twice', () => {
  expect(passwordTrouble('x'.repeat(11), 'x'.repeat(11))).toMatch(/at least 12/);
  expect(passwordTrouble('x'.repeat(257), 'x'.repeat(257))).toMatch(/at most 256/);
  expect(passwordTrouble('x'.repeat(12), 'y'.repeat(12))).toMatch(/not the same/);
  expect(passwordTrouble('🗝️'.repeat(6), '🗝️'.repeat(6))).toBe('');
});

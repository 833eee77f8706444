import { expect, test } from 'vitest';
import type { WhoAmI } from '../api/types';
import { ApiError } from '../errors/error';
import { confirmsOwner, isOwnerUncertain, requirementAfter, signInRequirement, passwordError } from './sign-in-requirements';

const who = (more: Partial<WhoAmI>): WhoAmI => ({ mode: 'login', caller: null, ownerHere: false, registrationOpen: false, ...more });
const caller = { kind: 'owner', authorId: 'a', displayName: 'Ada', credential: 'cookie' } as unknown as WhoAmI['caller'];

test('only mode login knows nobody, and the first visitor makes the first account', () => {
  expect(signInRequirement(who({}))).toBe('sign-in');
  expect(signInRequirement(who({ registrationOpen: true }))).toBe('first-account');
  expect(signInRequirement(who({ caller }))).toBe('');
  expect(signInRequirement(who({ mode: 'local' }))).toBe('');
});

test('a refusal says when one is signed out, and most say nothing about it', () => {
  const refused = (code: string) => requirementAfter(new ApiError(code, '', '', 401));
  expect(refused('AUTH_REQUIRED')).toBe('sign-in');
  expect(refused('SETUP_REQUIRED')).toBe('first-account');
  expect(refused('PASSWORD_CHANGE_REQUIRED')).toBe('new-password');
  for (const code of ['INVALID_CREDENTIALS', 'NOT_THE_OWNER', 'OWNER_ONLY', 'UNREACHABLE']) expect(refused(code)).toBeNull();
});

test('doubt ends with any answer but a refusal for it, and not while nobody answers', () => {
  const refused = (code: string, status: number) => new ApiError(code, '', '', status);
  expect(isOwnerUncertain(refused('CALLER_IN_DOUBT', 401))).toBe(true);
  expect(isOwnerUncertain(refused('AUTH_REQUIRED', 401))).toBe(false);
  expect(confirmsOwner(null)).toBe(true);
  expect(confirmsOwner(refused('AUTH_REQUIRED', 401))).toBe(true);
  expect(confirmsOwner(refused('CALLER_IN_DOUBT', 401))).toBe(false);
  expect(confirmsOwner(refused('SHUTTING_DOWN', 503))).toBe(false);
  expect(confirmsOwner(ApiError.unreachable())).toBe(false);
});

test('a password has 12 to 256 characters, typed twice', () => {
  expect(passwordError('x'.repeat(11), 'x'.repeat(11))).toMatch(/at least 12/);
  expect(passwordError('x'.repeat(257), 'x'.repeat(257))).toMatch(/at most 256/);
  expect(passwordError('x'.repeat(12), 'y'.repeat(12))).toMatch(/not the same/);
  expect(passwordError('🗝️'.repeat(6), '🗝️'.repeat(6))).toBe('');
});

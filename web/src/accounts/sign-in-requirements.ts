/** What stands between a visitor and the page. Pure. */

import type { WhoAmI } from '../api/types';
import type { ApiError } from '../errors/error';

/** `""` = nothing: the page is open. */
export type SignInRequirement = '' | 'sign-in' | 'first-account' | 'new-password';

/** Read from the answer of `whoami`; in mode `local` there is nobody to sign in as. */
export function signInRequirement({ mode, caller, registrationOpen }: WhoAmI): SignInRequirement {
  if (mode !== 'login' || caller !== null) return '';
  return registrationOpen ? 'first-account' : 'sign-in';
}

/** What a refusal of any route says about it; null when it says nothing. */
export function requirementAfter({ code }: ApiError): SignInRequirement | null {
  switch (code) {
    case 'AUTH_REQUIRED':
      return 'sign-in';
    case 'SETUP_REQUIRED':
      return 'first-account';
    case 'PASSWORD_CHANGE_REQUIRED':
      return 'new-password';
    default:
      return null;
  }
}

/** Whether it was refused because the server cannot tell whose this browser is. */
export const isOwnerUncertain = ({ code }: ApiError): boolean => code === 'CALLER_IN_DOUBT';

/** Whether an answer says that the doubt is over; null stands for one that refused nothing. */
export const confirmsOwner = (refusal: ApiError | null): boolean =>
  refusal === null || (!isOwnerUncertain(refusal) && refusal.status >= 400 && refusal.status < 500);

/** A password's bounds, in characters. Source: contract 1.4. */
export const PASSWORD_MIN = 12;
export const PASSWORD_MAX = 256;

/** What is wrong with a password one chooses, in a sentence; `""` when nothing is. */
export function passwordError(password: string, again: string): string {
  const length = [...password].length;
  if (length < PASSWORD_MIN) return `Use at least ${PASSWORD_MIN} characters; these are ${length}.`;
  if (length > PASSWORD_MAX) return `Use at most ${PASSWORD_MAX} characters.`;
  return password === again ? '' : 'The two are not the same.';
}

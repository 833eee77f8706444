/** One sign-in with a tool server, and what events say of it. Pure. */

import type { HallEvent } from '../events/frames';

export type SignIn = {
  flowId: string;
  /** What the owner opens. */
  url: string;
  disclosure: string;
  /** `waiting`, `opened`, `exchanging` or `done`. */
  phase: string;
  /** Why it failed; null when it did not. */
  code: string | null;
  error: string | null;
};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What is known after an event; undefined when it says nothing new. */
export function withSignInEvent(known: SignIn | undefined, { type, data }: Pick<HallEvent, 'type' | 'data'>): SignIn | undefined {
  const flowId = text(data.flowId);
  if (type === 'mcp_signin_required' && known?.flowId !== flowId) {
    return { flowId, url: text(data.signInUrl), disclosure: text(data.disclosure), phase: 'waiting', code: null, error: null };
  }
  if (type !== 'mcp_signin_resolved' || known?.flowId !== flowId) return undefined;
  return { ...known, phase: 'done', code: data.outcome === 'connected' ? null : text(data.code) || 'SIGNIN_REFUSED' };
}

const failures: Record<string, string> = {
  SIGNIN_EXPIRED: 'Nobody finished the sign-in in time.',
  SIGNIN_SUPERSEDED: 'A newer sign-in took its place.',
  SIGNIN_TARGET_CHANGED: 'The tool server changed meanwhile.',
  SIGNIN_REFUSED: 'The sign-in page did not give access.',
  SIGNIN_ISSUER_MISMATCH: 'The answer came from another sign-in page than the one that was opened.',
  SIGNIN_EXCHANGE_FAILED: 'The tool server did not take what the sign-in page gave.',
  SIGNIN_INTERRUPTED: 'guildhall was restarted in the middle of it.',
  SIGNIN_UNREACHABLE: 'The tool server or its sign-in page cannot be reached.',
  SIGNIN_NO_SIGNIN_SUPPORT: 'The tool server does not say where to sign in.',
  SIGNIN_NO_APP_REGISTRATION: 'The sign-in page takes registered apps alone. Enter one below.',
  SIGNIN_PKCE_UNSUPPORTED: 'The sign-in page does not protect codes, so it is not used.',
  SIGNIN_INSECURE_ADDRESS: 'The sign-in would lead over an address that is not safe.',
};

export function signInText({ phase, code, error }: SignIn): string {
  if (phase === 'waiting') return 'Waits for you to open the link.';
  if (phase === 'opened') return 'Opened. Finish it on the page of the sign-in.';
  if (phase === 'exchanging') return 'Almost done.';
  if (code === null) return 'Signed in.';
  return failures[code] ?? error ?? `The sign-in failed (${code}).`;
}

/** The link on this very page's address, so that the browser knows who you are there. */
export function linkOf(url: string, origin: string): string {
  try {
    return new URL(new URL(url).pathname, origin).href;
  } catch {
    return '';
  }
}

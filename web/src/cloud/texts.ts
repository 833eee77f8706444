/** What is said of the link and of billing pages, in plain words. Pure. */

import type { StatusLabel } from '../connectors/texts';
import { pageAddress } from '../connectors/countdown';
import { escapeHidden } from '../text/entry-pieces';
import { relativeTime } from '../ui/time';
import type { BillingAnswer, CloudLink, LinkState, BillingPageKind } from './types';

export const OPTIONAL_TEXT = 'Optional. Everything on this page works without it.';

const standings: Record<LinkState, StatusLabel> = {
  idle: { status: 'idle', words: 'not linked' },
  pending: { status: 'needs you', words: 'waits for you' },
  linked: { status: 'done', words: 'linked' },
  expired: { status: 'expired', words: 'expired' },
  denied: { status: 'failed', words: 'denied' },
  unlinked: { status: 'failed', words: 'unlinked' },
};

export const linkStatus = ({ state }: Pick<CloudLink, 'state'>, isOwner = true): StatusLabel =>
  state === 'pending' && !isOwner ? { status: 'needs you', words: 'waits for the owner' } : (standings[state] ?? { status: 'unknown', words: state });

/** How a link stands whose service does not answer. */
export const NO_ANSWER_STATUS: StatusLabel = { status: 'unknown', words: 'linked, no answer' };

/** What the owner has to see to: a code waits, or it ended otherwise than it was begun. A code that ran out is asked for again by whoever wants one. */
export const needsAttention = ({ state }: Pick<CloudLink, 'state'>): boolean => state === 'pending' || state === 'denied' || state === 'unlinked';

const MINUTE_MS = 60_000;
/** The service is told of this instance every 15 minutes, give or take a fifth. Source: contract 5.13, "CLOUD_HEARTBEAT_PERIOD". */
const HEARTBEAT_MS_MAX = 18 * MINUTE_MS;
/** How often an open view reads when the service last answered: no event tells of each answer. */
export const REREAD_MS = 5 * MINUTE_MS;

/** True where an answer of the service is overdue, seen at a time up to `REREAD_MS` after it was read. */
export const isOverdue = ({ state, lastHeartbeatAt }: Pick<CloudLink, 'state' | 'lastHeartbeatAt'>, nowMs: number): boolean =>
  state === 'linked' && lastHeartbeatAt !== null && nowMs - Date.parse(lastHeartbeatAt) > HEARTBEAT_MS_MAX + REREAD_MS + MINUTE_MS;

/** What is the matter now; `isOwner` sees the code and can act on it. */
export function linkText({ state, pending }: Pick<CloudLink, 'state' | 'pending'>, isOwner: boolean): string {
  switch (state) {
    case 'idle':
      return 'This guildhall is not linked to an account.';
    case 'pending':
      return isOwner && pending ? 'Open the address, sign in there and type this code.' : 'The owner is asked to type a code.';
    case 'linked':
      return 'This guildhall is linked to an account.';
    case 'expired':
      return 'Nobody typed the code in time. Nothing was linked.';
    case 'denied':
      return 'The link was refused. Nothing was linked.';
    case 'unlinked':
      return 'The service does not take the key any more, so it was erased here.';
    default:
      return '';
  }
}

/** The same in the few words of a tile, far from the code. */
export const tileText = (link: Pick<CloudLink, 'state'>): string => (link.state === 'pending' ? 'A code waits to be typed.' : linkText({ ...link, pending: null }, true));

/** When the service last answered; a silent one is never said to answer now. */
export const answerText = (iso: string, now: Date): string => (now.getTime() - Date.parse(iso) < MINUTE_MS ? 'less than a minute ago' : relativeTime(iso, now));

const outcomes: Record<NonNullable<CloudLink['relinkOutcome']>, string> = {
  denied: 'Linking anew was refused. The link from before still stands.',
  expired: 'Nobody typed the new code in time. The link from before still stands.',
  failed: 'Linking anew failed. The link from before still stands.',
};

/** How the last try to link anew ended; `""` where there is nothing to say. */
export const outcomeText = (outcome: CloudLink['relinkOutcome']): string => (outcome === null ? '' : (outcomes[outcome] ?? ''));

const waits: Record<string, string> = {
  start: 'The service is being asked for a code…',
  cancel: 'A question to the service is on its way. If it brings a key, the key is kept…',
  check: 'The service is being asked…',
  billing: 'The service is being asked for the page…',
};

/** What is waited for; `""` for nothing. */
export const waitText = (action: '' | 'start' | 'cancel' | 'check' | 'billing'): string => waits[action] ?? '';

export const pageNames: Record<BillingPageKind, string> = { portal: 'plan page', checkout: 'payment page', topup: 'top-up page' };

/** What a person reads after asking for a billing page. */
export type BillingMessage =
  | { kind: 'address'; href: string; before: string; host: string; after: string }
  | { kind: 'no'; title: string; detail: string; code: string; facts: string[]; action: { href: string; label: string } | null };

const NO_PAGE = 'The service did not answer with a page.';

export function billingMessage(answer: BillingAnswer): BillingMessage {
  const href = answer.ok ? pageAddress(answer.url ?? null) : '';
  if (href !== '') return addressOf(href);
  if (typeof answer.problem !== 'object' || answer.problem === null) {
    return { kind: 'no', title: escapeHidden(answer.message ?? NO_PAGE), detail: '', code: '', facts: [], action: null };
  }
  const problem = answer.problem as Record<string, unknown>;
  const text = (name: string) => (typeof problem[name] === 'string' ? escapeHidden(problem[name]) : '');
  const [title, detail] = [text('title'), text('detail')];
  const to = actionAddress(problem.actionUrl);
  return {
    kind: 'no',
    title: title || detail || NO_PAGE,
    detail: title === '' ? '' : detail,
    code: text('code'),
    facts: [...planFacts(text('requiredPlanDisplayName')), ...waitFacts(problem.retryAfterMs)],
    action: to === '' ? null : { href: to, label: text('actionLabel') || 'Open the page' },
  };
}

const ACTION_CHARS_MAX = 4_096;

/** The address of a problem's action, where somebody may be sent there; the server hands on whatever the service wrote. */
function actionAddress(address: unknown): string {
  if (typeof address !== 'string' || address.length > ACTION_CHARS_MAX || !URL.canParse(address)) return '';
  const { protocol, hostname, username, password, href } = new URL(address);
  if (username !== '' || password !== '') return '';
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isHere) ? href : '';
}

const planFacts = (plan: string): string[] => (plan === '' ? [] : [`It needs the plan ${plan}.`]);

function waitFacts(ms: unknown): string[] {
  if (typeof ms !== 'number' || !(ms > 0)) return [];
  const seconds = Math.ceil(ms / 1_000);
  return [`Try again in ${seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`}.`];
}

/** The address in three, so that whose it is stands out. */
function addressOf(href: string): BillingMessage {
  const { protocol, host, pathname, search, hash } = new URL(href);
  return { kind: 'address', href, before: `${protocol}//`, host, after: escapeHidden(pathname + search + hash) };
}

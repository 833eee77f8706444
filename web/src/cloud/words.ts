/** What is said of the link and of billing pages, in plain words. Pure. */

import type { Standing } from '../connectors/words';
import { pageAddress } from '../connectors/countdown';
import { visible } from '../text/pieces';
import type { BillingAnswer, Link, LinkState, Page } from './types';

export const OPTIONAL = 'Optional. Everything on this page works without it.';

const standings: Record<LinkState, Standing> = {
  idle: { status: 'idle', words: 'not linked' },
  pending: { status: 'needs you', words: 'waits for you' },
  linked: { status: 'done', words: 'linked' },
  expired: { status: 'expired', words: 'expired' },
  denied: { status: 'failed', words: 'denied' },
  unlinked: { status: 'failed', words: 'unlinked' },
};

export const standingOf = ({ state }: Pick<Link, 'state'>): Standing => standings[state] ?? { status: 'unknown', words: state };

/** What is the matter now; `isOwner` sees the code and can act on it. */
export function linkWords({ state, pending }: Pick<Link, 'state' | 'pending'>, isOwner: boolean): string {
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

const outcomes: Record<NonNullable<Link['relinkOutcome']>, string> = {
  denied: 'Linking anew was refused. The link from before still stands.',
  expired: 'Nobody typed the new code in time. The link from before still stands.',
  failed: 'Linking anew failed. The link from before still stands.',
};

/** How the last try to link anew ended; `""` where there is nothing to say. */
export const outcomeWords = (outcome: Link['relinkOutcome']): string => (outcome === null ? '' : (outcomes[outcome] ?? ''));

export const pageNames: Record<Page, string> = { portal: 'plan page', checkout: 'payment page', topup: 'top-up page' };

/** What a person reads after asking for a billing page. */
export type Shown =
  | { kind: 'address'; href: string; before: string; host: string; after: string }
  | { kind: 'no'; title: string; detail: string; code: string; action: { href: string; label: string } | null };

const NO_PAGE = 'The service did not answer with a page.';

export function shownOf(answer: BillingAnswer): Shown {
  const href = answer.ok ? pageAddress(answer.url ?? null) : '';
  if (href !== '') return addressOf(href);
  if (typeof answer.problem !== 'object' || answer.problem === null) {
    return { kind: 'no', title: visible(answer.message ?? NO_PAGE), detail: '', code: '', action: null };
  }
  const problem = answer.problem as Record<string, unknown>;
  const text = (name: string) => (typeof problem[name] === 'string' ? visible(problem[name]) : '');
  const [title, detail] = [text('title'), text('detail')];
  const to = pageAddress(typeof problem.actionUrl === 'string' ? problem.actionUrl : null);
  return {
    kind: 'no',
    title: title || detail || NO_PAGE,
    detail: title === '' ? '' : detail,
    code: text('code'),
    action: to === '' ? null : { href: to, label: text('actionLabel') || 'Open the page' },
  };
}

/** The address in three, so that whose it is stands out. */
function addressOf(href: string): Shown {
  const { protocol, host, pathname, search, hash } = new URL(href);
  return { kind: 'address', href, before: `${protocol}//`, host, after: visible(pathname + search + hash) };
}

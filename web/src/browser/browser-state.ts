/** Which of two states is shown. Pure. */

import type { BrowserState, BrowserTab } from '../api/types';

/**
 * The state after another one came. Answers and streams overtake each other, so an older revision takes nothing back,
 * whichever way it came: also the first word of a new connection may be older than an answer that came before it.
 */
export function newerState(shown: BrowserState | null, next: BrowserState): BrowserState {
  return shown === null || next.revision >= shown.revision ? next : shown;
}

export const selectedTab = ({ tabs, selectedTabId }: Pick<BrowserState, 'tabs' | 'selectedTabId'>): BrowserTab | undefined =>
  tabs.find(({ id }) => id === selectedTabId);

/** The state in a passing sign of the server, bare or as its `data`; null when the sign is of something else. */
export function stateFromEvent(sign: unknown): BrowserState | null {
  if (isState(sign)) return sign;
  const { data } = (sign ?? {}) as { data?: unknown };
  return isState(data) ? data : null;
}

const isState = (it: unknown): it is BrowserState =>
  typeof it === 'object' && it !== null && 'connectionId' in it && 'revision' in it && typeof it.revision === 'number' && 'tabs' in it && Array.isArray(it.tabs);

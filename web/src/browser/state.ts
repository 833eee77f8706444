/** Which of two states is shown. Pure. */

import type { BrowserState, BrowserTab } from '../api/types';

/**
 * The state after another one came. Answers and streams overtake each other, so the higher revision counts;
 * `fresh` is the first one of a new connection, which counts whatever it says: the server may be another one by now.
 */
export function newer(shown: BrowserState | null, next: BrowserState, fresh = false): BrowserState {
  return shown === null || fresh || next.revision >= shown.revision ? next : shown;
}

export const selectedIn = ({ tabs, selectedTabId }: Pick<BrowserState, 'tabs' | 'selectedTabId'>): BrowserTab | undefined =>
  tabs.find(({ id }) => id === selectedTabId);

/** The state in a passing sign of the server, bare or as its `data`; null when the sign is of something else. */
export function stateIn(sign: unknown): BrowserState | null {
  if (isState(sign)) return sign;
  const { data } = (sign ?? {}) as { data?: unknown };
  return isState(data) ? data : null;
}

const isState = (it: unknown): it is BrowserState =>
  typeof it === 'object' && it !== null && 'connectionId' in it && 'revision' in it && typeof it.revision === 'number' && 'tabs' in it && Array.isArray(it.tabs);

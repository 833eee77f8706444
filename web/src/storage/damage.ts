/** What a server with damaged data is told of on the page. */

import type { Ready } from '../api/types';

export const DAMAGED = 'STORE_DAMAGED';

/** The banner's sentences; null while the data is whole. Only the owner is told what was found. */
export function damageWords(ready: Ready, isOwner: boolean): string | null {
  const { store } = ready.checks;
  // A server that stops does not answer from its data any more, which is no damage.
  if (store === 'ok' || ready.status === 'draining') return null;
  const what = 'The server’s data is damaged. Reading goes on where it can; nothing can be changed.';
  // What was found stands in brackets; around it are the sentences that stand here already.
  const found = /\((.*)\)/s.exec(store)?.[1] ?? store;
  return isOwner ? `${what} Stop the server and restore a backup. Found: ${found}.` : `${what} Tell the owner of this server.`;
}

/** What a server with damaged data is told of on the page. */

import type { Ready } from '../api/types';

export const DAMAGED = 'STORE_DAMAGED';

const FULL =
  'The server’s disk was full. Nothing is added until there is room; remove rooms, attachments or files on it. Settings, Storage, says what takes it.';

/** The banner's sentences; null while the data is whole and the disk was not full. Only the owner is told what was found. */
export function damageText(ready: Ready, isOwner: boolean): string | null {
  const { store, disk } = ready.checks;
  // A server that stops does not answer from its data any more, which is no damage.
  if (ready.status === 'draining') return null;
  if (store === 'ok') return isOwner && disk.includes('the disk was full') ? FULL : null;
  const what = 'The server’s data is damaged. Reading goes on where it can; nothing can be changed.';
  // What was found stands in brackets; around it are the sentences that stand here already.
  const found = /\((.*)\)/s.exec(store)?.[1] ?? store;
  return isOwner ? `${what} Open Settings, Backups, and restore a backup. Found: ${found}.` : `${what} Tell the owner of this server.`;
}

/** What the settings say of backups. */

import type { Backups, RevivedCredential } from '../api/types';

const reasons: Record<string, string> = {
  scheduled: 'in time',
  manual: 'asked for',
  beforeMigration: 'before an upgrade',
};

export const reasonText = (reason: string): string => reasons[reason] ?? reason;

/** What the last backup came to, or that there is none. */
export function resultText({ backups, last }: Backups): { text: string; isProblem: boolean } {
  if (last?.problem) return { text: `The last backup could not be made: ${last.problem}.`, isProblem: true };
  if (backups.length === 0) return { text: 'There is no backup yet.', isProblem: true };
  return { text: last ? 'The last backup was made and checked.' : 'No backup was needed since the server started.', isProblem: false };
}

/** What became of the copies in the second folder; null when none is set. */
export function secondFolderText({ secondFolder }: Pick<Backups, 'secondFolder'>): { text: string; isProblem: boolean } | null {
  if (!secondFolder) return null;
  const { folder, isCopying, at, problem } = secondFolder;
  if (problem) return { text: `Second folder: ${problem}. The next backup tries again.`, isProblem: true };
  if (isCopying || !at) return { text: `Second folder: copying to ${folder}.`, isProblem: false };
  return { text: `Second folder: every backup that is kept is in ${folder}.`, isProblem: false };
}

/** What a revived credential is, what it does while it counts, and what ends it. */
export function revivedWords({ kind, label, holder }: RevivedCredential): { title: string; effect: string; action: string } {
  const of = holder ? ` of ${holder}` : '';
  switch (kind) {
    case 'agentToken':
      return { title: `Token “${label}”${of}`, effect: 'Whoever has it speaks as this agent.', action: 'Revoke' };
    case 'apiKey':
      return { title: `API key “${label}”${of}`, effect: 'Whoever has it acts here as this person.', action: 'Revoke' };
    case 'signIn':
      return { title: `A sign-in of ${label}`, effect: 'The browser it was made in is signed in again.', action: 'Revoke' };
    case 'password':
      return { title: `The earlier password of ${label}`, effect: 'It was changed after the backup; the later one does not count.', action: 'Take the later one' };
    case 'account':
      return { title: `The account of ${label}`, effect: 'It was removed after the backup; the person can sign in again.', action: 'Remove' };
    case 'trustedBrowsers':
      return { title: `Browsers opened by guildhall open: ${label}`, effect: 'They count as yours again. Revoking forgets all such browsers.', action: 'Forget' };
    default:
      return { title: `${label}${of}`, effect: 'It counts again.', action: 'Revoke' };
  }
}

/** Decides about each, also when one of them cannot be decided; answers what went wrong. */
export async function decideAll<T>(credentials: T[], decide: (credential: T) => Promise<void>): Promise<unknown[]> {
  const failed: unknown[] = [];
  for (const credential of credentials) {
    try {
      await decide(credential);
    } catch (error) {
      failed.push(error);
    }
  }
  return failed;
}

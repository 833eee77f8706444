/** What the settings say of backups. */

import type { Backups } from '../api/types';

const reasons: Record<string, string> = {
  scheduled: 'in time',
  manual: 'asked for',
  beforeMigration: 'before an upgrade',
};

export const reasonWords = (reason: string): string => reasons[reason] ?? reason;

/** What the last backup came to, or that there is none. */
export function resultWords({ backups, last }: Backups): { text: string; isProblem: boolean } {
  if (last?.problem) return { text: `The last backup could not be made: ${last.problem}.`, isProblem: true };
  if (backups.length === 0) return { text: 'There is no backup yet.', isProblem: true };
  return { text: last ? 'The last backup was made and checked.' : 'No backup was needed since the server started.', isProblem: false };
}

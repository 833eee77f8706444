/** What the settings say of the disk. */

import type { Storage } from '../api/types';
import { sizeText } from '../canvas/source';

const areas: Record<string, string> = {
  store: 'Data',
  eventLog: 'Event log, in the data',
  writeAheadLog: 'Write-ahead log',
  attachments: 'Attachments',
  uploads: 'Uploads on their way',
  backups: 'Backups',
  setAside: 'Set aside by restores',
  browserProfile: 'Profile of the local browser',
  reserve: 'Reserve',
  other: 'Everything else',
};

export const areaName = (name: string): string => areas[name] ?? name;

/** How much room there is, and what to do when that is too little. */
export function diskWords(storage: Pick<Storage, 'freeBytes' | 'diskBytes' | 'freeBytesMin' | 'isReserveReleased'>): { text: string; isProblem: boolean } {
  const free = `${sizeText(storage.freeBytes)} of ${sizeText(storage.diskBytes)} are free.`;
  if (storage.isReserveReleased) {
    return {
      text: `The disk was full: ${free} Its reserve was given back so that you can remove rooms, attachments and files; nothing is added until there is room for it again.`,
      isProblem: true,
    };
  }
  if (storage.freeBytes < storage.freeBytesMin) {
    return { text: `The disk is nearly full: ${free} Files and backups are refused. Free space on it.`, isProblem: true };
  }
  return { text: free, isProblem: false };
}

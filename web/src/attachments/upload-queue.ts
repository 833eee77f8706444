/** Files on their way to the server beside a text that is being written. Pure. */

import type { Attachment } from '../api/types';
import type { ApiError } from '../errors/error';

export type Upload = {
  /** Of this page alone. */
  key: number;
  name: string;
  /** In bytes. */
  size: number;
  state: 'waiting' | 'sending' | 'ready' | 'failed';
  /** How much is sent, 0 to 1. */
  part: number;
  /** Only when ready. */
  attachment: Attachment | null;
  /** Only when failed. */
  error: ApiError | null;
};

/** Files of one entry at most. Source: contract 2.3. */
export const FILES_MAX = 10;
/** Files sent at the same time; more would only share the same line. */
const SENDING_MAX = 2;

export const newUpload = (key: number, { name, size }: { name: string; size: number }): Upload => ({
  key,
  name,
  size,
  state: 'waiting',
  part: 0,
  attachment: null,
  error: null,
});

/** How many of `count` further files still fit beside those there. */
export const filesLeft = (uploads: readonly Upload[], count: number): number => Math.max(0, Math.min(count, FILES_MAX - uploads.length));

/** Which uploads start now, oldest first. */
export function starting(uploads: readonly Upload[]): Upload[] {
  const free = SENDING_MAX - uploads.filter(({ state }) => state === 'sending').length;
  return uploads.filter(({ state }) => state === 'waiting').slice(0, Math.max(0, free));
}

export const withUpload = (uploads: readonly Upload[], key: number, change: Partial<Upload>): Upload[] =>
  uploads.map((upload) => (upload.key === key ? { ...upload, ...change } : upload));

/** What a press of Send meets: nothing, files still on their way, one that failed, or all there. */
export function uploadStatus(uploads: readonly Upload[]): 'none' | 'busy' | 'failed' | 'ready' {
  if (uploads.length === 0) return 'none';
  if (uploads.some(({ state }) => state === 'failed')) return 'failed';
  return uploads.every(({ state }) => state === 'ready') ? 'ready' : 'busy';
}

/** `12 B`, `3.4 kB`, `2.1 MB`: decimal units, two digits where they tell something. */
export function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** The files of a paste or a drop; folders and plain text bring none. */
export function filesOf(transfer: DataTransfer | null): File[] {
  return transfer ? [...transfer.files].filter((file) => file.size > 0 || file.type !== '') : [];
}

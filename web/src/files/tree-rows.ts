/** A tree of folders as the rows that are drawn, and the keys that move in it. Pure. */

import type { TreeEntry } from '../api/types';
import { folderOf } from './paths';

/** What is known of one folder. */
export type TreeBranch = { entries: readonly TreeEntry[]; truncated: boolean; busy: boolean; error: unknown };

export type TreeRow =
  | { kind: 'entry'; path: string; level: number; entry: TreeEntry; open: boolean }
  /** What is said instead of entries: a folder is empty, being read, could not be read, or holds more. */
  | { kind: 'note'; path: string; level: number; text: string };

/** The rows of all open folders, from the top one down; levels count from 1. */
export function treeRows(read: ReadonlyMap<string, TreeBranch>, open: ReadonlySet<string>): TreeRow[] {
  const below = (folder: string, level: number): TreeRow[] => {
    const branch = read.get(folder);
    if (!branch) return [];
    const note = (text: string): TreeRow => ({ kind: 'note', path: folder, level, text });
    if (branch.error) return [note('This folder could not be read.')];
    if (branch.busy) return [note('Reading…')];
    const rows = branch.entries.flatMap((entry): TreeRow[] => {
      const isOpen = isFolder(entry) && open.has(entry.path);
      const row: TreeRow = { kind: 'entry', path: entry.path, level, entry, open: isOpen };
      return isOpen ? [row, ...below(entry.path, level + 1)] : [row];
    });
    if (rows.length === 0) return [note(level === 1 ? '' : 'Empty')];
    return branch.truncated ? [...rows, note('There is more than is listed.')] : rows;
  };
  return below('', 1).filter((row) => row.kind === 'entry' || row.text !== '');
}

/** Links are shown and not gone into. */
export const isFolder = ({ type, isSymlink }: TreeEntry): boolean => type === 'dir' && !isSymlink;

export type TreeMove = { kind: 'go'; path: string } | { kind: 'open' | 'close' | 'choose'; path: string };

/** What a key does in a tree (WAI-ARIA, tree view); null for keys of no meaning there. */
export function treeMove(key: string, at: string, rows: readonly TreeRow[]): TreeMove | null {
  const entries = rows.filter((row) => row.kind === 'entry');
  const index = entries.findIndex(({ path }) => path === at);
  const row = entries[index];
  const go = (to: number): TreeMove | null => {
    const next = entries[Math.min(entries.length - 1, Math.max(0, to))];
    return next ? { kind: 'go', path: next.path } : null;
  };
  switch (key) {
    case 'ArrowDown':
      return go(index + 1);
    case 'ArrowUp':
      return go(index - 1);
    case 'Home':
      return go(0);
    case 'End':
      return go(entries.length - 1);
    case 'ArrowRight':
      if (!row || !isFolder(row.entry)) return null;
      return row.open ? go(index + 1) : { kind: 'open', path: row.path };
    case 'ArrowLeft':
      if (!row) return null;
      if (row.open) return { kind: 'close', path: row.path };
      return folderOf(row.path) === '' ? null : { kind: 'go', path: folderOf(row.path) };
    case 'Enter':
    case ' ':
      if (!row) return null;
      return { kind: isFolder(row.entry) ? (row.open ? 'close' : 'open') : 'choose', path: row.path };
    default:
      return null;
  }
}

/** The next entry whose name begins with what was typed, from the present one on and around. */
export function typeahead(letter: string, at: string, rows: readonly TreeRow[]): string | null {
  const entries = rows.filter((row) => row.kind === 'entry');
  const index = entries.findIndex(({ path }) => path === at);
  const turned = [...entries.slice(index + 1), ...entries.slice(0, index + 1)];
  return turned.find(({ entry }) => entry.name.toLowerCase().startsWith(letter.toLowerCase()))?.path ?? null;
}

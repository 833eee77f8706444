/** Folders and files that were opened in this browser, newest first: offered again, and found by the palette. */

import { storeValue, storedValue } from '../ui/browser-storage';

const KEY = 'guildhall.files-recent';
const FILES_MAX = 20;
const FOLDERS_MAX = 8;

type Opened = { cwd: string; path: string };

function stored(): Opened[] {
  try {
    const list = JSON.parse(storedValue(KEY) || '[]') as Opened[];
    return Array.isArray(list) ? list.filter((one) => typeof one?.cwd === 'string' && typeof one.path === 'string') : [];
  } catch {
    return [];
  }
}

class Recent {
  #all = $state.raw(stored());

  files = $derived(this.#all.filter(({ path }) => path !== ''));
  folders = $derived([...new Set(this.#all.map(({ cwd }) => cwd))].slice(0, FOLDERS_MAX));

  /** `path` is `""` where only the folder was opened. */
  note(cwd: string, path: string): void {
    const rest = this.#all.filter((one) => one.cwd !== cwd || one.path !== path);
    this.#all = [{ cwd, path }, ...rest].slice(0, FILES_MAX + FOLDERS_MAX);
    storeValue(KEY, JSON.stringify(this.#all));
  }
}

export const recentFiles = new Recent();

/** The tree of one folder, read folder by folder as they are opened. */

import { SvelteMap, SvelteSet } from 'svelte/reactivity';
import { files } from '../api/files';
import type { TreeEntry } from '../api/types';
import { storeValue, storedValue } from '../ui/browser-storage';
import { treeRows, type TreeBranch } from './tree-rows';

const HIDDEN = 'guildhall.files-hidden';

export class FileTree {
  readonly cwd: string;
  showHidden = $state(storedValue(HIDDEN) === 'shown');

  /** By path below `cwd`; `""` is `cwd` itself. */
  #read = new SvelteMap<string, TreeBranch>();
  #open = new SvelteSet<string>(['']);

  rows = $derived(treeRows(this.#read, this.#open));

  constructor(cwd: string) {
    this.cwd = cwd;
  }

  /** The top folder's own state. */
  get top(): TreeBranch | undefined {
    return this.#read.get('');
  }

  isOpen(path: string): boolean {
    return this.#open.has(path);
  }

  async open(path: string): Promise<void> {
    this.#open.add(path);
    if (!this.#read.has(path)) await this.#load(path);
  }

  close(path: string): void {
    this.#open.delete(path);
  }

  /** Reads all that is open again. */
  reload = (): void => {
    for (const path of this.#open) void this.#load(path);
  };

  setHidden(shown: boolean): void {
    this.showHidden = shown;
    storeValue(HIDDEN, shown ? 'shown' : '');
    for (const path of [...this.#read.keys()]) if (!this.#open.has(path)) this.#read.delete(path);
    this.reload();
  }

  async #load(path: string): Promise<void> {
    const hidden = this.showHidden;
    const before = this.#read.get(path);
    if (!before) this.#read.set(path, { entries: [], truncated: false, busy: true, error: null });
    try {
      const { body } = await files.tree(this.cwd, path, hidden);
      // The wish may have changed while the answer was on its way.
      if (hidden === this.showHidden) this.#read.set(path, { ...body, busy: false, error: null });
    } catch (error) {
      this.#read.set(path, { entries: (before?.entries ?? []) as TreeEntry[], truncated: false, busy: false, error });
    }
  }
}

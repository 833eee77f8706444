/** Which files were saved while this page was open: the owner is told of each, others of those on a canvas they see. */

import { SvelteMap } from 'svelte/reactivity';
import { stream } from '../events/stream.svelte';

/** What a file held after a save, and who saved it. */
export type FileSave = { hash: string; by: string };

/** Files that are remembered; the one saved longest ago goes first. */
const KEPT_MAX = 500;

class Saves {
  #last = new SvelteMap<string, FileSave>();

  constructor() {
    stream.onEvent(({ type, data }) => {
      if (type === 'file_saved') this.note(String(data.path), { hash: String(data.hash), by: String(data.by) });
    });
  }

  /** The last save of the file at this whole path, without links. */
  of(path: string): FileSave | undefined {
    return this.#last.get(path);
  }

  note(path: string, save: FileSave): void {
    this.#last.delete(path);
    this.#last.set(path, save);
    const oldest = this.#last.keys().next().value;
    if (this.#last.size > KEPT_MAX && oldest !== undefined) this.#last.delete(oldest);
  }
}

export const saves = new Saves();

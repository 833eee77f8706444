/** The slash commands of the folders one writes in, read once each and again when an agent reports others. */

import { SvelteMap } from 'svelte/reactivity';
import type { Commands } from '../api/types';
import { work } from '../api/agent-work';
import type { HallEvent } from '../events/frames';

type Place = { cwd: string; runtime: string };
const keyOf = ({ cwd, runtime }: Place) => `${runtime} ${cwd}`;

class CommandLists {
  #byPlace = new SvelteMap<string, Commands>();
  #errors = new SvelteMap<string, unknown>();
  #reading = new SvelteMap<string, true>();
  #asked = new Map<string, Place>();

  of(place: Place): Commands | undefined {
    return this.#byPlace.get(keyOf(place));
  }

  errorOf(place: Place): unknown {
    return this.#errors.get(keyOf(place)) ?? null;
  }

  reading(place: Place): boolean {
    return this.#reading.has(keyOf(place));
  }

  ensure(place: Place): void {
    if (!this.#asked.has(keyOf(place))) void this.load(place);
  }

  /** `rescan` makes the server look at the files now. */
  async load(place: Place, rescan = false): Promise<void> {
    const key = keyOf(place);
    this.#asked.set(key, place);
    this.#reading.set(key, true);
    try {
      this.#byPlace.set(key, (await work.commands({ ...place, refresh: rescan })).body);
      this.#errors.delete(key);
    } catch (error) {
      this.#errors.set(key, error);
    } finally {
      this.#reading.delete(key);
    }
  }

  applyEvent = (event: HallEvent): void => {
    if (event.type !== 'commands_changed') return;
    const place = { cwd: event.data.cwd as string, runtime: event.data.runtime as string };
    if (this.#asked.has(keyOf(place))) void this.load(place);
  };

  reload = (): void => {
    for (const place of this.#asked.values()) void this.load(place);
  };
}

export const commandLists = new CommandLists();

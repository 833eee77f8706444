/** Whether the server's data is damaged: asked at the start, once a minute, and when a change was refused for it. */

import { session } from '../accounts/session.svelte';
import { api, onRefusal } from '../api/client';
import { DAMAGED, damageText } from './damage-text';

const PERIOD_MS = 60_000;

class StoreDamage {
  /** The banner's sentences; null while there is nothing to tell. */
  words = $state<string | null>(null);
  #period: ReturnType<typeof setInterval> | undefined;

  watch = (): void => {
    if (this.#period) return;
    onRefusal.add(({ code }) => code === DAMAGED && void this.#look());
    this.#period = setInterval(() => void this.#look(), PERIOD_MS);
    void this.#look();
  };

  async #look(): Promise<void> {
    try {
      this.words = damageText((await api.ready()).body, session.isOwner);
    } catch {
      // That no answer comes is told elsewhere, and says nothing of the data.
    }
  }
}

export const storeDamage = new StoreDamage();

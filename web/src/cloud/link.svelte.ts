/** The link to the cloud service as this page knows it. Codes live in memory only, as long as they wait. */

import { onceMore } from '../events/again';
import type { HallEvent } from '../events/frames';
import { calls } from './calls';
import type { Link, Status } from './types';

class CloudLink {
  /** Null until they were read. */
  link = $state.raw<Link | null>(null);
  status = $state.raw<Status | null>(null);
  /** False after the service was heard to be silent; null where nothing was told. */
  answers = $state<boolean | null>(null);
  error = $state<unknown>(null);

  load = onceMore(async () => {
    try {
      const [link, status] = await Promise.all([calls.link(), calls.status()]);
      this.link = link.body;
      this.status = status.body;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  });

  start = () => this.#doing(calls.start);
  cancel = () => this.#doing(calls.cancel);
  check = () => this.#doing(calls.check);
  unlink = () => this.#doing(calls.unlink);

  fold = ({ type, data }: HallEvent): void => {
    if (type === 'cloud_heartbeat_changed' && typeof data.ok === 'boolean') this.answers = data.ok;
    else if (type === 'cloud_link_changed') this.answers = null;
    else return;
    this.reload();
  };

  /** Only where somebody looked before. */
  reload = (): void => {
    if (this.link || this.error) void this.load();
  };

  /** What a deed led to is read, not guessed: an event may have moved the link meanwhile. */
  async #doing(deed: () => Promise<unknown>): Promise<void> {
    await deed();
    await this.load();
  }
}

export const cloud = new CloudLink();

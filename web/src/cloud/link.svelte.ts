/** The link to the cloud service as this page knows it. Codes live in memory only, as long as they wait. */

import { coalesced } from '../events/coalesce';
import type { HallEvent } from '../events/frames';
import { cloudApi } from './cloud-api';
import type { CloudLink, CloudStatus } from './types';

/**
 * An answer younger than this may be the one a check goes by: the server does not ask twice in 15 seconds,
 * and the clock of this browser may be off by as much again. Source: contract 5.13, "CLOUD_CHECK_REUSE".
 */
const REUSED_MS = 60_000;

class CloudLinkStore {
  /** Null until they were read. */
  link = $state.raw<CloudLink | null>(null);
  status = $state.raw<CloudStatus | null>(null);
  /** False after the service was asked and said nothing; null where nothing is known of that. */
  answers = $state<boolean | null>(null);
  error = $state<unknown>(null);

  /** Whether somebody looks at it, from the first reading on. */
  #seen = false;

  load = (): Promise<void> => {
    this.#seen = true;
    return this.#read();
  };

  #read = coalesced(async () => {
    try {
      const [link, status] = await Promise.all([cloudApi.link(), cloudApi.status()]);
      this.link = link.body;
      this.status = status.body;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  });

  start = () => this.#doing(cloudApi.start);
  cancel = () => this.#doing(cloudApi.cancel);
  unlink = () => this.#doing(cloudApi.unlink);

  /** Asks the service now; answers whether it was heard, and null where nobody is asked because no key is held any more. */
  check = async (): Promise<boolean | null> => {
    await this.load();
    const before = this.link?.lastHeartbeatAt ?? null;
    const { linked, lastHeartbeatAt } = await cloudApi.check();
    await this.load();
    if (!linked) return null;
    const isNew = lastHeartbeatAt !== before;
    const isOld = lastHeartbeatAt === null || Date.now() - Date.parse(lastHeartbeatAt) > REUSED_MS;
    if (isNew) this.answers = true;
    else if (isOld) this.answers = false;
    return this.answers !== false;
  };

  applyEvent = ({ type, data }: HallEvent): void => {
    if (type === 'cloud_heartbeat_changed' && typeof data.ok === 'boolean') this.answers = data.ok;
    else if (type === 'cloud_link_changed') this.answers = null;
    else return;
    this.reload();
  };

  /** Only where somebody looked before. */
  reload = (): void => {
    if (this.#seen) void this.#read();
  };

  /** What an action led to is read, not guessed: an event may have moved the link meanwhile. */
  async #doing(action: () => Promise<unknown>): Promise<void> {
    await action();
    await this.load();
  }
}

export const cloud = new CloudLinkStore();

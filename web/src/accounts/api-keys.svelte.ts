/** One's own API keys: labels and dates, never values. */

import { api } from '../api/client';
import type { ApiKey } from '../api/types';
import type { HallEvent } from '../events/frames';

class Keys {
  /** Null until they were read. */
  list = $state.raw<ApiKey[] | null>(null);
  error = $state<unknown>(null);

  load = async (): Promise<void> => {
    try {
      this.list = (await api.keys.list()).body.keys;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  };

  /** The events name ids only. */
  applyEvent = ({ type }: HallEvent): void => {
    if (this.list && ['api_key_created', 'api_key_revoked', 'password_changed'].includes(type)) void this.load();
  };
}

export const apiKeys = new Keys();

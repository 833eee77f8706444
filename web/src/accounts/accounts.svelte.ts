/** The accounts of this server, for its owner; read when somebody looks, and again when they change. */

import { api } from '../api/client';
import type { Account } from '../api/types';
import type { HallEvent } from '../events/frames';

class Accounts {
  /** Null until they were read. */
  list = $state.raw<Account[] | null>(null);
  error = $state<unknown>(null);

  load = async (): Promise<void> => {
    try {
      this.list = (await api.accounts.list()).body.accounts;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  };

  /** The events name ids only. */
  applyEvent = ({ type }: HallEvent): void => {
    if (this.list && (type === 'account_created' || type === 'account_removed')) void this.load();
  };
}

export const accounts = new Accounts();

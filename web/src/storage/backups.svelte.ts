/** The server's backups, for its owner; read when somebody looks. */

import { api } from '../api/client';
import type { Backups } from '../api/types';

class BackupList {
  /** Null until they were read. */
  list = $state.raw<Backups | null>(null);
  error = $state<unknown>(null);
  /** Whether one is being made now. */
  making = $state(false);

  load = async (): Promise<void> => {
    try {
      this.list = (await api.backups.list()).body;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  };

  make = async (): Promise<void> => {
    this.making = true;
    try {
      await api.backups.make();
    } finally {
      this.making = false;
      await this.load();
    }
  };
}

export const backups = new BackupList();

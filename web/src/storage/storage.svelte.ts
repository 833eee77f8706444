/** What takes the server's disk, for its owner; read when somebody looks. */

import { api } from '../api/client';
import type { Storage } from '../api/types';

class StorageUse {
  /** Null until it was read. */
  use = $state.raw<Storage | null>(null);
  error = $state<unknown>(null);

  load = async (): Promise<void> => {
    try {
      this.use = (await api.storage()).body;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  };
}

export const storage = new StorageUse();

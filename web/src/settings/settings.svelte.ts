/** The server's settings, for its owner; read when somebody looks, and again when they change. */

import { api } from '../api/client';
import type { Setting } from '../api/types';
import type { HallEvent } from '../events/frames';

class Settings {
  /** Null until they were read. */
  list = $state.raw<Setting[] | null>(null);
  error = $state<unknown>(null);

  load = async (): Promise<void> => {
    try {
      this.list = (await api.settings.list()).body.settings;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  };

  /** Null as a value drops what was stored. */
  async change(key: string, value: unknown): Promise<void> {
    this.list = (await api.settings.change({ [key]: value })).settings;
  }

  applyEvent = ({ type }: HallEvent): void => {
    if (this.list && type === 'settings_changed') void this.load();
  };

  reload = (): void => {
    if (this.list) void this.load();
  };
}

export const settings = new Settings();

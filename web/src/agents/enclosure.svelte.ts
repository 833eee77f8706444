/** What agents are kept from on this computer, for its owner; read when somebody looks, and again when the settings change. */

import { session } from '../accounts/session.svelte';
import { api } from '../api/client';
import type { EnclosureChecks } from '../api/types';
import type { HallEvent } from '../events/frames';
import { settings } from '../settings/settings.svelte';
import { enclosureStatus, type EnclosureStatus } from './enclosure';

class Enclosure {
  /** Null until they were read. */
  checks = $state.raw<EnclosureChecks | null>(null);
  error = $state<unknown>(null);

  /** Null until it is known; without the settings nobody can say that it is off. */
  standing: EnclosureStatus | null = $derived.by(() => {
    if (!this.checks || (!settings.list && !settings.error)) return null;
    return enclosureStatus(this.checks, settings.list?.find(({ key }) => key === 'agents.enclosure')?.value);
  });

  load = async (): Promise<void> => {
    try {
      this.checks = (await api.ready()).body.checks.enclosure;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  };

  /** Reads it unless it was read; nobody but the owner is told. */
  ensure = (): void => {
    if (!session.isOwner) return;
    if (!this.checks) void this.load();
    if (!settings.list) void settings.load();
  };

  applyEvent = ({ type }: HallEvent): void => {
    if (this.checks && type === 'settings_changed') void this.load();
  };

  reload = (): void => {
    if (this.checks) void this.load();
  };
}

export const enclosure = new Enclosure();

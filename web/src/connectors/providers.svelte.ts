/** The provider instances with their services; for the owner. */

import { coalesced } from '../events/coalesce';
import type { HallEvent } from '../events/frames';
import { connectorsApi } from './connectors-api';
import type { Provider, Toolkit } from './types';

class Providers {
  /** Null until they were read. */
  list = $state.raw<Provider[] | null>(null);
  error = $state<unknown>(null);

  get(id: string): Provider | undefined {
    return this.list?.find((one) => one.id === id);
  }

  toolkit(id: string, slug: string): Toolkit | undefined {
    return this.get(id)?.toolkits.find((one) => one.slug === slug);
  }

  /** What people call a service; its slug where it is gone. */
  nameOf(id: string, slug: string): string {
    return this.toolkit(id, slug)?.displayName ?? slug;
  }

  load = coalesced(async () => {
    try {
      this.list = (await connectorsApi.providers.list()).body.providers;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  });

  applyEvent = ({ type }: HallEvent): void => {
    if ((this.list || this.error) && type === 'connector_provider_changed') void this.load();
  };

  reload = (): void => {
    if (this.list || this.error) void this.load();
  };
}

export const providers = new Providers();

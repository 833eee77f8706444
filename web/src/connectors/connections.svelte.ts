/** The accounts that are connected; for the owner. */

import { coalesced } from '../events/coalesce';
import type { HallEvent } from '../events/frames';
import { connectorsApi } from './connectors-api';
import type { Connection } from './types';
import { isBroken } from './texts';

class Connections {
  /** Null until they were read. */
  list = $state.raw<Connection[] | null>(null);
  error = $state<unknown>(null);

  broken = $derived((this.list ?? []).filter(isBroken));

  get(id: string): Connection | undefined {
    return this.list?.find((one) => one.id === id);
  }

  load = coalesced(async () => {
    try {
      this.list = (await connectorsApi.connections.list()).body.connections;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  });

  /** Takes in what an action answered. */
  put(connection: Connection): void {
    const known = this.list ?? [];
    this.list = known.some(({ id }) => id === connection.id)
      ? known.map((one) => (one.id === connection.id ? connection : one))
      : [connection, ...known];
  }

  drop(id: string): void {
    this.list = (this.list ?? []).filter((one) => one.id !== id);
  }

  /** An event tells a part only, and a change of a provider makes others ready or not: the list is read again. */
  applyEvent = ({ type }: HallEvent): void => {
    if (!this.list && !this.error) return;
    if (type === 'connector_connection_changed' || type === 'connector_grants_changed' || type === 'connector_provider_changed') void this.load();
  };

  reload = (): void => {
    if (this.list || this.error) void this.load();
  };
}

export const connections = new Connections();

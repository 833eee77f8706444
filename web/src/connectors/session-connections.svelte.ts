/** What the agents of open sessions can reach, and what the sessions say of it. */

import { coalesced } from '../events/coalesce';
import type { HallEvent } from '../events/frames';
import { connectorsApi } from './connectors-api';
import type { SessionConnection } from './types';

export class SessionReach {
  readonly #sessionId: string;
  /** Null until it was read. */
  list = $state.raw<SessionConnection[] | null>(null);
  error = $state<unknown>(null);

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  load = coalesced(async () => {
    try {
      this.list = (await connectorsApi.sessions.list(this.#sessionId)).body.connections;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  });

  /** Off is said; on is said by taking that back, for a session only narrows. */
  turn = async (connectionId: string, on: boolean): Promise<void> => {
    const said = await connectorsApi.sessions.say(this.#sessionId, connectionId, on ? null : false);
    this.list = (this.list ?? []).map((one) => (one.connectionId === connectionId ? { ...one, on: said.on } : one));
  };
}

class Reaches {
  #ofSession = new Map<string, SessionReach>();

  get(sessionId: string): SessionReach {
    const known = this.#ofSession.get(sessionId);
    if (known) return known;
    const made = new SessionReach(sessionId);
    this.#ofSession.set(sessionId, made);
    return made;
  }

  applyEvent = ({ type }: HallEvent): void => {
    if (type === 'connector_grants_changed' || type === 'connector_connection_changed' || type === 'connector_provider_changed') this.reload();
  };

  reload = (): void => {
    for (const reach of this.#ofSession.values()) if (reach.list || reach.error) void reach.load();
  };
}

export const sessionConnections = new Reaches();

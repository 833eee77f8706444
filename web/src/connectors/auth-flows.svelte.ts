/** Sign-ins that lead to a connection: those of the last half hour, wherever they were begun. */

import { SvelteMap } from 'svelte/reactivity';
import { session } from '../accounts/session.svelte';
import { ApiError } from '../errors/error';
import { coalesced } from '../events/coalesce';
import type { HallEvent } from '../events/frames';
import { newUuid } from '../files/uuid';
import { storeValue, storedValue } from '../ui/browser-storage';
import { connectorsApi } from './connectors-api';
import { connections } from './connections.svelte';
import { StartKeys } from './start-keys';
import type { AuthFlow, StartConnection } from './types';
import { isFinal } from './texts';

/** What was taken off the page stays off it after a reload. */
const KEPT = 'guildhall.connector-flows.dismissed';
/** As many as the server lists. */
const FLOWS_MAX = 50;

/** A refusal is an answer too; only silence and a fault of the server leave it open what came of a start. */
const wasAnswered = (error: unknown): boolean => error instanceof ApiError && error.status > 0 && error.status < 500;

class Flows {
  #byId = new SvelteMap<string, AuthFlow>();
  #keys = new StartKeys(() => newUuid());
  /** What the person took off the page is not brought back by a late event, the newest last. */
  #dropped = new Set(storedValue(KEPT).split(' '));
  error = $state<unknown>(null);

  /** Newest first. */
  list = $derived([...this.#byId.values()].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)));
  waiting = $derived(this.list.filter((flow) => flow.state === 'pending' && flow.step !== 'none'));

  start = (request: StartConnection): Promise<AuthFlow> =>
    this.#keys.with(['start', request], async (key) => this.#put(await connectorsApi.flows.start(request, key)), wasAnswered);

  reconnect = (connectionId: string): Promise<AuthFlow> =>
    this.#keys.with(['reconnect', connectionId], async (key) => this.#put(await connectorsApi.flows.reconnect(connectionId, key)), wasAnswered);

  giveKey = async (id: string, secret: string): Promise<void> => {
    this.#put(await connectorsApi.flows.giveKey(id, secret));
  };

  cancel = async (id: string): Promise<void> => {
    this.#put(await connectorsApi.flows.cancel(id));
  };

  /** Takes an ended one off the page. */
  drop = (id: string): void => {
    this.#dropped.add(id);
    this.#byId.delete(id);
    storeValue(KEPT, [...this.#dropped].slice(-FLOWS_MAX).join(' ').trim());
  };

  /** Reads one again, such as when its time is over or somebody comes back from another page. */
  look = async (id: string): Promise<void> => {
    try {
      this.#put((await connectorsApi.flows.one(id)).body);
      this.error = null;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) this.drop(id);
      else this.error = error;
    }
  };

  /** Reads what there is, such as when somebody comes back from a sign-in. One that ended stays until it is dismissed. */
  load = coalesced(async () => {
    try {
      for (const flow of (await connectorsApi.flows.list()).body.flows) this.#put(flow);
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  });

  reload = (): void => {
    if (session.isOwner) void this.load();
  };

  applyEvent = ({ type, data }: HallEvent): void => {
    if (type !== 'connector_flow_changed' || typeof data.flowId !== 'string') return;
    const known = this.#byId.get(data.flowId);
    if (this.#dropped.has(data.flowId) || (known && isFinal(known))) return;
    void this.look(data.flowId);
  };

  #put(flow: AuthFlow): AuthFlow {
    const known = this.#byId.get(flow.flowId);
    // An answer that was overtaken says nothing new of what has ended.
    if (this.#dropped.has(flow.flowId) || (known && isFinal(known))) return flow;
    this.#byId.set(flow.flowId, flow);
    if (flow.state === 'connected') void connections.load();
    return flow;
  }
}

export const authFlows = new Flows();

/** Sign-ins that lead to a connection, as far as this browser knows of them. */

import { SvelteMap } from 'svelte/reactivity';
import { ApiError } from '../errors/error';
import type { HallEvent } from '../events/frames';
import { newUuid } from '../files/uuid';
import { keep, kept } from '../ui/storage';
import { connectors } from './calls';
import { connections } from './connections.svelte';
import { StartKeys } from './start-keys';
import type { Flow, StartConnection } from './types';
import { isFinal } from './words';

/** Nothing lists flows, so that a reload finds them again their ids are kept. */
const KEPT = 'guildhall.connector-flows';
/** As many as a server holds open. Source: contract 5.13. */
const FLOWS_MAX = 20;

/** A refusal is an answer too; only silence and a fault of the server leave it open what came of a start. */
const wasAnswered = (error: unknown): boolean => error instanceof ApiError && error.status > 0 && error.status < 500;

class Flows {
  #byId = new SvelteMap<string, Flow>();
  #keys = new StartKeys(() => newUuid());
  /** What the person took off the page is not brought back by a late event. */
  #dropped = new Set<string>();
  error = $state<unknown>(null);

  /** Newest first. */
  list = $derived([...this.#byId.values()].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)));
  waiting = $derived(this.list.filter((flow) => flow.state === 'pending' && flow.step !== 'none'));

  start = (wish: StartConnection): Promise<Flow> =>
    this.#keys.with(['start', wish], async (key) => this.#put(await connectors.flows.start(wish, key)), wasAnswered);

  reconnect = (connectionId: string): Promise<Flow> =>
    this.#keys.with(['reconnect', connectionId], async (key) => this.#put(await connectors.flows.reconnect(connectionId, key)), wasAnswered);

  giveKey = async (id: string, secret: string): Promise<void> => {
    this.#put(await connectors.flows.giveKey(id, secret));
  };

  cancel = async (id: string): Promise<void> => {
    this.#put(await connectors.flows.cancel(id));
  };

  /** Takes an ended one off the page. */
  drop = (id: string): void => {
    this.#dropped.add(id);
    this.#byId.delete(id);
    this.#keep();
  };

  /** Reads one again, such as when its time is over or somebody comes back from another page. */
  look = async (id: string): Promise<void> => {
    try {
      this.#put((await connectors.flows.one(id)).body);
      this.error = null;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) this.drop(id);
      else this.error = error;
    }
  };

  lookAll = (): void => {
    for (const flow of this.#byId.values()) if (!isFinal(flow)) void this.look(flow.flowId);
  };

  /** Reads those that were begun before the page was loaded. */
  load = (): void => {
    for (const id of keptIds()) void this.look(id);
  };

  fold = ({ type, data }: HallEvent): void => {
    if (type !== 'connector_flow_changed' || typeof data.flowId !== 'string') return;
    const known = this.#byId.get(data.flowId);
    if (this.#dropped.has(data.flowId) || (known && isFinal(known))) return;
    void this.look(data.flowId);
  };

  #put(flow: Flow): Flow {
    const known = this.#byId.get(flow.flowId);
    // An answer that was overtaken says nothing new of what has ended.
    if (this.#dropped.has(flow.flowId) || (known && isFinal(known))) return flow;
    this.#byId.set(flow.flowId, flow);
    this.#keep();
    if (flow.state === 'connected') void connections.load();
    return flow;
  }

  #keep(): void {
    keep(KEPT, this.list.slice(0, FLOWS_MAX).map(({ flowId }) => flowId).join(' '));
  }
}

const keptIds = (): string[] => kept(KEPT).split(' ').filter((id) => id !== '');

export const flows = new Flows();

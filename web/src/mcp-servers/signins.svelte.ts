/** Sign-ins with tool servers, as far as this page was told of them. */

import { SvelteMap } from 'svelte/reactivity';
import { tools } from '../api/tool-servers';
import type { HallEvent } from '../events/frames';
import { withSignInEvent, type SignIn } from './signin';

const keyOf = (agentId: string, name: string) => `${agentId}/${name.toLowerCase()}`;

class SignIns {
  #byServer = new SvelteMap<string, SignIn>();

  of(agentId: string, name: string): SignIn | undefined {
    return this.#byServer.get(keyOf(agentId, name));
  }

  /** True when there is nothing to be done, because the stored sign-in counts. */
  start = async (agentId: string, name: string): Promise<boolean> => {
    const started = await tools.signIns.start(agentId, name);
    if (started.flowId === null || started.signInUrl === null) return true;
    this.#byServer.set(keyOf(agentId, name), {
      flowId: started.flowId,
      url: started.signInUrl,
      disclosure: started.disclosure,
      phase: 'waiting',
      code: null,
      error: null,
    });
    return false;
  };

  /** Events do not tell when the link was opened, so that is asked for. */
  look = async (agentId: string, name: string): Promise<void> => {
    const known = this.of(agentId, name);
    if (!known || known.phase === 'done') return;
    const { body } = await tools.signIns.one(agentId, name, known.flowId);
    const still = this.of(agentId, name);
    if (still?.flowId !== known.flowId || still.phase === 'done') return;
    this.#byServer.set(keyOf(agentId, name), { ...still, phase: body.phase, code: body.code, error: body.error });
  };

  forget(agentId: string, name: string): void {
    this.#byServer.delete(keyOf(agentId, name));
  }

  applyEvent = (event: HallEvent): void => {
    const { agentId, name } = event.data;
    if (typeof agentId !== 'string' || typeof name !== 'string') return;
    const key = keyOf(agentId, name);
    const next = withSignInEvent(this.#byServer.get(key), event);
    if (next) this.#byServer.set(key, next);
  };
}

export const signIns = new SignIns();

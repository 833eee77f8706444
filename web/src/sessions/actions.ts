/** What one can do to a session from more than one place. */

import type { Session } from '../api/types';
import { work } from '../api/agent-work';
import { toasts } from '../ui/toasts.svelte';
import { sessions } from './sessions.svelte';

/** Stops the turn; what waits goes on unless it is dropped too. */
export async function stop(session: Session, keepQueue: boolean): Promise<void> {
  try {
    const { ok, cancelledQueued } = await work.sessions.cancel(session.id, keepQueue);
    if (cancelledQueued > 0) toasts.say(`Stopped, and ${cancelledQueued} waiting dropped.`);
    else toasts.say(ok ? 'Stopped.' : 'Nothing ran.');
  } catch (error) {
    toasts.fail(error);
  }
}

export async function setMode(session: Session, permissionMode: string, acknowledged: boolean): Promise<void> {
  const body = { permissionMode, ...(acknowledged ? { acknowledgedAutonomy: true } : {}) };
  sessions.put(await work.sessions.change(session.id, body));
}

export async function close(session: Session): Promise<void> {
  sessions.put(await work.sessions.close(session.id));
}

const BUSY = ['starting', 'running', 'waiting', 'cancelling'];
export const isBusy = ({ state }: Pick<Session, 'state'>): boolean => BUSY.includes(state);

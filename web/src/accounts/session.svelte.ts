/** Whether somebody is signed in here, told by `whoami`, by any refusal, and by the other tabs. */

import { api, onRefusal } from '../api/client';
import type { WhoAmI } from '../api/types';
import { forgetAll, keep, kept } from '../ui/storage';
import { needAfter, needOf, type Need } from './needs';

const LAST = 'guildhall.me';
/** What a person leaves in this browser that is nobody else's. */
const PRIVATE = ['guildhall.draft.', 'guildhall.outbox.', 'guildhall.sessions-seen', 'guildhall.folder'];

class Session {
  need = $state<Need>('');
  who = $state.raw<WhoAmI | null>(null);
  isOwner = $derived(this.who?.caller?.kind === 'owner');

  /** The password just signed in with, while the server asks for another one. */
  given = '';
  #tabs = new BroadcastChannel('guildhall-session');

  constructor() {
    onRefusal.add((refusal) => {
      if (this.who?.mode === 'login') this.need = needAfter(refusal) ?? this.need;
    });
    this.#tabs.onmessage = () => location.reload();
  }

  /** Takes in an answer of `whoami`. */
  take(who: WhoAmI): void {
    this.who = who;
    this.need = needOf(who);
    const me = who.caller?.authorId ?? '';
    if (me === '') return;
    if (kept(LAST) !== '' && kept(LAST) !== me) for (const beginning of PRIVATE) forgetAll(beginning);
    keep(LAST, me);
  }

  /** Asks again; for a stream that ended without saying why. */
  check = async (): Promise<void> => {
    if (this.who?.mode !== 'login') return;
    try {
      this.take((await api.whoami()).body);
    } catch {
      // Not reached: then nothing is known about it, and the stream keeps trying.
    }
  };

  async signIn(email: string, password: string): Promise<void> {
    await api.accounts.signIn(email, password);
    this.given = password;
  }

  async register(body: Parameters<typeof api.accounts.register>[0]): Promise<void> {
    await api.accounts.register(body);
  }

  async changePassword(current: string, next: string): Promise<void> {
    await api.accounts.changePassword(current, next);
    this.given = '';
  }

  async signOut(): Promise<void> {
    await api.accounts.signOut();
    this.tell();
    location.reload();
  }

  /** The other tabs of this browser share its cookie, so they begin anew. */
  tell(): void {
    this.#tabs.postMessage(null);
  }
}

export const session = new Session();

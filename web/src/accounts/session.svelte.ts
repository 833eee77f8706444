/**
 * Whether somebody is signed in here, and whether the server knows whose this browser is:
 * told by `whoami`, by any refusal, and by the other tabs.
 */

import { api, onRefusal } from '../api/client';
import type { WhoAmI } from '../api/types';
import { asApiError, type ApiError } from '../errors/error';
import { clearStored, storeValue, storedValue } from '../ui/browser-storage';
import { confirmsOwner, isOwnerUncertain, requirementAfter, signInRequirement, type SignInRequirement } from './sign-in-requirements';

const LAST = 'guildhall.me';
/** What a person leaves in this browser that is nobody else's. */
const PRIVATE = ['guildhall.draft.', 'guildhall.outbox.', 'guildhall.sessions-seen', 'guildhall.folder'];

/** What tabs tell each other. */
type TabWord = 'begin-anew' | 'check';

class Session {
  need = $state<SignInRequirement>('');
  who = $state.raw<WhoAmI | null>(null);
  /** Whether the server cannot tell this browser from an agent's; it answers nothing here then, whoever is signed in. */
  inDoubt = $state(false);
  isOwner = $derived(this.who?.caller?.kind === 'owner');

  /** The password just signed in with, while the server asks for another one. */
  given = '';
  #tabs = new BroadcastChannel('guildhall-session');

  constructor() {
    onRefusal.add((refusal) => {
      if (isOwnerUncertain(refusal)) this.#startDoubt();
      else if (this.who?.mode === 'login') this.need = requirementAfter(refusal) ?? this.need;
    });
    this.#tabs.onmessage = ({ data }: MessageEvent<TabWord>) => {
      if (data === 'check') void this.check();
      else location.reload();
    };
  }

  /** Takes in an answer of `whoami`. */
  take(who: WhoAmI): void {
    this.who = who;
    this.need = signInRequirement(who);
    const me = who.caller?.authorId ?? '';
    if (me === '') return;
    if (storedValue(LAST) !== '' && storedValue(LAST) !== me) for (const beginning of PRIVATE) clearStored(beginning);
    storeValue(LAST, me);
  }

  /** Asks again; for a stream that ended without saying why. */
  check = async (): Promise<void> => {
    if (this.who === null || this.inDoubt) return;
    try {
      const who = (await api.whoami()).body;
      if (who.caller === null) await this.learnWhy();
      // Whoever is in doubt is still who they were.
      if (who.mode === 'login' && !this.inDoubt) this.take(who);
    } catch {
      // Not reached: then nothing is known about it, and the stream keeps trying.
    }
  };

  /** Where `whoami` names nobody: a refusal says why, and is heard like every other. */
  async learnWhy(): Promise<void> {
    await this.#refusal();
  }

  /** Looks whether the doubt is over. */
  settle = async (): Promise<boolean> => {
    if (confirmsOwner(await this.#refusal())) this.inDoubt = false;
    return !this.inDoubt;
  };

  async #refusal(): Promise<ApiError | null> {
    try {
      await api.authors.me();
      return null;
    } catch (error) {
      return asApiError(error);
    }
  }

  #startDoubt(): void {
    if (this.inDoubt) return;
    this.inDoubt = true;
    this.#say('check');
  }

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
    this.#say('begin-anew');
  }

  #say(word: TabWord): void {
    this.#tabs.postMessage(word);
  }
}

export const session = new Session();

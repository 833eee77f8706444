/** The local browser as it is now: read, heard of, and changed by what the person does in this window. */

import { browser, type BrowserMode } from '../api/browser';
import type { BrowserState } from '../api/types';
import { asApiError, type ApiError } from '../errors/error';
import { coalesced } from '../events/coalesce';
import type { HallEvent } from '../events/frames';
import { newerState, selectedTab, stateFromEvent } from './browser-state';
import { isTransitioning, phaseOf } from './texts';

/** Signs of the server are lossy: while the browser moves on by itself it is asked this often, */
const ASK_MS = 300;
/** and a window of its own, which people use without this page, this often. Pictures bring the state with them. */
const ASK_WINDOW_MS = 5_000;

class LocalBrowser {
  state = $state.raw<BrowserState | null>(null);
  /** Why the state could not be read; what was read before is kept. */
  error = $state.raw<ApiError | null>(null);
  /** The actions that are under way. */
  #doing = $state.raw<readonly string[]>([]);
  /** What the last action was refused with. */
  refused = $state.raw<ApiError | null>(null);

  selected = $derived(this.state ? selectedTab(this.state) : undefined);

  #watchers = 0;
  #openedHere = false;
  /** How many resets there were: behind each one the revisions may be those of another server. */
  #resets = 0;
  /** Which of them the shown state was asked for behind. */
  #shownSince = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  load = coalesced(() => this.#read());

  async #read(): Promise<void> {
    const resets = this.#resets;
    try {
      this.take((await browser.state()).body, resets);
      this.error = null;
    } catch (error) {
      this.error = asApiError(error);
    }
    this.#askAgain();
  }

  /** Somebody looks, so it is kept true; the answer ends that. */
  watch(): () => void {
    this.#watchers += 1;
    void this.load();
    return () => {
      this.#watchers -= 1;
      if (this.#watchers === 0) clearTimeout(this.#timer);
    };
  }

  /** `resets`: how many there were when it was asked for. Behind a reset the first state counts whatever its revision is. */
  take = (next: BrowserState, resets = this.#resets): void => {
    if (resets === this.#resets) {
      this.state = this.#shownSince === resets ? newerState(this.state, next) : next;
      this.#shownSince = resets;
    }
    this.#askAgain();
  };

  #askAgain(): void {
    clearTimeout(this.#timer);
    if (this.#watchers === 0 || !this.state) return;
    const wait = isTransitioning(this.state) ? ASK_MS : phaseOf(this.state) === 'window' ? ASK_WINDOW_MS : 0;
    if (wait > 0) this.#timer = setTimeout(() => void this.load(), wait);
  }

  /** True while this action is under way; without a name, while any is. */
  busy(action?: string): boolean {
    return action === undefined ? this.#doing.length > 0 : this.#doing.includes(action);
  }

  /** Does something and takes in what came of it; true when it was done. */
  async run(action: string, call: () => Promise<BrowserState>): Promise<boolean> {
    this.#doing = [...this.#doing, action];
    this.refused = null;
    const resets = this.#resets;
    try {
      this.take(await call(), resets);
      return true;
    } catch (error) {
      this.refused = asApiError(error);
      // Most refusals mean that it is no longer as it is shown.
      void this.load();
      return false;
    } finally {
      this.#doing = this.#doing.toSpliced(this.#doing.indexOf(action), 1);
    }
  }

  open = (mode: BrowserMode, sessionId = ''): Promise<boolean> => {
    this.#openedHere = true;
    return this.run('open', () => browser.open({ mode, ...(sessionId ? { sessionId } : {}) }));
  };

  /** True once after the person opened it in this window. */
  wasOpenedHere(): boolean {
    const was = this.#openedHere;
    this.#openedHere = false;
    return was;
  }

  close = (): Promise<boolean> => this.run('close', browser.close);

  applyEvent(event: HallEvent): void {
    // What an agent does moves the state by itself.
    if (this.#watchers > 0 && event.type.startsWith('browser_') && event.type !== 'browser_agent_action') void this.load();
  }

  applySignal = (sign: unknown): void => {
    const state = stateFromEvent(sign);
    if (state && this.#watchers > 0) this.take(state);
  };

  /** After a reset, which may be another server's. */
  reload(): void {
    this.#resets += 1;
    if (this.#watchers > 0) void this.load();
  }
}

export const localBrowser = new LocalBrowser();

/** All sessions that are kept here, without the ones of a terminal. */

import { SvelteMap } from 'svelte/reactivity';
import type { Session } from '../api/types';
import { work } from '../api/agent-work';
import type { HallEvent } from '../events/frames';
import { readAndApply } from '../events/read-and-apply';
import { storeValue, storedValue } from '../ui/browser-storage';

const SEEN = 'guildhall.sessions-seen';
/** Pages read of a long list; whoever wants older ones opens them by their address. */
const PAGES_MAX = 5;

class Sessions {
  loaded = $state(false);
  error = $state<unknown>(null);
  warnings = $state.raw<string[]>([]);
  seq = 0;

  #byId = new SvelteMap<string, Session>();
  /** How many turns of a session were looked at in this browser. */
  #seen = $state<Record<string, number>>(seenBefore());

  all = $derived([...this.#byId.values()].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1)));
  open = $derived(this.all.filter(({ state, origin }) => state !== 'closed' && origin !== 'terminal'));
  closed = $derived(this.all.filter(({ state }) => state === 'closed'));

  get(id: string): Session | undefined {
    return this.#byId.get(id);
  }

  /** True while a turn ended that nobody looked at. */
  fresh({ id, usage }: Session): boolean {
    return usage.turns > (this.#seen[id] ?? 0);
  }

  look({ id, usage }: Session): void {
    if (this.#seen[id] === usage.turns) return;
    this.#seen[id] = usage.turns;
    storeValue(SEEN, JSON.stringify(this.#seen));
  }

  load = async (): Promise<void> => {
    try {
      await readAndApply(this.#readAll, ({ sessions, warnings }, seq) => this.#take(sessions, warnings, seq), this.applyEvent);
      this.error = null;
      this.loaded = true;
    } catch (error) {
      this.error = error;
    }
  };

  applyEvent = (event: HallEvent): void => {
    if (event.seq <= this.seq) return;
    if (['session_created', 'session_updated', 'session_closed'].includes(event.type)) this.put(event.data.session as Session);
  };

  put(session: Session): void {
    this.#byId.set(session.id, session);
  }

  #readAll = async () => {
    const sessions: Session[] = [];
    const warnings: string[] = [];
    let seq = Number.MAX_SAFE_INTEGER;
    let cursor: string | undefined;
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const read = await work.sessions.page('guildhall', cursor);
      sessions.push(...read.body.sessions);
      warnings.push(...read.body.warnings);
      seq = Math.min(seq, read.seq);
      if (read.body.nextCursor === null) break;
      cursor = read.body.nextCursor;
    }
    return { body: { sessions, warnings }, seq };
  };

  #take(sessions: Session[], warnings: string[], seq: number): void {
    this.seq = seq;
    this.warnings = [...new Set(warnings)];
    const listed = new Set(sessions.map(({ id }) => id));
    for (const id of this.#byId.keys()) if (!listed.has(id)) this.#byId.delete(id);
    for (const session of sessions) this.#byId.set(session.id, session);
  }
}

function seenBefore(): Record<string, number> {
  try {
    return JSON.parse(storedValue(SEEN) || '{}') as Record<string, number>;
  } catch {
    return {};
  }
}

export const sessions = new Sessions();

/** What a person calls the session. */
export const titleOf = ({ title }: Pick<Session, 'title'>): string => title || 'New session';
/** The last step of a folder's path, which is what people call it. */
export const folderOf = (cwd: string): string => cwd.split('/').filter(Boolean).at(-1) ?? cwd;

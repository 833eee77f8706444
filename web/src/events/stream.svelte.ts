/**
 * The one stream of this browser.
 * The leading tab (Web Locks) holds the connection and tells the others over a BroadcastChannel;
 * when it closes, the next one takes over from the last event it has seen.
 */

import type { Frame, HallEvent, Signal } from './frames';
import { ReconnectingStream } from './reconnecting-stream';
import { openSocket, openSse } from './event-connection';

type Word =
  | { kind: 'hello' }
  | { kind: 'retry' }
  | { kind: 'frame'; prev: number; frame: Frame }
  | { kind: 'state'; state: 'live' | 'lost'; since: number };

/** A break shorter than this is not worth a word. */
const LOST_AFTER_MS = 2_000;
/** How many events are kept for state that was read while they passed. */
const RECENT_MAX = 2_000;
const NAME = 'guildhall-stream';

class Stream {
  /** `starting` until the first connection stands or is given up for now. */
  state = $state<'starting' | 'live' | 'lost'>('starting');
  lostSince = $state<Date | null>(null);
  /** The last event this tab has taken in. */
  seq = $state(0);
  /** True in the tab that holds the connection. */
  leads = $state(false);

  #channel = new BroadcastChannel(NAME);
  #early: Word[] | null = [];
  #recent: HallEvent[] = [];
  #recentFrom = 0;
  #line: ReconnectingStream | null = null;
  #lostTimer: ReturnType<typeof setTimeout> | undefined;
  #events = new Set<(event: HallEvent) => void>();
  #signals = new Set<(signal: Signal) => void>();
  #resets = new Set<() => void>();

  constructor() {
    // Listening starts before the first GET, so that nothing falls between the reading and the stream.
    this.#channel.onmessage = (message: MessageEvent<Word>) => {
      if (this.#early) this.#early.push(message.data);
      else this.#hear(message.data);
    };
  }

  /** Begins after event `after`, the oldest of the readings the page was built from. */
  start(after: number, logId: string): void {
    this.seq = after;
    this.#recentFrom = after;
    const early = this.#early ?? [];
    this.#early = null;
    for (const word of early) this.#hear(word);

    if (!('locks' in navigator)) {
      this.#lead(openSocket, logId);
      return;
    }
    this.#say({ kind: 'hello' });
    void navigator.locks.request(NAME, () => {
      this.#lead(openSse, logId);
      return new Promise<never>(() => {});
    });
  }

  /** Asks whoever leads to connect now. */
  retry = (): void => {
    if (this.#line) this.#line.connect();
    else this.#say({ kind: 'retry' });
  };

  onEvent(listener: (event: HallEvent) => void): () => void {
    this.#events.add(listener);
    return () => this.#events.delete(listener);
  }

  onSignal(listener: (signal: Signal) => void): () => void {
    this.#signals.add(listener);
    return () => this.#signals.delete(listener);
  }

  /** The listener reads its state again: the log does not reach back to where this tab stands. */
  onReset(listener: () => void): () => void {
    this.#resets.add(listener);
    return () => this.#resets.delete(listener);
  }

  /** Events after `seq` that this tab already took in; null when some are no longer kept. */
  since(seq: number): HallEvent[] | null {
    if (seq >= this.seq) return [];
    if (seq < this.#recentFrom) return null;
    return this.#recent.filter((event) => event.seq > seq);
  }

  #lead(open: typeof openSse, logId: string): void {
    this.leads = true;
    this.#expectLine();
    this.#line = new ReconnectingStream(open, this.seq, logId, {
      frame: (prev, frame) => this.#tell({ kind: 'frame', prev, frame }),
      up: () => {
        clearTimeout(this.#lostTimer);
        this.#tell({ kind: 'state', state: 'live', since: Date.now() });
      },
      down: () => this.#expectLine(),
    });
    window.addEventListener('online', this.retry);
    // Whoever comes back to the page does not wait for the next try.
    window.addEventListener('focus', () => this.state === 'lost' && this.retry());
  }

  #expectLine(): void {
    const since = Date.now();
    clearTimeout(this.#lostTimer);
    this.#lostTimer = setTimeout(() => this.#tell({ kind: 'state', state: 'lost', since }), LOST_AFTER_MS);
  }

  #tell(word: Word): void {
    // Tabs without locks each have a line of their own and must not hear each other's.
    if ('locks' in navigator) this.#say(word);
    this.#hear(word);
  }

  #say(word: Word): void {
    this.#channel.postMessage(word);
  }

  #hear(word: Word): void {
    if (word.kind === 'hello') {
      if (this.leads && this.state !== 'starting') {
        this.#say({ kind: 'state', state: this.state, since: this.lostSince?.getTime() ?? Date.now() });
      }
    } else if (word.kind === 'retry') {
      this.#line?.connect();
    } else if (word.kind === 'state') {
      this.state = word.state;
      this.lostSince = word.state === 'lost' ? new Date(word.since) : null;
    } else {
      this.#take(word.prev, word.frame);
    }
  }

  #take(prev: number, frame: Frame): void {
    if (frame.event === 'signal' || frame.event === 'browser_state') {
      for (const listener of this.#signals) listener(frame.data as Signal);
      return;
    }
    if (frame.event === 'reset') {
      this.#restart((frame.data as { cursor: number }).cursor);
      return;
    }
    if (frame.id === null || frame.id <= this.seq) return;
    // A tab that slept through a frame cannot fold the next one: it reads everything again.
    if (prev > this.seq) this.#restart(prev);
    this.seq = frame.id;
    if (frame.event === 'position' || frame.event === 'snapshot') return;
    const event = frame.data as HallEvent;
    this.#recent.push(event);
    if (this.#recent.length > RECENT_MAX) {
      this.#recentFrom = this.#recent.shift()?.seq ?? this.#recentFrom;
    }
    for (const listener of this.#events) listener(event);
  }

  #restart(cursor: number): void {
    this.seq = cursor;
    this.#recent = [];
    this.#recentFrom = cursor;
    for (const listener of this.#resets) listener();
  }
}

export const stream = new Stream();

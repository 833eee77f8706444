/**
 * Looking at the pictures of a tab, and acting in it: one socket, which comes back by itself.
 * After each break the view is asked for anew, and nothing that was meant for the page before is done to the new one.
 */

import { tick } from 'svelte';
import { STREAM_PATH, STREAM_PROTOCOL } from '../api/browser';
import type { BrowserState } from '../api/types';
import { retryDelayMs } from '../events/reconnecting-stream';
import type { InputStep } from './input';
import { FrameOrder, parseFrame, parseServerMessage, type ScreencastFrame, type ClientMessage, type ServerMessage } from './screencast-messages';
import type { Point, Size } from './coordinates';
import { InputQueue } from './input-queue';

/** How long the agent's pointer is seen after its last act. */
const CURSOR_MS = 1_500;
/** The largest picture that may be asked for, on each side. Source: contract 7.6. */
const PICTURE_PX_MAX = 4_096;
/** Connections that were refused at once before that is said. */
const REFUSALS = 2;

export type ScreencastCallbacks = {
  state(state: BrowserState): void;
  /** The line broke: what is known may have ended with it. */
  lost(): void;
};

export class ScreencastViewer {
  /** `starting` until the first connection stands or was refused. */
  line = $state<'starting' | 'live' | 'lost'>('starting');
  /** The connection was refused again and again without a word, as when too many windows look. */
  refused = $state(false);
  /** The page as it is seen, in CSS pixels; null while nothing is. */
  page = $state.raw<Size | null>(null);
  /** Where the agent acts at this moment. */
  cursor = $state.raw<(Point & { action: string }) | null>(null);
  /** The picture that stands there is of the page before: nothing is done by it. */
  old = $state(false);
  /** Code of what the last input was refused with; `''` when it was taken. */
  code = $state('');

  #events: ScreencastCallbacks;
  #socket: WebSocket | null = null;
  /** The first state of this connection was heard and is shown. */
  #isInformed = false;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #tries = 0;
  #ended = false;

  #canvas: HTMLCanvasElement | null = null;
  #order = new FrameOrder();
  #queue = new InputQueue();
  #tabId: string | null = null;
  #max: Size = { width: 0, height: 0 };
  #said = '';
  #cursorTimer: ReturnType<typeof setTimeout> | undefined;
  /** Who waits until the page has had all the input. */
  #waiting: (() => void)[] = [];

  constructor(events: ScreencastCallbacks) {
    this.#events = events;
    window.addEventListener('online', this.connect);
    this.connect();
  }

  close(): void {
    this.#ended = true;
    window.removeEventListener('online', this.connect);
    clearTimeout(this.#retry);
    clearTimeout(this.#cursorTimer);
    this.#drop();
  }

  /** Connects now, whatever the wait was; does nothing while the line stands. */
  connect = (): void => {
    if (this.#ended || this.line === 'live') return;
    clearTimeout(this.#retry);
    this.#drop();
    const url = new URL(STREAM_PATH, location.origin);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(url, STREAM_PROTOCOL);
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    let opened = false;
    // A socket that was put aside says nothing any more.
    const on = (hear: () => void) => () => this.#socket === socket && hear();
    socket.onopen = on(() => {
      opened = true;
      this.#tries = 0;
      this.refused = false;
      this.line = 'live';
    });
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (this.#socket !== socket) return;
      if (typeof data !== 'string') return void this.#show(data);
      const told = parseServerMessage(data);
      if (told?.type === 'state') {
        this.#events.state(told.state);
        if (!this.#isInformed) void this.#begin(socket);
      } else if (told) {
        this.#hear(told);
      }
    };
    socket.onclose = on(() => {
      this.#socket = null;
      this.#forget();
      this.line = 'lost';
      this.refused = !opened && this.#tries + 1 >= REFUSALS;
      this.#retry = setTimeout(this.connect, retryDelayMs(this.#tries, Math.random()));
      this.#tries += 1;
      this.#events.lost();
    });
  };

  /**
   * Asks for the first view, once the page shows what the server said first: to look at a tab is to select it,
   * so a view of what was known before the connection could take back what was selected since.
   */
  async #begin(socket: WebSocket): Promise<void> {
    await tick();
    if (this.#socket !== socket) return;
    this.#isInformed = true;
    this.#sayView();
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#forget();
  }

  #forget(): void {
    this.#order.end();
    this.#queue.clear();
    this.old = false;
    this.#said = '';
    this.#isInformed = false;
    this.#tellWaiting();
  }

  /** Resolves when the page has had all that was done so far: what is asked by another way must not overtake it. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#tellWaiting();
    });
  }

  #tellWaiting(): void {
    if (this.#queue.isIdle) for (const tell of this.#waiting.splice(0)) tell();
  }

  /** Where pictures are drawn. For `{@attach}`. */
  draw = (canvas: HTMLCanvasElement): (() => void) => {
    this.#canvas = canvas;
    return () => (this.#canvas = null);
  };

  /** Which tab is looked at, none when null, and how many pixels of it can be seen. */
  look(tabId: string | null, max: Size): void {
    const side = (px: number) => Math.min(PICTURE_PX_MAX, Math.max(1, Math.round(px)));
    this.#tabId = tabId;
    this.#max = { width: side(max.width), height: side(max.height) };
    if (this.#isInformed) this.#sayView();
  }

  #sayView(): void {
    const said: ClientMessage = { type: 'view', tabId: this.#tabId, maxWidth: this.#max.width, maxHeight: this.#max.height };
    const text = JSON.stringify(said);
    if (text === this.#said) return;
    this.#said = text;
    this.#socket?.send(text);
  }

  #say(said: ClientMessage): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(said));
  }

  /** Does these steps in the page that is seen; false when none is, or it does not keep up. */
  input(steps: InputStep[]): boolean {
    if (steps.length === 0) return true;
    // That the line is down is told by itself.
    if (this.line !== 'live') return false;
    if (this.#order.seen === null) this.#queue.miss(steps);
    const taken = this.#order.seen !== null && this.#queue.push(steps);
    this.code = this.#queue.code;
    if (taken) this.#send();
    return taken;
  }

  #send(): void {
    const viewId = this.#order.seen;
    if (viewId === null) return;
    for (let next = this.#queue.take(); next; next = this.#queue.take()) this.#say({ type: 'input', viewId, ...next });
  }

  #hear(told: Exclude<ServerMessage, { type: 'state' }>): void {
    switch (told.type) {
      case 'view':
        this.#order.begin(told.viewId);
        this.#queue.turn();
        this.code = this.#queue.code;
        this.old = this.page !== null;
        this.#tellWaiting();
        this.cursor = null;
        break;
      case 'inputResult':
        this.#queue.done(told.id, told.ok ? '' : told.code);
        this.code = this.#queue.code;
        this.#send();
        this.#tellWaiting();
        break;
      case 'agentCursor':
        if (told.tabId !== this.#tabId) break;
        this.cursor = { x: told.x, y: told.y, action: told.action };
        clearTimeout(this.#cursorTimer);
        this.#cursorTimer = setTimeout(() => (this.cursor = null), CURSOR_MS);
        break;
    }
  }

  async #show(message: ArrayBuffer): Promise<void> {
    const picture = parseFrame(message);
    if (!picture) return;
    const socket = this.#socket;
    try {
      const bitmap = await createImageBitmap(new Blob([picture.jpeg], { type: 'image/jpeg' }));
      this.#paint(picture, bitmap);
      bitmap.close();
    } catch {
      // One that cannot be read is acknowledged too: the next one may be.
    }
    // Another connection has views of its own.
    if (this.#socket === socket) this.#say({ type: 'ack', viewId: picture.viewId, sequence: picture.sequence });
  }

  #paint(picture: ScreencastFrame, bitmap: ImageBitmap): void {
    const canvas = this.#canvas;
    if (!canvas || !this.#order.draws(picture)) return;
    this.old = false;
    // A new size empties a canvas, so it is set only where it is another one.
    if (canvas.width !== bitmap.width) canvas.width = bitmap.width;
    if (canvas.height !== bitmap.height) canvas.height = bitmap.height;
    canvas.getContext('2d')?.drawImage(bitmap, 0, 0);
    if (this.page?.width !== picture.width || this.page.height !== picture.height) this.page = { width: picture.width, height: picture.height };
  }
}

/** One connection to the stream, by SSE or WebSocket; it ends once and does not come back by itself. */

import { reportRefusal } from '../api/client';
import { frameFromMessage, SseParser, type Frame } from './frames';

export type EventConnectionCallbacks = {
  /** Bytes came: the line is alive. */
  alive(): void;
  frame(frame: Frame): void;
  /** The line is gone; `retryAfterS` is the server's wish, 0 when it named none. */
  ended(retryAfterS: number): void;
};

export type EventConnection = { close(): void };
export type ConnectEvents = (after: number, logId: string, listener: EventConnectionCallbacks) => EventConnection;

/** Silence longer than three heartbeats (15 s each) means the line is dead, whatever the socket says. */
const SILENCE_MAX_MS = 45_000;

function address(after: number, logId: string): URL {
  const url = new URL('/api/events', location.origin);
  url.searchParams.set('scope', '*');
  url.searchParams.set('after', String(after));
  if (logId) url.searchParams.set('log', logId);
  return url;
}

/** Watches for silence; `touch` says that something came. */
function watch(onSilence: () => void): { touch(): void; stop(): void } {
  let timer = setTimeout(onSilence, SILENCE_MAX_MS);
  return {
    touch() {
      clearTimeout(timer);
      timer = setTimeout(onSilence, SILENCE_MAX_MS);
    },
    stop: () => clearTimeout(timer),
  };
}

/**
 * SSE read with `fetch`, not `EventSource`: it shows refusals, heartbeats and position frames,
 * and leaves the reconnecting to us.
 */
export const openSse: ConnectEvents = (after, logId, listener) => {
  const abort = new AbortController();
  const silence = watch(() => abort.abort());
  let over = false;

  const end = (retryAfterS: number) => {
    if (over) return;
    over = true;
    silence.stop();
    listener.ended(retryAfterS);
  };

  const read = async () => {
    const response = await fetch(address(after, logId), {
      headers: { accept: 'text/event-stream' },
      cache: 'no-store',
      signal: abort.signal,
    });
    if (!response.ok) await reportRefusal(response);
    if (!response.ok || !response.body) return Number(response.headers.get('retry-after') ?? 0);
    const parser = new SseParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || over) return 0;
      silence.touch();
      listener.alive();
      for (const frame of parser.push(value)) listener.frame(frame);
    }
  };

  read().then(end, () => end(0));
  return {
    close() {
      over = true;
      silence.stop();
      abort.abort();
    },
  };
};

/** The same stream by WebSocket, for pages where no tab can lead (plain http off loopback). */
export const openSocket: ConnectEvents = (after, logId, listener) => {
  const url = address(after, logId);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(url);
  const silence = watch(() => socket.close());
  let over = false;

  socket.onopen = () => listener.alive();
  socket.onmessage = (message) => {
    if (over) return;
    silence.touch();
    listener.alive();
    listener.frame(frameFromMessage(String(message.data)));
  };
  socket.onclose = () => {
    silence.stop();
    if (!over) listener.ended(0);
    over = true;
  };
  return {
    close() {
      over = true;
      silence.stop();
      socket.close();
    },
  };
};

import { expect, test } from 'vitest';
import { frameFromMessage, SseParser } from './frames';
import { retryDelayMs } from './reconnecting-stream';

const EVENT = { seq: 7, scope: 'hall', type: 'author_updated', at: 't', actorId: null, data: {} };

test('frames come out whole, wherever the pieces are cut', () => {
  const text = `: connected\nretry: 1000\n\nid: 7\nevent: author_updated\ndata: ${JSON.stringify(EVENT)}\n\n: keepalive\n\n`;
  const parser = new SseParser();
  const frames = [...text].flatMap((char) => parser.push(char));
  expect(frames).toEqual([{ event: 'author_updated', id: 7, data: EVENT }]);
});

test('an id without data moves the position', () => {
  expect(new SseParser().push('id: 9\n\n')).toEqual([{ event: 'position', id: 9, data: null }]);
});

test('a reset has no id', () => {
  expect(new SseParser().push('event: reset\ndata: {"cursor":3}\n\n')).toEqual([
    { event: 'reset', id: null, data: { cursor: 3 } },
  ]);
});

test('lines may end in any of the three ways', () => {
  const parser = new SseParser();
  expect(parser.push('id: 1\r\nevent: a\r\ndata: 1\r\n\r')).toEqual([]);
  expect(parser.push('\nid: 2\rdata: 2\r\rx')).toMatchObject([
    { event: 'a', id: 1 },
    { event: 'message', id: 2 },
  ]);
});

test('a WebSocket message is the same frame', () => {
  const text = JSON.stringify({ event: 'author_updated', id: '7', data: EVENT });
  expect(frameFromMessage(text)).toEqual({ event: 'author_updated', id: 7, data: EVENT });
  expect(frameFromMessage('{"event":"heartbeat"}')).toEqual({ event: 'heartbeat', id: null, data: null });
});

test('waits double from half a second to fifteen, never less than half of that', () => {
  expect([0, 1, 2, 3, 4, 5, 9].map((tries) => retryDelayMs(tries, 1))).toEqual([500, 1000, 2000, 4000, 8000, 15000, 15000]);
  expect(retryDelayMs(0, 0)).toBe(250);
});

import { expect, test } from 'vitest';
import { HEADER_BYTES, FrameOrder, parseFrame, parseServerMessage } from './screencast-messages';

/** A message as the server makes it: everything in its header is another number. */
function message({ version = 1, format = 1, width = 1_280, height = 800, jpeg = [0xff, 0xd8, 0xff] } = {}): ArrayBuffer {
  const buffer = new ArrayBuffer(HEADER_BYTES + jpeg.length);
  const view = new DataView(buffer);
  view.setUint8(0, version);
  view.setUint8(1, format);
  view.setUint32(4, 0xdead_beef);
  view.setUint32(8, 0x8000_0001);
  view.setUint16(12, width);
  view.setUint16(14, height);
  view.setBigUint64(16, 1_795_336_800_123n);
  new Uint8Array(buffer).set(jpeg, HEADER_BYTES);
  return buffer;
}

test('a picture is read from its header of 24 bytes, the highest byte first', () => {
  expect(parseFrame(message())).toEqual({
    viewId: 0xdead_beef,
    sequence: 0x8000_0001,
    width: 1_280,
    height: 800,
    at: 1_795_336_800_123,
    jpeg: new Uint8Array([0xff, 0xd8, 0xff]),
  });
});

test('what is no picture of this version is none', () => {
  expect(parseFrame(message({ version: 2 }))).toBeNull();
  expect(parseFrame(message({ format: 2 }))).toBeNull();
  expect(parseFrame(message({ width: 0 }))).toBeNull();
  expect(parseFrame(message({ jpeg: [] }))).toBeNull();
  expect(parseFrame(new ArrayBuffer(0))).toBeNull();
  expect(parseFrame(message().slice(0, HEADER_BYTES - 1))).toBeNull();
});

test('messages are read, and those of a newer server are passed over', () => {
  expect(parseServerMessage('{"type":"view","viewId":7,"tabId":"t1","connectionId":"c1"}')).toEqual({ type: 'view', viewId: 7, tabId: 't1', connectionId: 'c1' });
  expect(parseServerMessage('{"type":"inputResult","id":3,"ok":false,"code":"STALE"}')).toEqual({ type: 'inputResult', id: 3, ok: false, code: 'STALE' });
  expect(parseServerMessage('{"type":"inputResult","id":4,"ok":true}')).toEqual({ type: 'inputResult', id: 4, ok: true, code: '' });
  expect(parseServerMessage('{"type":"state","revision":9}')).toMatchObject({ type: 'state', state: { revision: 9 } });
  expect(parseServerMessage('{"type":"sound"}')).toBeNull();
  expect(parseServerMessage('no json')).toBeNull();
});

test('a picture of another view is not drawn, nor one that is older than what is seen', () => {
  const order = new FrameOrder();
  expect(order.draws({ viewId: 1, sequence: 1 })).toBe(false);
  order.begin(1);
  expect(order.draws({ viewId: 1, sequence: 2 })).toBe(true);
  expect(order.draws({ viewId: 1, sequence: 1 })).toBe(false);
  expect(order.draws({ viewId: 1, sequence: 2 })).toBe(false);
  order.begin(2);
  expect(order.draws({ viewId: 1, sequence: 3 })).toBe(false);
  expect(order.draws({ viewId: 2, sequence: 0 })).toBe(true);
});

test('nothing is seen of a view until its first picture', () => {
  const order = new FrameOrder();
  expect(order.seen).toBeNull();
  order.begin(1);
  expect(order.seen).toBeNull();
  order.draws({ viewId: 1, sequence: 1 });
  expect(order.seen).toBe(1);
  // The old picture still stands there, but what is clicked on it must not reach the new page.
  order.begin(2);
  expect(order.seen).toBeNull();
  order.draws({ viewId: 2, sequence: 1 });
  order.end();
  expect(order.seen).toBeNull();
});

import { expect, test } from 'vitest';
import type { CanvasDocument } from '../api/types';
import type { HallEvent } from '../events/frames';
import { applyCanvasEvent, sortByTabOrder, neighbourTab } from './apply-events';

const document = (id: string, more: Partial<CanvasDocument> = {}) => ({ id, rev: 1, position: 1, pinned: false, ...more }) as CanvasDocument;
const event = (type: string, data: Record<string, unknown>): HallEvent => ({ seq: 5, scope: 'room:r', type, at: 't', actorId: null, data });

test('a document comes in as the event has it, unless something newer is known', () => {
  const told = event('canvas_document', { document: document('a', { rev: 3 }), change: 'updated' });
  expect(applyCanvasEvent(told, () => 2)).toEqual({ kind: 'put', document: document('a', { rev: 3 }) });
  expect(applyCanvasEvent(told, () => 3).kind).toBe('put');
  expect(applyCanvasEvent(told, () => 4)).toEqual({ kind: 'nothing' });
});

test('closing says why, and other events do nothing', () => {
  const closed = event('canvas_document_closed', { documentId: 'a', reason: 'evicted' });
  expect(applyCanvasEvent(closed, () => 9)).toEqual({ kind: 'closed', documentId: 'a', reason: 'evicted' });
  expect(applyCanvasEvent(event('entry_added', {}), () => 0)).toEqual({ kind: 'nothing' });
});

test('pinned ones stand first, each group by its position', () => {
  const all = [document('low'), document('high', { position: 9 }), document('pin', { pinned: true }), document('top pin', { pinned: true, position: 4 })];
  expect(sortByTabOrder(all).map(({ id }) => id)).toEqual(['top pin', 'pin', 'high', 'low']);
});

test('when the open tab closes, the next one opens, or the last', () => {
  const order = ['a', 'b', 'c'].map((id) => ({ id }));
  expect([neighbourTab(order, 'a'), neighbourTab(order, 'c'), neighbourTab([{ id: 'a' }], 'a')]).toEqual(['b', 'b', '']);
});

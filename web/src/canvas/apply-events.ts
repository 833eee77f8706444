/** What an event does to the documents of a canvas, and the order they stand in. Pure. */

import type { CanvasDocument } from '../api/types';
import type { HallEvent } from '../events/frames';

export type CanvasUpdate =
  | { kind: 'put'; document: CanvasDocument }
  | { kind: 'closed'; documentId: string; reason: string }
  | { kind: 'nothing' };

const NOTHING: CanvasUpdate = { kind: 'nothing' };

/** `revOf` gives the revision that is known; an answer may have been quicker than an older event. */
export function applyCanvasEvent(event: HallEvent, revOf: (documentId: string) => number): CanvasUpdate {
  if (event.type === 'canvas_document') {
    const document = event.data.document as CanvasDocument;
    return document.rev < revOf(document.id) ? NOTHING : { kind: 'put', document };
  }
  if (event.type === 'canvas_document_closed') {
    return { kind: 'closed', documentId: event.data.documentId as string, reason: event.data.reason as string };
  }
  return NOTHING;
}

/** Pinned ones first, each group in the server's order: the highest position first. */
export function sortByTabOrder(documents: readonly CanvasDocument[]): CanvasDocument[] {
  return documents.toSorted((a, b) => Number(b.pinned) - Number(a.pinned) || b.position - a.position);
}

/** Which tab stands open when `gone` closes: the one that takes its place, else the one before it. */
export function neighbourTab(order: readonly { id: string }[], gone: string): string {
  const at = order.findIndex(({ id }) => id === gone);
  return (order[at + 1] ?? order[at - 1])?.id ?? '';
}

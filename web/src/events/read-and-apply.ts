/** State that is read by GET and kept true by folding events into it. */

import type { SnapshotAt } from '../api/client';
import type { HallEvent } from './frames';
import { stream } from './stream.svelte';

/** Times a reading is taken again because events passed that are no longer kept. */
const READ_TRIES = 5;

/**
 * Reads, lets `take` replace the state, and folds what happened while the answer was on its way.
 * Returns the event the state is true at; `applyEvent` must skip events at or below that.
 */
export async function readAndApply<Body>(
  read: () => Promise<SnapshotAt<Body>>,
  take: (body: Body, seq: number) => void,
  applyEvent: (event: HallEvent) => void,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { body, seq } = await read();
    const passed = stream.since(seq);
    if (passed === null && tries < READ_TRIES) continue;
    take(body, seq);
    for (const event of passed ?? []) applyEvent(event);
    return;
  }
}

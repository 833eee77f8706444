/** Readings that may be asked for at any time: one at a time, and once more for whoever asked meanwhile. Pure. */

/**
 * Makes of `read` a reading that never runs beside itself. A call while one is under way waits for that one,
 * and makes it be taken once more, because what it is called for may have happened after the answer.
 */
export function coalesced(read: () => Promise<void>): () => Promise<void> {
  let reading: Promise<void> | null = null;
  let again = false;
  const load = (): Promise<void> => {
    if (reading) {
      again = true;
      return reading;
    }
    reading = read().finally(() => {
      reading = null;
      if (!again) return;
      again = false;
      // Nobody waits for this one; whoever reads keeps the error it ends with.
      void load().catch(() => {});
    });
    return reading;
  };
  return load;
}

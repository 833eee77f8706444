/**
 * When an ask may be answered. Pure.
 * A card answers only while it has the focus, and only some time after anything about it changed:
 * a press that was meant for something else finds it dead.
 */

/** Dead time after focus, a change of content, and the window becoming visible. Source: experience, section 4. */
export const ARM_MS = 400;

export type Arming = {
  /** When the card got the focus; null while it has none. */
  focusedAt: number | null;
  /** When what it shows last changed. */
  changedAt: number;
  /** When the window last became visible; null while it is hidden. */
  visibleAt: number | null;
};

/** From when on the card is armed; null when waiting alone does not arm it. */
export function armedFrom({ focusedAt, changedAt, visibleAt }: Arming): number | null {
  if (focusedAt === null || visibleAt === null) return null;
  return Math.max(focusedAt, changedAt, visibleAt) + ARM_MS;
}

export function isArmed(arming: Arming, now: number): boolean {
  const from = armedFrom(arming);
  return from !== null && now >= from;
}

export type Press = {
  key: string;
  /** True only when the card itself is the target, not something inside or around it. */
  onCard: boolean;
  repeat: boolean;
  modified: boolean;
};

/** What a key asks of the card; the card decides whether it is armed. Enter, Space and Escape ask nothing. */
export function deedOf({ key, onCard, repeat, modified }: Press): 'approve' | 'deny' | null {
  if (!onCard || repeat || modified) return null;
  if (key === 'a' || key === 'A') return 'approve';
  if (key === 'd' || key === 'D') return 'deny';
  return null;
}

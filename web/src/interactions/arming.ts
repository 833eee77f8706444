/**
 * When a card may decide. Pure.
 * A press on a button counts once the card has stood still, unchanged and in sight for a moment.
 * A single letter counts only on a card that a person chose, and never within a second of other typing:
 * people type sentences where they believe a text field to be.
 */

/** Dead time after whatever changes under a hand. Source: experience, section 4. */
export const ARM_MS = 400;
/** Dead time of keys after anything was typed anywhere. */
export const QUIET_MS = 1_000;

export type ArmingState = {
  /** When what it shows last changed; when it appeared, at first. */
  changedAt: number;
  /** When it last stood elsewhere on the screen, or under a dialog. */
  movedAt: number;
  /** Since when the window can be seen; null while it cannot. */
  visibleAt: number | null;
  /** Since when the focus is on it or in it, however it came there; null while it is elsewhere. */
  focusedAt: number | null;
  /** Since when it is chosen: by Tab, an arrow key or a press in it; null where the focus only jumped to it. */
  chosenAt: number | null;
};

/** What happens to a card. `focused` is the focus that a key like N, a link or a program brings. */
export type ArmingEvent = 'changed' | 'moved' | 'hidden' | 'shown' | 'focused' | 'chosen' | 'left';

export const initialArming = (now: number, visibleAt: number | null): ArmingState => ({
  changedAt: now,
  movedAt: now,
  visibleAt,
  focusedAt: null,
  chosenAt: null,
});

export function nextArming(arming: ArmingState, happening: ArmingEvent, now: number): ArmingState {
  switch (happening) {
    case 'changed':
      return { ...arming, changedAt: now };
    case 'moved':
      return { ...arming, movedAt: now };
    case 'hidden':
      return { ...arming, visibleAt: null };
    case 'shown':
      return { ...arming, visibleAt: now };
    case 'focused':
      return { ...arming, focusedAt: arming.focusedAt ?? now };
    case 'chosen':
      return { ...arming, focusedAt: arming.focusedAt ?? now, chosenAt: arming.chosenAt ?? now };
    case 'left':
      return { ...arming, focusedAt: null, chosenAt: null };
  }
}

/** From when on a press of a pointer counts; null when waiting alone does not get there. */
export function pressAllowedAt({ changedAt, movedAt, visibleAt }: ArmingState): number | null {
  return visibleAt === null ? null : Math.max(changedAt, movedAt, visibleAt) + ARM_MS;
}

/** From when on a button of the card may be pressed by Enter or Space, which are also keys of sentences. */
export function keyPressAllowedAt({ changedAt, visibleAt, focusedAt }: ArmingState, typedAt: number): number | null {
  return visibleAt === null ? null : Math.max(Math.max(changedAt, visibleAt, focusedAt ?? 0) + ARM_MS, typedAt + QUIET_MS);
}

/** From when on a single letter counts; `typedAt` is when anything else was typed last. */
export function letterAllowedAt({ changedAt, visibleAt, chosenAt }: ArmingState, typedAt: number): number | null {
  if (chosenAt === null || visibleAt === null) return null;
  return Math.max(Math.max(chosenAt, changedAt, visibleAt) + ARM_MS, typedAt + QUIET_MS);
}

export const isReached = (from: number | null, now: number): boolean => from !== null && now >= from;

export type KeyPress = {
  key: string;
  /** True in a text field, a menu and the like, where letters mean something else. */
  inField: boolean;
  repeat: boolean;
  modified: boolean;
};

/** What a letter asks of the card it is pressed on; the card decides whether it counts. */
export function actionOfKey({ key, inField, repeat, modified }: KeyPress): 'approve' | 'deny' | null {
  if (inField || repeat || modified) return null;
  if (key === 'a' || key === 'A') return 'approve';
  if (key === 'd' || key === 'D') return 'deny';
  return null;
}

const CHOOSING = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'];
/** A key that chooses the card which has the focus already. */
export const isChoosing = ({ key, inField, modified }: KeyPress): boolean => !inField && !modified && CHOOSING.includes(key);

const WRITING = ['Enter', 'Backspace', 'Delete', 'Dead', 'Process', 'Unidentified'];
/** Whether a key is one that people write sentences with. */
export const isWriting = ({ key, modified }: Pick<KeyPress, 'key' | 'modified'>): boolean =>
  !modified && ([...key].length === 1 || WRITING.includes(key));

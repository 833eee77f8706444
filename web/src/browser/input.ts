/** What keys, wheel and pasted text are as steps of input. Pure. Source: contract 7.7. */

import type { Point } from './coordinates';

export type MouseButton = 'left' | 'middle' | 'right';

/** One step of what a person does; coordinates are CSS pixels of the picture. */
export type InputStep =
  | { type: 'click'; x: number; y: number; button: MouseButton; count: number }
  | { type: 'mouseMove'; x: number; y: number }
  | { type: 'mouseDown' | 'mouseUp'; x: number; y: number; button: MouseButton }
  | { type: 'wheel'; x: number; y: number; deltaX: number; deltaY: number }
  | { type: 'keyDown' | 'keyUp'; key: string; code: string; modifiers: number }
  | { type: 'text'; text: string };

/** Characters of one `text` step. */
export const TEXT_MAX = 2_048;
const WHEEL_MAX = 16_384;
/** Of a wheel that counts in lines. */
const LINE_PX = 16;

export type KeyInput = Pick<KeyboardEvent, 'key' | 'code' | 'altKey' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'isComposing' | 'getModifierState'>;

export const modifiersOf = ({ altKey, ctrlKey, metaKey, shiftKey }: Pick<KeyInput, 'altKey' | 'ctrlKey' | 'metaKey' | 'shiftKey'>): number =>
  (altKey ? 1 : 0) + (ctrlKey ? 2 : 0) + (metaKey ? 4 : 0) + (shiftKey ? 8 : 0);

/** What a key does here instead of being typed into the page. */
export type ViewerShortcut = 'leave' | 'address' | 'reload' | 'back' | 'forward' | 'copy' | 'cut' | 'paste';

/** Null for keys that belong to the page. `apple` = commands are made with ⌘. */
export function viewerShortcut(keys: KeyInput, apple: boolean): ViewerShortcut | null {
  const { key, altKey, ctrlKey, metaKey, shiftKey } = keys;
  // The way out for whoever has no mouse: Tab belongs to the page.
  if (key === 'F6') return 'leave';
  if (key === 'F5' && !altKey && !metaKey) return 'reload';
  const command = apple ? metaKey && !ctrlKey : ctrlKey && !metaKey;
  if (command && !altKey && !shiftKey) {
    const plain: Record<string, ViewerShortcut> = { c: 'copy', x: 'cut', v: 'paste', r: 'reload', l: 'address', ...(apple ? { '[': 'back', ']': 'forward' } : {}) };
    return plain[key.toLowerCase()] ?? null;
  }
  // Pasting without format is the same here: only text is pasted.
  if (command && shiftKey && !altKey && key.toLowerCase() === 'v') return 'paste';
  if (!apple && altKey && !ctrlKey && !metaKey && !shiftKey) {
    if (key === 'ArrowLeft') return 'back';
    if (key === 'ArrowRight') return 'forward';
  }
  return null;
}

/**
 * The step of a key that goes down or up; null where the text it makes comes by itself:
 * from an input method, a dead key, or the keyboard of a phone.
 */
export function keyStep(type: 'keyDown' | 'keyUp', keys: KeyInput): InputStep | null {
  const { key, code, isComposing } = keys;
  if (isComposing || key === '' || key === 'Dead' || key === 'Process' || key === 'Unidentified') return null;
  // With AltGr held, Ctrl and Alt are part of the character and would make a command of it.
  if ([...key].length === 1 && keys.getModifierState('AltGraph')) return type === 'keyDown' ? { type: 'text', text: key } : null;
  return { type, key, code, modifiers: modifiersOf(keys) };
}

/** A key pressed and let go. */
export const keyPress = (key: string, code = key): InputStep[] => [
  { type: 'keyDown', key, code, modifiers: 0 },
  { type: 'keyUp', key, code, modifiers: 0 },
];

/**
 * What an `input` of the field with the focus means for the page. Empty for what it is told in another way:
 * an input method's text comes whole, when it is done.
 */
export function typedSteps(inputType: string, data: string | null): InputStep[] {
  switch (inputType) {
    case 'insertText':
    case 'insertReplacementText':
      return textSteps(data ?? '');
    case 'insertLineBreak':
    case 'insertParagraph':
      return keyPress('Enter');
    case 'deleteContentBackward':
    case 'deleteWordBackward':
      return keyPress('Backspace');
    case 'deleteContentForward':
    case 'deleteWordForward':
      return keyPress('Delete');
    default:
      return [];
  }
}

/** Text in pieces that a step may hold, cut between characters. */
export function textSteps(text: string): InputStep[] {
  const characters = [...text.replace(/\r\n?/g, '\n').replaceAll('\0', '')];
  const steps: InputStep[] = [];
  for (let at = 0; at < characters.length; at += TEXT_MAX) {
    steps.push({ type: 'text', text: characters.slice(at, at + TEXT_MAX).join('') });
  }
  return steps;
}

export const buttonOf = (button: number): MouseButton | null => (['left', 'middle', 'right'] as const)[button] ?? null;

/** A turn of the wheel, whatever it counts in; with Shift it goes sideways, as it does elsewhere. */
export function wheelStep(at: Point, { deltaX, deltaY, deltaMode, shiftKey }: Pick<WheelEvent, 'deltaX' | 'deltaY' | 'deltaMode' | 'shiftKey'>, pageHeight: number): InputStep {
  const unit = deltaMode === 1 ? LINE_PX : deltaMode === 2 ? pageHeight : 1;
  const [x, y] = shiftKey && deltaX === 0 ? [deltaY, 0] : [deltaX, deltaY];
  return { type: 'wheel', ...at, deltaX: bounded(x * unit), deltaY: bounded(y * unit) };
}

const bounded = (delta: number): number => Math.min(WHEEL_MAX, Math.max(-WHEEL_MAX, delta)) || 0;

import { expect, test } from 'vitest';
import { buttonOf, viewerShortcut, keyStep, modifiersOf, TEXT_MAX, textSteps, typedSteps, wheelStep, type KeyInput } from './input';

const keys = (key: string, more: Partial<KeyInput> & { altGraph?: boolean } = {}): KeyInput => ({
  key,
  code: '',
  altKey: false,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  isComposing: false,
  getModifierState: (name) => name === 'AltGraph' && more.altGraph === true,
  ...more,
});

test('modifiers are added up as the server counts them', () => {
  expect(modifiersOf(keys('a'))).toBe(0);
  expect(modifiersOf(keys('a', { altKey: true }))).toBe(1);
  expect(modifiersOf(keys('a', { ctrlKey: true, shiftKey: true }))).toBe(10);
  expect(modifiersOf(keys('a', { altKey: true, ctrlKey: true, metaKey: true, shiftKey: true }))).toBe(15);
});

test('a key goes down and up by its name and its place', () => {
  expect(keyStep('keyDown', keys('A', { code: 'KeyA', shiftKey: true }))).toEqual({ type: 'keyDown', key: 'A', code: 'KeyA', modifiers: 8 });
  expect(keyStep('keyUp', keys('Enter', { code: 'Enter' }))).toEqual({ type: 'keyUp', key: 'Enter', code: 'Enter', modifiers: 0 });
  expect(keyStep('keyDown', keys('Tab', { code: 'Tab' }))).toMatchObject({ key: 'Tab' });
});

test('what an input method or a dead key makes comes as text, not as a key', () => {
  for (const key of ['Dead', 'Process', 'Unidentified', '']) expect(keyStep('keyDown', keys(key))).toBeNull();
  expect(keyStep('keyDown', keys('k', { isComposing: true }))).toBeNull();
});

test('a character made with AltGr is that character and no command', () => {
  const at = keys('@', { code: 'KeyQ', ctrlKey: true, altKey: true, altGraph: true });
  expect(keyStep('keyDown', at)).toEqual({ type: 'text', text: '@' });
  expect(keyStep('keyUp', at)).toBeNull();
});

test('a few keys belong to the browser around the page, on each system in its way', () => {
  const table: [KeyInput, boolean, ReturnType<typeof viewerShortcut>][] = [
    [keys('F6'), false, 'leave'],
    [keys('F5'), false, 'reload'],
    [keys('F5', { ctrlKey: true }), false, 'reload'],
    [keys('r', { ctrlKey: true }), false, 'reload'],
    [keys('r', { metaKey: true }), true, 'reload'],
    [keys('l', { ctrlKey: true }), false, 'address'],
    [keys('C', { ctrlKey: true }), false, 'copy'],
    [keys('c', { metaKey: true }), true, 'copy'],
    [keys('x', { ctrlKey: true }), false, 'cut'],
    [keys('v', { ctrlKey: true }), false, 'paste'],
    [keys('V', { ctrlKey: true, shiftKey: true }), false, 'paste'],
    [keys('ArrowLeft', { altKey: true }), false, 'back'],
    [keys('ArrowRight', { altKey: true }), false, 'forward'],
    [keys('[', { metaKey: true }), true, 'back'],
    // These are the page's.
    [keys('Tab'), false, null],
    [keys('Escape'), false, null],
    [keys('a', { ctrlKey: true }), false, null],
    [keys('c'), false, null],
    [keys('C', { ctrlKey: true, shiftKey: true }), false, null],
    [keys('c', { metaKey: true }), false, null],
    [keys('c', { ctrlKey: true }), true, null],
    [keys('ArrowLeft', { altKey: true }), true, null],
    [keys('ArrowLeft', { ctrlKey: true }), false, null],
  ];
  for (const [pressed, apple, command] of table) expect([pressed.key, viewerShortcut(pressed, apple)]).toEqual([pressed.key, command]);
});

test('what a phone types is text, and its other keys are keys', () => {
  expect(typedSteps('insertText', 'é')).toEqual([{ type: 'text', text: 'é' }]);
  expect(typedSteps('insertReplacementText', null)).toEqual([]);
  expect(typedSteps('insertLineBreak', null).map((step) => 'key' in step && step.key)).toEqual(['Enter', 'Enter']);
  expect(typedSteps('deleteContentBackward', null)[0]).toEqual({ type: 'keyDown', key: 'Backspace', code: 'Backspace', modifiers: 0 });
  // These come whole, when the input method is done.
  expect(typedSteps('insertCompositionText', '日')).toEqual([]);
  expect(typedSteps('insertFromComposition', '日')).toEqual([]);
  expect(typedSteps('insertFromPaste', 'x')).toEqual([]);
});

test('a long text is cut into steps between characters, and nothing of it is lost', () => {
  const text = '🏛'.repeat(TEXT_MAX) + 'end';
  const steps = textSteps(text);
  expect(steps).toHaveLength(2);
  expect(steps.map((step) => ('text' in step ? step.text : '')).join('')).toBe(text);
  expect(steps[1]).toEqual({ type: 'text', text: 'end' });
  expect(textSteps('')).toEqual([]);
  expect(textSteps('a\r\nb\rc')).toEqual([{ type: 'text', text: 'a\nb\nc' }]);
});

test('three buttons are known', () => {
  expect([0, 1, 2, 3, -1].map(buttonOf)).toEqual(['left', 'middle', 'right', null, null]);
});

test('a wheel turns in pixels, whatever it counts in, and within bounds', () => {
  const turn = { deltaX: 0, deltaY: 3, deltaMode: 0, shiftKey: false };
  const at = { x: 1, y: 2 };
  expect(wheelStep(at, turn, 600)).toEqual({ type: 'wheel', x: 1, y: 2, deltaX: 0, deltaY: 3 });
  expect(wheelStep(at, { ...turn, deltaMode: 1 }, 600)).toMatchObject({ deltaY: 48 });
  expect(wheelStep(at, { ...turn, deltaMode: 2 }, 600)).toMatchObject({ deltaY: 1_800 });
  expect(wheelStep(at, { ...turn, shiftKey: true }, 600)).toMatchObject({ deltaX: 3, deltaY: 0 });
  expect(wheelStep(at, { ...turn, deltaY: -99_999 }, 600)).toMatchObject({ deltaY: -16_384 });
});

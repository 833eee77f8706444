import { expect, test } from 'vitest';
import { checkboxState, linesOf, withCheckbox } from './task-checkboxes';

test('a box is found where the server finds one', () => {
  for (const [line, box] of [
    ['- [ ] a', false],
    ['  * [x]\ta', true],
    ['12) [X] a', true],
    ['> - [ ] a', false],
    ['- - [ ] a', false],
    ['+ [ ]', false],
    ['- [ ]a', null],
    ['-[ ] a', null],
    ['[ ] a', null],
    ['- a [ ] b', null],
    ['', null],
  ] as const) {
    expect(checkboxState(line), line).toBe(box);
  }
});

test('one mark changes and every other character stays', () => {
  const text = '\u{feff}# Plan\r\n- [ ] water ü\r- [x] feed\n\n> 1. [X] read [ ]';
  expect(linesOf(text)).toHaveLength(5);
  expect(withCheckbox(text, 2, true)).toBe(text.replace('- [ ] water', '- [x] water'));
  expect(withCheckbox(text, 3, false)).toBe(text.replace('[x] feed', '[ ] feed'));
  expect(withCheckbox(text, 5, false)).toBe(text.replace('[X]', '[ ]'));
  expect(withCheckbox(text, 1, true)).toBe(text);
});

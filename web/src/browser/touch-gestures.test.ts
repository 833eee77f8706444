import { expect, test } from 'vitest';
import { TouchGestures } from './touch-gestures';

test('a tap is a click, also of a finger that trembles', () => {
  const touch = new TouchGestures({ x: 10, y: 20 }, 0);
  expect(touch.move({ x: 14, y: 24 })).toEqual([]);
  expect(touch.up(100)).toEqual([{ type: 'click', x: 10, y: 20, button: 'left', count: 1 }]);
});

test('a finger that rests is the other button', () => {
  expect(new TouchGestures({ x: 1, y: 2 }, 1_000).up(1_600)).toEqual([{ type: 'click', x: 1, y: 2, button: 'right', count: 1 }]);
});

test('a finger that draws scrolls what is beneath where it began, and clicks nothing', () => {
  const touch = new TouchGestures({ x: 100, y: 100 }, 0);
  expect(touch.move({ x: 100, y: 80 })).toEqual([{ type: 'wheel', x: 100, y: 100, deltaX: 0, deltaY: 20 }]);
  expect(touch.move({ x: 103, y: 70 })).toEqual([{ type: 'wheel', x: 100, y: 100, deltaX: -3, deltaY: 10 }]);
  // Once it scrolls, the smallest move counts.
  expect(touch.move({ x: 103, y: 71 })).toEqual([{ type: 'wheel', x: 100, y: 100, deltaX: 0, deltaY: -1 }]);
  expect(touch.up(900)).toEqual([]);
});

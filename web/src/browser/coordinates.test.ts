import { expect, test } from 'vitest';
import { FIT_SIZE, fitInto, pagePoint, viewportFor } from './coordinates';

test('a page is shown whole, in its proportion, and never larger than it is', () => {
  expect(fitInto({ width: 1_000, height: 500 }, { width: 500, height: 500 })).toEqual({ width: 500, height: 250 });
  expect(fitInto({ width: 500, height: 1_000 }, { width: 500, height: 500 })).toEqual({ width: 250, height: 500 });
  expect(fitInto({ width: 400, height: 300 }, { width: 1_000, height: 1_000 })).toEqual({ width: 400, height: 300 });
  expect(fitInto({ width: 0, height: 0 }, { width: 100, height: 100 })).toEqual({ width: 0, height: 0 });
});

test('a point of the screen is one of the page, however small the page is shown', () => {
  const page = { width: 1_000, height: 500 };
  const shown = { left: 100, top: 50, width: 500, height: 250 };
  expect(pagePoint(page, shown, { clientX: 100, clientY: 50 })).toEqual({ x: 0, y: 0 });
  expect(pagePoint(page, shown, { clientX: 350, clientY: 175 })).toEqual({ x: 500, y: 250 });
  expect(pagePoint(page, { ...shown, width: 300, height: 150 }, { clientX: 101, clientY: 51 })).toEqual({ x: 3.33, y: 3.33 });
});

test('whoever draws out of the picture stays at its edge', () => {
  const page = { width: 1_000, height: 500 };
  const shown = { left: 100, top: 50, width: 1_000, height: 500 };
  expect(pagePoint(page, shown, { clientX: -20, clientY: 9_999 })).toEqual({ x: 0, y: 499 });
  expect(pagePoint(page, shown, { clientX: 1_100, clientY: 0 })).toEqual({ x: 999, y: 0 });
  expect(pagePoint(page, { left: 0, top: 0, width: 0, height: 0 }, { clientX: 5, clientY: 5 })).toEqual({ x: 0, y: 0 });
});

test('the page gets the size there is room for, within the bounds of the server', () => {
  expect(viewportFor(FIT_SIZE, { width: 812.4, height: 530.6 }, 1)).toEqual({ width: 812, height: 531, scale: 1 });
  expect(viewportFor(FIT_SIZE, { width: 120, height: 9_000 }, 4)).toEqual({ width: 200, height: 4_096, scale: 3 });
  expect(viewportFor(FIT_SIZE, { width: 800, height: 600 }, 1.333_333)).toEqual({ width: 800, height: 600, scale: 1.33 });
  expect(viewportFor('Phone', { width: 1_600, height: 900 }, 2)).toEqual({ width: 390, height: 844, scale: 2 });
  // A panel that is closed has no size, and the page keeps its own.
  expect(viewportFor('Phone', { width: 0, height: 0 }, 1)).toBeNull();
});

import { expect, test } from 'vitest';
import { areaName, diskWords } from './disk';

test('a full disk and a nearly full one are told as problems, each with what to do', () => {
  const rows: [number, boolean, RegExp, boolean][] = [
    [10, false, /^10 B of 100 B are free\.$/, false],
    [9, false, /nearly full.*Free space/, true],
    [50, true, /was full.*remove rooms/, true],
  ];
  for (const [freeBytes, isReserveReleased, text, isProblem] of rows) {
    const said = diskWords({ freeBytes, diskBytes: 100, freeBytesMin: 10, isReserveReleased });
    expect(said).toEqual({ text: expect.stringMatching(text), isProblem });
  }
});

test('a part that this page does not know is shown as it is', () => {
  expect([areaName('setAside'), areaName('later')]).toEqual(['Set aside by restores', 'later']);
});

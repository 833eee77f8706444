import { expect, test } from 'vitest';
import { qrOf } from './qr';

test('a QR code has its three finders inside a quiet zone of four', () => {
  const { size, path } = qrOf('https://cloud.example/activate?user_code=BCDF-GHJK')!;
  const dark = new Set([...path.matchAll(/M(\d+) (\d+)h/g)].map(([, x, y]) => `${x} ${y}`));
  // The centre of each finder is 3 modules from its edges.
  for (const at of ['7 7', `${size - 8} 7`, `7 ${size - 8}`]) expect(dark.has(at)).toBe(true);
  for (let step = 0; step < size; step++) {
    for (const edge of [0, 1, 2, 3, size - 1]) expect([dark.has(`${edge} ${step}`), dark.has(`${step} ${edge}`)]).toEqual([false, false]);
  }
});

test('a text that fits in no QR code gives none', () => {
  expect(qrOf('x'.repeat(4096))).toBe(null);
});

import { expect, test } from 'vitest';
import { countdownText, msUntil, pageAddress } from './countdown';

test('a countdown counts whole seconds down to zero and stays there', () => {
  expect([900_000, 899_001, 899_000, 61_000, 9_500, 1, 0, -5].map(countdownText)).toEqual(['15:00', '15:00', '14:59', '1:01', '0:10', '0:01', '0:00', '0:00']);
});

test('what is left is never below nothing', () => {
  const at = '2026-11-22T10:00:00.000Z';
  expect(msUntil(at, Date.parse(at) - 1_500)).toBe(1_500);
  expect(msUntil(at, Date.parse(at) + 1)).toBe(0);
});

test('only pages are followed', () => {
  expect(pageAddress('https://id.example/activate?code=1')).toBe('https://id.example/activate?code=1');
  expect(pageAddress('http://127.0.0.1:9/device')).toBe('http://127.0.0.1:9/device');
  for (const address of ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'activate', '', null]) expect(pageAddress(address)).toBe('');
});

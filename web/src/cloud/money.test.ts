import { expect, test } from 'vitest';
import { limitText, moneyText, priceText } from './money';

test('an amount has the decimals of its currency, and every digit that was said', () => {
  expect(moneyText('12000000', 'EUR')).toBe('EUR 12.00');
  expect(moneyText('1234567500000', 'USD')).toBe('USD 1,234,567.50');
  expect(moneyText('1', 'EUR')).toBe('EUR 0.000001');
  expect(moneyText('0', 'EUR')).toBe('EUR 0.00');
  expect(moneyText('1500000000', 'JPY')).toBe('JPY 1,500');
  expect(moneyText('1250000', 'KWD')).toBe('KWD 1.250');
  expect(moneyText('-500000', 'EUR')).toBe('EUR -0.50');
});

test('an amount beyond what a floating number holds loses nothing', () => {
  expect(moneyText('9007199254740993000001', 'EUR')).toBe('EUR 9,007,199,254,740,993.000001');
});

test('without a currency, or with an unknown one, the amount still stands', () => {
  expect(moneyText('12500000', null)).toBe('12.5');
  expect(moneyText('12000000', 'CREDITS')).toBe('CREDITS 12.00');
  expect(moneyText('1e6', 'EUR')).toBe('1e6');
});

test('a price says how often it is paid', () => {
  const euro = { currency: 'EUR', microPerCredit: '1000000' };
  const words = (['day', 'week', 'month', 'year', 'once'] as const).map((interval) => priceText({ amountMicro: '5000000', interval }, euro));
  expect(words).toEqual(['EUR 5.00 a day', 'EUR 5.00 a week', 'EUR 5.00 a month', 'EUR 5.00 a year', 'EUR 5.00 once']);
  expect(priceText({ amountMicro: '5000000', interval: 'month' }, null)).toBe('5 a month');
});

test('limits are listed by name', () => {
  expect(limitText({ rooms: 20, agents: 5 })).toEqual(['agents: 5', 'rooms: 20']);
});

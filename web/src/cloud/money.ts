/** Money of the cloud service: texts of integer micro units, never a floating number. Pure. */

import type { Denomination, Offer } from './types';

const MICRO_DIGITS = 6;
const AMOUNT = /^-?\d{1,30}$/;

/** `EUR 1,234.50`: every digit that was said, and as many decimals as the currency has. */
export function moneyText(micro: string, currency: string | null): string {
  if (!AMOUNT.test(micro)) return micro;
  const amount = BigInt(micro);
  const digits = (amount < 0n ? -amount : amount).toString().padStart(MICRO_DIGITS + 1, '0');
  const whole = digits.slice(0, -MICRO_DIGITS).replace(/\B(?=(\d{3})+$)/g, ',');
  const least = currency === null ? 0 : decimalsOf(currency);
  const part = digits.slice(-MICRO_DIGITS).replace(/0+$/, '').padEnd(least, '0');
  const number = `${amount < 0n ? '-' : ''}${whole}${part === '' ? '' : `.${part}`}`;
  return currency === null ? number : `${currency} ${number}`;
}

function decimalsOf(currency: string): number {
  try {
    return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;
  } catch {
    // A word that is no currency's still stands beside its amount.
    return 2;
  }
}

const intervals: Record<Offer['interval'], string> = { day: 'a day', week: 'a week', month: 'a month', year: 'a year', once: 'once' };

/** `EUR 12.00 a month`. */
export const priceText = ({ amountMicro, interval }: Pick<Offer, 'amountMicro' | 'interval'>, denomination: Denomination | null): string =>
  `${moneyText(amountMicro, denomination?.currency ?? null)} ${intervals[interval] ?? interval}`;

/** `agents: 5`, in the order of their names. */
export const limitText = (limits: Offer['limits']): string[] =>
  Object.entries(limits)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, bound]) => `${name}: ${bound}`);

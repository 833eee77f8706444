/** Figures of usage in words. What was not reported is never shown as nought. Pure. */

import type { Cost, Usage } from '../api/types';

/** `950`, `12.3k`, `4.1M`. */
export function countText(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${trimmed(count / 1000)}k`;
  return `${trimmed(count / 1_000_000)}M`;
}

const trimmed = (value: number): string => (value < 100 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value)));

/** `USD 0.0123`; small amounts keep the digits that say something. */
export function costText({ amount, currency }: Cost): string {
  const digits = amount !== 0 && Math.abs(amount) < 1 ? 4 : 2;
  return `${currency} ${amount.toFixed(digits)}`;
}

/** Currencies are never added together: each stands for itself. */
export const costsText = (costs: readonly Cost[]): string => (costs.length === 0 ? 'not reported' : costs.map(costText).join(' + '));

/** How full the context is, 0 to 100; null when the agent does not tell. */
export function contextPercent({ contextUsed, contextSize }: Pick<Usage, 'contextUsed' | 'contextSize'>): number | null {
  return contextSize > 0 ? Math.min(100, Math.round((contextUsed / contextSize) * 100)) : null;
}

/** Whether any turn said how many tokens it took. */
export const hasTokens = ({ inputTokens, outputTokens, totalTokens }: Usage): boolean => inputTokens + outputTokens + totalTokens > 0;

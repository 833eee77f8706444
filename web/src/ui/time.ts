/** Times as people say them, with the exact RFC 3339 time kept for hover and copies. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Which calendar day a time falls on here, as `2026-11-21`. */
export function dayOf(iso: string): string {
  const date = new Date(iso);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The words on a day line: `Today`, `Yesterday`, `Saturday, 14 November`, with the year when it is another. */
export function dayText(iso: string, now: Date): string {
  const day = dayOf(iso);
  if (day === dayOf(now.toISOString())) return 'Today';
  const yesterday = new Date(now);
  yesterday.setDate(now.getDate() - 1);
  if (day === dayOf(yesterday.toISOString())) return 'Yesterday';
  const date = new Date(iso);
  return date.toLocaleDateString('en-GB', {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    ...(date.getFullYear() === now.getFullYear() ? {} : { year: 'numeric' }),
  });
}

/** `12:03` by the clock of this browser. */
export function timeOfDay(iso: string): string {
  return new Date(iso).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}

/** `12:03:10` by the clock of this browser. */
export function timeOfDayWithSeconds(at: Date): string {
  return at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

/** `now`, `5 min ago`, `3 h ago`, then the day. */
export function relativeTime(iso: string, now: Date): string {
  const passed = now.getTime() - new Date(iso).getTime();
  if (passed < MINUTE) return 'now';
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min ago`;
  if (passed < 24 * HOUR) return `${Math.floor(passed / HOUR)} h ago`;
  return dayText(iso, now);
}

/** `21 Nov 2026`, for dates of tokens and registrations. */
export function dateText(iso: string): string {
  return new Date(iso).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
}

/** `21 Nov 2026, 12:03`, where the very moment matters. */
export function momentWords(iso: string): string {
  return `${dateText(iso)}, ${timeOfDay(iso)}`;
}

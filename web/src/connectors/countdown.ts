/** Time that runs out, and addresses that may be followed. Pure. */

const SECOND_MS = 1_000;

/** `14:59`; never below zero. */
export function countdownText(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / SECOND_MS));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** What is left until `iso` by the clock of this browser; the server's own decides in the end. */
export const msUntil = (iso: string, nowMs: number): number => Math.max(0, Date.parse(iso) - nowMs);

/** The address if a person may be sent there, else `""`: what a service answers is not trusted to be a page. */
export function pageAddress(address: string | null): string {
  if (!address || !URL.canParse(address)) return '';
  const { protocol, href } = new URL(address);
  return protocol === 'https:' || protocol === 'http:' ? href : '';
}

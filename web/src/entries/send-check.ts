/** What stands against sending a text. Pure. */

/** The server's own limit, in characters. */
const TEXT_MAX = 100_000;

/** Why a text cannot go out now, in words for whoever wrote it; `""` when it can. */
export function sendBlocker(text: string, lost: boolean): string {
  if (lost) return 'Not connected, so nothing was sent. Your text stays here; press Enter again when the connection is back.';
  const over = [...text].length - TEXT_MAX;
  return over > 0 ? `That is ${over} characters too long. Send it in parts.` : '';
}

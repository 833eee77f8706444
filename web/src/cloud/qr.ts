/** A text as a QR code, for a phone to read from the screen. Pure. */

import { encode } from 'uqr';

/** Light modules around it, without which cameras do not find it. Source: ISO/IEC 18004, "quiet zone". */
const QUIET_ZONE = 4;

/** The dark modules as one path on a square of `size` modules; null where the text is too long. */
export function qrOf(text: string): { size: number; path: string } | null {
  try {
    const { size, data } = encode(text, { ecc: 'M', border: QUIET_ZONE });
    const rows = data.map((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')).join(''));
    return { size, path: rows.join('') };
  } catch {
    return null;
  }
}

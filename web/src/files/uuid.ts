/** A random UUID (RFC 9562, version 4); unlike `crypto.randomUUID` also on plain http off loopback. */
export function newUuid(bytes: Uint8Array = crypto.getRandomValues(new Uint8Array(16))): string {
  const hex = [...bytes].map((byte, at) => {
    const value = at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte;
    return value.toString(16).padStart(2, '0');
  });
  return [hex.slice(0, 4), hex.slice(4, 6), hex.slice(6, 8), hex.slice(8, 10), hex.slice(10)].map((part) => part.join('')).join('-');
}

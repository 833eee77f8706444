/** Small things kept in this browser; where storage is switched off they live as long as the page. */

const memory = new Map<string, string>();

export function keep(key: string, value: string): void {
  memory.set(key, value);
  try {
    if (value === '') localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Private windows may refuse storage; the page works on from memory.
  }
}

export function kept(key: string): string {
  try {
    return localStorage.getItem(key) ?? '';
  } catch {
    return memory.get(key) ?? '';
  }
}

/** Small things kept in this browser; where storage is switched off they live as long as the page. */

const memory = new Map<string, string>();

export function storeValue(key: string, value: string): void {
  memory.set(key, value);
  try {
    if (value === '') localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Private windows may refuse storage; the page works on from memory.
  }
}

export function storedValue(key: string): string {
  try {
    return localStorage.getItem(key) ?? '';
  } catch {
    return memory.get(key) ?? '';
  }
}

/** Forgets everything whose key begins so. */
export function clearStored(beginning: string): void {
  for (const key of memory.keys()) if (key.startsWith(beginning)) memory.delete(key);
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(beginning)) localStorage.removeItem(key);
  } catch {
    // As above: without storage nothing else was kept.
  }
}

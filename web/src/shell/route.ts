/** Which view an address names. Pure. */

export type Route =
  | { view: 'home' }
  | { view: 'rooms' }
  | { view: 'room'; id: string }
  | { view: 'agents' }
  | { view: 'agent'; id: string }
  | { view: 'people' }
  | { view: 'unknown'; path: string };

/** Reads a path such as `/rooms/0199…`; whatever has no view is `unknown`, never another view. */
export function routeOf(path: string): Route {
  const [first = '', second, ...rest] = path.replace(/^\/|\/$/g, '').split('/');
  if (rest.length > 0) return { view: 'unknown', path };
  if (second === undefined) {
    if (first === '') return { view: 'home' };
    if (first === 'rooms' || first === 'agents' || first === 'people') return { view: first };
  } else if (second !== '' && (first === 'rooms' || first === 'agents')) {
    const id = decoded(second);
    if (id !== null) return { view: first === 'rooms' ? 'room' : 'agent', id };
  }
  return { view: 'unknown', path };
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

export const roomPath = (roomId: string): string => `/rooms/${encodeURIComponent(roomId)}`;
export const agentPath = (agentId: string): string => `/agents/${encodeURIComponent(agentId)}`;
export const documentPath = (roomId: string, documentId: string): string =>
  `${roomPath(roomId)}?doc=${encodeURIComponent(documentId)}`;

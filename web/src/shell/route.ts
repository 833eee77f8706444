/** Which view an address names. Pure. */

import type { CanvasOwner } from '../canvas/canvas-owner';

export type Route =
  | { view: 'home' }
  | { view: 'rooms' }
  /** `thread` = the entry whose thread stands beside the room. */
  | { view: 'room'; id: string; thread?: string }
  | { view: 'threads' }
  /** `itemId` is `""` at `/asks` itself. */
  | { view: 'approvals'; itemId: string }
  | { view: 'sessions' }
  | { view: 'session'; id: string }
  | { view: 'usage' }
  | { view: 'agents' }
  | { view: 'agent'; id: string }
  /** The tool servers of an agent. */
  | { view: 'agent-tools'; id: string }
  | { view: 'people' }
  | { view: 'search' }
  /** Folder, file and preview stand in the query. */
  | { view: 'files' }
  | { view: 'browser' }
  /** The part of it, or the review, stands in the query. */
  | { view: 'connections' }
  | { view: 'cloud' }
  /** `section` is `""` at `/settings` itself. */
  | { view: 'settings'; section: string }
  | { view: 'unknown'; path: string };

const PLAIN = ['rooms', 'threads', 'sessions', 'agents', 'people', 'usage', 'search', 'files', 'browser', 'connections', 'cloud'] as const;

/** Reads a path such as `/rooms/0199…`; whatever has no view is `unknown`, never another view. */
export function routeOf(path: string): Route {
  const parts = path.replace(/^\/|\/$/g, '').split('/').map(decoded);
  if (parts.some((part, index) => part === null || (part === '' && index > 0))) return { view: 'unknown', path };
  const [first = '', second, third, fourth] = parts as string[];
  if (parts.length === 1) {
    if (first === '') return { view: 'home' };
    if (first === 'settings') return { view: 'settings', section: '' };
    if (first === 'asks') return { view: 'approvals', itemId: '' };
    const plain = PLAIN.find((view) => view === first);
    if (plain) return { view: plain };
  } else if (parts.length === 2 && second !== undefined) {
    if (first === 'rooms') return { view: 'room', id: second };
    if (first === 'agents') return { view: 'agent', id: second };
    if (first === 'sessions') return { view: 'session', id: second };
    if (first === 'asks') return { view: 'approvals', itemId: second };
    if (first === 'settings') return { view: 'settings', section: second };
  } else if (parts.length === 3 && first === 'agents' && third === 'mcp' && second !== undefined) {
    return { view: 'agent-tools', id: second };
  } else if (parts.length === 4 && first === 'rooms' && third === 't' && second !== undefined && fourth !== undefined) {
    return { view: 'room', id: second, thread: fourth };
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
/** The room with one entry in sight and marked. */
export const entryPath = (roomId: string, entryId: string): string => `${roomPath(roomId)}?entry=${encodeURIComponent(entryId)}`;
export const threadPath = (roomId: string, rootEntryId: string): string => `${roomPath(roomId)}/t/${encodeURIComponent(rootEntryId)}`;
export const agentPath = (agentId: string): string => `/agents/${encodeURIComponent(agentId)}`;
export const agentToolsPath = (agentId: string): string => `${agentPath(agentId)}/mcp`;
export const sessionPath = (sessionId: string): string => `/sessions/${encodeURIComponent(sessionId)}`;
export const approvalPath = (itemId: string): string => `/asks/${encodeURIComponent(itemId)}`;
export const searchPath = (query: string): string => (query === '' ? '/search' : `/search?q=${encodeURIComponent(query)}`);
export const settingsPath = (section: string): string => `/settings/${section}`;
/** The room or session that a canvas belongs to. */
export const canvasPath = ({ kind, id }: CanvasOwner): string => (kind === 'room' ? roomPath(id) : sessionPath(id));
export const documentPath = (place: CanvasOwner, documentId: string): string =>
  `${canvasPath(place)}?doc=${encodeURIComponent(documentId)}`;

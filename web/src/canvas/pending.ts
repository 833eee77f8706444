/** The canvas routes and shapes as the contract has them, until the interface document holds them. Source: contract 2.5. */

import type { Reading } from '../api/client';
import { ApiError } from '../errors/error';
import type { Content } from './content';

export type CanvasDocument = {
  id: string;
  scope: string;
  roomId: string;
  content: Content;
  title: string;
  contentType: string;
  authorId: string;
  pinned: boolean;
  rev: number;
  position: number;
  lastTouchedBy: string;
  lastTouchedAt: string;
  lastActiveAt: string;
  openedAt: string;
  editingBy: string;
  sourceLabel: string;
  treeKind: string;
  aheadOfMain: number;
  threadRootEntryId: string;
};

export type CanvasLock = { editingBy: string; expiresAt: string | null };
export type ChangeCanvasDocument = { content?: Content; pinned?: boolean; activate?: boolean };

async function asked<Body>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}, keepalive = false): Promise<Reading<Body>> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      keepalive,
      headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    throw ApiError.unreachable();
  }
  const text = await response.text();
  const value = text === '' ? undefined : JSON.parse(text);
  if (!response.ok) throw new ApiError(value.code, value.error, response.headers.get('x-request-id') ?? '', response.status, value.details);
  return { body: value as Body, seq: Number(response.headers.get('x-event-seq') ?? 0) };
}

const pathOf = (roomId: string, id?: string, more = '') => `/api/rooms/${roomId}/canvas${id === undefined ? '' : `/${id}`}${more}`;
const bodyOf = async <Body>(reading: Promise<Reading<Body>>): Promise<Body> => (await reading).body;

export const canvasApi = {
  list: (roomId: string) => asked<{ documents: CanvasDocument[] }>('GET', pathOf(roomId)),
  one: (roomId: string, id: string) => asked<CanvasDocument>('GET', pathOf(roomId, id)),
  open: (roomId: string, body: { content: Content; pinned?: boolean }) => bodyOf(asked<CanvasDocument>('POST', pathOf(roomId), body)),
  change: (roomId: string, id: string, body: ChangeCanvasDocument, rev?: number) =>
    bodyOf(asked<CanvasDocument>('PATCH', pathOf(roomId, id), body, rev === undefined ? {} : { 'if-match': `"${rev}"` })),
  close: (roomId: string, id: string) => bodyOf(asked<void>('DELETE', pathOf(roomId, id))),
  editing: (roomId: string, id: string, editing: boolean, keepalive = false) =>
    bodyOf(asked<CanvasLock>('POST', pathOf(roomId, id, '/editing'), { editing }, {}, keepalive)),
  discuss: (roomId: string, id: string) =>
    bodyOf(asked<{ threadRootEntryId: string; created: boolean }>('POST', pathOf(roomId, id, '/thread'), {})),
};

/** The calls of files, folders and previews, one function an operation. */

import { ApiError } from '../errors/error';
import { bodyOf, http, readSnapshot } from './client';
import type { SaveFile, SetCheckbox, Sign } from './types';

export const files = {
  /** Without a path the folder one begins in: home. */
  directory: (path: string, showHidden: boolean) =>
    readSnapshot(http.GET('/api/directory', { params: { query: { ...(path ? { path } : {}), showHidden } } })),
  startFolder: () => readSnapshot(http.GET('/api/directory/default')),
  makeFolder: (parentPath: string, folderName: string) => bodyOf(http.POST('/api/directory', { body: { parentPath, folderName } })),

  /** What lies in one folder of `cwd`; `""` is `cwd` itself. */
  tree: (cwd: string, path: string, showHidden: boolean) =>
    readSnapshot(
      http.GET('/api/files/tree', {
        params: { query: { cwd, ...(path ? { path } : {}), depth: 1, showHidden } },
      }),
    ),
  content: (cwd: string, path: string) => readSnapshot(http.GET('/api/files/content', { params: { query: { cwd, path } } })),
  save: (body: SaveFile) => bodyOf(http.PUT('/api/files/content', { body })),
  /** Sets one checkbox of a Markdown file; `expectedLine` is that whole line as it was seen. */
  check: (body: SetCheckbox) => bodyOf(http.POST('/api/files/checkbox', { body })),

  sign: (body: Sign) => bodyOf(http.POST('/api/workbench/sign', { body })),
  probe: (port: number) => bodyOf(http.POST('/api/workbench/probe', { body: { port } })),
  ports: () => readSnapshot(http.GET('/api/workbench/ports')),
  previews: () => readSnapshot(http.GET('/api/workbench/previews')),
  closePreview: async (port: number): Promise<void> => {
    await bodyOf(http.DELETE('/api/workbench/previews/{port}', { params: { path: { port: String(port) } } }));
  },
};

/** Where a picture, sound, film, PDF or model of the server's computer is read as it is; `version` names a state of it. */
export const rawPath = (cwd: string, path: string, version = ''): string =>
  `/api/files/raw?${new URLSearchParams({ cwd, path, ...(version ? { version } : {}) })}`;

/** The bytes of such a file. */
export async function rawBytes(cwd: string, path: string): Promise<Uint8Array<ArrayBuffer>> {
  let answer: Response;
  try {
    answer = await fetch(rawPath(cwd, path), { headers: { accept: '*/*' } });
  } catch {
    throw ApiError.unreachable();
  }
  if (answer.ok) return new Uint8Array(await answer.arrayBuffer());
  const said = (await answer.json().catch(() => ({}))) as { code?: string; error?: string };
  throw new ApiError(said.code ?? 'UNREADABLE_ANSWER', said.error ?? '', answer.headers.get('x-request-id') ?? '', answer.status);
}

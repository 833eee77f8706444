/** Paths of the server's computer as the page speaks of them: `/` between the parts, a folder and a path below it. Pure. */

/** The whole path of `path` in the folder `cwd`; a path that is whole already stays. */
export function joinPath(cwd: string, path: string): string {
  if (path === '') return cwd;
  if (path.startsWith('/') || path.startsWith('~')) return path;
  return `${cwd.replace(/\/+$/, '')}/${path}`;
}

/** The folder a path lies in; of `/` itself `/`, of a bare name `""`. */
export function folderOf(path: string): string {
  const at = path.replace(/\/+$/, '').lastIndexOf('/');
  return at > 0 ? path.slice(0, at) : path.startsWith('/') ? '/' : '';
}

export function fileNameOf(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1) || path;
}

/** A whole path as it is named in `cwd`; null where it lies elsewhere. */
export function pathWithin(cwd: string, path: string): string | null {
  const folder = cwd.replace(/\/+$/, '');
  if (path === folder) return '';
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : null;
}

/** The folders one has to open to see `path`, outermost first: of `a/b/c` these are `a` and `a/b`. */
export function foldersAbove(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join('/')).filter((folder) => folder !== '');
}

/** True for what a person may type as a folder: a whole path, or one that begins with `~`. */
export const isAbsolute = (path: string): boolean => path.startsWith('/') || path === '~' || path.startsWith('~/');

/** A name the server takes for a new folder. Source: contract 6.2. */
export const isFolderName = (name: string): boolean => /^[A-Za-z0-9](?:[A-Za-z0-9._ -]{0,62}[A-Za-z0-9])?$/.test(name);

/** What stands beside the tree: nothing, the list of what can be shown, the folder's pages, or a port. */
export type PreviewTarget = '' | 'list' | 'folder' | number;

export function previewTargetOf(text: string): PreviewTarget {
  if (text === 'list' || text === 'folder') return text;
  return portOf(text) ?? '';
}

/** A port as a person types it; null when it is none. */
export function portOf(text: string): number | null {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : null;
}

/** The address of the view; `path` is a file in the folder `cwd`. */
export function filesPath(cwd = '', path = '', preview: PreviewTarget = ''): string {
  const query = new URLSearchParams({ ...(cwd ? { cwd } : {}), ...(path ? { path } : {}), ...(preview ? { preview: String(preview) } : {}) });
  return query.size === 0 ? '/files' : `/files?${query}`;
}

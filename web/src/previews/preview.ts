/** Previews of folders and dev servers: how wide, under which address, and what to say where there is none. Pure. */

import type { RunningPreview, Sign } from '../api/types';
import type { HallEvent } from '../events/frames';

export const devices = [
  { name: 'Phone', width: 390 },
  { name: 'Tablet', width: 820 },
  { name: 'Desktop', width: 1280 },
  { name: 'As wide as it fits', width: 0 },
] as const;
export type Device = (typeof devices)[number]['name'];
export const FIT_DEVICE: Device = 'As wide as it fits';

/**
 * What a framed page may do. A folder's page is nobody: it has no origin at all. A dev server's page has an origin of
 * its own, on a port of its own; without it its own scripts would come without the cookie that lets them through.
 */
export const sandboxOf = (request: Sign): string =>
  `allow-scripts allow-forms allow-popups allow-modals${request.kind === 'proxy' ? ' allow-same-origin' : ''}`;

/** The address for people: without the token, which opens the preview to whoever reads it. */
export function displayUrl(url: string): string {
  const { origin, pathname, search, hash } = new URL(url);
  const query = new URLSearchParams(search);
  query.delete('__guildhall_preview');
  const path = pathname.replace(/^(\/api\/workbench\/serve\/)[^/]+/, '$1…');
  return `${origin}${decoded(path)}${query.size > 0 ? `?${query}` : ''}${hash}`;
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** An address that may be framed; null for what would stand in the page's own place. */
export function frameUrl(url: string, request: Sign, here: string): URL | null {
  try {
    const address = new URL(url);
    if (address.protocol !== 'http:' && address.protocol !== 'https:') return null;
    if (request.kind === 'proxy') return address.origin === here ? null : address;
    return address.pathname.startsWith('/api/workbench/serve/') ? address : null;
  } catch {
    return null;
  }
}

/** The address of a dev server's page at `start`, such as `/docs?x=1`; its token is taken at every path. */
export function withStartPath(url: string, start: string): string {
  if (start === '' || start === '/') return url;
  const token = new URL(url).searchParams.get('__guildhall_preview');
  // Only the path is taken: whatever stands there cannot name another host.
  const address = new URL(url);
  const wanted = new URL(start.replace(/^[/\\]*/, '/'), address.origin);
  address.pathname = wanted.pathname;
  address.search = wanted.search;
  address.hash = wanted.hash;
  if (token !== null) address.searchParams.set('__guildhall_preview', token);
  return address.href;
}

export type PreviewProblem = { title: string; text: string; next: string };

/** Why there is no address, and what helps. */
export function previewProblem(reason: string, port: number): PreviewProblem {
  switch (reason) {
    case 'tunnel':
      return {
        title: 'Not through this address',
        text: 'You came by the public address of this server, which carries one port only, and a preview has a port of its own.',
        next: `Open guildhall on the computer itself or in its network, and look at port ${port} there. Pages of a folder can be shown here.`,
      };
    case 'insecure':
      return {
        title: 'Not on a protected page',
        text: 'This page was loaded over https, and the browser shows nothing unprotected inside it.',
        next: `Open guildhall by its http address on the computer itself, and look at port ${port} there. Pages of a folder can be shown here.`,
      };
    case 'no-port':
      return {
        title: 'Every preview port is taken',
        text: 'Each preview has a port of its own, and as many are open as there may be.',
        next: 'Close one that is not needed, or widen workbench.previewPorts in the settings and start the server again.',
      };
    default:
      return { title: 'There is no preview', text: `The server says: ${reason}.`, next: 'Reload this page; a newer server may know more reasons.' };
  }
}

/** The port of a dev server on this computer that an address names; null for every other address. */
export function devPort(address: URL): number | null {
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(address.hostname) || address.hostname.endsWith('.localhost');
  if (!local || address.protocol !== 'http:') return null;
  return Number(address.port || 80);
}

/** The previews that are open after an event, by their dev port. */
export function afterEvent(open: RunningPreview[], { type, at, data }: HallEvent): RunningPreview[] {
  if (type !== 'preview_opened' && type !== 'preview_closed') return open;
  const { port, listenPort } = data as { port: number; listenPort: number };
  const others = open.filter((one) => one.port !== port);
  if (type === 'preview_closed') return others;
  return [...others, { port, listenPort, openedAt: at, lastRequestAt: null, openSockets: 0 }].sort((a, b) => a.port - b.port);
}

/** What the tab and the breadcrumb say. */

import { agents } from '../agents/agents.svelte';
import { filesPath, fileNameOf as nameOfPath } from '../files/paths';
import { nameOf, rooms } from '../rooms/rooms.svelte';
import { sessions, titleOf as titleOfSession } from '../sessions/sessions.svelte';
import { terminalSessions } from '../sessions/terminal-sessions.svelte';
import { sections } from '../settings/sections';
import { escapeHidden } from '../text/entry-pieces';
import { agentPath, roomPath, type Route } from './route';
import { router } from './router.svelte';

/** The steps down to the present view; every step but the last has an address. */
export function breadcrumbsOf(route: Route): { text: string; path: string }[] {
  switch (route.view) {
    case 'home':
      return [{ text: 'Home', path: '/' }];
    case 'rooms':
      return [{ text: 'Rooms', path: '/rooms' }];
    case 'agents':
      return [{ text: 'Agents', path: '/agents' }];
    case 'approvals':
      return [{ text: 'Approvals', path: '/asks' }];
    case 'sessions':
      return [{ text: 'Sessions', path: '/sessions' }];
    case 'session': {
      const session = sessions.get(route.id) ?? terminalSessions.get(route.id);
      return [
        { text: 'Sessions', path: '/sessions' },
        { text: session ? titleOfSession(session) : 'Session', path: '' },
      ];
    }
    case 'usage':
      return [{ text: 'Usage', path: '/usage' }];
    case 'people':
      return [{ text: 'People', path: '/people' }];
    case 'search':
      return [{ text: 'Search', path: '/search' }];
    case 'files': {
      const query = new URLSearchParams(router.search);
      const [cwd, path] = [query.get('cwd') ?? '', query.get('path') ?? ''];
      return [
        { text: 'Files', path: '/files' },
        ...(cwd ? [{ text: escapeHidden(nameOfPath(cwd)), path: path ? filesPath(cwd) : '' }] : []),
        ...(path ? [{ text: escapeHidden(nameOfPath(path)), path: '' }] : []),
      ];
    }
    case 'browser':
      return [{ text: 'Browser', path: '/browser' }];
    case 'connections':
      return [{ text: 'Connections', path: '/connections' }];
    case 'cloud':
      return [
        { text: 'Settings', path: '/settings' },
        { text: 'Cloud', path: '' },
      ];
    case 'threads':
      return [
        { text: 'Rooms', path: '/rooms' },
        { text: 'Threads', path: '' },
      ];
    case 'settings': {
      const section = sections.find(({ id }) => id === route.section);
      return [{ text: 'Settings', path: '/settings' }, ...(section ? [{ text: section.name, path: '' }] : [])];
    }
    case 'room': {
      const room = rooms.get(route.id);
      return [
        { text: 'Rooms', path: '/rooms' },
        { text: room ? nameOf(room) : 'Room', path: roomPath(route.id) },
        ...(route.thread === undefined ? [] : [{ text: 'Thread', path: '' }]),
      ];
    }
    case 'agent':
      return [
        { text: 'Agents', path: '/agents' },
        { text: agents.get(route.id)?.name ?? 'Agent', path: '' },
      ];
    case 'agent-tools':
      return [
        { text: 'Agents', path: '/agents' },
        { text: agents.get(route.id)?.name ?? 'Agent', path: agentPath(route.id) },
        { text: 'Tool servers', path: '' },
      ];
    case 'unknown':
      return [{ text: 'Not found', path: '' }];
  }
}

/** `waiting` counts what names or needs the viewer: mentions, approvals, questions and sign-ins. */
export function titleOf(route: Route, waiting: number): string {
  const here = breadcrumbsOf(route).at(-1)?.text ?? '';
  return `${waiting > 0 ? `(${waiting}) ` : ''}${here} · guildhall`;
}

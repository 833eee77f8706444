/** What the palette finds: approvals, sessions, rooms, people, agents and commands. */

import { session } from '../accounts/session.svelte';
import { agents } from '../agents/agents.svelte';
import type { Hit } from '../api/types';
import { authors } from '../authors/authors.svelte';
import { pendingDecisions } from '../approvals/pending-decisions.svelte';
import { openDm } from '../rooms/actions';
import { iconOf } from '../files/file-types';
import { filesPath, joinPath, fileNameOf as nameOfPath } from '../files/paths';
import { recentFiles } from '../files/recent-files.svelte';
import { newRoom } from '../rooms/new-room.svelte';
import { nameOf, rooms } from '../rooms/rooms.svelte';
import { newSession } from '../sessions/new-session.svelte';
import { sessions, titleOf } from '../sessions/sessions.svelte';
import { sectionsFor } from '../settings/sections';
import { escapeHidden } from '../text/entry-pieces';
import type { IconName } from '../ui/icons';
import { layout } from './layout.svelte';
import { navigationItems } from './navigation';
import { agentPath, approvalPath, entryPath, roomPath, searchPath, sessionPath, settingsPath } from './route';
import { router } from './router.svelte';
import { theme } from './theme.svelte';

export type PaletteResult = {
  key: string;
  icon: IconName;
  name: string;
  note: string;
  words: string;
  /** Only of an entry: its excerpt stands for the name. */
  result?: Hit;
  run: () => void;
};

export function paletteResults(): PaletteResult[] {
  return [...approvalResults(), ...sessionResults(), ...roomResults(), ...fileResults(), ...peopleResults(), ...agentResults(), ...placeResults(), ...commands()];
}

/** An entry that holds the words. */
export function entryResult(result: Hit): PaletteResult {
  const room = rooms.get(result.roomId);
  return {
    key: `entry ${result.entryId}`,
    icon: 'rooms',
    name: result.excerpt,
    note: `${authors.nameOf(result.authorId)}${room ? ` in ${nameOf(room)}` : ''}`,
    words: '',
    result,
    run: () => router.go(entryPath(result.roomId, result.entryId)),
  };
}

/** The view with everything that holds the words. */
export function searchResult(query: string): PaletteResult {
  return {
    key: 'search',
    icon: 'search',
    name: `Search all entries for “${query}”`,
    note: '',
    words: '',
    run: () => router.go(searchPath(query)),
  };
}

function approvalResults(): PaletteResult[] {
  return pendingDecisions.list.map(({ id, interaction, approval }) => {
    const note = interaction?.kind === 'question' ? 'Question' : 'Approval';
    const name = escapeHidden(interaction ? interaction.title || interaction.toolName || 'An agent asks' : approval.summary);
    return { key: `approval ${id}`, icon: 'ask', name, note, words: `${note} ${name}`, run: () => router.go(approvalPath(id)) };
  });
}

function sessionResults(): PaletteResult[] {
  return sessions.open.map((session) => ({
    key: `session ${session.id}`,
    icon: 'session',
    name: escapeHidden(titleOf(session)),
    note: agents.get(session.agentId)?.name ?? 'session',
    words: `${session.title} ${agents.get(session.agentId)?.name ?? ''}`,
    run: () => router.go(sessionPath(session.id)),
  }));
}

function roomResults(): PaletteResult[] {
  return rooms.all.map((room) => ({
    key: `room ${room.id}`,
    icon: room.archived ? 'archive' : room.kind === 'channel' ? 'hash' : 'rooms',
    name: nameOf(room),
    note: room.archived ? 'archived room' : room.unreadCount ? `${room.unreadCount} unread` : 'room',
    words: room.title,
    run: () => router.go(roomPath(room.id)),
  }));
}

function peopleResults(): PaletteResult[] {
  return authors.all
    .filter((author) => author.kind === 'human' && !author.retired && author.id !== authors.meId)
    .map((author) => ({
      key: `author ${author.id}`,
      icon: 'people',
      name: author.displayName,
      note: author.handle ? `@${author.handle}` : 'person',
      words: `${author.displayName} @${author.handle}`,
      run: () => void openDm(author.id),
    }));
}

function agentResults(): PaletteResult[] {
  return agents.active.map((agent) => ({
    key: `agent ${agent.id}`,
    icon: 'agents',
    name: agent.name,
    note: agent.handle ? `@${agent.handle}` : 'agent',
    words: `${agent.name} @${agent.handle}`,
    run: () => router.go(agentPath(agent.id)),
  }));
}

/** Files and folders that were opened in this browser. */
function fileResults(): PaletteResult[] {
  const folders = recentFiles.folders.map((cwd) => ({ cwd, path: '' }));
  return [...recentFiles.files, ...folders].map(({ cwd, path }) => ({
    key: `file ${cwd}\n${path}`,
    icon: path ? iconOf(path) : 'folder',
    name: escapeHidden(path ? nameOfPath(path) : nameOfPath(cwd)),
    note: escapeHidden(path ? joinPath(cwd, path) : cwd),
    words: `${path} ${cwd}`,
    run: () => router.go(filesPath(cwd, path)),
  }));
}

function placeResults(): PaletteResult[] {
  return navigationItems.map((place) => ({
    key: `place ${place.path}`,
    icon: place.icon,
    name: `Go to ${place.name}`,
    note: place.keys,
    words: `Go to ${place.name}`,
    run: () => router.go(place.path),
  }));
}

function commands(): PaletteResult[] {
  const command = (name: string, icon: IconName, note: string, run: () => void): PaletteResult => ({
    key: `command ${name}`,
    icon,
    name,
    note,
    words: name,
    run,
  });
  const here = router.route;
  return [
    command('New session', 'plus', 'command', () => newSession.open()),
    command('New channel', 'plus', 'command', () => newRoom.open('channel')),
    command('New direct message', 'plus', 'command', () => newRoom.open('dm')),
    command('Open a folder', 'folder', 'g d', () => router.go('/files')),
    command('Preview a port or folder', 'globe', 'command', () => router.go(filesPath('', '', 'list'))),
    command('Light theme', 'sun', 'command', () => theme.set('light')),
    command('Dark theme', 'moon', 'command', () => theme.set('dark')),
    command('Theme of the system', 'auto', 'command', () => theme.set('auto')),
    command('Left rail', 'rail', 'Ctrl B', layout.toggleRail),
    ...(here.view === 'room' || here.view === 'session' ? [command('Right panel', 'panel', 'Ctrl .', () => layout.togglePanel(here.id))] : []),
    command('Keys', 'keyboard', '?', () => (layout.keys = true)),
    command('Search all entries', 'search', 'g f', () => router.go('/search')),
    command('Threads', 'reply', 'g t', () => router.go('/threads')),
    ...sectionsFor(session.who?.mode ?? 'local', session.isOwner).map((section) =>
      command(`Settings: ${section.name}`, 'gear', 'settings', () => router.go(settingsPath(section.id))),
    ),
    command('Cloud', 'cloud', 'settings', () => router.go('/cloud')),
    ...(session.who?.mode === 'login' ? [command('Sign out', 'leave', 'command', () => void session.signOut())] : []),
  ];
}

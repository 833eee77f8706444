/** The views one can go to from everywhere. */

import type { IconName } from '../ui/icons';
import type { Route } from './route';

export type NavigationItem = {
  path: string;
  name: string;
  icon: IconName;
  keys: string;
  views: Route['view'][];
  /** Stands in the bottom bar of a phone itself; the others stand behind "More". */
  first?: boolean;
};

export const navigationItems: NavigationItem[] = [
  { path: '/', name: 'Home', icon: 'home', keys: 'g h', views: ['home'], first: true },
  { path: '/asks', name: 'Approvals', icon: 'ask', keys: 'g a', views: ['approvals'], first: true },
  { path: '/rooms', name: 'Rooms', icon: 'rooms', keys: 'g r', views: ['rooms', 'room', 'threads'], first: true },
  { path: '/sessions', name: 'Sessions', icon: 'session', keys: 'g w', views: ['sessions', 'session'], first: true },
  { path: '/agents', name: 'Agents', icon: 'agents', keys: 'g e', views: ['agents', 'agent', 'agent-tools'] },
  { path: '/files', name: 'Files', icon: 'folder', keys: 'g d', views: ['files'] },
  { path: '/browser', name: 'Browser', icon: 'globe', keys: 'g b', views: ['browser'] },
  { path: '/connections', name: 'Connections', icon: 'plug', keys: 'g c', views: ['connections'] },
  { path: '/people', name: 'People', icon: 'people', keys: 'g p', views: ['people'] },
  { path: '/usage', name: 'Usage', icon: 'chart', keys: 'g u', views: ['usage'] },
  { path: '/settings', name: 'Settings', icon: 'gear', keys: 'g s', views: ['settings', 'cloud'] },
];

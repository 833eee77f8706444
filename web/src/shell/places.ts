/** The views one can go to from everywhere. */

import type { IconName } from '../ui/icons';
import type { Route } from './route';

export type Place = { path: string; name: string; icon: IconName; keys: string; views: Route['view'][] };

export const places: Place[] = [
  { path: '/', name: 'Home', icon: 'home', keys: 'g h', views: ['home'] },
  { path: '/rooms', name: 'Rooms', icon: 'rooms', keys: 'g r', views: ['rooms', 'room', 'threads'] },
  { path: '/agents', name: 'Agents', icon: 'agents', keys: 'g a', views: ['agents', 'agent'] },
  { path: '/people', name: 'People', icon: 'people', keys: 'g p', views: ['people'] },
  { path: '/settings', name: 'Settings', icon: 'gear', keys: 'g s', views: ['settings'] },
];

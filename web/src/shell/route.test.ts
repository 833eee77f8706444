import { expect, test } from 'vitest';
import { documentPath, roomPath, routeOf, threadPath } from './route';

test('every view has its address', () => {
  expect(routeOf('/')).toEqual({ view: 'home' });
  expect(routeOf('/rooms')).toEqual({ view: 'rooms' });
  expect(routeOf('/rooms/')).toEqual({ view: 'rooms' });
  expect(routeOf('/rooms/r1')).toEqual({ view: 'room', id: 'r1' });
  expect(routeOf('/agents/a1')).toEqual({ view: 'agent', id: 'a1' });
  expect(routeOf('/agents/a1/mcp')).toEqual({ view: 'agent-tools', id: 'a1' });
  expect(routeOf('/agents/a1/else')).toEqual({ view: 'unknown', path: '/agents/a1/else' });
  expect(routeOf('/people')).toEqual({ view: 'people' });
  expect(routeOf('/asks')).toEqual({ view: 'approvals', itemId: '' });
  expect(routeOf('/asks/i1')).toEqual({ view: 'approvals', itemId: 'i1' });
  expect(routeOf('/sessions')).toEqual({ view: 'sessions' });
  expect(routeOf('/sessions/s1')).toEqual({ view: 'session', id: 's1' });
  expect(routeOf('/usage')).toEqual({ view: 'usage' });
  expect(routeOf('/threads')).toEqual({ view: 'threads' });
  expect(routeOf('/search')).toEqual({ view: 'search' });
  expect(routeOf('/browser')).toEqual({ view: 'browser' });
  expect(routeOf('/connections')).toEqual({ view: 'connections' });
  expect(routeOf('/cloud')).toEqual({ view: 'cloud' });
  expect(routeOf('/settings')).toEqual({ view: 'settings', section: '' });
  expect(routeOf('/settings/people')).toEqual({ view: 'settings', section: 'people' });
  expect(routeOf('/rooms/r1/t/e1')).toEqual({ view: 'room', id: 'r1', thread: 'e1' });
});

test('an address survives the way there and back', () => {
  expect(documentPath({ kind: 'room', id: 'r 1' }, 'd&1')).toBe('/rooms/r%201?doc=d%261');
  expect(documentPath({ kind: 'session', id: 's 1' }, 'd&1')).toBe('/sessions/s%201?doc=d%261');
  expect(routeOf(roomPath('a/b %'))).toEqual({ view: 'room', id: 'a/b %' });
  expect(routeOf(threadPath('a/b %', 'c/t?'))).toEqual({ view: 'room', id: 'a/b %', thread: 'c/t?' });
});

test('anything else is unknown, and broken escapes do not break the page', () => {
  for (const path of ['/nowhere', '/rooms/a/b', '/rooms/a/t', '/rooms/a/t/', '/rooms/a/x/b', '/people/x', '/rooms/%E0%A4%A', '/settings/a/b']) {
    expect(routeOf(path)).toEqual({ view: 'unknown', path });
  }
});
